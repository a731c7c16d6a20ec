"""Values as text: tensors as nested lists, `[| 1, 2 |]`, `(a, b)`, `fn(…)`; large ones are summarised."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from relay.interpreter.value_layout import COMMA, Piece, Role, laid_out, shortened
from relay.ir.dtype import dtype_name, is_float
from relay.ir.floats import shortest
from relay.ir.type import TensorType
from relay.text.names import quote

MAX_SHOWN_ELEMENTS = 1000
"""Tensors with more elements are summarised, and structures with more parts are cut."""
MAX_ON_LINE = 20
"""The same where a value has one line."""


class Form(NamedTuple):
    """How a value is written: the text before the values inside, these values, and the text behind them."""

    opening: str
    items: Sequence[Any] = ()
    closing: str = ""
    labels: Sequence[str] = ()
    """The names of the values inside, where they have any."""


class Shown:
    """The base of what values are, but for tensors and tuples: it says what is printed for a value."""

    __slots__ = ()

    @property
    def shown(self) -> Form:
        """What is printed."""
        raise AssertionError(f"{type(self).__name__} does not say how it is shown")

    def __repr__(self) -> str:
        return show(self)


def show(value: Any) -> str:
    """A value as a program would write it: `[1, 2]`, `(a, b)`, `[| 1, 2 |]`, `fn(%x)`.

    What is too long for a line has a line for each field of a tuple, and as many fields of an instance of a
    data type on a line as there is room for.
    """
    if isinstance(value, np.ndarray):
        return show_tensor(cast("np.ndarray[Any, Any]", value))
    return laid_out(list(_pieces(value, show_tensor, MAX_SHOWN_ELEMENTS)))


def show_line(value: Any) -> str:
    """A value in one line, of large tensors only what says most about them."""
    return shortened("".join([p.text for p in _pieces(value, show_statistics, MAX_ON_LINE)]))


def _pieces(value: Any, text_of: Callable[[np.ndarray[Any, Any]], str], budget: int) -> Iterator[Piece]:
    """A value as pieces of text, cut where there are more than `budget`; `text_of` gives that of a tensor."""
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if type(item) is Piece:
            yield item
            continue
        budget -= 1
        if budget < 0 and isinstance(item, tuple | Shown | np.ndarray):
            yield Piece("...")
        elif isinstance(item, tuple):
            items = cast("tuple[Any, ...]", item)
            _push(stack, Role.TUPLE, Form("(", items, ",)" if len(items) == 1 else ")"))
        elif isinstance(item, Shown):
            form = item.shown
            if len(form.items) > budget + 1:
                form = form._replace(items=[*form.items[: max(budget, 1)], Piece("...")])
            _push(stack, Role.FIELDS, form)
        elif isinstance(item, np.ndarray):
            tensor = text_of(cast("np.ndarray[Any, Any]", item))
            yield Piece(" ".join(tensor.split()), lines=tuple(tensor.splitlines()))
        else:
            yield Piece(show_scalar(item))


def _push(stack: list[Any], role: Role, form: Form) -> None:
    """Put a container on the stack."""
    stack.append(Piece(form.closing, Role.CLOSE))
    for i in range(len(form.items) - 1, -1, -1):
        stack.append(form.items[i])
        if form.labels:
            stack.append(Piece(f"{form.labels[i]}: "))
        if i:
            stack.append(COMMA)
    stack.append(Piece(form.opening, role))


def show_scalar(x: Any) -> str:
    """A number as its shortest exact text, a string in quotes."""
    if isinstance(x, str):
        return quote(x)
    if not hasattr(x, "dtype"):  # a Python number in an instance that Python built
        return str(x)
    return shortest(x) if is_float(dtype_name(x.dtype)) and np.isfinite(x) else str(x)


def show_tensor(a: np.ndarray[Any, Any]) -> str:
    """A tensor as nested lists, with the middle of each long axis left out when there are many elements."""
    if a.ndim == 0:
        return show_scalar(a[()])
    return np.array2string(
        a, separator=", ", threshold=MAX_SHOWN_ELEMENTS, max_line_width=100, formatter={"all": show_scalar}
    )


def show_statistics(a: np.ndarray[Any, Any]) -> str:
    """A small tensor as nested lists; of a large one the type, the least, mean and greatest of its finite
    elements, and how many are NaN and infinite.
    """
    if a.size <= MAX_ON_LINE:
        return show_tensor(a)
    dtype = dtype_name(a.dtype)
    name = str(TensorType(a.shape, dtype))
    if dtype == "string":
        return name
    if dtype == "bool":
        return f"{name}, {np.count_nonzero(a)} of {a.size} True"
    numbers = a.astype("float64")
    finite = numbers[np.isfinite(numbers)]
    parts = [name]
    if finite.size:
        parts += [f"least {finite.min():.6g}", f"mean {finite.mean():.6g}", f"greatest {finite.max():.6g}"]
    for count, what in ((np.isnan(numbers).sum(), "NaN"), (np.isinf(numbers).sum(), "infinite")):
        parts += [f"{count} {what}"] if count else []
    return ", ".join(parts)
