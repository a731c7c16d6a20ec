"""The connections of a server, of which those that send no request do not keep others out.

A connection has so many seconds to complete the headers of a request, its first or a later one.  There are at
most as many connections as the process can have files open, less a reserve: above that, each that comes has
the one closed that has waited longest for its headers.
"""

import asyncio
import os
from typing import Any

RESERVED_FILES = 32
"""Files that the process may open beside connections, those accepted at once among them."""


class Connections:
    """The connections without a request, oldest first, and the number of all."""

    def __init__(self, header_seconds: float) -> None:
        """Take the limit of the process from now on."""
        self.header_seconds = header_seconds
        self.waiting: dict[Any, asyncio.TimerHandle] = {}
        self.count = 0
        self.most = most_connections()

    def add(self, protocol: Any) -> None:
        """Count a new connection, and make room for it."""
        self.count += 1
        self.wait(protocol)
        if self.most is not None and self.count > self.most:
            self.close(next(iter(self.waiting)))

    def wait(self, protocol: Any) -> None:
        """Give a connection the time for its headers, from now."""
        if protocol not in self.waiting:
            loop = asyncio.get_running_loop()
            self.waiting[protocol] = loop.call_later(self.header_seconds, self.close, protocol)

    def settle(self, protocol: Any) -> None:
        """Stop the time of a connection, whose headers are complete or which has gone."""
        timer = self.waiting.pop(protocol, None)
        if timer is not None:
            timer.cancel()

    def close(self, protocol: Any) -> None:
        """Close a connection that has no request."""
        self.settle(protocol)
        if protocol.transport.get_protocol() is protocol:  # or the connection has another protocol by now
            protocol.transport.abort()

    def drop(self, protocol: Any) -> None:
        """Forget a connection that has gone."""
        self.settle(protocol)
        self.count -= 1


def most_connections() -> int | None:
    """Return the number of connections that the limit of open files leaves room for; None if unknown."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        is_open = len(os.listdir("/dev/fd"))
    except (ImportError, OSError):
        return None
    return None if limit == resource.RLIM_INFINITY else max(8, limit - is_open - RESERVED_FILES)


def guarded(base: type[Any], connections: Connections) -> type[Any]:
    """Return the protocol class of uvicorn with these limits."""

    class Guarded(base):
        """A connection."""

        def connection_made(self, transport: Any) -> None:
            base.connection_made(self, transport)
            connections.add(self)

        def data_received(self, data: bytes) -> None:
            base.data_received(self, data)
            if self.cycle is not None and not self.cycle.response_complete:
                connections.settle(self)
            elif not self.transport.is_closing():
                connections.wait(self)

        def on_response_complete(self) -> None:
            base.on_response_complete(self)
            if not self.transport.is_closing():
                connections.wait(self)

        def connection_lost(self, exc: Exception | None) -> None:
            connections.drop(self)
            base.connection_lost(self, exc)

    return Guarded
