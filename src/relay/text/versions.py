"""The versions of the text format, and what a text says of its own."""

import re
from typing import NamedTuple

from relay.diagnostic import Report, Source, Span

STRICT_VERSIONS = tuple([f"0.0.{i}" for i in range(1, 6)])
"""The versions of files from before this language had its own; all are read as the last of them."""
VERSION = "1"
_HEADER = re.compile(
    r"(?:[\s\ufeff]|(?://|#(?!\[))[^\n]*\n)*"
    r"(?:#\[\s*version\s*=\s*(?P<now>\"[^\"\n]*\")\s*\]|v(?P<old>0\.0\.[0-9]+)(?=\s|\Z))"
)
"""`#[version = "0.0.5"]`, or as the versions before that one say it: `v0.0.4`."""


class Header(NamedTuple):
    """What a text begins with."""

    version: str
    start: int
    """Where it says the version, and where that ends."""
    end: int
    after: int
    """Where the program begins."""

    @property
    def is_strict(self) -> bool:
        """Whether the program is in the dialect of older files."""
        return self.version in STRICT_VERSIONS


def header_of(text: str) -> Header:
    """The header of a text; one that has none is of the newest version."""
    found = _HEADER.match(text)
    if found is None:
        return Header(VERSION, 0, 0, 0)
    if found["old"] is None:
        return Header(found["now"].strip('"'), *found.span("now"), found.end())
    start, end = found.span("old")
    return Header(found["old"], start - 1, end, found.end())


def check_version(header: Header, source: Source, report: Report) -> None:
    """Report a version that nothing is known of (`unknown-version`)."""
    if header.is_strict or header.version == VERSION:
        return
    shown = header.version if len(header.version) <= 20 else f"{header.version[:20]}…"
    report.error(
        "unknown-version",
        f'version "{shown}" of the text format is not known',
        Span(source, header.start, header.end),
        hint=f'write #[version = "{VERSION}"], or "{STRICT_VERSIONS[-1]}" for the older format',
    )
