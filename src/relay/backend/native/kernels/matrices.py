"""Operators that are products of matrices, as kernels compute them."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from relay.backend.native.kernels.block_matrices import BlockMatrix, as_kept
from relay.backend.native.kernels.block_shape import ROWS
from relay.backend.native.kernels.blocks import Blocks
from relay.backend.native.kernels.operands import Factor, First
from relay.backend.native.kernels.packed_constants import Panels
from relay.backend.native.kernels.ranges import ranges_with_buffer
from relay.backend.native.kernels.rounded_products import is_rounded
from relay.backend.native.kernels.rounded_tiles import write_tiles
from relay.backend.native.kernels.stored import (
    KEPT,
    LEAST_NUMBERS,
    MOST_ROUNDED_ROWS,
    MOST_ROWS,
    unit_of,
    with_own_rooms,
    write_rows,
)
from relay.backend.native.kernels.sums import Put, Sums, Weight, are_small
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.deferred import Deferred
from relay.backend.native.loops.nodes import Index, Value
from relay.backend.native.loops.parallelize import ENOUGH_PIECES
from relay.backend.native.loops.views import View
from relay.backend.native.memory.representation import SIZES, scalar
from relay.op.native import Product
from relay.op.nn.loops import sum_type

ENOUGH_MATRICES, SHARED_NANOSECONDS = 4, 1e6
"""Matrices of a stack that are enough for threads to share them, and nanoseconds for one, from which on it is
better shared itself, unless there are very many.
"""


class Matrices(Sums):
    """A call that is a product, of matrices or of stacks of them."""

    def __init__(
        self, b: Builder, product: Product, views: Sequence[Any], sizes: Sequence[Index], dtype: str
    ) -> None:
        """`sizes` and `dtype` are those of the result."""
        self.product = product
        x: View | Deferred = views[0]
        self.rounding: Deferred | None = x if isinstance(x, Deferred) else None
        """What rounds the first operand, if that is left to the product."""
        self.x: View = x.views[0] if isinstance(x, Deferred) else x
        self.y: View | Weight | BlockMatrix = as_kept(views[1])
        super().__init__(b, sizes, dtype, sum_type(dtype, self.x.dtype, self.y.dtype))
        self.is_row = len(self.x.sizes) == 1
        self.is_flat = len(self.y.sizes) == 2 and not product.transpose_a
        """Whether all leading axes of the first operand are rows of one matrix."""
        self.lead = list(sizes[:-1]) if self.is_flat else list(sizes[: -1 if self.is_row else -2])
        self.row_sizes = self.lead if self.is_flat else [] if self.is_row else [sizes[-2]]
        """The axes of the result that make up the rows."""
        self.stack = [] if self.is_flat else self.lead
        depth = self.y.sizes[-1 if product.transpose_b else -2]
        self.depth = depth
        numbers = self.x.dtype, self.y.dtype
        self.blocks = Blocks(
            b,
            self.sums,
            b.count(self.row_sizes),
            depth,
            sizes[-1],
            numbers=numbers,
            are_small=are_small(self.y),
        )
        if self.is_flat and not isinstance(self.y, Weight | BlockMatrix) and self.blocks.may_pack_late:
            self.blocks.go_by_panels()
        if self.reads_in_place:
            self.blocks.read_in_place(self.blocks.depth)
        elif self.packs_blocks:
            self.blocks.pack_each_block()

    @property
    def has_kept_rows(self) -> bool:
        """Whether the second operand has rows of numbers as they are kept, which few rows may go over."""
        y = self.y
        if not self.is_flat or not self.product.transpose_b or isinstance(y, Weight) or self.blocks.rows == 0:
            return False
        is_small = isinstance(y, BlockMatrix) or y.dtype in KEPT
        return self.sums == "float32" and (is_small or self.is_read_once)

    @property
    def is_read_once(self) -> bool:
        """Whether the second operand is float32 that few rows go over, too much to be packed for them."""
        n, k, y = self.sizes[-1], self.depth, self.y
        if not isinstance(self.blocks.rows, int) or not isinstance(n, int) or not isinstance(k, int):
            return False
        return y.dtype == "float32" and n * k >= LEAST_NUMBERS

    @property
    def reads_in_place(self) -> bool:
        """Whether tiles read rows where they are, unless all begin in one set of the cache."""
        blocks = self.blocks
        may_be_few = blocks.has_few_rows or not isinstance(blocks.rows, int)
        are_few = may_be_few and blocks.rows != 1 and blocks.are_apart(blocks.depth)
        pays = are_few or blocks.are_short(blocks.depth)
        return self.is_flat and pays and blocks.is_packed(self.x.dtype)

    @property
    def packs_blocks(self) -> bool:
        """Whether threads pack the rows of a block when they compute it, where their caches keep them:
        there is one matrix, which has rows for several blocks.
        """
        rows, columns = self.blocks.rows, self.sizes[-1]
        if not isinstance(rows, int) or not isinstance(columns, int) or self.stack:
            return False
        return rows > ROWS and columns > 0 and not self.reads_in_place and not self.blocks.by_panels

    def packed(self) -> Value | None:
        """Where the panels of a weight are."""
        if not isinstance(self.y, Weight):
            return None
        step = self.blocks.step
        panels = Panels(
            self.y.constant, step.second_element, self.blocks.width, step.second, self.product.transpose_b
        )
        return self.b.data(self.b.constant(panels))

    def keep_in_blocks(self) -> bool:
        return not self.has_kept_rows and self.blocks.keep_sums(not self.packs_blocks)

    def write(self, out: View, put: Put | None) -> None:
        """The matrices of a stack one after the other, or several at a time."""
        rows = self.blocks.rows
        most, many = MOST_ROWS, self.write_blocks
        if self.rounds:
            most, many = MOST_ROUNDED_ROWS, self.write_tiles
        if not self.has_kept_rows or (isinstance(rows, int) and rows > most):
            many(out, put)
        elif isinstance(rows, int):
            self.write_rows(out, put)
        else:
            b = self.b
            b.when(
                b.is_less(rows, most + 1),
                lambda: with_own_rooms(b, lambda: self.write_rows(out, put)),
                lambda: with_own_rooms(b, lambda: many(out, put)),
            )

    def write_rows(self, out: View, put: Put | None) -> None:
        """Few rows over those of a matrix as they are kept."""
        assert out.data is not None
        assert not isinstance(self.y, Weight)
        columns = self.sizes[-1]
        tail = None if put is None else self.tail(out, (), self.row_sizes, put, unit_of(columns))
        x = self.x if self.rounds else self.rounded()
        write_rows(self.b, x, self.y, (self.blocks.rows, columns, self.depth), out.data, tail, self.rounds)

    @property
    def rounds(self) -> bool:
        """Whether kernels multiply integers, to which they round the first operand."""
        y = self.y
        return (
            self.rounding is not None
            and isinstance(y, BlockMatrix)
            and self.has_kept_rows
            and is_rounded(y.kept, self.blocks.machine)
        )

    def write_tiles(self, out: View, put: Put | None) -> None:
        """Many rows, as integers, over a matrix in blocks."""
        assert out.data is not None
        assert isinstance(self.y, BlockMatrix)
        columns = self.sizes[-1]
        tail = None if put is None else self.tail(out, (), self.row_sizes, put, unit_of(columns))
        write_tiles(self.b, self.x, self.y, (self.blocks.rows, columns, self.depth), out.data, tail)

    def rounded(self) -> View:
        """The first operand, rounded if it has to be."""
        if self.rounding is None:
            return self.x
        made = self.b.room(self.x.dtype, self.x.sizes)
        op: Any = self.rounding.call.attrs
        op.compute(self.b, made, self.x)
        return made

    def write_blocks(self, out: View, put: Put | None) -> None:
        """Block by block."""
        self.x, self.rounding = self.rounded(), None
        b, packed = self.b, self.packed()
        x = self.factor(self.x, self.product.transpose_a, ())
        y = None if packed else self.factor(self.y, self.product.transpose_b, ())
        if self.are_several():
            self.several(x, y, lambda first, index: self.one(index, first, packed, out, put))
            return
        self.blocks.allocate(None if self.reads_in_place or self.packs_blocks else x, y)
        first = self.first(()) if self.is_one_first else None
        b.nest(self.stack, lambda index: self.one(index, first, packed, out, put))

    def are_several(self) -> bool:
        """Whether threads share the matrices, rather than each of them: there are enough, none takes long."""
        takes, steps = self.blocks.takes(self.blocks.rows)
        steps = self.b.times(steps, self.blocks.panels)
        is_long = isinstance(steps, int) and takes * steps > SHARED_NANOSECONDS
        return prod([d for d in self.stack if isinstance(d, int)]) >= (
            ENOUGH_PIECES if is_long else ENOUGH_MATRICES
        )

    def several(
        self, x: Factor, y: Factor | None, body: Callable[[First | None, Sequence[Index]], None]
    ) -> None:
        """Run `body(first, index)` for the matrices of a stack, which threads share: each has buffers for
        one, and packs the first operand once if that is the same for all.
        """
        b, blocks = self.b, self.blocks
        first, second = blocks.buffer_sizes(x, y)
        blocks.is_shared = False
        whole = b.plus(first, second)

        def share(begin: Index, end: Index, at: Value) -> None:
            blocks.first = None if first == 0 else at
            blocks.second = None if y is None else blocks.address(at, first, blocks.size)
            packed = self.first(()) if self.is_one_first else None
            b.loop(
                b.minus(end, begin),
                (),
                lambda i, _: body(packed, b.unravelled(b.plus(begin, i), self.stack)),
            )

        takes, steps = blocks.takes(blocks.rows)
        inner = b.times(steps, blocks.panels)
        ranges_with_buffer(b, b.count(self.stack), share, (self.sums, whole), takes, inner)

    @property
    def is_one_first(self) -> bool:
        """Whether the first operand is the same matrix for the whole stack."""
        return bool(self.stack) and all(d == 1 for d in self.x.sizes[:-2])

    def first(self, stack: Sequence[Index]) -> First:
        """The first operand of a matrix of a stack, as tiles read it."""
        b, blocks = self.b, self.blocks
        x = self.factor(self.x, self.product.transpose_a, stack)

        def in_place(r: Index, top: Index, rows: Index) -> Value:
            return blocks.row(blocks.address(x.data, b.times(r, blocks.deep), blocks.step.first_size), top)

        if self.packs_blocks:
            return blocks.pack_blocks(x)
        return in_place if self.reads_in_place else blocks.pack_first(x)

    def one(
        self, stack: Sequence[Index], first: First | None, packed: Value | None, out: View, put: Put | None
    ) -> None:
        """One matrix of a stack; what of the operands is the same for all may be packed already."""
        b, blocks = self.b, self.blocks
        first = self.first(stack) if first is None else first
        if packed is None:
            second = blocks.pack_second(self.factor(self.y, self.product.transpose_b, stack))
        else:
            second = blocks.packed(packed)
        assert out.data is not None
        size = b.times(blocks.rows, blocks.columns)
        place = b.times(b.position(stack, self.stack), size)
        to = blocks.address(out.data, place, SIZES[blocks.kind])
        blocks.multiply(
            first,
            second,
            to,
            None if put is None else self.tail(out, stack, self.row_sizes, put, blocks.unit),
        )

    def factor(self, x: Any, is_transposed: bool, stack: Sequence[Index]) -> Factor:
        """An operand's matrix at a place in the stack."""
        b = self.b
        if isinstance(x, BlockMatrix):
            return Factor(x.data, x.dtype, is_transposed, blocks=x)
        if self.is_flat or len(x.sizes) <= 2 or not stack:
            return Factor(x.data, x.dtype, is_transposed)
        own = x.sizes[:-2]
        place = b.times(b.position(b.stretched(stack, own), own), b.count(x.sizes[-2:]))
        return Factor(self.blocks.address(x.data, place, SIZES[scalar(x.dtype)]), x.dtype, is_transposed)
