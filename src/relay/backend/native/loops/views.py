"""Tensors as operators see them: elements in memory, read and written by index."""

from collections.abc import Sequence
from typing import Any, ClassVar, TypeGuard, cast

from relay.backend.native.llvm.builder import Value
from relay.backend.native.llvm.vectors import OneByOne, Run
from relay.backend.native.loops.indices import Index, Indices, value
from relay.backend.native.loops.scalars import Number
from relay.backend.native.memory.layout import TENSOR_DATA_OFFSET, TENSOR_SIZES_OFFSET
from relay.backend.native.memory.objects import release
from relay.backend.native.memory.representation import POINTER, SIZES, memory, scalar
from relay.backend.native.memory.tensors import (
    element,
    elements,
    new_tensor,
    place_of,
    set_element,
    set_elements,
)
from relay.ir.type import TensorType, TupleType, Type

LINE = 64
"""Bytes that caches fetch at once, on most processors."""


class View:
    """A tensor in memory, or a number."""

    call: ClassVar[None] = None
    """No operator that computes it where it is read, as a `Lazy` has."""

    def __init__(self, b: Indices, t: TensorType, found: Value, is_in_memory: bool = False) -> None:
        """`found` is the object; or the number, if the rank is 0 and it is not in memory."""
        self.b = b
        self.dtype = str(t.dtype)
        self.found = found
        code = b.code
        self.sizes: list[Index] = [
            d if isinstance(d, int) else code.load("i64", code.at(found, TENSOR_SIZES_OFFSET + 8 * i))
            for i, d in enumerate(cast("tuple[Any, ...]", t.shape))
        ]
        has_data = is_in_memory or bool(self.sizes)
        self.data = code.load(POINTER, code.at(found, TENSOR_DATA_OFFSET)) if has_data else None

    def place(self, index: Sequence[Index]) -> Index:
        """How many elements come before one in memory."""
        return self.b.position(index, self.sizes)

    def at(self, index: Sequence[Index]) -> Number:
        """The element at an index."""
        if self.data is None:
            return Number(self.dtype, self.found)
        at, leaf = self.place(index), scalar(self.dtype)
        if self.b.code.is_partial and not is_several(at):
            at = self.b.code.spread(value(at))
        if is_several(at):
            return Number(self.dtype, elements(self.b.code, self.data, leaf, at))
        return Number(self.dtype, element(self.b.code, self.data, leaf, value(at)))

    def put(self, index: Sequence[Index], x: Number) -> None:
        """Write an element."""
        assert self.data is not None
        at = self.place(index)
        if isinstance(at, Run):
            set_elements(self.b.code, self.data, at, x.value)
        elif self.b.code.lanes:
            raise OneByOne
        else:
            set_element(self.b.code, self.data, value(at), x.value)

    def fetch(self, index: Sequence[Index], beyond: Index, is_written: bool) -> None:
        """Have the processor fetch neighbours, the first of them so far on from an index."""
        code, at = self.b.code, self.b.plus(self.b.position(index, self.sizes), beyond)
        if self.data is None or not isinstance(at, Run) or at.step != 1:
            return
        kind = memory(scalar(self.dtype))
        first = place_of(code, self.data, kind, value(at.first))
        for line in range(0, code.lanes * SIZES[kind], LINE):
            code.do(f"call void @llvm.prefetch.p0({code.at(first, line)}, i32 {is_written:d}, i32 3, i32 1)")

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


def operand(b: Indices, t: Type, row: Sequence[Value]) -> Any:
    """What an operator sees of an operand: a view of a tensor, a tuple of what it sees of the fields."""
    leaves = iter(row)
    done: list[list[Any]] = [[]]
    pending: list[Type | None] = [t]
    while pending:
        part = pending.pop()
        if part is None:
            fields = tuple(done.pop())
            done[-1].append(fields)
        elif isinstance(part, TupleType):
            done.append([])
            pending += [None, *reversed(part.fields)]
        else:
            done[-1].append(View(b, cast("TensorType", part), next(leaves)))
    return done[0][0]


def views_in(x: Any) -> list[Any]:
    """The views that a tuple of them, or of such tuples, is made of."""
    found: list[Any] = []
    pending = [x]
    while pending:
        part = pending.pop()
        if isinstance(part, tuple):
            pending += reversed(cast("tuple[Any, ...]", part))
        else:
            found.append(part)
    return found


def new_output(b: Indices, t: TensorType, sizes: Sequence[Index]) -> View:
    """A new tensor to write to; one number is kept in memory until it is complete."""
    p = new_tensor(b.code, b.program.layouts, t, [value(d) for d in sizes])
    out = View(b, t, p, is_in_memory=True)
    out.sizes = list(sizes)
    return out
