"""Tensors as operators see them: elements in memory, read and written by index."""

from collections.abc import Sequence
from typing import Any, TypeGuard, cast

from relay.backend.native.code import Value
from relay.backend.native.indices import Index, Indices, value
from relay.backend.native.memory import release
from relay.backend.native.representation import POINTER, scalar
from relay.backend.native.scalars import Number
from relay.backend.native.tensors import (
    DATA,
    DIMS,
    element,
    elements,
    new_tensor,
    set_element,
    set_elements,
)
from relay.backend.native.vectors import OneByOne, Run
from relay.ir.type import TensorType, TupleType, Type


class View:
    """A tensor in memory, or a number."""

    def __init__(self, b: Indices, t: TensorType, found: Value, is_in_memory: bool = False) -> None:
        """`found` is the object; or the number, if the rank is 0 and it is not in memory."""
        self.b = b
        self.dtype = str(t.dtype)
        self.found = found
        code = b.code
        self.sizes: list[Index] = [
            d if isinstance(d, int) else code.load("i64", code.at(found, DIMS + 8 * i))
            for i, d in enumerate(cast("tuple[Any, ...]", t.shape))
        ]
        has_data = is_in_memory or bool(self.sizes)
        self.data = code.load(POINTER, code.at(found, DATA)) if has_data else None

    def at(self, index: Sequence[Index]) -> Number:
        """The element at an index."""
        if self.data is None:
            return Number(self.dtype, self.found)
        at, leaf = self.b.position(index, self.sizes), scalar(self.dtype)
        if self.b.code.is_partial and not is_several(at):
            at = self.b.code.spread(value(at))
        if is_several(at):
            return Number(self.dtype, elements(self.b.code, self.data, leaf, at))
        return Number(self.dtype, element(self.b.code, self.data, leaf, value(at)))

    def put(self, index: Sequence[Index], x: Number) -> None:
        """Write an element."""
        assert self.data is not None
        at = self.b.position(index, self.sizes)
        if isinstance(at, Run):
            set_elements(self.b.code, self.data, at, x.value)
        elif self.b.code.lanes:
            raise OneByOne
        else:
            set_element(self.b.code, self.data, value(at), x.value)

    def leaf(self) -> Value:
        """What the program goes on with: the object, or the number that was written."""
        if self.sizes:
            return self.found
        made = self.at(())
        release(self.b.code, [self.found])
        return made.value


def is_several(at: Index) -> TypeGuard[Value | Run]:
    """Whether an index has a place for each lane."""
    return not isinstance(at, int) and (isinstance(at, Run) or at.type[0] == "<")


def operand(b: Indices, t: Type, row: Sequence[Value]) -> "View | tuple[View, ...]":
    """What an operator sees of an operand."""
    if isinstance(t, TupleType):
        return tuple([View(b, cast("TensorType", f), v) for f, v in zip(t.fields, row, strict=True)])
    return View(b, cast("TensorType", t), row[0])


def new_output(b: Indices, t: TensorType, sizes: Sequence[Index]) -> View:
    """A new tensor to write to; one number is kept in memory until it is complete."""
    p = new_tensor(b.code, b.program.layouts, t, [value(d) for d in sizes])
    out = View(b, t, p, is_in_memory=True)
    out.sizes = list(sizes)
    return out
