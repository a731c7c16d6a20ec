"""When two constants or two attribute values are the same, and a hash that agrees with it."""

import operator
from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from relay.ir.expr import Constant
from relay.ir.type import TensorType, Type

CHUNK_ELEMENTS = 1 << 20
"""Elements compared at once, so that a comparison needs little memory of its own."""


def constant_type(c: Constant) -> TensorType | None:
    """The type of a constant; None for an open literal.  A bare array that cannot be one has its own type."""
    if c.type is not None or c.value.dtype in _OPEN:
        return c.type
    return TensorType(c.value.shape, c.value.dtype)  # pyright: ignore[reportArgumentType]


_OPEN = frozenset({np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.float64)})


def same_array(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether shape, dtype and every element agree: all NaNs are one value, 0.0 and -0.0 are two.

    Axes that both arrays only repeat (broadcast views) are compared once.
    """
    if a is b:
        return True
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.ndim == 0:
        return _same_elements(a, b)
    keep = tuple([slice(None) if s or t else slice(0, 1) for s, t in zip(a.strides, b.strides, strict=True)])
    a, b = a[keep], b[keep]
    if a.size <= CHUNK_ELEMENTS:
        return _same_elements(a, b)
    lines = max(1, CHUNK_ELEMENTS // max(1, a.size // a.shape[0]))
    if a.shape[0] == 1:
        return all(same_array(a[0, i : i + 1], b[0, i : i + 1]) for i in range(a.shape[1]))
    return all(_same_elements(a[i : i + lines], b[i : i + lines]) for i in range(0, a.shape[0], lines))


_UNSIGNED_BY_BYTES = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def _same_elements(a: NDArray[Any], b: NDArray[Any]) -> bool:
    if a.dtype.kind in "biu":
        return bool((a == b).all())
    if a.dtype == object:
        return all(x == y for x, y in zip(a.flat, b.flat, strict=True))
    if a.dtype.itemsize == 1 and a.dtype.name.lstrip("u").startswith("int"):
        return bool((a.astype(np.int8) == b.astype(np.int8)).all())
    bits = _UNSIGNED_BY_BYTES[a.dtype.itemsize]
    equal = a.view(bits) == b.view(bits)
    if equal.all():
        return True
    return bool((equal | (np.isnan(a) & np.isnan(b))).all())


def same_constant(a: Constant, b: Constant) -> bool:
    """Whether two constants have one value; their types are compared elsewhere.

    Open literals go by value: an integer stored as int64 is the same integer stored as uint64.
    """
    x, y = a.value, b.value
    if x is y:
        return True
    if x.dtype != y.dtype and a.type is None and x.dtype.kind in "iu" and y.dtype.kind in "iu":
        return x.shape == y.shape and bool((x == y).all())
    return same_array(x, y)


def constant_hash(c: Constant) -> int:
    """A hash of shape, kind and up to 64 elements, the same for a view and for its copy."""
    value = c.value
    if value.size == 0:
        return hash((value.shape, 1))
    if value.size <= 64:
        elements: list[Any] = list(value.flat)
    else:
        picked = np.linspace(0, value.size - 1, 64).astype(np.int64)
        elements = list(value[np.unravel_index(picked, value.shape)])
    return hash((value.shape, tuple([_element_hash(x) for x in elements])))


def _element_hash(x: Any) -> int:
    if isinstance(x, str):
        return text_hash(x)
    number = _python_scalar(x)
    number = number if isinstance(number, int | float) else float(number)
    return -7 if number != number else hash(number)


def text_hash(text: str) -> int:
    """A hash of a string that is the same in every process."""
    return crc32(text.encode("utf-8", "surrogatepass"))


def same_value(
    a: Any, b: Any, same_type: Callable[[Any, Any], bool] = operator.is_, tolerance: float = 0.0
) -> bool:
    """Whether two attribute values are the same by type and value, NaN included, however deeply they nest.

    `same_type` compares the dimensions among them; floats are the same that differ by at most `tolerance`.
    """
    stack: list[tuple[Any, Any]] = [(a, b)]
    while stack:
        x, y = stack.pop()
        if isinstance(x, Type) and isinstance(y, Type):
            if not same_type(x, y):
                return False
            continue
        if x is y:
            continue
        x, y = _python_scalar(x), _python_scalar(y)
        if isinstance(x, float) and isinstance(y, float) and abs(x - y) <= tolerance:
            continue
        if type(x) is not type(y) and not (isinstance(x, str) and isinstance(y, str)):
            return False
        parts = _identical_parts(x, y)
        if parts is None:
            return False
        stack += parts
    return True


def _python_scalar(x: Any) -> Any:
    return x.item() if issubclass(x.__class__, np.generic) else x


def _identical_parts(x: Any, y: Any) -> list[tuple[Any, Any]] | None:
    """What must be the same in two values of one type, or None where they differ already."""
    if isinstance(x, tuple | list):
        return list(zip(x, y, strict=True)) if len(x) == len(y) else None  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(x, Mapping):
        return [(x[k], y[k]) for k in x] if x.keys() == y.keys() else None  # pyright: ignore[reportUnknownVariableType]
    return [] if _same_leaf(x, y) else None


def _same_leaf(x: Any, y: Any) -> bool:
    if isinstance(x, np.ndarray):
        return same_array(x, y)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(x, Constant):
        return x.type is y.type and same_constant(x, y)
    return bool(x == y) or (isinstance(x, float) and x != x and y != y)


def value_hash(value: Any) -> int:
    """A hash of an attribute value, the same in every process."""
    result, stack = 17, [value]
    while stack:
        x = stack.pop()
        if isinstance(x, tuple | list):
            stack += x  # pyright: ignore[reportUnknownArgumentType]
            x = len(x)  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(x, Mapping):
            stack += [v for _, v in sorted(x.items(), key=lambda kv: str(kv[0]))]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType, reportUnknownLambdaType]
            x = len(x)  # pyright: ignore[reportUnknownArgumentType]
        if isinstance(x, str):
            part = text_hash(x)
        elif isinstance(x, np.ndarray | np.generic | float):
            part = _element_hash(x) if np.ndim(x) == 0 else 3  # pyright: ignore[reportUnknownArgumentType]
        else:
            part = hash(x) if isinstance(x, int) else 5
        result = hash((result, part))
    return result


def attributes(attrs: Any) -> dict[str, Any]:
    """The attributes of a call, function or operator instance by name."""
    return dict(attrs) if isinstance(attrs, Mapping) else attrs.attributes()  # pyright: ignore[reportUnknownArgumentType]
