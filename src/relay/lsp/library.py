"""pygls, the library that speaks the protocol; no other module imports it, and this one only for a server."""

from importlib import import_module
from typing import Any

from relay.diagnostic import fail


def load(name: str) -> Any:
    """A module of pygls or of lsprotocol (`no-language-server`)."""
    try:
        return import_module(name)
    except ImportError:
        hint = "pip install 'relay-ir[lsp]'"
        fail("no-language-server", "the language server needs pygls, which is not installed", hint=hint)
