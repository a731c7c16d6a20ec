"""Values as text: tensors as nested lists, `Cons(1, Nil)`, `(a, b)`, `fn(…)`; large ones are summarised."""

from typing import Any

import numpy as np

from relay.interpreter.value import (
    ConstructorValue,
    FunctionValue,
    RefValue,
    is_array,
    is_tensor,
    is_tuple,
)
from relay.ir.dtype import dtype_name, is_float
from relay.text.floats import shortest
from relay.text.names import quote

LARGE = 1000
"""Tensors with more elements are summarised, and structures with more parts are cut."""


def show(value: Any) -> str:
    """A value as a program would write it: `[1, 2]`, `(a, b)`, `Cons(1, Nil)`, `fn(%x)`."""
    if is_array(value):
        return show_tensor(value)
    parts: list[str] = []
    stack: list[Any] = [value]
    budget = LARGE
    while stack:
        item = stack.pop()
        if type(item) is _Text:
            parts.append(item.text)
            continue
        budget -= 1
        if budget < 0 and isinstance(item, tuple | ConstructorValue | RefValue | np.ndarray):
            parts.append("...")
        elif is_tuple(item):
            _push(stack, parts, "(", item, ",)" if len(item) == 1 else ")")
        elif isinstance(item, ConstructorValue):
            name = item.constructor.name
            if item.fields:
                _push(stack, parts, f"{name}(", item.fields, ")")
            else:
                parts.append(name)
        elif isinstance(item, RefValue):
            _push(stack, parts, "ref(", (item.value,), ")")
        elif is_array(item):
            parts.append(" ".join(show_tensor(item).split()))
        else:
            parts.append(show_leaf(item))
    return _collapse("".join(parts))


class _Text:
    """Literal text on the stack of `show`."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


_COMMA = _Text(", ")


def _push(stack: list[Any], parts: list[str], opening: str, items: tuple[Any, ...], closing: str) -> None:
    parts.append(opening)
    stack.append(_Text(closing))
    for i in range(len(items) - 1, -1, -1):
        stack.append(items[i])
        if i:
            stack.append(_COMMA)


def _collapse(text: str) -> str:
    """Shorten the run of closing brackets that a cut, deeply nested value ends in."""
    tail = len(text) - len(text.rstrip(")"))
    return text if tail <= LARGE // 10 else text[: len(text) - tail] + ")"


def show_leaf(item: Any) -> str:
    """A scalar, a string or a function."""
    return item.shown if isinstance(item, FunctionValue) else show_scalar(item)


def show_scalar(x: Any) -> str:
    """A number as its shortest exact text, a string in quotes."""
    if isinstance(x, str):
        return quote(x)
    if not is_tensor(x):  # a Python number in an instance that Python built
        return str(x)
    return shortest(x) if is_float(dtype_name(x.dtype)) and np.isfinite(x) else str(x)


def show_tensor(a: np.ndarray[Any, Any]) -> str:
    """A tensor as nested lists, with the middle of each long axis left out when there are many elements."""
    if a.ndim == 0:
        return show_scalar(a[()])
    return np.array2string(
        a, separator=", ", threshold=LARGE, max_line_width=100, formatter={"all": show_scalar}
    )
