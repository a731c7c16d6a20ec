"""Spans and the text of programs, by the module name that people know."""

from relay.diagnostic import SourceName, Span
from relay.text.api import astext

__all__ = ["SourceName", "Span", "astext"]
