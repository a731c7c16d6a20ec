"""Dtypes: their names, NumPy dtypes, ranges and aliases."""

from typing import Any

import ml_dtypes
import numpy as np

from relay.diagnostic import did_you_mean

INTEGERS = tuple(f"{sign}int{bits}" for bits in (2, 4, 8, 16, 32, 64) for sign in ("", "u"))
FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
FLOATS = ("float16", "bfloat16", "float32", "float64", *FLOAT8, "float4_e2m1fn")
DTYPES = ("bool", *INTEGERS, *FLOATS, "string")

ALIASES = {
    "Float": "float32",
    "Real": "float32",
    "Int": "int32",
    "Bool": "bool",
    "f8e4m3": "float8_e4m3fn",
    "bf16": "bfloat16",
    "float4e2m1": "float4_e2m1fn",
    "float4_e2m1": "float4_e2m1fn",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{
        f"{s}{bits}": f"{n}{bits}" for bits in (2, 4, 8, 16, 32, 64) for s, n in (("i", "int"), ("u", "uint"))
    },
}

_ML = {
    name: np.dtype(getattr(ml_dtypes, name))
    for name in (*FLOAT8, "bfloat16", "float4_e2m1fn", "int2", "uint2", "int4", "uint4")
}
_TO_NUMPY = {
    name: _ML[name] if name in _ML else np.dtype(object if name == "string" else name) for name in DTYPES
}
_FROM_NUMPY = {dtype: name for name, dtype in _TO_NUMPY.items()}
KNOWN = {"float": "float32", "int": "int32", "uint": "uint32", "uint1": "bool"}
"""Names that people know from Python and from version 0.0.5 of the text; other text gives the width."""
_WITH_WIDTH = {"half": "float16", "double": "float64"}
"""What to write for names that do not say how many bits they have."""


def canonical(name: str) -> str | None:
    """The canonical name of a dtype or alias, or None."""
    return name if name in _TO_NUMPY else ALIASES.get(name)


def known_name(name: str) -> str | None:
    """The canonical name of a dtype, an alias, or a name without a width that people know; or None."""
    return canonical(name) or KNOWN.get(name)


def dtype_name(dtype: Any) -> str:
    """The canonical name of a dtype given as a name, an alias, or a NumPy dtype; `float` is float32, `int`
    int32, `uint` uint32 and `uint1` bool, as people know them.

    Raises `ValueError` for other names and NumPy dtypes, `TypeError` for other objects.
    """
    if isinstance(dtype, str):
        found = known_name(dtype)
        if found is None:
            near = _WITH_WIDTH.get(dtype)
            hint = f"write `{near}`" if near else did_you_mean(dtype, _TO_NUMPY)
            raise ValueError(f"`{dtype}` is not a dtype" + (f"; {hint}" if hint else ""))
        return found
    try:
        as_numpy = np.dtype(dtype)
    except (TypeError, ValueError):
        found = f"the {type(dtype).__name__} {dtype!r:.80}"
        raise TypeError(f"a dtype is a name such as `float32`, or NumPy's, not {found}") from None
    if as_numpy.kind in "US":
        return "string"
    if as_numpy not in _FROM_NUMPY:
        raise ValueError(f"`{as_numpy}` is not a dtype")
    return _FROM_NUMPY[as_numpy]


def to_numpy(dtype: str) -> np.dtype[Any]:
    """The NumPy dtype that stores a dtype."""
    return _TO_NUMPY[dtype]


def rounded(x: Any, dtype: Any) -> Any:
    """An array or scalar in a NumPy dtype, rounded once.

    `ml_dtypes` converts float64 by way of float32; so that float32 is the one next to it towards 0 with the
    last bit set where it is inexact, which rounds as the float64 does (Boldo and Melquiond, 2008).
    """
    if dtype not in _BY_FLOAT32 or x.dtype != np.float64:
        return x.astype(dtype)
    with np.errstate(all="ignore"):
        near: np.ndarray[Any, np.dtype[np.float32]] = x.astype(np.float32)
        is_inexact = (near != x) & (x == x)
        word = near.view(np.uint32)
        odd = (word - (abs(near) > abs(x)).astype(np.uint32)) | np.uint32(1)
        chosen = (word ^ (word ^ odd) * is_inexact)[...]  # an array, of rank 0 too
        return chosen.view(np.float32).astype(dtype)


def is_integer(dtype: str) -> bool:
    """Whether it is a signed or unsigned integer (not `bool`)."""
    return dtype in _INTEGER_SET


def is_float(dtype: str) -> bool:
    """Whether it is a floating-point type, of whatever width."""
    return dtype in _FLOAT_SET


def summed_dtype(dtype: str) -> str:
    """Return the dtype of the array API for sums of elements: of integers and booleans it has 64 bits."""
    if dtype != "bool" and not is_integer(dtype):
        return dtype
    return "uint64" if dtype.startswith("uint") else "int64"


def floating_dtype(dtype: str) -> str:
    """Return the dtype of the array API for means: that of floating-point elements, else float32, or
    float64 for integers of 64 bits.
    """
    if is_float(dtype):
        return dtype
    return "float64" if dtype in ("int64", "uint64") else "float32"


def is_signed(dtype: str) -> bool:
    """Whether it has negative values."""
    return dtype.startswith("int") or dtype in _FLOAT_SET


def bits(dtype: str) -> int:
    """The width of a numeric type in bits."""
    if dtype == "bool":
        return 1
    if dtype in _FLOAT_SET and dtype not in ("float16", "bfloat16", "float32", "float64"):
        return 4 if dtype.startswith("float4") else 8
    return int("".join(c for c in dtype if c.isdigit()))


def integer_range(dtype: str) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    width = bits(dtype)
    return (0, 2**width - 1) if dtype.startswith("u") else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)


_INTEGER_SET = frozenset(INTEGERS)
_FLOAT_SET = frozenset(FLOATS)
_BY_FLOAT32 = frozenset({_ML[name] for name in _ML if name in _FLOAT_SET})
