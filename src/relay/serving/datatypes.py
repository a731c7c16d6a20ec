"""The datatypes of the Open Inference Protocol: their names, and elements in JSON and in bytes.

Source: the protocol's "Tensor Data Types" and the binary tensor data extension.  `BF16` is as Triton has it.
"""

import struct
from itertools import chain
from math import prod
from typing import Any, NoReturn, TypeGuard

import numpy as np

from relay.diagnostic import fail
from relay.ir.dtype import integer_range, is_float, rounded, to_numpy

Array = np.ndarray[Any, Any]

NAMES = {
    "bool": "BOOL",
    **{f"{sign.lower()}int{bits}": f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)},
    "float16": "FP16",
    "bfloat16": "BF16",
    "float32": "FP32",
    "float64": "FP64",
    "string": "BYTES",
}
"""What the protocol calls each dtype; others cannot be sent."""
DTYPES = {name: dtype for dtype, name in NAMES.items()}
JSON_TYPES = {
    bool: "booleans", int: "whole numbers", float: "numbers with a point", str: "strings", list: "lists",
    dict: "objects", type(None): "null",
}  # fmt: skip
"""What messages call the values of JSON."""
LENGTH = struct.Struct("<I")
"""What stands before each element of `BYTES`: how many bytes it has."""


def refuse(message: str, hint: str = "") -> NoReturn:
    """Report a request that is wrong (`serve-request`)."""
    fail("serve-request", message, hint=hint)


def is_list(x: Any) -> TypeGuard[list[Any]]:
    """Whether a value of JSON is a list."""
    return type(x) is list


def is_object(x: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value of JSON is an object."""
    return type(x) is dict


def from_json(data: Any, dtype: str, shape: tuple[int, ...], name: str) -> Array:
    """The tensor of numbers, booleans or strings in lists, nested or in one row (`serve-request`)."""
    if not is_list(data):
        refuse(f"`data` of the input `{name}` is not a list")
    flat, found = _flat(data, name)
    if len(flat) != prod(shape) or (len(found) > 1 and found != shape and flat):
        refuse(f"the data of the input `{name}` have the shape {list(found)}, and not {list(shape)}")
    allowed = {str} if dtype == "string" else {int, float} if is_float(dtype) else {int}
    allowed = {bool} if dtype == "bool" else allowed
    wrong = set(map(type, flat)) - allowed
    if wrong:
        listing = ", ".join(sorted([JSON_TYPES.get(t, t.__name__) for t in wrong]))
        hint = "NaN and infinities are sent as binary data" if type(None) in wrong and is_float(dtype) else ""
        refuse(f"the input `{name}` is {NAMES[dtype]}, and its data have {listing}", hint)
    return _array(flat, dtype, name).reshape(shape)


def _flat(data: list[Any], name: str) -> tuple[list[Any], tuple[int, ...]]:
    """What is in nested lists, in order, and how long the lists are at each depth (`serve-request`)."""
    shape = [len(data)]
    while data and is_list(data[0]):
        lengths = {len(row) if is_list(row) else -1 for row in data}
        if len(lengths) > 1:
            refuse(f"the rows of the input `{name}` differ in length")
        shape += lengths
        data = list(chain.from_iterable(data))
    return data, tuple(shape)


def _array(flat: list[Any], dtype: str, name: str) -> Array:
    """Values that JSON has, in a dtype (`serve-request`)."""
    if dtype == "string":
        return _objects(flat)
    if not is_float(dtype):
        try:
            return np.array(flat, to_numpy(dtype))
        except OverflowError:
            low, high = integer_range(dtype)
            refuse(f"an element of the input `{name}` does not fit {NAMES[dtype]}: {low} to {high}")
    with np.errstate(over="ignore"):
        found = rounded(np.array(flat, np.float64), to_numpy(dtype))
    if not np.isfinite(found.astype(np.float64)).all():
        refuse(f"an element of the input `{name}` does not fit {NAMES[dtype]}: it would be infinite")
    return found


def _objects(texts: list[Any]) -> Array:
    """Strings as an array of one axis."""
    found: Array = np.empty(len(texts), object)
    found[:] = texts
    return found


def from_bytes(data: memoryview, dtype: str, shape: tuple[int, ...], name: str) -> Array:
    """The tensor whose elements are these bytes, little-endian and row-major (`serve-request`)."""
    size = prod(shape)
    if dtype == "string":
        return _strings(data, size, name).reshape(shape)
    stored = to_numpy(dtype)
    if len(data) != size * stored.itemsize:
        expected = f"{size * stored.itemsize} bytes for {NAMES[dtype]} of shape {list(shape)}"
        refuse(f"the input `{name}` has {len(data)} bytes of binary data, not {expected}")
    if dtype == "bool":
        return (np.frombuffer(data, np.uint8) != 0).reshape(shape)
    found = np.frombuffer(data, stored)
    if not found.flags.aligned:
        found = np.frombuffer(data, np.uint8).copy().view(stored)  # byte by byte: 6 times as fast
    return found.reshape(shape)


def _strings(data: memoryview, count: int, name: str) -> Array:
    """So many strings, each behind its length."""
    found: list[str] = []
    at = 0
    while at < len(data) and len(found) < count:
        if at + LENGTH.size > len(data):
            break
        (length,) = LENGTH.unpack_from(data, at)
        at += LENGTH.size + length
        if at > len(data):
            break
        try:
            found.append(str(data[at - length : at], "utf-8"))
        except UnicodeDecodeError:
            refuse(f"element {len(found)} of the input `{name}` is not UTF-8")
    if at != len(data) or len(found) != count:
        refuse(f"the binary data of the input `{name}` are not {count} strings, each behind its length")
    return _objects(found)


def to_bytes(array: Array, dtype: str) -> Any:
    """The bytes of a tensor as the binary extension has them; those of an array in memory without a copy."""
    if dtype == "string":
        texts = [str(x).encode() for x in array.reshape(-1)]
        return b"".join([part for t in texts for part in (LENGTH.pack(len(t)), t)])
    row: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return memoryview(row)


def to_json(array: Array, dtype: str, name: str) -> Any:
    """A tensor as a flat array or list that `orjson` writes; JSON has no NaN (`serve-request`)."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if dtype == "string":
        return [str(x) for x in flat]
    if not is_float(dtype):
        return flat
    if not np.isfinite(flat.astype(np.float32) if dtype in ("float16", "bfloat16") else flat).all():
        hint = '"binary_data": true among its `parameters` has the output sent as bytes'
        refuse(f"the output `{name}` has NaN or infinities, which JSON cannot write", hint)
    return flat.astype(np.float32) if dtype in ("float16", "bfloat16") else flat
