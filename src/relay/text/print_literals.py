"""Constants as text: a form for each that reads back as the same constant."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relay.ir.dtype import is_float
from relay.ir.expr import Constant
from relay.ir.floats import shortest
from relay.ir.same import constant_type
from relay.ir.type import TensorType
from relay.text import names

MAX_INLINE_ELEMENTS = 64
"""The most elements of a tensor literal in text; larger constants go to the metadata or a weights file."""
MAX_LISTED_ELEMENTS = 8
"""A tensor of more elements than this, all the same, prints as `Constant(v, shape, dtype)`."""
MOST_AXES = 30

_SUFFIX = {
    "float32": "f",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    **{f"{name}{b}": f"{name[0]}{b}" for b in (2, 4, 8, 16, 32, 64) for name in ("int", "uint")},
}
_UNSIGNED_BY_BYTES = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_INFINITE = (float("inf"), float("-inf"))


def scalar_text(value: Any, dtype: str) -> str:
    """An element with the suffix of its dtype: `1i32`, `1.5f`, `True`, `"text"`."""
    if dtype == "bool":
        return "True" if value else "False"
    if dtype == "string":
        return names.quote(str(value))
    suffix = _SUFFIX.get(dtype, dtype)
    return f"{plain_text(value, dtype).removesuffix('.0')}{suffix}"


def plain_text(value: Any, dtype: str) -> str:
    """A number without a suffix: `1`, `1.5`, `1e-05`, `-inf`, `nan`."""
    if not is_float(dtype):
        return str(int(value))
    number = float(value)
    if number != number:
        return "nan"
    if number in _INFINITE:
        return "inf" if number > 0 else "-inf"
    return shortest(value).replace("e+", "e")


def open_text(value: Any) -> str:
    """An element of an open literal: a float has a point or an exponent."""
    return plain_text(value, "float64" if value.dtype.kind == "f" else "int64")


def is_filled(a: NDArray[Any]) -> bool:
    """Whether all elements are the same bits; a large array is looked at only as far as it stays uniform."""
    if all(s == 0 or n == 1 for s, n in zip(a.strides, a.shape, strict=True)):
        return True
    corners = a[(0,) * a.ndim], a[tuple([n - 1 for n in a.shape])]
    if a.dtype == object or corners[0].tobytes() != corners[1].tobytes():
        return False
    bits = a[tuple([slice(None) if s else slice(0, 1) for s in a.strides])].view(
        _UNSIGNED_BY_BYTES[a.dtype.itemsize]
    )
    few = bits[tuple([slice(0, 2)] * a.ndim)]
    first = bits[(0,) * a.ndim]
    return bool((few == first).all()) and bool((bits == first).all())


def nested(a: NDArray[Any], element: Callable[[Any], str]) -> str:
    """`[[1f, 2f], [3f, 4f]]`."""
    texts = [element(x) for x in a.flat]
    for n in reversed(a.shape):
        texts = [f"[{', '.join(texts[i : i + n])}]" for i in range(0, len(texts), n)]
    return texts[0]


def constant_text(
    c: Constant,
    type_text: Callable[[Any], str],
    large: Callable[[Constant], str],
    inline: int = MAX_INLINE_ELEMENTS,
) -> str:
    """A constant as text; `large` says how to refer to one that does not fit in the program."""
    value, t = c.value, constant_type(c)
    if t is None or not isinstance(t.dtype, str):
        return _open_constant(value, t, type_text)
    dtype = t.dtype
    if value.ndim == 0:
        return scalar_text(value[()], dtype)
    if value.size == 0:
        return f"Constant([], {type_text(value.shape)}, {dtype})"
    if value.size > MAX_LISTED_ELEMENTS and is_filled(value):
        first = value[(0,) * value.ndim]
        text = scalar_text(first, dtype) if dtype in ("bool", "string") else plain_text(first, dtype)
        return f"Constant({text}, {type_text(value.shape)}, {dtype})"
    if (value.size > inline or value.ndim > MOST_AXES) and dtype != "string":
        return large(c)
    return nested(value, lambda x: scalar_text(x, dtype))


def _open_constant(value: NDArray[Any], t: TensorType | None, type_text: Callable[[Any], str]) -> str:
    """A literal whose dtype is open; or a type parameter, as in `Constant(1, (), bt)`."""
    dtype = "_" if t is None else type_text(t.dtype)
    if value.size == 0:
        return f"Constant({'0.0' if value.dtype.kind == 'f' else '0'}, {type_text(value.shape)}, {dtype})"
    if value.ndim and value.size > MAX_INLINE_ELEMENTS and is_filled(value):
        return f"Constant({open_text(value[(0,) * value.ndim])}, {type_text(value.shape)}, {dtype})"
    text = nested(value, open_text) if value.ndim else open_text(value[()])
    return (
        text
        if t is None and value.ndim <= MOST_AXES
        else f"Constant({text}, {type_text(value.shape)}, {dtype})"
    )
