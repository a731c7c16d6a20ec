"""Products of rounded data and rows of a matrix in groups, whose scales and zero points lie beside them.

What a zero point takes from a product is its scale, times it, times the sum of the group's data.  So that is
taken from all groups of a row at once, in vectors, when their codes have been multiplied.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relay.backend.native.kernels.group_weights import (
    SIGN,
    Groups,
    Kept,
    real,
    scale_at,
    spread,
    taken,
    zero_at,
)
from relay.backend.native.kernels.rounded_products import (
    GROUP,
    GROUP_BYTES,
    RoundedProduct,
    RoundedProductBuilder,
    flips_codes,
)
from relay.backend.native.kernels.row_products import params_of
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.functions import kernel_function
from relay.backend.native.loops.nodes import Buffer, Function, Index, Value
from relay.backend.native.memory.representation import SIZES, scalar

MOST_NUMBERS = 256
"""Numbers of a group at most: code for its blocks in eight rows is to stay in the cache of instructions."""


def sums_of_groups(b: Builder, kept: Kept, depth: Index) -> Index:
    """How many sums of data a row of so many numbers has behind its codes, for zero points."""
    return b.quotient(depth, kept.group) if isinstance(kept, Groups) and kept.zero else 0


def write_sums(b: Builder, kept: Kept, codes: Value, depth: Index) -> None:
    """Write the sums of a row's rounded data behind its codes, for each group of a matrix: with the other
    sign.
    """
    count = sums_of_groups(b, kept, depth)
    if count == 0:
        return
    assert isinstance(kept, Groups)
    each = kept.group // GROUP
    to = Buffer(sums_at(b, codes, depth), "float32", (count,), "sums")

    def group(g: Index, _: Any) -> None:
        total: Value = b.const(0, "float32")
        for q in range(each):
            place = b.address(codes, b.times(b.plus(b.times(g, each), q), GROUP_BYTES))
            numbers = Buffer(b.address(place, GROUP), "int32", (GROUP // 4,), "sums")
            scale = b.read(Buffer(b.address(place, 2 * GROUP), "float32", (1,), "scale"), (0,))
            whole = b.read(numbers, (0,))
            for x in range(1, GROUP // 4):
                whole = b.add(whole, b.read(numbers, (x,)))
            total = b.subtract(total, b.multiply(b.cast(whole, "float32"), scale))
        b.write(to, (g,), total)

    b.loop(count, (), group)


def sums_at(b: Builder, codes: Value, depth: Index) -> Value:
    """Where the sums of a row's data are."""
    return b.address(codes, b.times(b.quotient(depth, GROUP), GROUP_BYTES))


@dataclass(frozen=True)
class GroupProduct(RoundedProduct):
    """The schedule of such products."""

    def function(self) -> Function:
        params = params_of(self.kept)
        return kernel_function(
            self.name, params, lambda b, given: GroupProductBuilder(b, self, given).build()
        )


class GroupProductBuilder(RoundedProductBuilder):
    """The loops of such products."""

    def __init__(self, b: Builder, how: GroupProduct, given: Sequence[Value]) -> None:
        """`given` are its parameters."""
        super().__init__(b, how, given)
        assert isinstance(how.kept, Groups)
        self.kept = how.kept
        self.each = self.kept.group // GROUP
        """Blocks of a group."""
        self.groups = b.quotient(self.depth, self.kept.group)

    def build(self) -> None:
        b = self.b
        self.clear()
        b.loop(self.groups, (), lambda g, _: self.group(g))
        if self.kept.zero:
            b.loop(self.vectors, (), lambda v, _: self.zeros(b.times(v, self.lanes)))
        self.write(self.depth)

    def beside_row(self, r: Index) -> tuple[Value, Value]:
        """Where the scales and the zero points of a row are."""
        scales, scale_pitch, zeros, zero_pitch = self.beside
        return self.row(r, scales, scale_pitch), self.row(r, zeros, zero_pitch)

    def group(self, g: Index) -> None:
        """A group of each row: its blocks are added up before its scale multiplies them."""
        b, how, form, lanes = self.b, self.how.how, self.kept.form, self.lanes
        flips = flips_codes(form, how)
        self.fetch_groups(g)
        blocks = [b.plus(b.times(g, self.each), q) for q in range(self.each)]
        data = [self.data(i) for i in blocks]
        zero = SIGN if flips else form.zero
        start = b.registers("float32", (lanes,), "start")

        def begin(x: Index) -> None:
            total: Value = b.const(0, "float32")
            for _, sums, scale in data if zero else ():
                number = b.multiply(b.cast(b.read(sums, (x,)), "float32"), b.const(-zero, "float32"))
                total = b.function("fmuladd", number, scale, total)
            b.write(start, (x,), total)

        b.vector(lanes, begin)

        def row(r: Index) -> None:
            inner = b.registers("float32", (lanes,), "inner")
            b.vector(lanes, lambda x: b.write(inner, (x,), b.read(start, (x,))))
            for i, (numbers, _, scale) in zip(blocks, data, strict=True):
                a = self.reader(form, r, i, b.times(i, form.bytes))
                codes, total = self.codes(a, form, [0]), b.registers("int32", (lanes,), "total")
                b.vector(lanes, lambda x, total=total: b.write(total, (x,), b.const(0, "int32")))
                how.add(b, codes, numbers, total, form.is_signed and not flips)

                def add(x: Index, total: Buffer = total, scale: Value = scale) -> None:
                    number = b.cast(b.read(total, (x,)), "float32")
                    b.write(inner, (x,), b.function("fmuladd", number, scale, b.read(inner, (x,))))

                b.vector(lanes, add)
            own = scale_at(b, self.kept, self.beside_row(r)[0], g).x
            b.vector(lanes, lambda x: self.add(r, x, own, b.read(inner, (x,))))

        b.unrolled(self.rows, row)

    def data(self, i: Index) -> tuple[Buffer, Buffer, Value]:
        """Rounded data of a block: codes in registers, where their sums are, and the scale."""
        b = self.b
        place = b.address(self.first.data, b.times(i, GROUP_BYTES))
        scale = b.read(Buffer(b.address(place, 2 * GROUP), "float32", (1,), "scale"), (0,))
        sums = Buffer(b.address(place, GROUP), "int32", (GROUP // 4,), "sums")
        return self.codes_of_data(place), sums, scale

    @property
    def vectors(self) -> Index:
        """How many times as many groups as a vector has lanes there are."""
        return self.b.quotient(self.groups, self.lanes)

    def zeros(self, first: Index) -> None:
        """Take from each row what the zero points of some groups do, as many as a vector has lanes."""
        b, kept, lanes = self.b, self.kept, self.lanes
        sums = Buffer(sums_at(b, self.first.data, self.depth), "float32", (self.groups,), "sums")

        def row(r: Index) -> None:
            scales, zeros = self.beside_row(r)
            codes = b.registers("uint8", (lanes,), "zeros")
            if kept.zero == "uint8":
                size = lanes * kept.bits // 8
                place = b.address(zeros, b.quotient(b.times(first, kept.bits), 8))
                source = Buffer(place, "uint8", (size,), "zeros")
                if kept.bits == 8:
                    b.vector(lanes, lambda x: b.write(codes, (x,), b.read(source, (x,))))
                else:
                    spread(b, source, size, kept.bits, codes)

            def take(x: Index) -> None:
                g = b.plus(first, x)
                if kept.zero == "uint8":
                    zero = taken(kept, real(b, b.read(codes, (x,))))
                else:
                    zero = zero_at(b, kept, zeros, g)
                factor = b.multiply(scale_at(b, kept, scales, g).x, zero.x)
                self.add(r, x, factor, b.read(sums, (g,)))

            b.vector(lanes, take)

        b.unrolled(self.rows, row)

    def add_up(self, totals: Buffer) -> None:
        """The sums of each row, and what the zero points of its last groups take, which fill no vector."""
        super().add_up(totals)
        b, kept = self.b, self.kept
        if not kept.zero:
            return
        sums = Buffer(sums_at(b, self.first.data, self.depth), "float32", (self.groups,), "sums")
        done = b.times(self.vectors, self.lanes)

        def group(i: Index, _: Any) -> None:
            g = b.plus(done, i)

            def row(r: Index) -> None:
                scales, zeros = self.beside_row(r)
                factor = b.multiply(scale_at(b, kept, scales, g).x, zero_at(b, kept, zeros, g).x)
                total = b.read(totals, (r,))
                b.write(totals, (r,), b.function("fmuladd", factor, b.read(sums, (g,)), total))

            b.unrolled(self.rows, row)

        b.loop(b.minus(self.groups, done), (), group)

    def fetch_groups(self, g: Index) -> None:
        """Fetch a share of the rows that come after these, and of their scales."""
        b, size = self.b, self.rows * self.each * self.kept.form.bytes
        self.fetch_lines(b.plus(b.times(self.pitch, self.rows), b.times(g, size)), size)
        scales, pitch = self.beside[:2]
        share = b.times(g, SIZES[scalar(self.kept.scale)] * self.rows)
        b.prefetch(b.address(scales, b.plus(b.times(pitch, self.rows), share)), level=3)
