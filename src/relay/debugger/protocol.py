"""Messages of the Debug Adapter Protocol, over a pair of streams of bytes.

No kept library has the side of the adapter: debugpy's is part of a debugger of Python, that of pygls speaks
JSON-RPC, which this protocol is not.
Source: https://microsoft.github.io/debug-adapter-protocol/overview, "Base protocol".
"""

import json
import threading
from typing import Any, BinaryIO, cast

from relay.diagnostic import fail

LONGEST_BYTES = 1 << 26
"""No message is longer."""
LONGEST_HEADER_BYTES = 1 << 10


class Connection:
    """What is between an adapter and its client; any thread may send."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        """Takes the streams over."""
        self.reader, self.writer = reader, writer
        self.lock = threading.Lock()
        self.sent = 0

    def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end (`debug-protocol`)."""
        length = None
        while True:
            line = self.reader.readline(LONGEST_HEADER_BYTES)
            if not line:
                return None
            if not line.strip():
                break
            name, _, value = line.partition(b":")
            if not line.endswith(b"\n") or not value:
                shown = name.strip()[:40].decode("ascii", "replace")
                fail("debug-protocol", f"`{shown}` is not a header of a message", hint=HINT)
            if name.strip().lower() == b"content-length":
                length = int(value) if value.strip().isdigit() and len(value.strip()) < 12 else -1
        if length is None or not 0 <= length <= LONGEST_BYTES:
            fail("debug-protocol", "a message has no length that can be read", hint=HINT)
        body = self.reader.read(length)
        if len(body) < length:
            return None
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            fail("debug-protocol", "a message is no JSON", hint=HINT)
        if not isinstance(message, dict):
            fail("debug-protocol", "a message is not an object", hint=HINT)
        return cast("dict[str, Any]", message)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message, with the next number; nothing where the client is gone."""
        with self.lock:
            self.sent += 1
            body = json.dumps({"seq": self.sent, **message}).encode()
            try:
                self.writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
                self.writer.flush()
            except (OSError, ValueError):
                return

    def event(self, name: str, body: dict[str, Any] | None = None) -> None:
        """Tell the client that something has happened."""
        self.send({"type": "event", "event": name, "body": body or {}})


HINT = "what speaks to `relay debug --stdio` and `--port` is an editor, by the Debug Adapter Protocol"
