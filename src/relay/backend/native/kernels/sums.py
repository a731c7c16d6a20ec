"""What operators have in common whose sums kernels write: the result, and what follows it in its group."""

from collections.abc import Callable, Sequence
from math import gcd
from typing import Any, ClassVar, cast

from relay.backend.native.kernels.inner_steps import has_small
from relay.backend.native.kernels.packed_constants import Taps as Taps
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import ADDRESS, Buffer, Index, Value, Var
from relay.backend.native.loops.views import View, new_output
from relay.ir.expr import Constant
from relay.ir.type import TensorType

LANES = 16
"""What follows sums goes at least so many lanes at a time where that leaves none over."""
Put = Callable[[Sequence[Index]], None]
"""What is done with an element that has been computed."""
Tail = Callable[[Index, Index, Index, Index, Buffer | None], None]
"""What is done with a part of the result: its first row, how many, its first column, how many, and its sums,
if these are not with those of the other parts.
"""


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


def are_small(y: Any) -> bool:
    """Whether an operand is a constant of small bytes."""
    return isinstance(y, Weight) and y.dtype == "int8" and has_small(y.constant.value)


class OpenSums(View):
    """Sums that get memory as a whole only if they are asked for as a whole: else each thread has memory for
    the block that it computes, and what follows reads them there.
    """

    def __init__(self, b: Builder, dtype: str, sizes: Sequence[Index]) -> None:
        """Until they have memory they are read as if they lay in some, row after row."""
        self.b, self.dtype, self.sizes = b, dtype, list(sizes)
        self.data = self.found = Var(ADDRESS, "sums")
        self.is_written, self.name = True, ""
        self.place: tuple[Buffer, Sequence[Index]] | None = None
        """The sum that what follows reads next, in the memory of a block."""

    def allocate(self) -> Value:
        """Have memory for all of them: the tensor."""
        made = new_output(self.b, TensorType(self.b.dims(self.sizes), self.dtype), self.sizes)
        self.data, self.found = made.data, made.found
        return made.found

    def at(self, index: Sequence[Index]) -> Value:
        if self.place is None:
            return super().at(index)
        return self.b.read(*self.place)


class Narrowed:
    """Sums as numbers of a shorter dtype."""

    def __init__(self, b: Builder, sums: View, dtype: str) -> None:
        """`sums` holds them."""
        self.b = b
        self.sums = sums
        self.dtype = dtype
        self.sizes = sums.sizes

    def at(self, index: Sequence[Index]) -> Value:
        """The number at an index."""
        return self.b.cast(self.sums.at(index), self.dtype)


class Sums:
    """A call whose result is sums of products."""

    def __init__(self, b: Builder, sizes: Sequence[Index], dtype: str, sums: str) -> None:
        """`sizes` and `dtype` are those of the result, `sums` the dtype to add up in."""
        self.b = b
        self.sizes = list(sizes)
        self.dtype = dtype
        self.sums = sums
        self.lanes = 0
        self.merges_rows = False

    def keep_in_blocks(self) -> bool:
        """Have sums in the memory of blocks, if that can be; what follows them reads them there."""
        return False

    @property
    def is_in_place(self) -> bool:
        """Whether sums have the dtype of the result."""
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

    def run(self, out: View, put: Put | None, lanes: int = 0, merges_rows: bool = False) -> None:
        """Write the sums to `out`; `put(index)` follows for each element, or for `lanes` of them.  With
        `merges_rows` the last axis of the rows that has several places counts through those before it too,
        which are at 0: what is read and written lies at the same place in memory.
        """
        self.lanes, self.merges_rows = lanes, merges_rows
        with self.b.rolled():
            self.write(out, put)

    def write(self, out: View, put: Put | None) -> None:
        """Write the sums to `out`, part by part; `put` follows each."""
        raise AssertionError(f"{type(self).__name__} does not say how it is computed")

    def tail(
        self,
        out: View,
        stack: Sequence[Index],
        row_sizes: Sequence[Index],
        put: Put,
        unit: int,
        shift: Index = 0,
    ) -> Tail:
        """Calls `put` for a part of the result: its rows are those of a shape, its columns are shifted, and a
        multiple of `unit`.
        """
        b = self.b

        def part(top: Index, rows: Index, left: Index, columns: Index, sums: Buffer | None = None) -> None:
            first = b.plus(left, shift)

            def row(i: Index, _: Any) -> None:
                index = [*stack, *self.row(b.plus(top, i), row_sizes)]

                def one(j: Index) -> None:
                    if isinstance(out, OpenSums) and sums is not None:
                        out.place = sums, (i, j)
                    put((*index, b.plus(first, j)))

                self.along(columns, unit, one)

            b.loop(rows, (), row)

        return part

    def row(self, i: Index, sizes: Sequence[Index]) -> list[Index]:
        """The index of a row."""
        if not self.merges_rows or len(sizes) != len(self.sizes) - 1:
            return self.b.unravelled(i, sizes)
        found: list[Index] = [0] * len(sizes)
        longer = [a for a, d in enumerate(sizes) if d != 1]
        if longer:
            found[longer[-1]] = i
        return found

    def along(self, n: Index, unit: int, body: Callable[[Index], None]) -> None:
        """Run `body(i)` for `i` from 0 to `n`, a multiple of `unit`, several at a time if that can be."""
        b, lanes = self.b, gcd(unit, self.lanes)

        def one(index: tuple[Index, ...], _: Any) -> None:
            body(index[0])

        if lanes >= LANES:
            b.for_each([n], (), one, any_order=True, lanes=lanes, is_whole=True)
        elif self.lanes > 1:
            b.for_each([n], (), one, any_order=True, lanes=min(LANES, self.lanes))
        else:
            b.for_each([n], (), one)


class Windowed(Sums):
    """A call that is a convolution."""

    x: View
    """Its data."""

    def prepare(self) -> None:
        """Put a weight where the kernel reads it, once for all that `run` writes afterwards."""

    def stays_on_thread(self) -> bool:
        """Have one thread compute all of the result, if its stack is memory enough."""
        return False
