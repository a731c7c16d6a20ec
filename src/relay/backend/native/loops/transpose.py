"""Tensors whose axes change places: blocks are turned in registers, so that memory is read and written in
whole vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

from relay.backend.native.llvm.builder import Value, integer
from relay.backend.native.llvm.vectors import counting
from relay.backend.native.loops.indices import Index, value
from relay.backend.native.loops.lazy import Lazy
from relay.backend.native.loops.loops import Loops
from relay.backend.native.loops.space import VECTOR
from relay.backend.native.loops.views import View
from relay.backend.native.loops.work_partition import MOVED, each
from relay.backend.native.memory.representation import SIZES, memory, scalar
from relay.backend.native.memory.tensors import place_of
from relay.ir.expr import Call
from relay.ir.type import TensorType, Type
from relay.op.axes import UNCHECKED
from relay.op.reshape import Transpose

FEWEST = 256
"""Elements of a tensor that is worth a pass through memory."""
FEW = 4
"""Rows that are written element by element of all of them, as the channels of an image."""
LARGEST = 16
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


def turned(b: Loops, x: Lazy, out: View) -> bool:
    """Compute a tensor if it is another whose last axis changes its place; else False."""
    if x.call.attrs.name != "transpose" or not isinstance(x.views[0], View):
        return False
    rank, source = len(x.sizes), x.views[0]
    to: list[int] = x.call.attrs.element(b, list(range(rank)), Places(source))
    if rank < 2 or to[-1] == rank - 1 or 0 in x.sizes:
        return False
    Turn(b, source, out, lines(b, source.sizes, to)).write()
    return True


def moves_last(e: Call, t: Type) -> bool:
    """Whether a call of an operator is a tensor whose last axis changes its place, and is more than one."""
    if not isinstance(e.attrs, Transpose) or not isinstance(t, TensorType) or not t.is_closed:
        return False
    order = e.attrs.order(UNCHECKED, len(t.concrete_shape))
    longer = [a for a, d in zip(order, t.concrete_shape, strict=True) if d != 1]
    return bool(longer) and longer[-1] != max(longer) and prod(t.concrete_shape) >= FEWEST


def lines(b: Loops, sizes: Sequence[Index], to: Sequence[int]) -> list[Line]:
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


class Turn:
    """Blocks along the line that is read in the order of memory and the one that is written so."""

    def __init__(self, b: Loops, source: View, out: View, axes: Sequence[Line]) -> None:
        """`axes` are in the order of what is read."""
        self.b = b
        self.code = b.code
        assert source.data is not None
        assert out.data is not None
        self.source, self.out = source.data, out.data
        self.kind = memory(scalar(source.dtype))
        self.lanes = min(LARGEST, VECTOR // SIZES[self.kind])
        self.along = axes[-1]
        self.across = next(x for x in axes if x.written == 1)
        self.outer = [x for x in axes[:-1] if x is not self.across]
        few = self.across.count
        self.woven = few if isinstance(few, int) and few <= FEW and few == self.along.written else 0
        """How many rows there are, if these are few and become one run."""

    def write(self) -> None:
        """The loops over blocks."""
        b, n = self.b, self.lanes
        counts = [self.blocks(x.count) for x in (self.across, self.along)]
        outer = [x.count for x in self.outer]
        is_short = any(isinstance(x.count, int) and x.count < n for x in (self.across, self.along))

        def blocks(index: tuple[Index, ...]) -> None:
            (i, j), places = (index[:2], index[2:]) if is_short else (index[-2:], index[:-2])
            start = [self.sum([b.times(k, x.read) for k, x in zip(places, self.outer, strict=True)])]
            start.append(self.sum([b.times(k, x.written) for k, x in zip(places, self.outer, strict=True)]))
            with b.code.in_lanes(n):
                self.square(start[0], start[1], b.times(i, n), b.times(j, n))

        # The parts of short lines fill cache lines with those of the next place on the other axes.
        order = [*counts, *outer] if is_short else [*outer, *counts]
        each(b, order, blocks, MOVED * n * n)

    def sum(self, parts: Sequence[Index]) -> Index:
        """The sum of indices."""
        found: Index = 0
        for i in parts:
            found = self.b.plus(found, i)
        return found

    def blocks(self, count: Index) -> Index:
        """How many blocks there are along a line."""
        return self.b.quotient(self.b.plus(count, self.lanes - 1), self.lanes)

    def square(self, read: Index, written: Index, i: Index, j: Index) -> None:
        """One block; that at an end is masked."""
        code, n = self.code, self.lanes
        counts = self.across.count, self.along.count
        if all(isinstance(c, int) and c % n == 0 for c in counts):
            self.move(read, written, i, j, None)
            return
        left = [self.b.minus(c, k) for c, k in zip(counts, (i, j), strict=True)]
        fits = [code.compare("icmp sge", value(k), integer(n)) for k in left[bool(self.woven) :]]
        whole, part, end = code.label(), code.label(), code.label()
        code.branch(reduce(lambda x, y: code.op("and", x, y), fits), whole, part)
        code.block(whole)
        if self.woven:
            self.weave(read, written, j)
        else:
            self.move(read, written, i, j, None)
        code.jump(end)
        code.block(part)
        self.move(read, written, i, j, (value(left[0]), value(left[1])))
        code.jump(end)
        code.block(end)

    def move(self, read: Index, written: Index, i: Index, j: Index, left: tuple[Value, Value] | None) -> None:
        """Read the rows of a block, and write its columns; `left` are how many there are."""
        b, code = self.b, self.code
        first = self.sum([read, b.times(i, self.across.read), j])
        then = self.sum([written, b.times(j, self.along.written), i])
        rows: list[Value] = []
        for k in range(self.lanes):
            code.mask = left and self.mask(left[1], left[0], k)
            at = b.plus(first, b.times(k, self.across.read))
            rows.append(code.load_lanes(self.kind, self.place(self.source, at)))
        for k, v in enumerate(code.transposed(rows)):
            code.mask = left and self.mask(left[0], left[1], k)
            at = b.plus(then, b.times(k, self.along.written))
            code.store_lanes(v, self.place(self.out, at))
        code.mask = None

    def weave(self, read: Index, written: Index, j: Index) -> None:
        """Read few rows of a block, and write their elements in turn: whole vectors."""
        b, code, n, count = self.b, self.code, self.lanes, self.woven
        first = b.plus(read, j)
        then = b.plus(written, b.times(j, count))
        rows = [
            code.load_lanes(self.kind, self.place(self.source, b.plus(first, b.times(k, self.across.read))))
            for k in range(count)
        ]
        for v in range(count):
            found = rows[0]
            for k in range(1, count):
                places = [divmod(v * n + lane, count) for lane in range(n)]
                kept = [place if k == 1 else lane for lane, (place, _) in enumerate(places)]
                order = [n + p if row == k else kept[lane] for lane, (p, row) in enumerate(places)]
                found = code.shuffled(found, rows[k], order)
            code.store_lanes(found, self.place(self.out, b.plus(then, v * n)))

    def place(self, data: Value, at: Index) -> Value:
        """The address of an element."""
        return place_of(self.code, data, self.kind, value(at))

    def mask(self, lanes: Value, rows: Value, k: int) -> Value:
        """Which lanes of a row count."""
        code = self.code
        inside = code.compare("icmp slt", counting("i64", self.lanes), lanes)
        there = code.compare("icmp sgt", rows, integer(k))
        return code.op("and", inside, there)
