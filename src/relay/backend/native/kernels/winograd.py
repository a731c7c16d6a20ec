"""Convolutions of 3 by 3 taps with fewer products: tile by tile, point by point, after Winograd.

A block of tiles stays in the second level of the cache: its points, the products of a few panels of filters
with them, and the part of the result that these make.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from relay.backend.native.kernels.block_shape import NARROW_TILE_COST, WORK_PIECES
from relay.backend.native.kernels.blocks import PRODUCT_NANOSECONDS, Blocks
from relay.backend.native.kernels.convolutions import matrix_of
from relay.backend.native.kernels.filters import TAPS, FilterTransform
from relay.backend.native.kernels.inner_steps import inner_step
from relay.backend.native.kernels.operands import MOVED_NANOSECONDS
from relay.backend.native.kernels.packed_constants import FilterPoints
from relay.backend.native.kernels.ranges import ranges
from relay.backend.native.kernels.sums import Put, Weight, Windowed
from relay.backend.native.kernels.tile import PACKED_PITCH
from relay.backend.native.kernels.transforms import PAIRS, Transform
from relay.backend.native.llvm.machine import host
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Index, Value
from relay.backend.native.loops.views import View
from relay.backend.native.memory.representation import SIZES, scalar
from relay.ir.dtype import is_float
from relay.op.native import WindowProduct
from relay.op.nn.layout import SPATIAL
from relay.op.nn.loops import sum_type

POINT_BYTES = 1 << 20
"""Bytes that the points of a block lie in, about."""
PRODUCT_BYTES = 1 << 17
"""Bytes of the products of a block and a group of panels, about."""
TILES_BELOW = 3
"""Tiles of points below each other in a block, where filters are too large for caches: blocks read all."""
MAX_CHANNELS = 1024
"""Channels at most: the points of the lowest block still lie on the stack."""
TRANSFORMED_NANOSECONDS, STREAMED_NANOSECONDS, CACHE_BYTES = 0.3, 0.06, 1 << 21
"""Nanoseconds for a point of a channel or filter, and for a byte of filters beyond those that caches hold."""
FILTER_POINT_NANOSECONDS = 1.0
"""Nanoseconds for a point of a filter that is not known before: it goes to new memory."""
FILTER_MULTIPLE = 16
"""Filters that are transformed while the program runs come in multiples of this: whole vectors."""
FEW_TILES = 16
"""Tiles of points that wait for filters more than they compute: narrow panels are as good for them."""


def size_of_tiles(c: WindowProduct, views: Sequence[Any], sizes: Sequence[Index], dtype: str) -> int:
    """The size of tiles with which a convolution is quickest; 0 if it is better without."""
    data, weight = views
    taps = [weight.sizes[c.kernel_layout.index(letter)] for letter in SPATIAL[len(c.strides)]]
    numbers = [*sizes, data.sizes[-1]]
    if (
        taps != [TAPS, TAPS]
        or {*c.strides, c.groups} != {1}
        or (c.is_transposed and set(c.dilation) != {1})
        or not (is_of_floats(dtype, data, weight) or is_of_bytes(dtype, data, weight))
        or not all(isinstance(n, int) and n for n in numbers)
    ):
        return 0
    images, height, width, filters, channels = [known(n) for n in numbers]
    is_constant = isinstance(weight, Weight)
    if channels > MAX_CHANNELS or not (is_constant or filters % FILTER_MULTIPLE == 0):
        return 0
    costs = {
        0: images * height * width * TAPS**2 * channels * (PRODUCT_NANOSECONDS * filters + MOVED_NANOSECONDS)
    }
    for size in PAIRS if dtype == "float32" else (2,):
        points = (size + TAPS - 1) ** 2
        tiles = images * prod([
            apart * -(-n // (apart * size)) for n, apart in zip((height, width), c.dilation, strict=True)
        ])  # fmt: skip
        each = PRODUCT_NANOSECONDS * channels * filters + TRANSFORMED_NANOSECONDS * (channels + filters)
        count = points * channels * filters
        costs[size] = points * tiles * each + STREAMED_NANOSECONDS * max(0, 4 * count - CACHE_BYTES)
        costs[size] += 0 if is_constant else FILTER_POINT_NANOSECONDS * count
    return min(costs, key=lambda size: costs[size])


def is_of_floats(dtype: str, data: View, weight: "View | Weight") -> bool:
    """Whether sums are float32, of float32 or shorter numbers: data are converted as they are read, and
    filters that are known before.
    """
    if not dtype == sum_type(dtype, data.dtype, weight.dtype) == "float32":
        return False
    is_known = isinstance(weight, Weight) or weight.dtype == "float32"
    return is_known and is_float(data.dtype) and is_float(weight.dtype)


def is_of_bytes(dtype: str, data: View, weight: "View | Weight") -> bool:
    """Whether data and constant filters are bytes, which are multiplied as int16: their points are int16 too,
    and sums of `MAX_CHANNELS` products of these fit in int32.
    """
    if dtype != "int32" or data.dtype not in ("int8", "uint8") or weight.dtype != "int8":
        return False
    step = inner_step(dtype, host(), data.dtype, weight.dtype)
    return isinstance(weight, Weight) and step.first == step.second == "int16" and step.group == 2


class Winograd(Windowed):
    """A call that is a convolution of 3 by 3 taps, one place apart, or the transpose of one."""

    def __init__(
        self,
        b: Builder,
        c: WindowProduct,
        views: Sequence[Any],
        sizes: Sequence[Index],
        dtype: str,
        size: int,
    ) -> None:
        """`sizes` and `dtype` are those of the result, `size` that of tiles."""
        super().__init__(b, sizes, dtype, dtype)
        self.convolution = c
        self.x = views[0]
        self.y: View | Weight = views[1]
        self.filters: Value | None = None
        """Where their points are, when they are prepared."""
        self.size = size
        self.points = (size + TAPS - 1) ** 2
        images, height, width, filters = self.sizes
        tiles_along = [
            b.quotient(b.plus(n, apart * size - 1), apart * size)
            for n, apart in zip((height, width), c.dilation, strict=True)
        ]
        self.grid: list[Index] = [images, *c.dilation, *tiles_along]
        """Images, phases along both axes, and tiles below and beside each other in one: taps that are `d`
        places apart see every `d`-th place, from one of the first `d` on.
        """
        self.channels = self.x.sizes[-1]
        tiles = b.count(self.grid)
        narrow = 1.0 if known(tiles) <= FEW_TILES else NARROW_TILE_COST
        self.kind = dtype if is_float(dtype) else "int16"
        """The dtype of points."""
        blocks = self.blocks = Blocks(
            b, dtype, tiles, self.channels, filters, narrow=narrow, numbers=(self.kind, self.kind)
        )
        lanes = blocks.machine.lanes(blocks.kind)
        blocks.deep = b.times(blocks.parts(blocks.deep, lanes), lanes)
        blocks.rounds = b.larger(1, blocks.parts(blocks.depth, blocks.deep))
        self.shape_blocks()

    def shape_blocks(self) -> None:
        """How many tiles a block has, and how many panels are multiplied with it at a time."""
        blocks = self.blocks
        tiles, panels = known(blocks.rows), known(blocks.panels)
        lowest = blocks.height * PACKED_PITCH * blocks.size * known(blocks.rounds)
        size = self.points * known(self.channels) * known(self.sizes[-1]) * blocks.size
        wanted = TILES_BELOW if size >= 2 * CACHE_BYTES else tiles // (WORK_PIECES * blocks.height)
        several = min(POINT_BYTES // (self.points * lowest), wanted)
        blocks.high = self.high = known(blocks.height_of_blocks(max(1, several) * blocks.height))
        count = max(1, -(-tiles // self.high))
        wide = -(-panels // -(-WORK_PIECES // count))
        panel = self.points * min(self.high, tiles) * blocks.width * blocks.size
        self.group = min(max(1, PRODUCT_BYTES // max(1, panel)), wide)
        """Panels whose products are there at a time."""
        blocks.wide, blocks.pitch = wide, self.group * blocks.width

    # --- how the numbers lie in memory, in bytes ---

    @property
    def round(self) -> int:
        """From one round of a point of all tiles to the next."""
        return self.high * PACKED_PITCH * self.blocks.size

    @property
    def point(self) -> int:
        """From one point of all tiles to the next."""
        return self.round * known(self.blocks.rounds)

    @property
    def product(self) -> int:
        """From the products of one point to those of the next."""
        return self.high * self.group * self.blocks.width * self.blocks.size

    def shape(self, tensor: View, point: Index, tile: Index, padding: Sequence[int]) -> Value:
        """What a transform has to know of a tensor and the points of its tiles."""
        b = self.b
        _, height, width, channels = tensor.sizes
        place = b.times(channels, SIZES[scalar(tensor.dtype)])
        row = b.times(place, width)
        return b.write_words(
            [b.times(row, height), row, place, height, width, *self.grid[1:], *padding, point, tile]
        )

    # --- the computation ---

    def write(self, out: View, put: Put | None) -> None:
        """Block by block: points, products, tiles of the result."""
        b, blocks = self.b, self.blocks
        size = blocks.size
        of_data = self.shape(self.x, self.point, PACKED_PITCH * size, self.before)
        of_result = self.shape(out, self.product, self.group * blocks.width * size, (0, 0))
        self.prepare()

        def block(top: Index, tiles: Index, left: Index, panels: Index) -> None:
            points = b.stack(self.points * self.point)
            products = b.stack(self.points * self.product)

            def move(r: Index, _: Any) -> None:
                begin, count = blocks.numbers(
                    b.times(r, blocks.deep),
                    b.smaller(blocks.deep, b.minus(blocks.depth, b.times(r, blocks.deep))),
                )
                to = b.address(points, b.times(r, self.round))
                self.transform(of_data, self.data(self.x), to, (top, tiles), (begin, count))

            def group(g: Index, _: Any) -> None:
                done = b.times(g, self.group)
                at = b.plus(left, done)
                count = b.smaller(self.group, b.minus(panels, done))
                self.multiply(points, products, tiles, (at, count))
                columns = blocks.columns_of(at, count)
                self.transform(of_result, products, self.data(out), (top, tiles), columns, of_data=False)
                if put is not None:
                    self.follow(put, (top, tiles), columns)

            blocks.each(blocks.rounds, move)
            blocks.each(blocks.parts(panels, self.group), group)

        takes = PRODUCT_NANOSECONDS * self.points * blocks.width
        blocks.share_out(block, takes, b.times(b.smaller(self.high, blocks.rows), self.channels))

    def data(self, x: View) -> Value:
        """Where a tensor is."""
        assert x.data is not None
        return x.data

    def prepare(self) -> None:
        if self.filters is None:
            self.filters = self.laid_out()

    def stays_on_thread(self) -> bool:
        self.blocks.is_shared = False
        return True

    def laid_out(self) -> Value:
        """Where the points of the filters are."""
        b, c = self.b, self.convolution
        order = tuple([c.kernel_layout.index(letter) for letter in f"HW{c.channels}"])
        if not isinstance(self.y, Weight):
            return self.transformed(self.y)
        packed = FilterPoints(
            self.y.constant, self.sums, self.blocks.width, self.kind, order, self.size, c.is_transposed
        )
        return b.data(b.constant(packed))

    def transformed(self, weight: View) -> Value:
        """The points of filters that the program computes, in memory."""
        b, c, blocks = self.b, self.convolution, self.blocks
        how = FilterTransform(blocks.machine, blocks.dtype, self.size, blocks.width, c.is_transposed)
        count = self.points * known(blocks.panels) * known(self.channels) * blocks.width
        to, source = self.data(b.room(self.sums, [count])), matrix_of(b, c, weight, self.sums).data

        def share(begin: Index, end: Index) -> None:
            b.invoke(how, source, to, self.channels, self.sizes[-1], begin, b.minus(end, begin))

        ranges(b, self.channels, share, MOVED_NANOSECONDS, self.points * known(self.sizes[-1]))
        return to

    @property
    def before(self) -> list[int]:
        """Places of padding before the data; the transpose of a convolution is one of reversed filters."""
        c = self.convolution
        return [TAPS - 1 - n if c.is_transposed else n for n in c.before]

    def transform(
        self,
        shape: Value,
        source: Value,
        to: Value,
        tiles: tuple[Index, Index],
        channels: tuple[Index, Index],
        of_data: bool = True,
    ) -> None:
        """Transform some channels of some tiles."""
        of = self.x.dtype if of_data and self.x.dtype != self.kind else ""
        kind = self.kind if of_data else self.sums
        how = Transform(self.blocks.machine, kind, self.size, of_data, of)
        self.b.invoke(how, source, to, shape, *tiles, *channels)

    def multiply(self, points: Value, products: Value, tiles: Index, panels: tuple[Index, Index]) -> None:
        """The points of a block times those of some panels of filters."""
        b, blocks, filters = self.b, self.blocks, self.filters
        assert filters is not None
        left, count = panels

        def one(p: Index, _: Any) -> None:
            def first(r: Index, top: Index, rows: Index) -> Value:
                place = b.plus(b.times(p, self.point), b.times(r, self.round))
                return b.address(points, place)

            def second(panel: Index, k: Index) -> tuple[Value, Index]:
                is_over = b.negation(b.is_less(panel, b.plus(left, count)))
                panel = b.choose(is_over, left, panel)
                matrix = b.plus(b.times(panel, self.points), b.plus(p, b.choose(is_over, 1, 0)))
                row = b.plus(b.times(matrix, blocks.depth), k)
                return blocks.address(filters, b.times(row, blocks.width), blocks.size), blocks.width

            shift = b.times(left, blocks.width * blocks.size)
            to = b.address(products, b.minus(b.times(p, self.product), shift))
            blocks.block(first, second, to, (0, tiles), panels)

        blocks.each(self.points, one)

    def follow(self, put: Put, tiles: tuple[Index, Index], columns: tuple[Index, Index]) -> None:
        """Call `put` for some columns of some tiles."""
        b, (top, count), (left, n) = self.b, tiles, columns

        def tile(t: Index, _: Any) -> None:
            image, *phases, y, x = b.unravelled(b.plus(top, t), self.grid)
            apart = self.convolution.dilation
            begins = [b.times(i, self.size) for i in (y, x)]
            wholes = [
                b.quotient(b.plus(b.minus(d, phase), step - 1), step)
                for d, phase, step in zip(self.sizes[1:3], phases, apart, strict=True)
            ]
            counts = [
                b.larger(0, b.smaller(self.size, b.minus(d, begin)))
                for d, begin in zip(wholes, begins, strict=True)
            ]

            def row(i: Index, _: Any) -> None:
                def place(j: Index, _: Any) -> None:
                    index = [image, *[
                        b.plus(b.times(b.plus(begin, k), step), phase)
                        for begin, k, step, phase in zip(begins, (i, j), apart, phases, strict=True)
                    ]]  # fmt: skip
                    self.along(n, self.blocks.unit, lambda k: put((*index, b.plus(left, k))))

                b.loop(counts[1], (), place)

            b.loop(counts[0], (), row)

        b.loop(count, (), tile)


def known(n: Index) -> int:
    """A size that is known before the program runs."""
    assert isinstance(n, int), "sizes are known where this is chosen"
    return n
