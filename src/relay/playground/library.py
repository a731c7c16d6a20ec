"""Starlette and uvicorn, the libraries that speak HTTP: nothing else of the playground imports them."""

import socket
from importlib import import_module
from typing import Any

from relay.diagnostic import fail

STOPPING_S = 1
"""Seconds that open requests have to end when the server is told to stop."""


def load(name: str) -> Any:
    """A module of starlette or uvicorn (`no-playground`)."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        hint = "pip install 'relay-ir[playground]'"
        fail("no-playground", f"the playground needs {package}, which is not installed", hint=hint)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at an address; port 0 is any that is free (`playground-address`)."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        why = (getattr(error, "strerror", None) or str(error)).partition(" (while")[0]
        hint = "choose another port: 0 is any that is free"
        fail("playground-address", f"cannot listen at {host}:{port}: {why}", hint=hint)


def url_of(listener: socket.socket) -> str:
    """The address of a server as browsers take it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(app: Any, listener: socket.socket) -> None:
    """Answer requests by an ASGI application until the process is told to stop (`no-playground`)."""
    uvicorn = load("uvicorn")
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=STOPPING_S)
    uvicorn.Server(config).run(sockets=[listener])
