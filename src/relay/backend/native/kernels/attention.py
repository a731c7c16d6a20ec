"""Attention block by block of rows: scores, what becomes of their rows, and the product with these.

The matrices of a stack, and blocks of rows of each, are what threads share.  A thread has memory for the
scores of a block, and for the operands of one matrix as tiles read them, which stay in its cache.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm

from relay.backend.native.kernels.attention_recognition import Attention
from relay.backend.native.kernels.blocks import PRODUCT_NANOSECONDS, Blocks
from relay.backend.native.kernels.operands import Factor
from relay.backend.native.kernels.ranges import ranges_with_buffer
from relay.backend.native.kernels.tile import CACHE_LINE_BYTES, PACKED_PITCH
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.deferred import Deferred, Rows
from relay.backend.native.loops.keep_rows import PADDED_ELEMENTS
from relay.backend.native.loops.nodes import Buffer, Index, Store, Value
from relay.backend.native.loops.strides import Strided
from relay.backend.native.loops.views import View
from relay.backend.native.memory.representation import SIZES, scalar

ROWS = 144
"""The most rows of a block, about."""
KEPT_ROWS = 2
"""Rows that there is memory for to keep what several loops read, where it is not known how long they are."""
KEPT_BYTES = 8
"""Bytes of an element of these, at most."""
SLOWER = 1.5
"""What a product takes here, with what becomes of the rows, in what it takes alone."""


class Scores(View):
    """The scores of a block, by their places among all."""

    def __init__(self, b: Builder, dtype: str, sizes: Sequence[Index]) -> None:
        """`sizes` are those of all scores."""
        self.b = b
        self.dtype = dtype
        self.sizes = list(sizes)
        self.data: Value | None = None
        self.name = "scores"
        self.count: Index = 0
        """How many numbers a block of them has, with what lies between rows."""
        self.top: Index = 0
        """The first row of the block."""
        line = CACHE_LINE_BYTES // SIZES[scalar(dtype)]
        pairs = b.quotient(b.plus(sizes[-1], 2 * line - 1), 2 * line)
        self.pitch = b.times(b.plus(b.times(pairs, 2), 1), line)
        """Numbers between two rows: an odd number of cache lines, so that rows begin in different sets."""

    @property
    def buffer(self) -> Buffer:
        """The scores of the block."""
        assert self.data is not None
        return Buffer(self.data, self.dtype, (self.count,), self.name)

    def place(self, index: Sequence[Index]) -> tuple[Index]:
        """Where a score is within the block."""
        *_, i, j = index
        return (self.b.plus(self.b.times(self.b.minus(i, self.top), self.pitch), j),)

    def at(self, index: Sequence[Index]) -> Value:
        """The score at an index."""
        return self.b.read(self.buffer, self.place(index))

    def put(self, index: Sequence[Index], x: Value) -> None:
        """Write what becomes of a score."""
        self.b.add_statement(Store(self.buffer, self.place(index), x))


@dataclass(frozen=True)
class Operand:
    """A stack of matrices in memory: where it begins, and its axes."""

    data: Value
    dtype: str
    sizes: Sequence[Index]
    strides: Sequence[Index]

    @classmethod
    def of(cls, b: Builder, x: Strided, view: View) -> "Operand":
        """A tensor that lies in the memory of another."""
        assert view.data is not None, "matrices are in memory"
        data = b.address(view.data, b.times(b.size(x.start), SIZES[scalar(view.dtype)]))
        return cls(data, view.dtype, *[[b.size(d) for d in dims] for dims in (x.sizes, x.strides)])

    @property
    def is_transposed(self) -> bool:
        """Whether columns, not rows, lie side by side."""
        return self.strides[-1] != 1

    @property
    def pitch(self) -> Index:
        """Numbers between two of these."""
        return self.strides[-2 if self.strides[-1] == 1 else -1]


class Attending:
    """Attention on its way to code."""

    def __init__(
        self, b: Builder, plan: Attention, scores: Scores, rows: Rows, outs: Mapping[Deferred, View]
    ) -> None:
        """`rows` compute `outs`: what becomes of the scores, which is written in their place."""
        self.b, self.plan, self.scores, self.rows, self.outs = b, plan, scores, rows, outs
        self.kept: Sequence[Value] = ()
        """Memory for whole rows, where it is not known how long these are."""
        *self.stack, self.count, self.keys = scores.sizes
        depth, width = b.size(plan.queries.sizes[-1]), b.size(plan.values.sizes[-1])
        self.first = Blocks(b, scores.dtype, self.count, depth, self.keys, scores.pitch)
        self.second = Blocks(b, scores.dtype, self.count, self.keys, width, b.size(plan.out.strides[-2]))
        self.first.is_shared = self.second.is_shared = False
        self.second.first_pitch = scores.pitch
        self.high, self.blocks = self.high_blocks()
        scores.count = b.times(self.high, scores.pitch)

    def high_blocks(self) -> tuple[Index, Index]:
        """The rows of a block, and how many blocks a matrix has."""
        b, n = self.b, self.count
        blocks = b.larger(1, self.first.parts(n, ROWS))
        if blocks == 1:
            return n, 1
        high = b.larger(1, self.first.parts(n, blocks))
        if isinstance(high, int):
            even = lcm(self.first.height, self.second.height)
            high = -(-high // even) * even
        return high, self.first.parts(n, high)

    def write(self, operands: Sequence[Operand], out: Operand) -> None:
        """The result, on several threads."""
        b = self.b
        total = b.times(b.count(self.stack), self.blocks)
        sizes = self.buffer_sizes()
        whole: Index = 0
        for size in sizes:
            whole = b.plus(whole, size)
        steps = b.times(b.times(self.high, self.keys), b.plus(self.first.depth, self.second.columns))

        def share(begin: Index, end: Index, at: Value) -> None:
            self.assign_buffers(at, sizes)
            b.loop(b.minus(end, begin), (), lambda i, _: self.part(begin, i, operands, out))

        ranges_with_buffer(b, total, share, (self.scores.dtype, whole), PRODUCT_NANOSECONDS * SLOWER, steps)

    # --- the memory of a thread ---

    def buffer_sizes(self) -> list[Index]:
        """How many numbers there are of keys, values, queries, scores, and rows that are kept."""
        b, first, second = self.b, self.first, self.second
        return [
            b.times(b.times(first.panels, first.depth), first.width),
            b.times(b.times(second.panels, second.depth), second.width),
            b.times(b.times(first.rounds, self.high), PACKED_PITCH),
            self.scores.count,
            *self.kept_sizes(),
        ]

    def kept_sizes(self) -> list[Index]:
        """How many numbers there are of each row that is kept."""
        first = self.first
        padded = first.parts(self.keys, PADDED_ELEMENTS)
        row = self.b.times(padded, PADDED_ELEMENTS * KEPT_BYTES // first.size)
        return [row] * (0 if isinstance(self.keys, int) else KEPT_ROWS)

    def assign_buffers(self, at: Value, sizes: Sequence[Index]) -> None:
        """Say where each is."""
        places = self.places(at, sizes)
        self.first.second, self.second.second, self.first.first, self.scores.data, *self.kept = places

    def places(self, at: Value, sizes: Sequence[Index]) -> list[Value]:
        """Where buffers of those sizes begin, one after the other."""
        places: list[Value] = []
        done: Index = 0
        for size in sizes:
            places.append(self.first.address(at, done, self.first.size))
            done = self.b.plus(done, size)
        return places

    # --- a block of rows ---

    def part(self, begin: Index, i: Index, operands: Sequence[Operand], out: Operand) -> None:
        """A block by its number; what those of a matrix share is moved for the first that a thread has."""
        b = self.b
        queries, keys, values = operands
        number = b.plus(begin, i)
        stack = b.unravelled(b.quotient(number, self.blocks), self.stack)
        block = b.rest(number, self.blocks)
        top = b.times(block, self.high)
        n = self.count if self.blocks == 1 else b.smaller(self.high, b.minus(self.count, top))

        def pack() -> None:
            self.first.pack_panels(self.factor(keys, stack))
            self.second.pack_panels(self.factor(values, stack))

        if self.blocks == 1:
            pack()
        else:
            b.when(b.is_same(b.times(i, block), 0), pack)
        self.scored(self.factor(queries, stack), top, n)
        self.become(stack, top, n)
        place = b.plus(self.place(out, stack), b.times(top, out.pitch))
        self.mixed(self.second.address(out.data, place, self.second.size), n)

    def scored(self, queries: Factor, top: Index, n: Index) -> None:
        """The scores of some rows."""
        b, blocks, to = self.b, self.first, self.first.first
        assert to is not None
        assert blocks.second is not None
        assert self.scores.data is not None
        blocks.pack_rows(queries, (top, n), to, self.high)
        second = blocks.packed(blocks.second)
        blocks.block(
            lambda r, top, rows: blocks.row(to, b.times(r, self.high)),
            second, self.scores.data, (0, n), (0, blocks.panels),
        )  # fmt: skip

    def become(self, stack: Sequence[Index], top: Index, n: Index) -> None:
        """Make of the rows of scores of a block what they become."""
        b = self.b
        self.scores.top = top

        def row(index: tuple[Index, ...], _: object) -> None:
            self.rows.build_row(b, self.outs, (*stack, b.plus(top, index[0]), 0))

        b.for_each([n], (), row, any_order=True, scratch=tuple(self.kept))

    def mixed(self, out: Value, n: Index) -> None:
        """The product of the rows that have become of them and the values."""
        b, blocks, scores = self.b, self.second, self.scores.data
        assert scores is not None
        assert blocks.second is not None
        second = blocks.packed(blocks.second)
        blocks.block(
            lambda r, top, rows: blocks.address(scores, b.times(r, blocks.deep), blocks.size),
            second, out, (0, n), (0, blocks.panels),
        )  # fmt: skip

    # --- operands ---

    def place(self, x: Operand, stack: Sequence[Index]) -> Index:
        """Where the matrix at a place in the stack begins, in numbers."""
        b = self.b
        found: Index = 0
        for i, d, stride in zip(stack, x.sizes[:-2], x.strides[:-2], strict=True):
            found = b.plus(found, 0 if d == 1 else b.times(i, stride))
        return found

    def factor(self, x: Operand, stack: Sequence[Index]) -> Factor:
        """That matrix."""
        data = self.first.address(x.data, self.place(x, stack), SIZES[scalar(x.dtype)])
        return Factor(data, x.dtype, x.is_transposed, x.pitch)
