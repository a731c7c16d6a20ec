"""The body of a request: read up to a limit, and decompressed."""

import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from relay.serving.datatypes import refuse

Receive = Callable[[], Awaitable[Any]]
WINDOW_BITS = {b"gzip": 31, b"deflate": 15}
"""What `zlib` calls the forms of compression."""


class TooLargeError(Exception):
    """The body is larger than the server takes."""


class GoneError(Exception):
    """The client has closed the connection."""


async def read_body(headers: Mapping[bytes, bytes], receive: Receive, limit: int) -> bytes | bytearray:
    """The whole body (`TooLargeError`, `GoneError`, `serve-request`)."""
    announced = number(headers, b"content-length")
    if announced is not None and announced > limit:
        raise TooLargeError
    message = await receive()
    body: bytes | bytearray = message.get("body", b"")
    if message["type"] == "http.request" and message.get("more_body"):
        body = bytearray(body)
        while message["type"] == "http.request" and message.get("more_body"):
            message = await receive()
            body += message.get("body", b"")
            if len(body) > limit:
                raise TooLargeError
    if message["type"] == "http.disconnect":
        raise GoneError
    if len(body) > limit:
        raise TooLargeError
    coding = headers.get(b"content-encoding", b"identity").strip().lower()
    return body if coding == b"identity" else decompressed(body, coding, limit)


def decompressed(body: bytes | bytearray, coding: bytes, limit: int) -> bytes:
    """What a compressed body holds (`TooLargeError`, `serve-request`)."""
    if coding not in WINDOW_BITS:
        refuse(f"the server does not read the encoding `{text(coding)}`", "it reads gzip and deflate")
    reader = zlib.decompressobj(WINDOW_BITS[coding])
    try:
        found = reader.decompress(body, limit + 1)
    except zlib.error as error:
        refuse(f"the body is not {text(coding)}: {error}")
    if len(found) > limit:
        raise TooLargeError
    if not reader.eof or reader.unused_data:
        refuse(f"the body is not one piece of {text(coding)}")
    return found


def number(headers: Mapping[bytes, bytes], name: bytes) -> int | None:
    """The number in a header, if it is there (`serve-request`)."""
    found = headers.get(name)
    if found is None:
        return None
    if not found.isdigit() or len(found) > 18:
        refuse(f"the header `{text(name)}` is not a number")
    return int(found)


def text(value: bytes) -> str:
    """A part of a header, for a message."""
    return value[:80].decode("latin1")
