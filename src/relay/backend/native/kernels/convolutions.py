"""Convolutions as products of matrices: the rows are what windows see, the columns are filters."""

from collections.abc import Sequence
from typing import Any, cast

from relay.backend.native.kernels.block_shape import ROWS
from relay.backend.native.kernels.blocks import Blocks
from relay.backend.native.kernels.grouped import groups_of
from relay.backend.native.kernels.operands import MOVED_NANOSECONDS, Factor, First, Second
from relay.backend.native.kernels.overlapped import Overlapped
from relay.backend.native.kernels.packed_constants import Filters
from relay.backend.native.kernels.packing import Packing
from relay.backend.native.kernels.ranges import each, ranges
from relay.backend.native.kernels.sums import Put, Weight, Windowed, are_small
from relay.backend.native.kernels.tile import PACKED_PITCH
from relay.backend.native.kernels.windows import AXES, Geometry, Windows
from relay.backend.native.llvm.machine import host
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Index, Value
from relay.backend.native.loops.views import View
from relay.backend.native.memory.representation import SIZES, scalar
from relay.ir.type import Dim, TensorType
from relay.op.native import WindowProduct
from relay.op.nn.layout import SPATIAL
from relay.op.nn.loops import put_in, sum_type

MANY_FILTERS = 200
"""Filters from which on it does not matter that rows are packed before they are multiplied."""
MIN_FILTERS = 8
"""Filters in a group for which tiles are worth it."""
TRANSPOSED_ROWS = 64
"""Rows of a matrix that are transposed at once: a few lines of the cache in each row of the result."""
WEIGHT_NANOSECONDS = 1.0
"""Nanoseconds for a number of a weight that is put where kernels read it."""


def is_convolved(c: WindowProduct, types: Sequence[TensorType]) -> bool:
    """Whether kernels compute a convolution with these types of result, data and weight: the channels come
    last, and each group has enough of them, or few enough for `Grouped`.
    """
    wanted = f"N{SPATIAL[len(c.strides)]}C"
    if c.data_layout != wanted or c.out_layout != wanted:
        return False
    if c.groups == 1:
        return True
    if groups_of(c, types):
        return True
    last = [cast("tuple[Dim, ...]", t.shape)[-1] for t in types[:2]]
    return all(isinstance(n, int) and n >= MIN_FILTERS * c.groups for n in last)


class Convolutions(Windowed):
    """A call that is a convolution, or the transpose of one."""

    def __init__(
        self, b: Builder, c: WindowProduct, views: Sequence[Any], sizes: Sequence[Index], dtype: str
    ) -> None:
        """`sizes` and `dtype` are those of the result."""
        self.convolution = c
        self.x = views[0]
        self.y: View | Weight = views[1]
        self.weight: Value | Factor | None = None
        """The filters in panels, or as a stack of matrices, when they are prepared."""
        self.only: Second | None = None
        """Those of the only group."""
        super().__init__(b, sizes, dtype, sum_type(dtype, self.x.dtype, self.y.dtype))
        axes = SPATIAL[len(c.strides)].join(c.channels)
        self.window: list[Index] = put_in(self.y.sizes, c.kernel_layout, axes)[1:-1]
        self.row_sizes = self.sizes[:-1]
        self.inputs = b.quotient(self.x.sizes[-1], c.groups)
        self.outputs = b.quotient(self.sizes[-1], c.groups)
        self.blocks = self.blocks_of(b.times(b.count(self.window), self.inputs))
        self.overlapped = Overlapped.of(self)
        if self.is_matrix and not isinstance(self.y, Weight) and self.blocks.may_pack_late:
            self.blocks.go_by_panels()
        if self.reads_in_place:
            self.blocks.read_in_place(self.blocks.depth)
        elif self.overlapped is not None:
            self.blocks = self.blocks_of(self.overlapped.depth * self.blocks.step.group)
            self.blocks.read_lines(self.overlapped.lines, self.overlapped.height)
        elif not self.packs_first:
            self.blocks.gather()

    def blocks_of(self, depth: Index) -> Blocks:
        """The product of rows of so many numbers."""
        return Blocks(
            self.b, self.sums, self.b.count(self.row_sizes), depth, self.outputs, self.sizes[-1],
            numbers=(self.x.dtype, self.y.dtype), are_small=are_small(self.y),
        )  # fmt: skip

    def keep_in_blocks(self) -> bool:
        return self.blocks.keep_sums(self.packs_first or self.reads_in_place or self.overlapped is not None)

    def stays_on_thread(self) -> bool:
        is_large = self.overlapped is not None and not self.overlapped.is_small(self.blocks.step)
        self.blocks.is_shared = is_large or self.packs_first
        return not self.blocks.is_shared

    @property
    def is_product(self) -> bool:
        """Whether there is one place, which sees one of the data: a row that is read where it is."""
        c = self.convolution
        ones = all(n == 1 for n in (*self.window, *self.row_sizes, *self.x.sizes[:-1], c.groups))
        return ones and not any(c.before)

    @property
    def is_matrix(self) -> bool:
        """Whether each place sees the one of the data that it lies on: the data is a matrix of rows."""
        c = self.convolution
        same = self.sizes[1:-1] == self.x.sizes[1:-1] and all(isinstance(n, int) for n in self.sizes[1:])
        ones = all(n == 1 for n in (*self.window, *c.strides, c.groups)) and not any(c.before)
        return same and ones and not self.is_product

    @property
    def packs_first(self) -> bool:
        """Whether all rows are packed before the first is multiplied."""
        return self.is_product or (self.blocks.by_panels and not self.reads_in_place)

    @property
    def reads_in_place(self) -> bool:
        """Whether tiles read rows of a matrix where they are, unless all begin in one set of the cache."""
        few = self.blocks.has_few_rows or (isinstance(self.outputs, int) and self.outputs <= MANY_FILTERS)
        depth = self.blocks.depth
        pays = (few and self.blocks.are_apart(depth)) or self.blocks.are_short(depth)
        return self.is_matrix and pays and self.blocks.is_packed(self.x.dtype)

    def write(self, out: View, put: Put | None) -> None:
        """One group of channels after the other."""
        b, blocks = self.b, self.blocks
        factor = Factor(self.data, self.x.dtype, is_transposed=False)
        if self.packs_first:
            blocks.allocate(factor, None)
        self.prepare()
        reads = self.packs_first or self.reads_in_place or self.overlapped is not None
        geometry = None if reads else self.geometry()
        whole = None if self.overlapped is None else self.overlapped.first(self)
        assert out.data is not None
        to = out.data

        def group(index: Sequence[Index]) -> None:
            g = index[0] if index else 0
            first = whole or (self.first(factor) if geometry is None else self.seen_by(geometry, g))
            shift = b.times(g, self.outputs)
            tail = None if put is None else self.tail(out, (), self.row_sizes, put, blocks.unit, shift)
            blocks.multiply(first, self.only or self.filters(g), blocks.address(to, shift, blocks.size), tail)

        b.nest([self.convolution.groups] if self.convolution.groups > 1 else [], group)

    @property
    def data(self) -> Value:
        """Where the data is."""
        assert self.x.data is not None
        return self.x.data

    # --- filters ---

    def prepare(self) -> None:
        if self.weight is not None:
            return
        self.weight = self.laid_out()
        if isinstance(self.weight, Factor):
            self.blocks.allocate(None, self.weight)
        if self.convolution.groups == 1:
            self.only = self.filters(0)

    def laid_out(self) -> Value | Factor:
        """The filters in panels, or as a stack of matrices."""
        b = self.b
        if isinstance(self.y, Weight):
            step, width = self.blocks.step, self.blocks.width
            run = 0 if self.overlapped is None else self.overlapped.lines.run * step.group
            packed = Filters(
                self.y.constant, step.second_element, width, step.second, self.convolution, self.y.taps, run
            )
            return b.data(b.constant(packed))
        return matrix_of(b, self.convolution, self.y, self.blocks.step.second)

    def filters(self, group: Index) -> Second:
        """The filters of a group."""
        b, blocks, weight = self.b, self.blocks, self.weight
        assert weight is not None
        if isinstance(weight, Factor):
            place = b.times(group, b.times(blocks.length, blocks.columns))
            data = blocks.address(weight.data, place, SIZES[scalar(weight.dtype)])
            return blocks.pack_second(Factor(data, weight.dtype, weight.is_transposed))
        place = b.times(group, b.times(b.times(blocks.panels, blocks.depth), blocks.width))
        return blocks.packed(blocks.address(weight, place, blocks.step.second_size))

    # --- windows ---

    def first(self, x: Factor) -> First:
        """Rows that are read where they are."""
        b, blocks = self.b, self.blocks
        if self.packs_first:
            return blocks.pack_first(x)
        return lambda r, top, rows: blocks.row(
            blocks.address(x.data, b.times(r, blocks.deep), blocks.step.first_size), top
        )

    def seen_by(self, geometry: Value, group: Index) -> First:
        """Rows of what windows see of a group of channels, moved where tiles read them as they are needed."""
        b, blocks = self.b, self.blocks
        how = Windows(blocks.machine, self.x.dtype, blocks.step.first, self.is_spread, blocks.step.group)
        place = b.times(group, self.inputs)
        data = blocks.address(self.data, place, SIZES[scalar(self.x.dtype)])

        def first(r: Index, top: Index, rows: Index) -> Value:
            to = b.stack((ROWS + blocks.height) * PACKED_PITCH * blocks.step.first_size)
            begin = b.times(r, blocks.deep)
            begin, count = blocks.numbers(begin, b.smaller(blocks.deep, b.minus(blocks.depth, begin)))
            b.when(b.is_less(0, count), lambda: b.invoke(how, data, to, geometry, top, rows, begin, count))
            return to

        return first

    @property
    def is_spread(self) -> bool:
        """Whether windows see the data with gaps between its elements."""
        c = self.convolution
        return c.is_transposed and any(s > 1 for s in c.strides)

    @property
    def has_runs(self) -> bool:
        """Whether the channels of the taps on the last axis lie beside each other."""
        c = self.convolution
        return c.groups == 1 and not c.is_transposed and c.dilation[-1] == 1

    def geometry(self) -> Value:
        """How windows lie on the data, in memory."""
        b, c = self.b, self.convolution
        missing = AXES - len(c.strides)
        size = SIZES[scalar(self.x.dtype)]
        data = [*[1] * missing, *self.x.sizes[1:-1]]
        pitch: list[Index] = [0] * AXES
        step: Index = b.times(self.x.sizes[-1], size)
        for a in reversed(range(AXES)):
            pitch[a] = step
            step = b.times(step, data[a])
        taps = [*[1] * missing, *self.window]
        together: Index = taps.pop() if self.has_runs else 1
        whole = Geometry(
            result=[*[1] * missing, *self.sizes[1:-1]],
            data=data,
            step=[*[1] * missing, *([1] * len(c.strides) if c.is_transposed else c.strides)],
            begin=[*[0] * missing, *[n if c.is_transposed else -n for n in c.before]],
            tap_step=[*[1] * missing, *[-n if c.is_transposed else n for n in c.dilation]],
            taps=[*taps, 1] if self.has_runs else taps,
            divisor=[*[1] * missing, *(c.strides if c.is_transposed else [1] * len(c.strides))],
            pitch=pitch,
            others=[step, together, self.inputs],
        )
        return b.write_words(whole.words())


def matrix_of(b: Builder, c: WindowProduct, weight: View, dtype: str) -> Factor:
    """Filters as a stack of matrices, one for each group: where they lie, or a copy of that dtype."""
    spatial = SPATIAL[len(c.strides)]
    axes = spatial.join(c.channels)
    first, *window, last = put_in(weight.sizes, c.kernel_layout, axes)
    if c.groups == 1 and weight.data is not None:
        order = [c.kernel_layout.index(letter) for letter in c.channels]
        if c.kernel_layout == spatial + c.channels:
            return Factor(weight.data, weight.dtype, is_transposed=False)
        if all(n == 1 for n in window):
            return Factor(weight.data, weight.dtype, is_transposed=order != sorted(order))
    inputs = b.quotient(first, c.groups) if c.is_transposed else first
    outputs = last if c.is_transposed else b.quotient(last, c.groups)
    sizes = [c.groups, *window, inputs, outputs]
    copy = b.room(dtype, sizes)
    if c.groups == 1 and c.kernel_layout == spatial + c.channels[::-1] and weight.data is not None:
        transpose_stack(
            b, weight.data, weight.dtype, copy.buffer.data, dtype, (b.count(window), outputs, inputs)
        )
        return Factor(copy.buffer.data, dtype, is_transposed=False)

    def one(index: tuple[Index, ...]) -> None:
        g, *taps, channel, filter_ = index
        if c.is_transposed:
            channel = b.plus(b.times(g, inputs), channel)
        else:
            filter_ = b.plus(b.times(g, outputs), filter_)
        place = put_in([channel, *taps, filter_], axes, c.kernel_layout)
        copy.put(index, b.cast(weight.at(place), dtype))

    each(b, sizes, one, WEIGHT_NANOSECONDS)
    return Factor(copy.buffer.data, dtype, is_transposed=False)


def transpose_stack(
    b: Builder, source: Value, dtype: str, to: Value, to_dtype: str, sizes: tuple[Index, Index, Index]
) -> None:
    """Transpose each matrix of a stack: how many there are, and their rows and columns."""
    count, rows, columns = sizes
    how = Packing(host(), dtype, to_dtype, is_transposed=True)
    strips = b.quotient(b.plus(rows, TRANSPOSED_ROWS - 1), TRANSPOSED_ROWS)
    size, from_size = SIZES[scalar(to_dtype)], SIZES[scalar(dtype)]

    def share(begin: Index, end: Index) -> None:
        def one(i: Index, _: Any) -> None:
            matrix, strip = b.unravelled(b.plus(begin, i), [count, strips])
            top = b.times(strip, TRANSPOSED_ROWS)
            place = b.plus(b.times(matrix, rows), top)
            whole = b.plus(b.times(matrix, b.times(rows, columns)), top)
            left = b.smaller(TRANSPOSED_ROWS, b.minus(rows, top))
            b.invoke(
                how, b.address(source, b.times(b.times(place, columns), from_size)), columns,
                b.address(to, b.times(whole, size)), rows, left, columns, 0,
            )  # fmt: skip

        b.loop(b.minus(end, begin), (), one)

    ranges(b, b.times(count, strips), share, MOVED_NANOSECONDS, b.times(columns, TRANSPOSED_ROWS))
