"""How operators move and combine sizes, numbers or symbolic: as NumPy does on arrays of Python objects."""

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Rule = Callable[..., Any]


def boxed(x: Any) -> Array:
    """Something as an array of Python objects."""
    if isinstance(x, np.ndarray):
        return x  # pyright: ignore[reportUnknownVariableType]
    found: Array = np.empty((), object)
    found[()] = x
    return found


def add(attrs: Any, x: Any, y: Any) -> Any:
    """`x + y`."""
    return x + y


def subtract(attrs: Any, x: Any, y: Any) -> Any:
    """`x - y`."""
    return x - y


def multiply(attrs: Any, x: Any, y: Any) -> Any:
    """`x * y`."""
    return x * y


def divide(attrs: Any, x: Any, y: Any) -> Any:
    """`x / y`, rounded down, which is what is meant where neither is negative."""
    return x // y


def concatenate(attrs: Any, xs: Any) -> Any:
    """One after another."""
    return np.concatenate(xs, attrs.get("axis", 0))


def take(attrs: Any, x: Any, indices: Any) -> Any:
    """Elements by index."""
    return x.take(indices.astype("int64"), attrs.get("axis"))


def squeeze(attrs: Any, x: Any) -> Any:
    """A vector of one size as a scalar."""
    return x.reshape(()) if x.size == 1 and x.ndim == 1 else x


def expand_dims(attrs: Any, x: Any) -> Any:
    """A scalar as a vector."""
    if x.ndim:
        raise ValueError("sizes are vectors")
    return x.reshape(1)


def reshape(attrs: Any, x: Any) -> Any:
    """Another shape."""
    return x.reshape(list(attrs["newshape"]))


def strided_slice(attrs: Any, x: Any) -> Any:
    """A part of a vector."""
    if x.ndim != 1 or attrs.get("slice_mode", "end") != "end":
        raise ValueError("sizes are vectors")
    begin, end, strides = attrs["begin"], attrs["end"], attrs.get("strides") or [1]
    last = end[0]
    if strides[0] < 0 and last is not None and last < -x.shape[0]:
        last = None
    return x[begin[0] : last : strides[0]]


def cast_sizes(attrs: Any, x: Any) -> Any:
    """Another dtype of integers."""
    if "int" not in attrs["dtype"]:
        raise TypeError("sizes are integers")
    return x


RULES: dict[str, Rule] = {
    "add": add, "subtract": subtract, "multiply": multiply, "divide": divide, "concatenate": concatenate,
    "take": take, "squeeze": squeeze, "expand_dims": expand_dims, "reshape": reshape,
    "strided_slice": strided_slice, "cast": cast_sizes, "floor_divide": divide,
}  # fmt: skip


def followed(name: str, attrs: dict[str, Any], operands: list[Any]) -> Array | None:
    """The sizes that an operator computes from sizes, where it does."""
    rule = RULES.get(name)
    if rule is None or not all(map(_is_known, operands)):
        return None
    try:
        return boxed(rule(attrs, *operands))
    except (TypeError, ValueError, IndexError, ZeroDivisionError):
        return None


def _is_known(x: Any) -> bool:
    """Whether there is something, in a list everywhere."""
    several: list[Any] = x if isinstance(x, list) else [x]  # pyright: ignore[reportUnknownVariableType]
    return all(v is not None for v in several)
