"""Conversion between dtypes, and NumPy arithmetic in those that NumPy itself lacks."""

from collections.abc import Callable
from typing import Any

import numpy

from relay.ir.dtype import (
    FLOATS,
    INTEGERS,
    dtype_name,
    integer_range,
    is_float,
    is_integer,
    rounded,
    to_numpy,
)

NARROW_INTEGERS = ("int2", "uint2", "int4", "uint4")
NUMPY_ARITHMETIC = frozenset({"bool", *FLOATS, *INTEGERS} - set(NARROW_INTEGERS))
"""Dtypes whose NumPy functions stay in the type: NumPy's own, and the floats of `ml_dtypes`."""

_BYTE_INTEGERS = {
    to_numpy(name): numpy.dtype("uint8" if name[0] == "u" else "int8") for name in NARROW_INTEGERS
}
_ACCUMULATOR = {
    to_numpy(name): numpy.dtype("float32") for name in FLOATS if name not in ("float32", "float64")
} | _BYTE_INTEGERS


def wide(x: Any) -> Any:
    """`x` with 2 and 4 bit integers as bytes, anything else as it is."""
    to = _BYTE_INTEGERS.get(x.dtype)
    return x if to is None else x.astype(to)


def through_wide(f: Callable[..., Any], *xs: Any) -> Any:
    """`f(*xs)` computed on bytes where the elements are 2 or 4 bit integers, and wrapped back."""
    dtype = xs[0].dtype
    to = _BYTE_INTEGERS.get(dtype)
    return f(*xs) if to is None else f(*[x.astype(to) for x in xs]).astype(dtype)


def accumulator(x: Any) -> Any:
    """`x` in the type its sums are taken in: short floats in float32, 2 and 4 bit integers in bytes."""
    to = _ACCUMULATOR.get(x.dtype)
    return x if to is None else x.astype(to)


def accumulator_name(dtype: str) -> str:
    """The dtype that sums of a dtype are taken in."""
    return dtype_name(_ACCUMULATOR.get(to_numpy(dtype), to_numpy(dtype)))


def through_float64(f: Callable[..., Any], x: Any) -> Any:
    """`f(x)` computed in float64 and rounded once."""
    return f(x) if x.dtype == numpy.float64 else rounded(f(x.astype(numpy.float64)), x.dtype)


def converted(np: Any, x: Any, dtype: str) -> Any:
    """`x` cast to a dtype: integers wrap, floats saturate on the way to integers and NaN gives 0."""
    source = dtype_name(x.dtype)
    if source == dtype:
        return x
    x = wide(x)
    if dtype == "bool":
        return x != 0
    if is_float(source) and is_integer(dtype):
        x = _saturated(np, x, dtype)
    return rounded(x, to_numpy(dtype))


def _saturated(np: Any, x: Any, dtype: str) -> Any:
    """Float `x` as integers, held within the range of `dtype`, in a type that has room for them."""
    low, high = integer_range(dtype)
    x = np.asarray(x).astype(numpy.float64)
    bound = float(high)  # 2**63 for int64: the first float beyond the range
    inside = np.where((x >= low) & (x < bound), x, 0.0)
    room = numpy.dtype("uint64" if low == 0 else "int64")
    whole = inside.astype(room)
    whole = np.where(x >= bound, room.type(high), whole)
    return np.where(x < low, room.type(low), whole)
