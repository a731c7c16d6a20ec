"""Convolutions of small groups of channels: each group is copied with zeros around it, and tiles read that.

Between two places that see a pixel lie the channels of all groups in the data, but only those of one in the
copy: what a window sees on a line is a run of numbers there.  Groups with fewer channels than a vector holds
are multiplied several at a time, with zeros between their filters.  If taps are `d` places apart, the copy of
a line has every `d`-th place first, so that taps lie side by side.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import Any, cast

from relay.backend.native.kernels.blocks import PRODUCT_NANOSECONDS
from relay.backend.native.kernels.inner_steps import inner_step
from relay.backend.native.kernels.packed_constants import MergedFilters
from relay.backend.native.kernels.ranges import each, ranges_with_buffer
from relay.backend.native.kernels.sums import LANES, Put, Weight, Windowed
from relay.backend.native.kernels.tile import Tile
from relay.backend.native.llvm.machine import host
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Buffer, Index, Value
from relay.backend.native.loops.views import View
from relay.backend.native.memory.representation import SIZES, scalar
from relay.ir.dtype import is_float
from relay.ir.type import TensorType
from relay.op.native import WindowProduct
from relay.op.nn.layout import SPATIAL
from relay.op.nn.loops import put_in, sum_type

MAX_CHANNELS = 64
"""Channels of a group at most: more are as quickly gathered by blocks."""
MAX_MERGED_SHARE = 4
"""How many groups are multiplied at once at most: all but one of so many products are with zeros."""
MAX_DEPTH = 1024
"""The most numbers that a window sees of a group."""
BLOCK_NUMBERS = 1 << 14
"""About how many numbers of the data or of the result are computed on before what follows reads them."""
FILTER_NANOSECONDS = 1.0
"""Nanoseconds for a number of the filters that is put beside zeros."""


@dataclass(frozen=True)
class ChannelGroups:
    """How the groups of a convolution are multiplied: how many sets of groups there are, the channels of the
    data and of the result that each has, and how many groups it consists of.
    """

    count: int
    inputs: int
    outputs: int
    merged: int

    @staticmethod
    def of(c: WindowProduct, inputs: Index, outputs: Index, sums: str) -> "ChannelGroups | None":
        """Those with as few groups in a set as fill vectors, unless each has but one channel of the data;
        `inputs` and `outputs` are all channels.
        """
        if not isinstance(inputs, int) or not isinstance(outputs, int) or not is_float(sums):
            return None
        ins, outs = inputs // c.groups, outputs // c.groups
        lanes = host().lanes(scalar(sums))
        merged = lanes // gcd(outs, lanes)
        if (
            ins == 1
            or c.groups % merged
            or merged > MAX_MERGED_SHARE
            or max(ins, outs) * merged > MAX_CHANNELS
        ):
            return None
        return ChannelGroups(c.groups // merged, ins * merged, outs * merged, merged)


def groups_of(c: WindowProduct, types: Sequence[TensorType]) -> ChannelGroups | None:
    """How the groups of a convolution are multiplied with these types of result, data and weight; None if
    they are not by this kernel.
    """
    result, data, weight = [cast("Sequence[Any]", t.shape) for t in types]
    sums = sum_type(*[str(t.dtype) for t in types])
    if c.groups == 1 or c.is_transposed or len(c.strides) > 2 or not is_float(sums):
        return None
    if any(s > 1 and d > 1 for s, d in zip(c.strides[-1:], c.dilation[-1:], strict=True)):
        return None
    spatial = [weight[c.kernel_layout.index(letter)] for letter in SPATIAL[len(c.strides)]]
    if not all(isinstance(n, int) and n > 0 for n in (*result[1:], *data[1:], *spatial)):
        return None
    found = ChannelGroups.of(c, data[-1], result[-1], sums)
    if found is None or prod(spatial) == 1 or prod(spatial) * found.inputs > MAX_DEPTH:
        return None
    return found


class Grouped(Windowed):
    """A call that is a convolution of small groups of channels."""

    def __init__(
        self, b: Builder, c: WindowProduct, views: Sequence[Any], sizes: Sequence[Index], dtype: str,
        groups: ChannelGroups,
    ) -> None:  # fmt: skip
        """`sizes` and `dtype` are those of the result."""
        self.convolution, self.groups = c, groups
        self.x = views[0]
        self.y: View | Weight = views[1]
        super().__init__(b, sizes, dtype, sum_type(dtype, self.x.dtype, self.y.dtype))
        self.machine = host()
        self.size = SIZES[scalar(self.sums)]
        vectors = groups.outputs // self.machine.lanes(scalar(self.sums))
        most = 3 if self.machine.is_wide else 2
        self.vectors = max([n for n in range(1, most + 1) if vectors % n == 0])
        self.panels = vectors // self.vectors
        self.width = groups.outputs // self.panels
        axes = SPATIAL[len(c.strides)].join(c.channels)
        taps = cast("list[int]", put_in(self.y.sizes, c.kernel_layout, axes)[1:-1])
        result, data = cast("list[int]", sizes[1:-1]), cast("list[int]", self.x.sizes[1:-1])
        self.rows, self.columns = _two(result, 1)
        self.data_rows, self.data_columns = _two(data, 1)
        self.taps_down, self.taps_across = _two(taps, 1)
        self.step_down, self.step_across = _two(c.strides, 1)
        self.apart_down, self.apart_across = _two(c.dilation, 1)
        self.above, self.left = _two(c.before, 0)
        self.depth = self.taps_down * self.taps_across * groups.inputs
        needed = -(-self.columns // self.apart_across) - 1
        self.line = needed * self.step_across + self.taps_across
        """Places of a line of the copy that have the same remainder of `apart_across`."""
        self.together = self.sets_together()
        numbers = self.columns * max(groups.inputs, groups.outputs * self.together)
        blocks = -(-self.rows * numbers // BLOCK_NUMBERS)
        self.high = -(-self.rows // min(blocks, self.rows))
        """Rows of a block."""

    def sets_together(self) -> int:
        """Sets of groups that are computed before what follows: as many as give it whole vectors."""
        count = LANES // gcd(self.groups.outputs, LANES)
        return count if self.groups.count % count == 0 else 1

    def write(self, out: View, put: Put | None) -> None:
        """Block after block of rows, some sets of groups of each."""
        b, groups = self.b, self.groups
        weight = self.weight()
        assert out.data is not None
        assert self.x.data is not None
        to, data = out.data, self.x.data
        sizes = [self.sizes[0], -(-self.rows // self.high), groups.count // self.together]
        numbers = self.copied_rows(self.high) * self.line * self.apart_across * groups.inputs
        unit = groups.outputs * self.together
        tail = None if put is None else self.tail(out, (), self.sizes[:-1], put, unit)

        def item(i: Index, buffer: Value) -> None:
            image, block, several = b.unravelled(i, sizes)
            top = b.times(block, self.high)
            high = self.high if self.rows % self.high == 0 else b.smaller(self.high, b.minus(self.rows, top))
            first = b.plus(b.times(image, self.rows), top)

            def one_set(k: Index, _: Any) -> None:
                s = b.plus(b.times(several, self.together), k)
                self.copy(data, buffer, (image, top, high, s))
                self.multiply(buffer, weight, to, (first, high, s))

            b.loop(self.together, (), one_set)
            if tail is not None:
                place, count = b.times(first, self.columns), b.times(high, self.columns)
                tail(place, count, b.times(several, unit), unit, None)

        def share(begin: Index, end: Index, buffer: Value) -> None:
            b.loop(b.minus(end, begin), (), lambda i, _: item(b.plus(begin, i), buffer))

        inner = self.high * self.columns * self.depth * unit
        ranges_with_buffer(b, b.count(sizes), share, (self.sums, numbers), PRODUCT_NANOSECONDS, inner)

    # --- filters ---

    def weight(self) -> Value:
        """The filters: those of a set in panels, set after set."""
        b, groups = self.b, self.groups
        if isinstance(self.y, Weight):
            packed = MergedFilters(
                self.y.constant,
                self.sums,
                self.width,
                self.sums,
                self.convolution,
                self.y.taps,
                merged=groups.merged,
            )
            return b.data(b.constant(packed))
        return self.copied_filters(self.y)

    def copied_filters(self, weight: View) -> Value:
        """Those that are not known before, put there."""
        b, c, groups = self.b, self.convolution, self.groups
        axes = SPATIAL[len(c.strides)].join(c.channels)
        window = put_in(weight.sizes, c.kernel_layout, axes)[1:-1]
        outs = groups.outputs // groups.merged
        sizes = [
            groups.count,
            self.panels,
            *window,
            groups.merged,
            groups.inputs // groups.merged,
            self.width,
        ]
        copy = b.room(self.sums, sizes)

        def one(index: tuple[Index, ...]) -> None:
            s, panel, *taps, group, channel, j = index
            column = b.plus(b.times(panel, self.width), j)
            owner, filter_ = b.unravelled(column, [groups.merged, outs])
            number = b.plus(b.times(b.plus(b.times(s, groups.merged), owner), outs), filter_)
            place = put_in([channel, *taps, number], axes, c.kernel_layout)
            x = b.cast(weight.at(place), self.sums)
            copy.put(index, b.select(b.is_same(owner, group), x, b.const(0, self.sums)))

        each(b, sizes, one, FILTER_NANOSECONDS)
        return copy.buffer.data

    # --- data ---

    def copied_rows(self, high: int) -> int:
        """Lines of the data that windows on so many rows of the result see."""
        return (high - 1) * self.step_down + (self.taps_down - 1) * self.apart_down + 1

    def copy(self, data: Value, buffer: Value, where: tuple[Index, Index, Index, Index]) -> None:
        """Copy what the windows of a block see of a set of groups: the image, the first row of the block, how
        many, the set.
        """
        b, (image, top, high, s) = self.b, where
        lines = self.copied_rows(self.high) if high == self.high else b.plus(
            b.times(b.minus(high, 1), self.step_down), (self.taps_down - 1) * self.apart_down + 1
        )  # fmt: skip
        begin = b.minus(b.times(top, self.step_down), self.above)
        whole = self.line * self.apart_across
        source = Buffer(
            data, self.x.dtype, (self.sizes[0], self.data_rows, self.data_columns, self.x.sizes[-1])
        )
        to = Buffer(buffer, self.sums, (lines, self.apart_across, self.line, self.groups.inputs))

        def one_line(i: Index, _: Any) -> None:
            y = b.plus(begin, i)
            b.when(
                b.is_within(y, self.data_rows),
                lambda: self.copy_line(source, (image, y, s), to, i),
                lambda: self.clear(to, (i, 0), 0, whole),
            )

        b.loop(lines, (), one_line)

    def copy_line(self, source: Buffer, line: tuple[Index, Index, Index], to: Buffer, i: Index) -> None:
        """Copy a line: places with one remainder of `apart_across` together, zeros beside the data."""
        b, apart, (image, y, s) = self.b, self.apart_across, line
        shift = b.times(s, self.groups.inputs)
        for phase in range(apart):
            first = min(self.line, max(0, -(-(self.left - phase) // apart)))
            end = max(first, min(self.line, -(-(self.data_columns + self.left - phase) // apart)))
            self.clear(to, (i, phase), 0, first)
            self.clear(to, (i, phase), end, self.line - end)

            def place(k: Index, _: Any, phase: int = phase, first: int = first) -> None:
                at = b.plus(k, first)
                x = b.plus(b.times(at, apart), phase - self.left)

                def number(j: Index) -> None:
                    found = b.read(source, (image, y, x, b.plus(shift, j)))
                    b.write(to, (i, phase, at, j), b.cast(found, self.sums))

                self.along_channels(number)

            b.loop(end - first, (), place)

    def clear(self, to: Buffer, line: tuple[Index, int], begin: int, count: int) -> None:
        """Zeros for some places of a line, from one on."""
        b, zero = self.b, self.b.const(0, self.sums)

        def place(k: Index, _: Any) -> None:
            self.along_channels(lambda j: b.write(to, (*line, b.plus(k, begin), j), zero))

        if count:
            b.loop(count, (), place)

    def along_channels(self, body: Callable[[Index], None]) -> None:
        """Run `body(j)` for the channels of a set, in vectors."""
        n = self.groups.inputs
        lanes = gcd(n, self.machine.lanes(scalar(self.sums)))
        self.b.vector_loop(n, lanes, body, vectors=n // lanes, is_whole=True)

    # --- products ---

    def multiply(self, buffer: Value, weight: Value, out: Value, where: tuple[Index, Index, Index]) -> None:
        """Compute rows of a block for a set: the first row of all images, how many, the set."""
        b, groups, (first, high, s) = self.b, self.groups, where
        line_size = self.line * self.apart_across * groups.inputs

        def one_row(y: Index, p: Index) -> None:
            line = b.times(b.times(y, self.step_down), line_size)
            place = b.times(b.plus(first, y), self.columns)
            filters = b.times(b.plus(b.times(s, self.panels), p), self.depth * self.width)
            column = b.plus(b.times(s, groups.outputs), b.times(p, self.width))
            for phase in range(self.apart_across):
                count = -(-(self.columns - phase) // self.apart_across)
                start = b.plus(line, phase * self.line * groups.inputs)

                def result(k: int, phase: int = phase) -> Value:
                    row = b.plus(place, k * self.apart_across + phase)
                    return self.at(out, b.plus(b.times(row, self.sizes[-1]), column))

                self.line_of_tiles(count, self.at(buffer, start), self.at(weight, filters), result)

        b.nest([self.panels, high], lambda index: one_row(index[1], index[0]))

    def line_of_tiles(self, count: int, data: Value, filters: Value, out: Callable[[int], Value]) -> None:
        """Tiles that make up a line of so many places, about as high as each other; `out(k)` is where the
        result of a place is.
        """
        b, inputs = self.b, self.groups.inputs
        run = self.taps_across * inputs
        gap = self.apart_down * self.apart_across * self.line * inputs - run
        step = inner_step(self.sums, self.machine)
        most = step.tallest(self.machine, self.vectors)
        tiles = -(-count // most)
        at = 0
        for i in range(tiles):
            height = (count + i) // tiles
            pitch = self.step_across * inputs
            tile = Tile(self.machine, step, height, self.vectors, pitch=pitch, has_runs=True)
            out_pitch = b.times(self.apart_across, self.sizes[-1])
            first = self.at(data, at * pitch)
            following = self.at(filters, self.depth * self.width)
            b.invoke(
                tile, first, filters, self.width, self.depth, out(at), out_pitch, b.const(False, "bool"),
                following, run, gap,
            )  # fmt: skip
            at += height

    def at(self, base: Value, place: Index) -> Value:
        """Where a number is."""
        return self.b.address(base, self.b.times(place, self.size))


def _two(several: Sequence[int], missing: int) -> tuple[int, int]:
    """What belongs to the two spatial axes; data of one has no first."""
    first, last = (missing, *several)[-2:]
    return first, last
