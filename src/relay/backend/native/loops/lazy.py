"""Tensors that are not in memory: elements are computed where they are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from relay.backend.native.llvm.builder import Value
from relay.backend.native.llvm.vectors import OneByOne, Run
from relay.backend.native.loops.elements import one
from relay.backend.native.loops.indices import Index, value
from relay.backend.native.loops.loops import Loops
from relay.backend.native.loops.scalars import Number
from relay.backend.native.loops.space import is_pointwise, operands
from relay.backend.native.loops.views import View
from relay.backend.native.memory.representation import scalar
from relay.backend.native.memory.tensors import place_of
from relay.ir.expr import Call, Expr
from relay.ir.type import TensorType
from relay.op.kind import Fusion, NativeRule

DEEPEST = 16
"""How many operators that read at other places stand behind each other; each is a few frames of Python."""


@dataclass(eq=False)
class Room:
    """Memory for the elements of a row, beside each other for each lane if lanes are rows."""

    data: Value
    kind: str
    axes: Sequence[int]
    counts: Sequence[Index]
    ahead: Sequence[tuple[View, Index, bool]] = ()
    """Tensors that are fetched while it fills: how far on from the element at hand, and whether to write."""
    is_used: bool = False
    is_full: bool = False
    """Whether all of the row has been computed."""


class Lazy:
    """The result of an operator, an element at a time."""

    def __init__(self, b: Loops, call: Call, views: Sequence[Any], sizes: Sequence[Index]) -> None:
        """`views` are the operands."""
        self.b = b
        self.call = call
        self.views = views
        self.sizes = list(sizes)
        self.type = cast("TensorType", b.program.types(call))
        self.dtype = str(self.type.dtype)
        self.is_reduction = call.attrs.native_rule is NativeRule.REDUCTION
        self.may_run = True
        """Whether a reduction may be computed where it is read."""
        self.room: Room | None = None
        """What keeps its elements of the row at hand."""
        below = self.read = [x for x in operands(self) if isinstance(x, Lazy)]
        self.same = [x for x in below if is_pointwise(call) and x.sizes == self.sizes]
        """Operands that are read at the very index at which this is."""
        self.depth = max([x.depth + (x not in self.same) for x in below], default=0)

    def at(self, index: Sequence[Index]) -> Number:
        """The element at an index; one that has been computed on the way here is not again."""
        place = self.place(index)
        pending = [self]
        while pending:
            x = pending[-1]
            missing = [y for y in x.same if not x.b.knows((y, place))]
            if missing:
                pending += missing
            else:
                x.b.once((x, place), lambda x=x: x.computed(place))
                pending.pop()
        return self.b.once((self, place), self.never)

    def place(self, index: Sequence[Index]) -> tuple[Index, ...]:
        """An index as the element there is known by, however it has been computed."""
        return tuple([0 if d == 1 else i for i, d in zip(index, self.sizes, strict=True)])

    def computed(self, place: tuple[Index, ...]) -> Number:
        """An element, which is kept or has been where there is room for it."""
        if not self.may_run:
            raise OneByOne
        if self.room is not None and not self.b.code.lanes:
            self.room.is_used = False
        if self.room is None or not self.b.code.lanes:
            return one(self.b, self.call.attrs, self.views, place)
        p = self.kept_at(self.room, place)
        if self.room.is_full:
            found = self.b.code.load_lanes(self.room.kind, p)
            return Number(self.dtype, self.b.code.cast("trunc", found, scalar(self.dtype)))
        found = one(self.b, self.call.attrs, self.views, place)
        code = self.b.code
        self.room.is_used = True
        code.store_lanes(code.cast("zext", code.spread(found.value), self.room.kind), p)
        for view, beyond, is_written in self.room.ahead:
            view.fetch(place, beyond, is_written)
        return found

    def kept_at(self, room: Room, place: tuple[Index, ...]) -> Value:
        """Where an element is kept."""
        b = self.b
        at = b.position([place[a] for a in room.axes], room.counts)
        first = at.first if isinstance(at, Run) else b.times(at, b.code.lanes)
        return place_of(b.code, room.data, room.kind, value(first))

    def never(self) -> Number:
        """It has just been computed."""
        raise AssertionError("an element that was computed is known")


def may_wait(e: Call, readers: Sequence[Expr], same_shape: bool, depth: int) -> bool:
    """Whether an element is computed where it is read: once, and not again for each of many that read it."""
    op: Any = e.attrs
    if depth >= DEEPEST or any(not isinstance(u, Call) or reads_often(u) for u in readers):
        return False
    if len(readers) > 1:
        return same_shape and all(map(is_pointwise, readers))
    (reader,) = readers
    if op.fusion in (Fusion.REDUCTION, Fusion.KERNEL, Fusion.OPAQUE):
        return same_shape and cast("Any", reader).attrs.fusion in (Fusion.ELEMENTWISE, Fusion.BROADCAST)
    return same_shape or not is_pointwise(reader) or not e.args or op.fusion is Fusion.INJECTIVE


def reads_often(e: Expr) -> bool:
    """Whether an operator reads an element of its operands any number of times."""
    op: Any = cast("Call", e).attrs
    return op.native_rule is NativeRule.WHOLE or op.fusion in (Fusion.KERNEL, Fusion.OPAQUE)
