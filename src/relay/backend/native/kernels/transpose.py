"""Tensors whose axes change places: blocks are transposed in registers, so that memory is read and written in
whole vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

from relay.backend.native.kernels.ranges import each
from relay.backend.native.llvm.builder import Code, integer
from relay.backend.native.llvm.builder import Value as Register
from relay.backend.native.llvm.vectors import counting
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.cost import MOVED_NANOSECONDS, VECTOR_BYTES
from relay.backend.native.loops.deferred import Deferred
from relay.backend.native.loops.nodes import Index
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
        kind = memory(scalar(source.dtype))
        self.size = SIZES[kind]
        self.along = axes[-1]
        self.across = next(x for x in axes if x.written == 1)
        self.outer = [x for x in axes[:-1] if x is not self.across]
        lanes = min(MOST_LANES, VECTOR_BYTES // self.size)
        few = self.across.count
        woven = few if isinstance(few, int) and few <= FEW_ROWS and few == self.along.written else 0
        counts = self.across.count, self.along.count
        is_whole = all(isinstance(n, int) and n % lanes == 0 for n in counts)
        self.block = TransposeBlock(kind, lanes, woven, is_whole)

    def write(self) -> None:
        """The loops over blocks."""
        b, n = self.b, self.block.lanes
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
            b.inline(
                self.block,
                b.address(self.source, b.times(read, self.size)),
                b.address(self.out, b.times(written, self.size)),
                b.times(self.across.read, self.size),
                b.times(self.along.written, self.size),
                b.minus(self.across.count, i),
                b.minus(self.along.count, j),
            )

        # The parts of short lines fill cache lines with those of the next place on the other axes.
        order = [*counts, *outer] if is_short else [*outer, *counts]
        each(b, order, block, MOVED_NANOSECONDS * n * n)

    def sum(self, parts: Sequence[Index]) -> Index:
        """The sum of indices."""
        found: Index = 0
        for i in parts:
            found = self.b.plus(found, i)
        return found


@dataclass(frozen=True)
class TransposeBlock:
    """A block of `lanes` rows and columns to its place: where its rows begin, where its columns go, from a
    row to the next and from a column to the next in bytes, and how many rows and columns are left from here.
    """

    kind: str
    """The LLVM type of the elements."""
    lanes: int
    woven: int
    """How many rows there are, if these are few and become one run."""
    is_whole: bool
    """Whether as many rows and columns as there are lanes are known to be left."""

    @property
    def name(self) -> str:
        """What it is called in prints."""
        return "transpose block"

    def emit(self, code: Code, args: Sequence[Register]) -> None:
        """The instructions; a block at an end is masked."""
        source, to, pitch, to_pitch, rows, columns = args
        with code.in_lanes(self.lanes):
            if self.is_whole:
                self.move(code, source, to, pitch, to_pitch, None)
                return
            left = [columns] if self.woven else [rows, columns]
            fits = [code.compare("icmp sge", n, integer(self.lanes)) for n in left]
            whole, part, end = code.label(), code.label(), code.label()
            code.branch(reduce(lambda x, y: code.op("and", x, y), fits), whole, part)
            code.block(whole)
            if self.woven:
                self.weave(code, source, to, pitch)
            else:
                self.move(code, source, to, pitch, to_pitch, None)
            code.jump(end)
            code.block(part)
            self.move(code, source, to, pitch, to_pitch, (rows, columns))
            code.jump(end)
            code.block(end)

    def move(
        self,
        code: Code,
        source: Register,
        to: Register,
        pitch: Register,
        to_pitch: Register,
        left: tuple[Register, Register] | None,
    ) -> None:
        """Read the rows of a block, and write its columns; `left` are how many there are."""
        found: list[Register] = []
        for k in range(self.lanes):
            code.mask = left and self.mask(code, left[1], left[0], k)
            found.append(code.load_lanes(self.kind, self.place(code, source, pitch, k)))
        for k, v in enumerate(code.transposed(found)):
            code.mask = left and self.mask(code, left[0], left[1], k)
            code.store_lanes(v, self.place(code, to, to_pitch, k))
        code.mask = None

    def weave(self, code: Code, source: Register, to: Register, pitch: Register) -> None:
        """Read few rows of a block, and write their elements in turn: whole vectors."""
        n, count = self.lanes, self.woven
        rows = [code.load_lanes(self.kind, self.place(code, source, pitch, k)) for k in range(count)]
        for v in range(count):
            found = rows[0]
            for k in range(1, count):
                places = [divmod(v * n + lane, count) for lane in range(n)]
                kept = [place if k == 1 else lane for lane, (place, _) in enumerate(places)]
                order = [n + p if row == k else kept[lane] for lane, (p, row) in enumerate(places)]
                found = code.shuffled(found, rows[k], order)
            code.store_lanes(found, self.place(code, to, integer(n * SIZES[self.kind]), v))

    def place(self, code: Code, p: Register, pitch: Register, k: int) -> Register:
        """The address of the `k`-th row; it need not be there if no lane counts."""
        if k == 0:
            return p
        by = str(k * int(pitch.ref)) if pitch.ref[0] != "%" else code.op("mul", pitch, integer(k)).ref
        return code.set("ptr", f"getelementptr i8, {p}, i64 {by}")

    def mask(self, code: Code, lanes: Register, rows: Register, k: int) -> Register:
        """Which lanes of a row count."""
        inside = code.compare("icmp slt", counting("i64", self.lanes), lanes)
        there = code.compare("icmp sgt", rows, integer(k))
        return code.op("and", inside, there)
