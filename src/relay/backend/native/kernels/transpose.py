"""Tensors whose axes change places: blocks are transposed in registers, so that memory is read and written in
whole vectors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from relay.backend.native.kernels.ranges import each
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.cost import MOVED_NANOSECONDS, VECTOR_BYTES
from relay.backend.native.loops.deferred import Deferred
from relay.backend.native.loops.nodes import Buffer, Index, Value
from relay.backend.native.loops.views import View
from relay.backend.native.memory.representation import SIZES, memory, scalar
from relay.ir.expr import Call
from relay.ir.type import TensorType, Type
from relay.op.axes import UNCHECKED
from relay.op.reshape import Transpose

FEWEST_ELEMENTS = 256
"""Elements of a tensor that is worth a pass through memory."""
FEW_ROWS = 4
"""Rows that are written element by element of all of them, as the channels of an image."""
MOST_LANES = 16
"""Lanes of a block at most."""


class Places:
    """What an operator reads, in the place of a tensor: it gives the index back."""

    def __init__(self, x: View) -> None:
        """Stands for `x`."""
        self.sizes = x.sizes
        self.dtype = x.dtype

    def at(self, index: Sequence[Any]) -> list[Any]:
        """The index."""
        return list(index)


@dataclass(frozen=True)
class Line:
    """Neighbouring axes that stay together: how many places, and how far apart they are in memory."""

    count: Index
    read: Index
    written: Index


def transposed(b: Builder, x: Deferred, out: View) -> bool:
    """Compute a tensor if it is another whose last axis changes its place; else False."""
    if x.call.attrs.name != "transpose" or not isinstance(x.views[0], View):
        return False
    rank, source = len(x.sizes), x.views[0]
    to: list[int] = x.call.attrs.element(b, list(range(rank)), Places(source))
    if rank < 2 or to[-1] == rank - 1 or 0 in x.sizes:
        return False
    Transposition(b, source, out, lines(b, source.sizes, to)).write()
    return True


def moves_last(e: Call, t: Type) -> bool:
    """Whether a call of an operator is a tensor whose last axis changes its place, and is more than one."""
    if not isinstance(e.attrs, Transpose) or not isinstance(t, TensorType) or not t.is_closed:
        return False
    order = e.attrs.order(UNCHECKED, len(t.concrete_shape))
    longer = [a for a, d in zip(order, t.concrete_shape, strict=True) if d != 1]
    return bool(longer) and longer[-1] != max(longer) and prod(t.concrete_shape) >= FEWEST_ELEMENTS


def lines(b: Builder, sizes: Sequence[Index], to: Sequence[int]) -> list[Line]:
    """The axes of the tensor that is read, in its order; `to` are their places in the one that is written."""
    rank = len(sizes)
    strides: list[Index] = [b.count(sizes[i + 1 :]) for i in range(rank)]
    after = [sizes[to.index(k)] for k in range(rank)]
    written: list[Index] = [b.count(after[k + 1 :]) for k in to]
    groups: list[list[int]] = []
    for i in range(rank):
        if i and to[i] == to[i - 1] + 1:
            groups[-1].append(i)
        else:
            groups.append([i])
    return [Line(b.count([sizes[i] for i in g]), strides[g[-1]], written[g[-1]]) for g in groups]


class Transposition:
    """Blocks along the line that is read in the order of memory and the one that is written so."""

    def __init__(self, b: Builder, source: View, out: View, axes: Sequence[Line]) -> None:
        """`axes` are in the order of what is read."""
        self.b = b
        assert source.data is not None
        assert out.data is not None
        self.source, self.out = source.data, out.data
        self.dtype = source.dtype
        self.size = SIZES[memory(scalar(source.dtype))]
        self.along = axes[-1]
        self.across = next(x for x in axes if x.written == 1)
        self.outer = [x for x in axes[:-1] if x is not self.across]
        self.lanes = min(MOST_LANES, VECTOR_BYTES // self.size)
        few = self.across.count
        self.woven = few if isinstance(few, int) and few <= FEW_ROWS and few == self.along.written else 0
        """How many rows there are, if these are few and become one run."""

    def write(self) -> None:
        """The loops over blocks."""
        b, n = self.b, self.lanes
        counts = [b.quotient(b.plus(x.count, n - 1), n) for x in (self.across, self.along)]
        outer = [x.count for x in self.outer]
        is_short = any(isinstance(x.count, int) and x.count < n for x in (self.across, self.along))

        def block(index: tuple[Index, ...]) -> None:
            (i, j), places = (index[:2], index[2:]) if is_short else (index[-2:], index[:-2])
            i, j = b.times(i, n), b.times(j, n)
            read = self.sum([b.times(k, x.read) for k, x in zip(places, self.outer, strict=True)])
            written = self.sum([b.times(k, x.written) for k, x in zip(places, self.outer, strict=True)])
            read = self.sum([read, b.times(i, self.across.read), j])
            written = self.sum([written, b.times(j, self.along.written), i])
            self.move(
                b.address(self.source, b.times(read, self.size)),
                b.address(self.out, b.times(written, self.size)),
                b.minus(self.across.count, i),
                b.minus(self.along.count, j),
            )

        # The parts of short lines fill cache lines with those of the next place on the other axes.
        order = [*counts, *outer] if is_short else [*outer, *counts]
        each(b, order, block, MOVED_NANOSECONDS * n * n)

    def move(self, source: Value, to: Value, rows: Index, columns: Index) -> None:
        """A block to its place, of as many rows and columns as are left: at an end, it is masked."""
        b, n = self.b, self.lanes
        counts = self.across.count, self.along.count
        if all(isinstance(x, int) and x % n == 0 for x in counts):
            self.move_square(source, to, None)
        else:
            left = [columns] if self.woven else [rows, columns]
            b.when(
                b.both(*[b.negation(b.is_less(x, n)) for x in left]),
                lambda: self.weave(source, to) if self.woven else self.move_square(source, to, None),
                lambda: self.move_square(source, to, (rows, columns)),
            )

    def row(self, data: Value, k: Index, pitch: Index) -> Buffer:
        """A row, of some that lie so many elements apart."""
        b = self.b
        return Buffer(b.address(data, b.times(b.times(k, pitch), self.size)), self.dtype, (self.lanes,))

    def move_square(self, source: Value, to: Value, left: tuple[Index, Index] | None) -> None:
        """Read the rows of a block, and write its columns; `left` are how many there are of both."""
        b, n = self.b, self.lanes
        square = b.registers(self.dtype, (n, n), "square")
        rows, columns = left or (n, n)

        def vector(k: Index, there: Index, count: Index, body: Callable[[Index], None]) -> None:
            most = n if left is None else b.smaller(b.choose(b.is_less(k, there), count, 0), n)
            b.vector_loop(most, n, body, vectors=1, is_whole=left is None)

        def read(k: Index) -> None:
            row = self.row(source, k, self.across.read)
            vector(k, rows, columns, lambda j: b.write(square, (k, j), b.read(row, (j,))))

        def write(k: Index) -> None:
            row = self.row(to, k, self.along.written)
            vector(k, columns, rows, lambda i: b.write(row, (i,), b.read(square, (k, i))))

        b.unrolled(n, read)
        b.transpose(square)
        b.unrolled(n, write)

    def weave(self, source: Value, to: Value) -> None:
        """Read few rows of a block, and write their elements in turn: whole vectors."""
        b, n = self.b, self.lanes
        strip = b.registers(self.dtype, (self.woven, n), "strip")

        def read(k: Index) -> None:
            row = self.row(source, k, self.across.read)
            b.vector(n, lambda j: b.write(strip, (k, j), b.read(row, (j,))))

        def write(k: Index) -> None:
            row = self.row(to, k, n)
            b.vector(n, lambda j: b.write(row, (j,), b.read(strip, (k, j))))

        b.unrolled(self.woven, read)
        b.transpose(strip)
        b.unrolled(self.woven, write)

    def sum(self, parts: Sequence[Index]) -> Index:
        """The sum of indices."""
        found: Index = 0
        for i in parts:
            found = self.b.plus(found, i)
        return found
