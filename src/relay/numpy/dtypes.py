"""Dtypes of `relay.numpy`: which there are, how they promote, and what is known of each."""

import builtins
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import ml_dtypes
import numpy as np

from relay.ir.dtype import (
    DTYPES,
    dtype_name,
    floating_dtype,
    integer_range,
    is_float,
    is_integer,
    is_signed,
    summed_dtype,
    to_numpy,
)

DType = np.dtype[Any]

bool = to_numpy("bool")
int8, int16, int32, int64 = [to_numpy(f"int{b}") for b in (8, 16, 32, 64)]
uint8, uint16, uint32, uint64 = [to_numpy(f"uint{b}") for b in (8, 16, 32, 64)]
float16, bfloat16, float32, float64 = map(to_numpy, ("float16", "bfloat16", "float32", "float64"))

DEFAULT_FLOAT, DEFAULT_INTEGER, INDEX = float32, int32, int64
"""What Python's numbers become where nothing else decides, and the dtype of places."""

STANDARD = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": (),
}
"""The dtypes of the standard that there are, by kind."""
KINDS_OF = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}
"""Kinds that are several."""
COMPLEX_HINT = "Relay has no complex dtypes: keep real and imaginary parts on a last axis of 2"


def checked_dtype(dtype: Any) -> DType:
    """A dtype, given as one of these or as anything that NumPy takes for one; `TypeError` for others."""
    if isinstance(dtype, np.dtype) and dtype in _KNOWN:
        return dtype  # pyright: ignore[reportUnknownVariableType]
    for kind, own in ((builtins.bool, bool), (int, DEFAULT_INTEGER), (float, DEFAULT_FLOAT)):
        if dtype is kind:
            return own
    if _is_complex(dtype):
        raise TypeError(COMPLEX_HINT)
    try:
        name = dtype_name(dtype)
    except ValueError as error:
        raise TypeError(str(error)) from None
    if name == "string":
        raise TypeError("an array of relay.numpy has numbers or truth values, not text")
    return to_numpy(name)


_KNOWN = frozenset(to_numpy(name) for name in DTYPES if name != "string")


def _is_complex(dtype: Any) -> builtins.bool:
    try:
        return np.dtype(dtype).kind == "c"
    except TypeError:
        return False


def kind_of(dtype: DType) -> str:
    """The kind of a dtype, in the words of `isdtype`."""
    name = dtype_name(dtype)
    if name == "bool":
        return "bool"
    if is_float(name):
        return "real floating"
    return "signed integer" if is_signed(name) else "unsigned integer"


def is_floating(dtype: DType) -> builtins.bool:
    """Whether it is a floating-point dtype."""
    return is_float(dtype_name(dtype))


def is_integral(dtype: DType) -> builtins.bool:
    """Whether it is a signed or unsigned integer."""
    return is_integer(dtype_name(dtype))


@cache
def promoted(a: DType, b: DType) -> DType:
    """The dtype that two arrays meet in: as the standard says, and floats win over integers over bools.

    `TypeError` where no dtype holds both.
    """
    if a == b:
        return a
    ranks = {"bool": 0, "signed integer": 1, "unsigned integer": 1, "real floating": 2}
    rank_a, rank_b = ranks[kind_of(a)], ranks[kind_of(b)]
    if rank_a != rank_b:
        return a if rank_a > rank_b else b
    if {a, b} == {float16, bfloat16}:
        return float32
    try:
        found = np.promote_types(a, b)
    except TypeError:
        found = bool
    if found not in (FLOATS if rank_a == 2 else INTEGERS):
        raise TypeError(f"{a} and {b} promote to no dtype: convert one of them with astype")
    return found


FLOATS = (float16, bfloat16, float32, float64)
INTEGERS = (int8, int16, int32, int64, uint8, uint16, uint32, uint64)


def of_number(value: Any, dtype: DType | None = None) -> DType:
    """The dtype of a Python number beside an array of `dtype`, or by itself."""
    kind = "bool" if dtype is None else kind_of(dtype)
    if isinstance(value, builtins.bool):
        return dtype or bool
    if isinstance(value, complex):
        raise TypeError(COMPLEX_HINT)
    if isinstance(value, float):
        return dtype if dtype is not None and kind == "real floating" else DEFAULT_FLOAT
    if dtype is not None and kind != "bool":
        return dtype
    if not isinstance(value, int):  # a dimension
        return int64
    return DEFAULT_INTEGER if -(2**31) <= value < 2**31 else int64 if value < 2**63 else uint64


def floating_of(dtype: DType) -> DType:
    """Return the floating-point dtype in which values of a dtype are computed: its own, if it is one."""
    return to_numpy(floating_dtype(dtype_name(dtype)))


def summed(dtype: DType) -> DType:
    """Return the dtype of a sum or product: int64, or uint64, of integers and truth values."""
    return to_numpy(summed_dtype(dtype_name(dtype)))


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether a dtype is of a kind: a dtype, a name such as `"integral"`, or a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)  # pyright: ignore[reportUnknownVariableType]
    found = checked_dtype(dtype)
    if isinstance(kind, str) and (kind in STANDARD or kind in KINDS_OF):
        return kind_of(found) in KINDS_OF.get(kind, (kind,))
    if isinstance(kind, str):
        raise ValueError(f"{kind!r} is not a kind of dtypes: they are {', '.join([*STANDARD, *KINDS_OF])}")
    return found == checked_dtype(kind)


def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Whether promotion takes a dtype, or that of an array, to another."""
    source, target = checked_dtype(getattr(from_, "dtype", from_)), checked_dtype(to)
    try:
        return promoted(source, target) == target
    except TypeError:
        return False


@dataclass(frozen=True)
class FloatInfo:
    """What is known of a floating-point dtype; the numbers are Python's."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True)
class IntegerInfo:
    """What is known of an integer dtype; the numbers are Python's."""

    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type: Any, /) -> FloatInfo:
    """The machine limits of a floating-point dtype, or of that of an array (`TypeError` for others)."""
    dtype = checked_dtype(getattr(type, "dtype", type))
    if not is_floating(dtype):
        raise TypeError(f"finfo is of floating-point dtypes, not of {dtype}")
    found = cast("Any", ml_dtypes.finfo)(dtype)
    eps, high, low, normal = map(float, (found.eps, found.max, found.min, found.smallest_normal))
    return FloatInfo(int(found.bits), eps, high, low, normal, dtype)


def iinfo(type: Any, /) -> IntegerInfo:
    """The range of an integer dtype, or of that of an array (`TypeError` for others)."""
    dtype = checked_dtype(getattr(type, "dtype", type))
    if not is_integral(dtype):
        raise TypeError(f"iinfo is of integer dtypes, not of {dtype}")
    low, high = integer_range(dtype_name(dtype))
    return IntegerInfo((high - low).bit_length(), high, low, dtype)
