"""The packages of the extras `serve` and `playground`: this module alone imports them, for a server."""

from importlib import import_module
from typing import Any

from relay.diagnostic import fail


def load(name: str, extra: str = "serve") -> Any:
    """A module of starlette, uvicorn, orjson or prometheus_client, which an extra brings (`no-server`)."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        hint = f"pip install 'relay-ir[{extra}]'"
        fail("no-server", f"the server needs {package}, which is not installed", hint=hint)
