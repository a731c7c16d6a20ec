"""What is shown of a value: a line, its type, its parts a page at a time, and statistics of tensors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay.debugger.calls import Variable, captured
from relay.debugger.machine import Layout
from relay.interpreter.code import Code
from relay.interpreter.functions import ConstructorFunction, OperatorValue
from relay.interpreter.show import show_line
from relay.interpreter.value import (
    Closure,
    ConstructorValue,
    FunctionValue,
    RefValue,
    is_array,
    is_tensor,
    is_tuple,
)
from relay.ir.dtype import dtype_name
from relay.ir.type import TensorType, Type

FIRST_VALUES = 8
"""How many elements statistics list."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a value: its name, and its value, or a text where it is something that is known of it."""

    name: str
    value: Any = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a value: those with names, which `named` makes, and others, of which `page` makes some."""

    named_count: int = 0
    named: Callable[[], Sequence[Part]] = tuple
    count: int = 0
    page: Callable[[int, int], list[Part]] = lambda start, end: []


def shown(value: Any) -> str:
    """A value in a line; of large tensors what says most about them."""
    return show_line(value)


def type_text(value: Any, static: Type | None = None) -> str:
    """The type of a value; of what shows none, the static one."""
    if isinstance(value, str):
        return "string"
    if is_tensor(value):
        return str(TensorType(value.shape, dtype_name(value.dtype)))
    if static is not None:
        return str(static)
    if isinstance(value, ConstructorValue):
        return value.constructor.belong_to.name_hint
    if is_tuple(value):
        return f"a tuple of {len(value)}"
    return "Ref" if isinstance(value, RefValue) else "fn"


def parts_of(value: Any, layouts: dict[Code, Layout]) -> Parts:
    """What a value consists of."""
    if is_array(value):
        return _of_tensor(value)
    if is_tuple(value):
        return _listed(value, ".{}")
    if isinstance(value, ConstructorValue):
        return _of_instance(value)
    if isinstance(value, RefValue):
        return Parts(1, lambda: [Part("value", value.value)])
    if isinstance(value, Closure):
        parts = [*_place_of(value), *[Part(f"%{v.name}", v.value) for v in captured(value, layouts)]]
        return Parts(len(parts), lambda: parts)
    return Parts()


def has_parts(value: Any) -> bool:
    """Whether a value can be opened; without looking at all of it."""
    if isinstance(value, FunctionValue):
        return not isinstance(value, OperatorValue | ConstructorFunction)
    if isinstance(value, ConstructorValue):
        return bool(value.fields)
    return is_array(value) or isinstance(value, RefValue) or (is_tuple(value) and len(value) > 0)


def _listed(items: Any, name: str) -> Parts:
    def page(start: int, end: int) -> list[Part]:
        return [Part(name.format(i), items[i]) for i in range(start, min(end, len(items)))]

    return Parts(0, tuple, len(items), page)


def _of_tensor(a: np.ndarray[Any, Any]) -> Parts:
    rows = _listed(a, "[{}]")
    count = len(statistics(a[:0]))

    def named() -> list[Part]:
        return [Part(name, None, text) for name, text in statistics(a).items()]

    return Parts(count, named, rows.count, rows.page)


def _of_instance(x: ConstructorValue) -> Parts:
    names = x.constructor.field_names
    if len(names) == len(x.fields) > 0:
        return Parts(len(names), lambda: [Part(n, v) for n, v in zip(names, x.fields, strict=True)])
    elements = x.elements()
    return _listed(x.fields, "{}") if elements is None else _listed(elements, "[{}]")


def _place_of(closure: Closure) -> list[Part]:
    span = closure.function.span
    return [] if span is None else [Part("defined", None, f"{span.source.name}:{span.line}")]


def statistics(a: np.ndarray[Any, Any]) -> dict[str, str]:
    """What is known of a tensor: shape, dtype, least, greatest, mean and standard deviation of its finite
    elements, how many are NaN and infinite, and its first elements.
    """
    dtype = dtype_name(a.dtype)
    found = {"shape": str(tuple(a.shape)), "dtype": dtype}
    if dtype == "bool":
        found["True"] = f"{np.count_nonzero(a)} of {a.size}"
    elif dtype != "string":
        numbers = a.astype("float64")
        finite = numbers[np.isfinite(numbers)]
        with np.errstate(all="ignore"):
            for statistic in (np.min, np.max, np.mean, np.std):
                found[statistic.__name__] = f"{statistic(finite):.6g}" if finite.size else "no element"
        found["NaN"] = str(int(np.isnan(numbers).sum()))
        found["infinite"] = str(int(np.isinf(numbers).sum()))
    first = a.reshape(-1)[:FIRST_VALUES]
    found["first"] = show_line(first).strip("[]") + (", …" if a.size > FIRST_VALUES else "")
    return found


def described(variable: Variable) -> str:
    """A variable with its value and its type, in a line."""
    return f"%{variable.name} = {shown(variable.value)} : {type_text(variable.value, variable.type)}"
