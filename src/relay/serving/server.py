"""Listening and serving: uvicorn around an application, up to a graceful end."""

import errno
import gc
import signal
import socket
import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any

from relay.diagnostic import fail
from relay.serving.connections import Connections, guarded
from relay.serving.library import load

BACKLOG_CONNECTIONS = 2048
ACCEPTED_AT_ONCE = 16
"""The number of connections that the event loop accepts before it looks at them."""
SWITCH_SECONDS = 0.0005
"""How long a thread that has computed waits at most for the event loop to leave Python to it."""


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket of an address, which does not listen yet (`serve-address`); port 0 is any that is free."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        made = socket.socket(family, kind, protocol)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
        except OSError:
            made.close()
            raise
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        is_taken = getattr(error, "errno", None) in (errno.EADDRINUSE, errno.EACCES)
        hint = "choose another port: 0 is any that is free" if is_taken else ""
        fail("serve-address", f"cannot listen at {host}:{port}: {why}", hint=hint)
    return made


def check_tls(certificate: str, key: str) -> None:
    """Read a certificate and its key, which are files in PEM, before models are compiled (`serve-tls`)."""
    for file in (certificate, key):
        try:
            Path(file).read_bytes()
        except OSError as error:
            fail("serve-tls", f"cannot read `{file}`: {error.strerror}")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError) as error:  # OpenSSL's errors are of these; a key may ask for a password
        why = getattr(error, "reason", None) or str(error)
        hint = "both are in PEM, the key is not encrypted, and the certificate is of this key"
        fail("serve-tls", f"`{certificate}` and `{key}` are not a certificate and its key: {why}", hint=hint)


def address_of(listening: socket.socket) -> str:
    """Where a socket listens, for a browser or a client."""
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def serve_until_stopped(
    app: Any,
    listening: socket.socket,
    on_stop: Callable[[], None] = lambda: None,
    drain_seconds: float = 30.0,
    on_start: Callable[[], None] = lambda: None,
    is_idle: Callable[[], bool] = lambda: True,
    header_seconds: float = 30.0,
    **options: Any,
) -> None:
    """Serve an application until SIGTERM or SIGINT: then `on_stop` is called, and requests that have begun
    have `drain_seconds` to end, until `is_idle`.  Meanwhile the application answers new connections; then no
    more are taken.  A second SIGINT ends it at once.

    `on_start` is called as soon as signals end the server so.  A connection whose headers are not complete
    after `header_seconds` is closed.

    `options` are those of `uvicorn.Config` (`no-server`).
    """
    uvicorn = load("uvicorn")
    config: Any = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,  # nothing here asks where a client is
        backlog=ACCEPTED_AT_ONCE,
        timeout_graceful_shutdown=max(1, round(drain_seconds)),
        **options,
    )

    config.load()
    config.http_protocol_class = guarded(config.http_protocol_class, Connections(header_seconds))
    server: Any = uvicorn.Server(config)
    ending = Ending(server, listening, on_stop, is_idle, drain_seconds)
    handle_exit = ending.handle_exit
    before = {s: signal.signal(s, handle_exit) for s in (signal.SIGTERM, signal.SIGINT)}
    switch = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.collect()
    gc.freeze()  # what compilers have left is not looked through while clients wait
    try:
        on_start()
        server.run(sockets=[listening])
    finally:
        gc.unfreeze()
        sys.setswitchinterval(switch)
        for s, handler in before.items():
            signal.signal(s, handler)


class Ending:
    """The end of a server: it drains first, and listens meanwhile."""

    def __init__(
        self,
        server: Any,
        listening: socket.socket,
        on_stop: Callable[[], None],
        is_idle: Callable[[], bool],
        drain_seconds: float,
    ) -> None:
        """Take the place of the server's handler of signals, of its start and of its tick."""
        self.server, self.listening = server, listening
        self.on_stop, self.is_idle, self.drain_seconds = on_stop, is_idle, drain_seconds
        self.exit, self.start, self.tick = server.handle_exit, server.startup, server.on_tick
        self.last: tuple[int, FrameType | None] | None = None
        """The signal that ends the server."""
        self.latest = 0.0
        """The time on the monotonic clock at which it no longer waits."""
        server.handle_exit, server.startup, server.on_tick = self.handle_exit, self.startup, self.on_tick

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to drain; a second SIGINT ends the server at once."""
        self.on_stop()
        if self.last is None:
            self.last, self.latest = (sig, frame), monotonic() + self.drain_seconds
            if self.is_idle():
                self.exit(sig, frame)
        elif sig == signal.SIGINT:
            self.server.should_exit = True
            self.exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, with a queue of connections that is longer than what is accepted at once."""
        await self.start(sockets=sockets)
        self.listening.listen(BACKLOG_CONNECTIONS)

    async def on_tick(self, counter: int) -> bool:
        """Return whether the server is to end now."""
        left = self.latest - monotonic()
        if self.last is not None and not self.server.should_exit and (left <= 0 or self.is_idle()):
            self.server.config.timeout_graceful_shutdown = max(1, round(left))
            self.exit(*self.last)
        return await self.tick(counter)
