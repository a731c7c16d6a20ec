"""The packages of the extra `serve`; nothing else imports them, and this module only for a server."""

from importlib import import_module
from typing import Any

from relay.diagnostic import fail


def load(name: str) -> Any:
    """A module of starlette, uvicorn, orjson or prometheus_client (`no-server`)."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        hint = "pip install 'relay-ir[serve]'"
        fail("no-server", f"the server needs {package}, which is not installed", hint=hint)
