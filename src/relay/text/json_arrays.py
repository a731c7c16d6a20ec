"""Arrays as the blobs of `.params` files, and in base64 of the JSON format.

A blob is, little-endian: an 8-byte magic number, 8 reserved bytes, the device (int32 type and id), int32
rank, the element type (uint8 code, uint8 bits, uint16 lanes), int64 sizes, the int64 length of the data in
bytes, the data.
Codes are those of DLPack; elements of less than a byte are packed, the first in the lowest bits.
"""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Callable
from functools import partial
from math import prod
from struct import Struct
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from relay.diagnostic import fail
from relay.ir.dtype import to_numpy

MAGIC = 0xDD5E40F096B4A13F
_HEAD = Struct("<QQiiiBBH")
_CODES = {
    "bool": (1, 1),
    "float16": (2, 16),
    "float32": (2, 32),
    "float64": (2, 64),
    "bfloat16": (4, 16),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float4_e2m1fn": (17, 4),
    **{
        f"{name}{bits}": (code, bits)
        for bits in (2, 4, 8, 16, 32, 64)
        for name, code in (("int", 0), ("uint", 1))
    },
}
_DTYPES = {code: name for name, code in _CODES.items()} | {(6, 1): "bool"}


def array_blob(a: NDArray[Any], dtype: str) -> bytes:
    """The bytes of a blob, before base64; `dtype` is not `string`."""
    code, bits = _CODES[dtype]
    data = packed(a, bits) if 1 < bits < 8 else np.ascontiguousarray(a).tobytes()
    head = _HEAD.pack(MAGIC, 0, 1, 0, a.ndim, code, bits, 1)
    return head + np.array([*a.shape, len(data)], "<i8").tobytes() + data


def packed(a: NDArray[Any], bits: int) -> bytes:
    """Elements of 2 or 4 bits, as many to a byte as fit."""
    per_byte = 8 // bits
    raw = np.ascontiguousarray(a).view(np.uint8).reshape(-1) & ((1 << bits) - 1)
    raw = np.concatenate([raw, np.zeros(-raw.size % per_byte, np.uint8)]).reshape(-1, per_byte)
    shifts = np.arange(per_byte, dtype=np.uint8) * bits
    return np.bitwise_or.reduce(raw << shifts, axis=1).astype(np.uint8).tobytes()


def unpacked(data: memoryview, count: int, dtype: str, bits: int) -> NDArray[Any]:
    """The inverse of `packed`."""
    raw = np.frombuffer(data, np.uint8)
    shifts = np.arange(8 // bits, dtype=np.uint8) * bits
    values = ((raw[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[:count].astype(np.uint8)
    if dtype.startswith("int"):
        sign = 1 << (bits - 1)
        return ((values ^ sign).astype(np.int8) - sign).astype(to_numpy(dtype))
    return values.view(to_numpy(dtype)) if dtype.startswith("float") else values.astype(to_numpy(dtype))


def _refuse_array(message: str, what: str = "an array") -> NoReturn:
    fail("bad-array", f"{what} {message}", hint="save it again")


def read_array(blob: bytes) -> tuple[NDArray[Any], str]:
    """The array of a blob and its dtype (`bad-array`)."""
    shape, dtype, read, end = array_at(blob, 0)
    if end != len(blob):
        _refuse_array(f"of shape {shape} is followed by {len(blob) - end} bytes that are not its own")
    return read(), dtype


def array_at(
    data: bytes | memoryview, at: int, what: str = "an array"
) -> tuple[tuple[int, ...], str, Callable[[], NDArray[Any]], int]:
    """The shape and the dtype of the blob that begins at a byte, what reads its array, and where it ends.

    `what` is what messages call it (`bad-array`).
    """
    if len(data) - at < _HEAD.size:
        _refuse_array(f"is truncated: it has {len(data) - at} bytes", what)
    magic, _, _, _, rank, code, bits, lanes = _HEAD.unpack_from(data, at)
    if magic != MAGIC:
        _refuse_array("does not start with the magic number of the format", what)
    dtype = _DTYPES.get((code, bits))
    if dtype is None or lanes != 1:
        _refuse_array(f"has an unknown dtype (code {code}, {bits} bits, {lanes} lanes)", what)
    start = at + _HEAD.size + 8 * (rank + 1)
    if not 0 <= rank <= 32 or len(data) < start:
        _refuse_array(f"has rank {rank}", what)
    *shape, length = np.frombuffer(data, "<i8", rank + 1, at + _HEAD.size).tolist()
    count = prod(shape) if all(n >= 0 for n in shape) else -1
    wanted = (count * bits + 7) // 8 if bits in (2, 4) else count * to_numpy(dtype).itemsize
    if count < 0 or wanted != length or len(data) < start + length:
        _refuse_array(f"of shape {tuple(shape)} has {len(data) - start} bytes of data, not {wanted}", what)
    content = memoryview(data)[start : start + length]
    return tuple(shape), dtype, partial(_elements, content, tuple(shape), dtype, bits), start + length


def _elements(content: memoryview, shape: tuple[int, ...], dtype: str, bits: int) -> NDArray[Any]:
    """The array in the data of a blob."""
    if bits in (2, 4):
        return unpacked(content, prod(shape), dtype, bits).reshape(shape)
    return np.frombuffer(content, to_numpy(dtype)).reshape(shape)


def encode(a: NDArray[Any], dtype: str) -> str:
    """An array as base64."""
    return b64encode(array_blob(a, dtype)).decode("ascii")


def decode(text: Any) -> tuple[NDArray[Any], str]:
    """The array of a base64 text (`bad-array`)."""
    try:
        return read_array(b64decode(text, validate=True))
    except (binascii.Error, ValueError, TypeError) as error:
        _refuse_array(f"is not base64: {error}")
