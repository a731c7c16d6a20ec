"""What ends all processes of a cluster when one of them is gone: the others would wait for it for ever."""

import os
import selectors
import sys
from contextlib import suppress
from threading import Event, Thread
from time import monotonic
from typing import NoReturn

from relay.backend.xla.meeting import Connections
from relay.diagnostic import Diagnostic, RelayError

ALIVE, DONE, LOST = "alive", "done", "lost"
"""What processes tell each other, a line each: that they are there, that they have done their work, and that
one is gone, with its rank and the reason.
"""
BEAT_SECONDS = 1.0
AGAIN = "start all processes again, from the last state that was saved"
FAILED = "has failed: its own output says why"


class Watch(Thread):
    """Watches the processes at the other end of connections, and tells them that this one is there."""

    def __init__(self, connections: Connections, rank: int, limit: float) -> None:
        """A process that says nothing for `limit` seconds counts as gone."""
        super().__init__(name="relay cluster watch", daemon=True)
        self.connections = connections
        self.rank = rank
        self.limit = limit
        self.is_over = Event()
        self.heard = dict.fromkeys(connections, monotonic())
        """When each process said something that has not done its work."""
        self.unread = dict.fromkeys(connections, b"")
        self.selector = selectors.DefaultSelector()
        for rank_there, connection in connections.items():
            connection.setblocking(False)
            self.selector.register(connection, selectors.EVENT_READ, rank_there)

    def run(self) -> None:
        while not self.is_over.is_set() and self.heard:
            for key, _ in self.selector.select(BEAT_SECONDS):
                self.listen(key.data)
            now = monotonic()
            for rank, heard in list(self.heard.items()):
                if now - heard > self.limit:
                    self.end(rank, f"has not answered for {self.limit:g} seconds")
            self.tell(ALIVE)

    def listen(self, rank: int) -> None:
        """Read what a process has said."""
        try:
            said = self.connections[rank].recv(4096)
        except OSError:
            said = b""
        if not said:
            self.end(rank, "has ended")
        self.heard[rank] = monotonic()
        *lines, self.unread[rank] = (self.unread[rank] + said).split(b"\n")
        for line in lines:
            word, _, rest = line.decode(errors="replace").partition(" ")
            if word == LOST:
                gone, _, why = rest.partition(" ")
                self.end(int(gone) if gone.isdecimal() else rank, why)
            if word == DONE:
                self.selector.unregister(self.connections[rank])
                del self.heard[rank]
                return

    def tell(self, said: str) -> None:
        """Say something to the processes that are still there."""
        for rank in list(self.heard):
            with suppress(OSError):
                self.connections[rank].send(f"{said}\n".encode())

    def end(self, gone: int, why: str) -> NoReturn:
        """End this process, since another is gone, and have the others end."""
        if self.is_over.is_set():
            sys.exit()  # this thread
        self.tell(f"{LOST} {gone} {why}")
        error = RelayError(Diagnostic("cluster-lost", f"process {gone} {why}", hint=AGAIN))
        print(f"process {self.rank}: {error}", file=sys.stderr, flush=True)
        os._exit(1)  # the main thread may wait for ever for the process that is gone

    def leave(self) -> None:
        """Tell the others, as this process ends, that it has done its work, or that it has failed."""
        self.is_over.set()
        is_script = not hasattr(sys, "ps1")  # a person at a prompt goes on after an exception
        if not (is_script and hasattr(sys, "last_value")):
            self.tell(DONE)
            return
        self.tell(f"{LOST} {self.rank} {FAILED}")
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(1)  # JAX would wait for the others, which end too
