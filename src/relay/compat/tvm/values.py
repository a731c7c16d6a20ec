"""Values as scripts take them apart: arrays with `.numpy()`, tuples and instances of data types by `[i]`."""

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from relay.compat.tvm.arrays import NDArray
from relay.interpreter.value import ConstructorValue as Instance
from relay.interpreter.value import RefValue as Cell
from relay.ir.expr import Constructor

__all__ = ["ADT", "Closure", "ConstructorValue", "RefValue", "given", "shown", "tuple_object"]


class ADT(tuple[Any, ...]):
    """The values in a tuple, or in an instance of a data type, whose constructor is number `tag`."""

    tag: int
    value: Any
    """What it is to a program."""

    def __new__(cls, tag: int, fields: Any) -> Self:
        """A tuple of values; `ConstructorValue` makes an instance of a data type."""
        values = tuple([given(x) for x in fields])
        made = super().__new__(cls, values)
        made.tag = tag
        made.value = values
        return made

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return [shown(x) for x in found] if isinstance(index, slice) else shown(found)

    def __iter__(self) -> Iterator[Any]:
        return iter([shown(x) for x in super().__iter__()])


class ConstructorValue(ADT):
    """An instance of a data type: `constructor`, its number `tag`, the `fields` that it was applied to."""

    constructor: Constructor

    def __new__(cls, tag: int, fields: Any, constructor: Constructor) -> Self:
        """An instance of a constructor, whose number `tag` is."""
        made = super().__new__(cls, tag, fields)
        made.constructor = constructor
        made.value = Instance(constructor, made.value)
        return made

    @property
    def fields(self) -> list[Any]:
        """The values that the constructor was applied to."""
        return list(self)

    def __str__(self) -> str:
        return str(self.value)

    __repr__ = __str__


def tuple_object(fields: Any = ()) -> ADT:
    """A tuple of values."""
    return ADT(0, fields)


class RefValue:
    """A mutable cell."""

    def __init__(self, value: Any) -> None:
        """`value` is what it holds at first."""
        self.cell = Cell(given(value))

    @property
    def value(self) -> Any:
        """What it holds."""
        return shown(self.cell.value)


class Closure:
    """A function that a program has given, to be called with arrays."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """`function` takes and gives values of programs."""
        self.function = function

    def __call__(self, *args: Any, **named: Any) -> Any:
        found = self.function(*[given(x) for x in args], **{name: given(x) for name, x in named.items()})
        return shown(found)


def shown(x: Any) -> Any:
    """A value of a program as scripts take it; what is in it is looked at when they ask for it."""
    if isinstance(x, tuple):
        return x if isinstance(x, ADT) else ADT(0, x)
    if isinstance(x, Instance):
        return ConstructorValue(x.tag, x.fields, x.constructor)
    if isinstance(x, Cell):
        made = RefValue(())
        made.cell = x
        return made
    if isinstance(x, str | Closure):
        return x
    return Closure(x) if callable(x) else np.asarray(x).view(NDArray)


def given(x: Any) -> Any:
    """An argument or a value of a script as a program takes it."""
    match x:
        case ADT():
            return x.value
        case RefValue():
            return x.cell
        case Closure():
            return x.function
        case list() | tuple():
            return tuple([given(v) for v in x])  # pyright: ignore[reportUnknownVariableType]
        case _:
            return x
