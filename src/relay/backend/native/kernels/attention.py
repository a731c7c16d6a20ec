"""Attention block by block of rows: scores, what becomes of their rows, and the product with these.

The matrices of a stack, and blocks of rows of each, are what threads share.  A thread has memory for the
scores of a block, and for the operands of one matrix as tiles read them, which stay in its cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

from relay.backend.native.kernels.attention_recognition import Attention
from relay.backend.native.kernels.blocks import SUM, Blocks, Factor
from relay.backend.native.kernels.tile import LINE, PITCH
from relay.backend.native.llvm.builder import Value
from relay.backend.native.loops.indices import Index, value
from relay.backend.native.loops.loops import Loops
from relay.backend.native.loops.rows import WHOLE, Rows
from relay.backend.native.loops.strides import Strided
from relay.backend.native.loops.views import View
from relay.backend.native.loops.work_partition import with_room
from relay.backend.native.memory.representation import SIZES, scalar

ROWS = 144
"""The most rows of a block, about."""
ROOMS = 2
"""Rows that are kept of what several passes read, where it is not known how long they are."""
WIDEST = 8
"""Bytes of the numbers in them, at most."""
SLOWER = 1.5
"""What a product takes here, with what becomes of the rows, in what it takes alone."""


class Scores(View):
    """The scores of a block, by their places among all."""

    def __init__(self, b: Loops, dtype: str, sizes: Sequence[Index]) -> None:
        """`sizes` are those of all scores."""
        self.b = b
        self.dtype = dtype
        self.sizes = list(sizes)
        self.data: Value | None = None
        self.top: Index = 0
        """The first row of the block."""
        line = LINE // SIZES[scalar(dtype)]
        pairs = b.quotient(b.plus(sizes[-1], 2 * line - 1), 2 * line)
        self.pitch = b.times(b.plus(b.times(pairs, 2), 1), line)
        """Numbers between two rows: an odd number of cache lines, so that rows begin in different sets."""

    def place(self, index: Sequence[Index]) -> Index:
        """Within the block."""
        *_, i, j = index
        return self.b.plus(self.b.times(self.b.minus(i, self.top), self.pitch), j)

    def fetch(self, index: Sequence[Index], beyond: Index, is_written: bool) -> None:
        """They are in the cache."""


@dataclass(frozen=True)
class Operand:
    """A stack of matrices in memory: where it begins, and its axes."""

    data: Value
    dtype: str
    sizes: Sequence[Index]
    strides: Sequence[Index]

    @classmethod
    def of(cls, b: Loops, x: Strided, view: View) -> "Operand":
        """A tensor that lies in the memory of another."""
        assert view.data is not None
        data = b.code.at(view.data, value(b.times(b.size(x.start), SIZES[scalar(view.dtype)])))
        return cls(data, view.dtype, *[[b.size(d) for d in dims] for dims in (x.sizes, x.strides)])

    @property
    def turned(self) -> bool:
        """Whether columns, not rows, lie side by side."""
        return self.strides[-1] != 1

    @property
    def pitch(self) -> Index:
        """Numbers between two of these."""
        return self.strides[-2 if self.strides[-1] == 1 else -1]


class Attending:
    """Attention on its way to code."""

    def __init__(self, b: Loops, plan: Attention, scores: Scores, rows: Rows) -> None:
        """`rows` write what becomes of the scores in their place."""
        self.b, self.plan, self.scores, self.rows = b, plan, scores, rows
        *self.stack, self.count, self.keys = scores.sizes
        depth, width = b.size(plan.queries.sizes[-1]), b.size(plan.values.sizes[-1])
        self.first = Blocks(b, scores.dtype, self.count, depth, self.keys, scores.pitch)
        self.second = Blocks(b, scores.dtype, self.count, self.keys, width, b.size(plan.out.strides[-2]))
        self.first.is_shared = self.second.is_shared = False
        self.second.first_pitch = scores.pitch
        self.high, self.blocks = self.high_blocks()

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
        sizes = self.sizes_of_rooms()
        whole: Index = 0
        for size in sizes:
            whole = b.plus(whole, size)
        steps = b.times(b.times(self.high, self.keys), b.plus(self.first.depth, self.second.columns))

        def share(begin: Index, end: Index, at: Value) -> None:
            self.hand_out(at, sizes)
            b.loop(b.minus(end, begin), (), lambda i, _: self.part(begin, i, operands, out))

        with_room(b, total, share, (self.scores.dtype, whole), SUM * SLOWER, steps)

    # --- the memory of a thread ---

    def sizes_of_rooms(self) -> list[Index]:
        """How many numbers there are of keys, values, queries, scores, and rows that are kept."""
        b, first, second = self.b, self.first, self.second
        row = b.times(first.parts(self.keys, WHOLE), WHOLE * WIDEST // first.size)
        return [
            b.times(b.times(first.panels, first.depth), first.width),
            b.times(b.times(second.panels, second.depth), second.width),
            b.times(b.times(first.rounds, self.high), PITCH),
            b.times(self.high, self.scores.pitch),
            *[row] * (0 if isinstance(self.keys, int) else ROOMS),
        ]

    def hand_out(self, at: Value, sizes: Sequence[Index]) -> None:
        """Say where each is."""
        places: list[Value] = []
        done: Index = 0
        for size in sizes:
            places.append(self.first.address(at, done, self.first.size))
            done = self.b.plus(done, size)
        self.first.second, self.second.second, self.first.first, self.scores.data, *self.rows.spare = places

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
        self.scores.top = top
        b.loop(n, (), lambda r, _: self.rows.row((*stack, b.plus(top, r), 0)))
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
        return Factor(data, x.dtype, x.turned, x.pitch)
