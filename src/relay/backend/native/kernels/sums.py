"""What operators have in common whose sums kernels write: the result, and what follows it in its group."""

from collections.abc import Callable, Sequence
from math import gcd
from typing import Any, ClassVar, cast

from relay.backend.native.kernels.packed_constants import Taps as Taps
from relay.backend.native.llvm.vectors import OneByOne, Run
from relay.backend.native.loops.indices import Index
from relay.backend.native.loops.loops import Loops
from relay.backend.native.loops.scalars import Number
from relay.backend.native.loops.space import Axes, in_lanes
from relay.backend.native.loops.views import View, new_output
from relay.ir.expr import Constant
from relay.ir.type import TensorType

LANES = 16
"""What follows sums goes at least so many lanes at a time where that leaves none over."""
Put = Callable[[Sequence[Index]], None]
"""What is done with an element that has been computed."""
Tail = Callable[[Index, Index, Index, Index], None]
"""What is done with a part of the result: its first row, how many, its first column, how many."""


class Weight:
    """A constant as an operand: a kernel packs it before the program runs."""

    call: ClassVar[None] = None

    def __init__(self, e: Constant, taps: Sequence[Taps | None] = ()) -> None:
        """`e` is a tensor, of which some elements along each axis are wanted; None is all."""
        self.constant = e
        self.taps = tuple(taps)
        t = cast("TensorType", e.type)
        self.dtype = str(t.dtype)
        shape = t.concrete_shape
        parts = zip(shape, self.taps or [None] * len(shape), strict=True)
        self.sizes: Sequence[Index] = [n if some is None else some.count for n, some in parts]


class Narrowed:
    """Sums as numbers of a shorter base type."""

    def __init__(self, b: Loops, sums: View, dtype: str) -> None:
        """`sums` holds them."""
        self.b = b
        self.sums = sums
        self.dtype = dtype
        self.sizes = sums.sizes

    def at(self, index: Sequence[Index]) -> Number:
        """The number at an index."""
        return self.b.cast(self.sums.at(index), self.dtype)


class Sums:
    """A call whose result is sums of products."""

    def __init__(self, b: Loops, sizes: Sequence[Index], dtype: str, sums: str) -> None:
        """`sizes` and `dtype` are those of the result, `sums` the base type to add up in."""
        self.b = b
        self.sizes = list(sizes)
        self.dtype = dtype
        self.sums = sums
        self.lanes = 0
        self.axes: Sequence[Axes] = ()

    @property
    def is_in_place(self) -> bool:
        """Whether sums have the base type of the result."""
        return self.sums == self.dtype

    def whole(self, t: TensorType) -> View:
        """A new tensor of type `t` with the result."""
        out = new_output(self.b, t, self.sizes)
        if self.is_in_place:
            self.run(out, None)
        else:
            sums = self.b.room(self.sums, self.sizes)
            seen = self.seen(sums)
            self.run(sums, lambda index: out.put(index, seen.at(index)))
        self.b.done()
        return out

    def seen(self, sums: View) -> View | Narrowed:
        """The result, read where its sums are."""
        return sums if self.is_in_place else Narrowed(self.b, sums, self.dtype)

    def run(self, out: View, put: Put | None, lanes: int = 0, axes: Sequence[Axes] = ()) -> None:
        """Write the sums to `out`; `put(index)` follows for each element, or for `lanes` of them.  What
        it reads and writes goes through those of `axes` together that are joined.
        """
        self.lanes, self.axes = lanes, axes
        with self.b.code.rolled():
            self.write(out, put)

    def write(self, out: View, put: Put | None) -> None:
        """The same."""
        raise AssertionError(f"{type(self).__name__} does not say how it is computed")

    def tail(
        self, stack: Sequence[Index], row_sizes: Sequence[Index], put: Put, unit: int, shift: Index = 0
    ) -> Tail:
        """Calls `put` for a part of the result: its rows are those of a shape, its columns are shifted, and a
        multiple of `unit`.
        """
        b = self.b

        def part(top: Index, rows: Index, left: Index, columns: Index) -> None:
            first = b.plus(left, shift)

            def row(i: Index, _: Any) -> None:
                index = [*stack, *self.row(b.plus(top, i), row_sizes)]
                self.along(columns, unit, lambda j: put((*index, b.plus(first, j))))

            b.loop(rows, (), row)

        return part

    def row(self, i: Index, sizes: Sequence[Index]) -> list[Index]:
        """The index of a row."""
        if [a for g in self.axes[:-1] for a in g.axes] != list(range(len(sizes))):
            return self.b.unravelled(i, sizes)
        found: list[Index] = [0] * len(sizes)
        places = self.b.unravelled(i, [g.count(self.b, sizes) for g in self.axes[:-1]])
        for g, place in zip(self.axes[:-1], places, strict=True):
            found[g.at] = place
        return found

    def along(self, n: Index, unit: int, body: Callable[[Index], None]) -> None:
        """Run `body(i)` for `i` from 0 to `n`, a multiple of `unit`, several at a time if that can be."""
        b, code = self.b, self.b.code

        def one(i: Index, _: Any) -> tuple[()]:
            body(i)
            return ()

        lanes = gcd(unit, self.lanes)
        mark = b.mark()
        try:
            if lanes >= LANES:
                with code.in_lanes(lanes):
                    b.loop(b.quotient(n, lanes), (), lambda i, _: one(Run(code, b.times(i, lanes), 1), ()))
                return
            if self.lanes > 1:
                with code.in_lanes(min(LANES, self.lanes)):
                    in_lanes(b, n, (), one)
                return
        except OneByOne:
            b.rewind(mark)
        b.loop(n, (), one)
