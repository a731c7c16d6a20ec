"""Products of many rows of data that are rounded to integers of 8 bits, and a matrix in blocks or groups.

As many rows of the matrix as a vector has sums are a panel.  It has, of each group of 32 numbers, four codes
of each row, the next four of each, and so on, a byte each; then the scales of the rows, and their minima.  A
tile goes over a panel with a few rows of data: each sum of a vector is that of another row of the matrix.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relay.backend.native.kernels.block_matrices import BlockMatrix
from relay.backend.native.kernels.byte_products import add_pairs, by_pairs, multiply_pairs
from relay.backend.native.kernels.group_weights import Kept, form_of
from relay.backend.native.kernels.ranges import ranges, ranges_with_buffer
from relay.backend.native.kernels.rounded_products import (
    GROUP,
    GROUP_BYTES,
    RoundedProduct,
    RoundedProductBuilder,
    Rounding,
)
from relay.backend.native.kernels.row_products import params_of, row_bytes
from relay.backend.native.kernels.stored import as_float32
from relay.backend.native.kernels.sums import Tail
from relay.backend.native.llvm.machine import Machine, host
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.functions import kernel_function
from relay.backend.native.loops.nodes import ADDRESS, INDEX, Buffer, Function, Index, Value
from relay.backend.native.loops.views import View
from relay.op.blocks.formats import BlockFormat
from relay.op.blocks.rounding import GREATEST_CODE

PANELS = 4
"""Panels that are packed before rows of data go over them."""
HEIGHTS = (4, 2, 1)
"""Rows of data that a tile has."""
PRODUCT_NANOSECONDS, ROUNDED_NANOSECONDS = 0.01, 0.3
"""Nanoseconds for a product, and for a number that is rounded."""
GREATEST_PAIR = 32767
"""The greatest sum of 16 bits."""
TOTAL_PARAMS = (("data", ADDRESS), ("count", INDEX))
"""Where groups of data begin, and how many they are."""
TILE_PARAMS = (
    ("data", ADDRESS), ("data_pitch", INDEX), ("panel", ADDRESS), ("groups", INDEX), ("out", ADDRESS),
    ("out_pitch", INDEX), ("count", INDEX),
)  # fmt: skip
"""The first row of data, the bytes to the next one; the panel, and its groups; where the result goes, the
bytes to the next row of it, and how many of the sums of a vector it has.
"""


@dataclass(frozen=True)
class Totals:
    """A way of writing, in place of sums of four codes, what sums of products of a group begin with, and the
    sum of its codes times its scale.
    """

    zero: int
    """What codes of the matrix are for 0."""

    @property
    def name(self) -> str:
        """The symbol of its code."""
        return f"relay.round.totals.{self.zero}"

    def function(self) -> Function:
        """Its loops."""
        return kernel_function(self.name, TOTAL_PARAMS, self.build)

    def build(self, b: Builder, given: Sequence[Value]) -> None:
        """Group after group."""
        data, count = given

        def group(g: Index, _: object) -> None:
            sums, scale = parts_of(b, b.address(data, b.times(g, GROUP_BYTES)))
            total = b.read(sums, (0,))
            for i in range(1, GROUP // 4):
                total = b.add(total, b.read(sums, (i,)))
            scaled = b.multiply(b.cast(total, "float32"), b.read(scale, (0,)))
            b.write(sums, (0,), b.multiply(total, b.const(-self.zero, "int32")))
            b.write(Buffer(sums.data, "float32", sums.sizes, "sums"), (1,), scaled)

        b.loop(count, (), group)


def parts_of(b: Builder, place: Value) -> tuple[Buffer, Buffer]:
    """The sums of a group of data, and its scale."""
    sums = Buffer(b.address(place, GROUP), "int32", (GROUP // 4,), "sums")
    return sums, Buffer(b.address(place, 2 * GROUP), "float32", (1,), "scale")


@dataclass(frozen=True)
class PanelPacking(RoundedProduct):
    """A way of packing rows of the matrix as a panel."""

    @property
    def name(self) -> str:
        """The symbol of its code."""
        return f"relay.panel.rounded.{self.kept}"

    @property
    def group_bytes(self) -> int:
        """Bytes of a group of a panel."""
        form = form_of(self.kept)
        assert form is not None
        return self.lanes * (GROUP + 4 + (4 if form.minimum is not None else 0))

    @property
    def zero(self) -> int:
        """What codes are for 0, as instructions take them."""
        form = form_of(self.kept)
        assert form is not None
        return 128 if form.is_signed and not self.how.takes_signed else form.zero

    def function(self) -> Function:
        """Its loops."""
        return kernel_function(
            self.name, params_of(self.kept), lambda b, given: PanelPackingBuilder(b, self, given).build()
        )


class PanelPackingBuilder(RoundedProductBuilder):
    """The loops that pack a panel, which goes where a product would."""

    def build(self) -> None:
        """Block after block."""
        assert self.form is not None
        self.b.loop(self.b.quotient(self.depth, self.form.size), (), lambda i, _: self.blocks(i))

    def part(self, form: BlockFormat, runs: Sequence[int], i: Index, offset: Index) -> None:
        """A group of each row."""
        b, how, lanes, q = self.b, self.how, self.lanes, runs[0]
        assert isinstance(how, PanelPacking)
        place = b.address(self.out.data, b.times(self.group_of(form, i, q), how.group_bytes))
        scales = Buffer(b.address(place, GROUP * lanes), "float32", (lanes,), "scales")
        minima = Buffer(b.address(place, (GROUP + 4) * lanes), "float32", (lanes,), "minima")
        squares = [b.registers("int32", (lanes, lanes), "square") for _ in range(0, GROUP // 4, lanes)]

        def row(r: Index) -> None:
            a = self.reader(form, r, i, offset)
            b.write(scales, (r,), form.scale(a, q).x)
            if form.minimum is not None:
                b.write(minima, (r,), form.minimum(a, q).x)
            words = Buffer(self.codes(a, form, runs).data, "int32", (GROUP // 4,), "codes")
            for n, square in enumerate(squares):
                b.vector(
                    lanes,
                    lambda x, n=n, to=square: b.write(to, (r, x), b.read(words, (b.plus(n * lanes, x),))),
                )

        b.unrolled(self.rows, row)
        to = Buffer(place, "int32", (GROUP // 4, lanes), "codes")
        for n, square in enumerate(squares):
            b.transpose(square)
            for w in range(lanes):
                b.vector(
                    lanes,
                    lambda x, at=n * lanes + w, w=w, square=square: b.write(
                        to, (at, x), b.read(square, (w, x))
                    ),
                )


@dataclass(frozen=True)
class RoundedTile:
    """The schedule of a tile: so many rows of data over a panel."""

    machine: Machine
    kept: Kept
    height: int

    @property
    def name(self) -> str:
        """The symbol of its code."""
        return f"relay.tile.rounded.{self.height}.{self.kept}"

    def function(self) -> Function:
        """Its loops."""
        return kernel_function(
            self.name, TILE_PARAMS, lambda b, given: RoundedTileBuilder(b, self, given).build()
        )


class RoundedTileBuilder:
    """The loops of a tile."""

    def __init__(self, b: Builder, how: RoundedTile, given: Sequence[Value]) -> None:
        """`given` are its parameters."""
        self.data, self.data_pitch, self.panel, self.groups, self.out, self.out_pitch, self.count = given
        self.b, self.height = b, how.height
        self.packing = PanelPacking(how.machine, how.kept)
        self.how, self.lanes = self.packing.how, self.packing.lanes
        form = form_of(how.kept)
        assert form is not None
        self.form = form
        self.sums = b.registers("float32", (self.height, self.lanes), "sums")
        self.totals = [b.registers("int32", (self.lanes,), "total") for _ in range(self.height)]
        few = GREATEST_PAIR // (2 * GREATEST_CODE * ((1 << form.bits) - 1))
        self.pairs = few if self.how.add is by_pairs and not form.is_signed else 0
        """How many products of pairs add up in 16 bits, if that is how they are computed."""

    def build(self) -> None:
        """All of it."""
        b = self.b
        for m in range(self.height):
            b.vector(self.lanes, lambda x, m=m: b.write(self.sums, (m, x), b.const(0, "float32")))
        b.loop(self.groups, (), lambda g, _: self.group(g))
        for m in range(self.height):
            self.write(m)

    def group(self, g: Index) -> None:
        """A group of each row of data and of the panel."""
        b, lanes = self.b, self.lanes
        panel = b.address(self.panel, b.times(g, self.packing.group_bytes))
        at = b.times(g, GROUP_BYTES)
        places = [b.address(self.data, b.plus(b.times(self.data_pitch, m), at)) for m in range(self.height)]
        for place, total in zip(places, self.totals, strict=True):
            start = b.read(parts_of(b, place)[0], (0,)) if self.packing.zero else b.const(0, "int32")
            b.vector(lanes, lambda x, total=total, start=start: b.write(total, (x,), start))
        self.multiply(panel, places)
        scales = Buffer(b.address(panel, GROUP * lanes), "float32", (lanes,), "scales")
        minima = Buffer(b.address(panel, (GROUP + 4) * lanes), "float32", (lanes,), "minima")
        for m, (place, total) in enumerate(zip(places, self.totals, strict=True)):
            sums, scale = parts_of(b, place)
            own = b.read(scale, (0,))
            whole = b.read(Buffer(sums.data, "float32", sums.sizes, "sums"), (1,))

            def add(
                x: Index, m: int = m, total: Buffer = total, own: Value = own, whole: Value = whole
            ) -> None:
                factor = b.multiply(b.read(scales, (x,)), own)
                number = b.cast(b.read(total, (x,)), "float32")
                found = b.function("fmuladd", number, factor, b.read(self.sums, (m, x)))
                if self.form.minimum is not None:
                    found = b.function("fmuladd", b.read(minima, (x,)), whole, found)
                b.write(self.sums, (m, x), found)

            b.vector(lanes, add)

    def multiply(self, panel: Value, places: Sequence[Value]) -> None:
        """Add the products of a group to the totals: 32 bytes of the panel after the other."""
        b, lanes, vector = self.b, self.lanes, self.how.vector
        signed = self.form.is_signed and self.how.takes_signed
        pairs = [b.registers("int16", (16,), "pairs") for _ in places]
        for s in range(lanes):
            codes = b.registers("uint8", (32,), "codes")
            source = Buffer(b.address(panel, 32 * s), "uint8", (32,), "panel")
            for at in range(0, 32, vector):
                b.vector(
                    vector,
                    lambda x, at=at, codes=codes, source=source: b.write(
                        codes, (b.plus(at, x),), b.read(source, (b.plus(at, x),))
                    ),
                )
            for place, total, pair in zip(places, self.totals, pairs, strict=True):
                data = self.spread(place, s)
                if not self.pairs:
                    self.how.add(b, codes, data, total, signed)
                    continue
                multiply_pairs(b, codes, data, pair, adds=s % self.pairs != 0)
                if s % self.pairs == self.pairs - 1 or s == lanes - 1:
                    add_pairs(b, pair, total)

    def spread(self, place: Value, s: int) -> Buffer:
        """Four codes of a row of data in each lane, those that a step multiplies with."""
        b, lanes = self.b, self.lanes
        data = b.registers("int8", (32,), "data")
        words = Buffer(data.data, "int32", (8,), "data")
        source = Buffer(place, "int32", (GROUP // 4,), "codes")
        for n in range(8 // lanes):
            word = b.read(source, (s * (8 // lanes) + n,))
            b.vector(lanes, lambda x, n=n, word=word: b.write(words, (b.plus(n * lanes, x),), word))
        return data

    def write(self, m: int) -> None:
        """The sums of a row."""
        b, lanes = self.b, self.lanes
        out = Buffer(b.address(self.out, b.times(self.out_pitch, m)), "float32", (lanes,), "out")

        def whole() -> None:
            b.vector(lanes, lambda x: b.write(out, (x,), b.read(self.sums, (m, x))))

        def part() -> None:
            memory = Buffer(b.stack(4 * lanes), "float32", (lanes,), "row")
            b.vector(lanes, lambda x: b.write(memory, (x,), b.read(self.sums, (m, x))))
            b.loop(self.count, (), lambda x, _: b.write(out, (x,), b.read(memory, (x,))))

        b.when(b.is_same(self.count, lanes), whole, part)


def write_tiles(
    b: Builder, x: View, y: BlockMatrix, shape: tuple[Index, Index, Index], out: Value, tail: Tail | None
) -> None:
    """Write the products of rows of data, which are rounded first, and those of a matrix; `shape` are the
    rows, the columns of the result and the numbers of a row; parts of the result go to `tail`.
    """
    rows, columns, depth = shape
    packing = PanelPacking(host(), y.kept)
    lanes, groups = packing.lanes, b.quotient(depth, GROUP)
    pitch, data_pitch = row_bytes(b, y.kept, depth), b.times(groups, GROUP_BYTES)
    data, size = rounded_rows(b, x, rows, depth, packing.zero), b.times(groups, packing.group_bytes)
    panels = b.quotient(b.plus(columns, lanes - 1), lanes)

    def share(begin: Index, end: Index, memory: Value) -> None:
        def one(i: Index, _: object) -> None:
            first = b.times(b.plus(begin, i), PANELS)
            count = b.smaller(PANELS, b.minus(panels, first))

            def pack(p: Index, _: object) -> None:
                left = b.times(b.plus(first, p), lanes)
                source, to = b.address(y.data, b.times(left, pitch)), b.address(memory, b.times(p, size))
                have = b.smaller(lanes, b.minus(columns, left))
                b.invoke(packing, data, source, pitch, depth, have, to, *y.rows_beside(b, left))

            b.loop(count, (), pack)

            def tile(height: int, top: Index) -> None:
                given = b.address(data, b.times(top, data_pitch))
                how = RoundedTile(host(), y.kept, height)

                def panel(p: Index, _: object) -> None:
                    left = b.times(b.plus(first, p), lanes)
                    to = b.address(out, b.times(b.plus(b.times(top, columns), left), 4))
                    have = b.smaller(lanes, b.minus(columns, left))
                    packed = b.address(memory, b.times(p, size))
                    b.invoke(how, given, data_pitch, packed, groups, to, b.times(columns, 4), have)

                b.loop(count, (), panel)

            stack_of_tiles(b, rows, tile)
            if tail is not None:
                left = b.times(first, lanes)
                end = b.smaller(b.times(b.plus(first, count), lanes), columns)
                tail(0, rows, left, b.minus(end, left), None)

        b.loop(b.minus(end, begin), (), one)

    chunks = b.quotient(b.plus(panels, PANELS - 1), PANELS)
    inner = b.count([rows, depth, lanes * PANELS])
    ranges_with_buffer(b, chunks, share, ("uint8", b.times(size, PANELS)), PRODUCT_NANOSECONDS, inner)


def rounded_rows(b: Builder, x: View, rows: Index, depth: Index, zero: int) -> Value:
    """Rows of data as tiles read them, for codes that are so much for 0."""
    first, groups = as_float32(b, x, rows, depth), b.quotient(depth, GROUP)
    pitch = b.times(groups, GROUP_BYTES)
    codes = b.room("uint8", [rows, pitch]).buffer.data

    def share(begin: Index, end: Index) -> None:
        count, to = b.times(b.minus(end, begin), groups), b.address(codes, b.times(begin, pitch))
        b.invoke(Rounding(host()), b.address(first, b.times(b.times(begin, depth), 4)), count, to)
        b.invoke(Totals(zero), to, count)

    ranges(b, rows, share, ROUNDED_NANOSECONDS, depth)
    return codes


def stack_of_tiles(b: Builder, rows: Index, tile: Callable[[int, Index], None]) -> None:
    """Call `tile(height, top)` for tiles that make up some rows, the tallest first."""
    at: Index = 0
    for height in HEIGHTS:
        count = b.quotient(b.minus(rows, at), height)
        if count == 0:
            continue
        first = at
        b.loop(count, (), lambda i, _, h=height, first=first: tile(h, b.plus(first, b.times(i, h))))
        at = b.plus(at, b.times(count, height))
