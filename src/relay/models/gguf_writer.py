"""GGUF files written: metadata by key, and tensors, block formats in their own blocks."""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from relay.models.blocks import Blocks
from relay.models.gguf_file import ARRAY, BLOCKS, BOOL, FLOATS, MAGIC, SCALARS, STRING
from relay.text.files import write_files

ALIGNMENT = 32
UINT32, INT32, FLOAT32, INT64, FLOAT64 = 4, 5, 6, 11, 12
TYPES = {name: number for number, name in (FLOATS | BLOCKS).items()}


def write_gguf(path: Path, metadata: Mapping[str, Any], tensors: Mapping[str, Any]) -> None:
    """Write a file of metadata and tensors (`cannot-write`)."""

    def write(out: BinaryIO) -> None:
        out.write(MAGIC + struct.pack("<IQQ", 3, len(tensors), len(metadata)))
        for key, value in metadata.items():
            out.write(text(key) + typed(value))
        at = 0
        for name, x in tensors.items():
            kind = TYPES[x.format if isinstance(x, Blocks) else str(x.dtype)]
            shape = x.shape[::-1]
            out.write(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, at))
            at += padded(bytes_of(x).nbytes)
        out.write(b"\0" * (padded(out.tell()) - out.tell()))
        for x in tensors.values():
            data = bytes_of(x)
            out.write(data.tobytes())
            out.write(b"\0" * (padded(data.nbytes) - data.nbytes))

    write_files([(str(path), write)])


def padded(n: int) -> int:
    """A number of bytes with what lies between tensors."""
    return -(-n // ALIGNMENT) * ALIGNMENT


def bytes_of(x: Any) -> np.ndarray[Any, Any]:
    """The array that is written for a tensor."""
    return np.ascontiguousarray(x.data if isinstance(x, Blocks) else x)


def text(x: str) -> bytes:
    """A string."""
    data = x.encode()
    return struct.pack("<Q", len(data)) + data


def kind_of(x: Any) -> int:
    """The type that a value is written as: numbers as the least of the usual ones that hold it."""
    if isinstance(x, str):
        return STRING
    if isinstance(x, bool):
        return BOOL
    if isinstance(x, int):
        return UINT32 if 0 <= x < 1 << 32 else INT32 if -(1 << 31) <= x < 0 else INT64
    return FLOAT32 if float(np.float32(x)) == x or x != x else FLOAT64


def typed(x: Any) -> bytes:
    """A value behind its type."""
    if not isinstance(x, list):
        kind = kind_of(x)
        return struct.pack("<I", kind) + plain(x, kind)
    values = cast("list[Any]", x)
    kinds = {kind_of(v) for v in values} or {INT32}
    integers = {UINT32, INT32, INT64}
    kind = next(iter(kinds)) if len(kinds) == 1 else INT64 if kinds <= integers else FLOAT64
    if kind == UINT32 and max(values, default=0) < 1 << 31:
        kind = INT32
    head = struct.pack("<IIQ", ARRAY, kind, len(values))
    if kind == STRING:
        return head + b"".join([text(v) for v in values])
    return head + struct.pack(f"<{len(values)}{'?' if kind == BOOL else SCALARS[kind]}", *values)


def plain(x: Any, kind: int) -> bytes:
    """A value of a type that is not a list."""
    return text(x) if kind == STRING else struct.pack("<" + ("?" if kind == BOOL else SCALARS[kind]), x)
