"""Products of rounded data and two rows of a matrix in blocks at a time, a half of a vector for each.

Codes of less than 6 bits leave room: the sums of four products of them fit 16 bits.  So both halves of a
block are multiplied, 16 numbers of two rows at once, and added up before their sums become wider.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relay.backend.native.kernels.decoding import BlockReader
from relay.backend.native.kernels.group_weights import Groups, Kept
from relay.backend.native.kernels.rounded_groups import MOST_NUMBERS, GroupProduct
from relay.backend.native.kernels.rounded_products import (
    GROUP,
    GROUP_BYTES,
    RoundedProduct,
    RoundedProductBuilder,
)
from relay.backend.native.kernels.row_products import PARAMS, sum_of
from relay.backend.native.llvm.machine import Machine
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.functions import kernel_function
from relay.backend.native.loops.nodes import Buffer, Function, Index, Value
from relay.op.blocks.formats import FORMATS, BlockFormat, PerRun

INSTRUCTION = "pmaddubsw.256"
"""Products of unsigned and signed bytes, of which neighbours are added up in 16 bits."""
HALF, LANES = 16, 8
"""Numbers of a half of a block, and sums in a vector, of which each row has a half."""


@dataclass(frozen=True)
class PairedProduct(RoundedProduct):
    """The schedule of such products."""

    @property
    def name(self) -> str:
        """The symbol of its code."""
        return f"relay.rows.paired.{self.kept}"

    def function(self) -> Function:
        """Its loops."""
        return kernel_function(
            self.name, PARAMS, lambda b, given: PairedProductBuilder(b, self, given).build()
        )


def rounded_product(machine: Machine, kept: Kept) -> RoundedProduct:
    """The schedule for a format on a machine."""
    how = RoundedProduct(machine, kept)
    if isinstance(kept, Groups):
        return GroupProduct(machine, kept) if kept.group <= MOST_NUMBERS else how
    form = FORMATS[kept]
    is_paired = form.size == GROUP and form.run == HALF and how.how.name == INSTRUCTION
    return PairedProduct(machine, kept) if is_paired else how


class PairedProductBuilder(RoundedProductBuilder):
    """The loops of such products."""

    def __init__(self, b: Builder, how: PairedProduct, given: Sequence[Value]) -> None:
        """`given` are its parameters."""
        super().__init__(b, how, given)
        self.pairs = self.rows // 2
        self.sums = b.registers("float32", (self.pairs, LANES), "sums")

    def clear(self) -> None:
        """Sums of 0."""
        b = self.b
        zero = b.const(0, "float32")
        b.unrolled(self.pairs, lambda p: self.along(lambda x: b.write(self.sums, (p, x), zero)))

    def part(self, form: BlockFormat, runs: Sequence[int], i: Index, offset: Index) -> None:
        """A block of each row."""
        b = self.b
        place = b.address(self.first.data, b.times(i, GROUP_BYTES))
        scale = b.read(Buffer(b.address(place, 2 * GROUP), "float32", (1,), "scale"), (0,))
        data = [b.registers("int8", (GROUP,), "data") for _ in runs]
        for run in runs:
            codes = Buffer(b.address(place, HALF * run), "int8", (HALF,), "data")
            self.both(HALF, data[run], lambda _, x, codes=codes: b.read(codes, (x,)))
        sums = Buffer(b.address(place, GROUP), "int32", (GROUP // 4,), "sums")
        start = b.registers("int32", (LANES,), "start")
        self.both(4, start, lambda _, x: b.add(b.read(sums, (x,)), b.read(sums, (b.plus(4, x),))))
        whole = b.registers("float32", (LANES,), "whole")
        if form.minimum is not None:
            self.along(
                lambda x: b.write(whole, (x,), b.multiply(b.cast(b.read(start, (x,)), "float32"), scale))
            )
        zero = b.const(-form.zero, "int32")
        self.along(lambda x: b.write(start, (x,), b.multiply(b.read(start, (x,)), zero)))

        def pair(p: Index) -> None:
            rows = [b.address(b.read(self.starts, (b.plus(b.times(p, 2), k),)), offset) for k in (0, 1)]
            readers = [BlockReader(b, row, form) for row in rows]
            total = self.products(readers, runs, data)
            own = self.of_both(readers, form.scale)
            least = None if form.minimum is None else self.of_both(readers, form.minimum)

            def add(x: Index) -> None:
                found = b.add(b.read(total, (x,)), b.read(start, (x,)))
                self.add(p, x, b.cast(found, "float32"), b.multiply(b.read(own, (x,)), scale))
                if least is not None:
                    self.add(p, x, b.read(least, (x,)), b.read(whole, (x,)))

            self.along(add)

        b.unrolled(self.pairs, pair)

    def both(self, size: int, to: Buffer, value: Callable[[int, Index], Value]) -> None:
        """Write so many of `value(row, x)` for each of two rows."""
        b = self.b
        for k in (0, 1):
            b.vector(size, lambda x, k=k: b.write(to, (b.plus(size * k, x),), value(k, x)))

    def of_both(self, readers: Sequence[BlockReader], value: PerRun) -> Buffer:
        """A number of each row's block, in each lane of its half."""
        to = self.b.registers("float32", (LANES,), "numbers")
        self.both(4, to, lambda k, _: value(readers[k], 0).x)
        return to

    def products(self, readers: Sequence[BlockReader], runs: Sequence[int], data: Sequence[Buffer]) -> Buffer:
        """The sums of products of two rows, four lanes for each."""
        b = self.b
        whole: Buffer | None = None
        for run in runs:
            codes = b.registers("uint8", (GROUP,), "codes")
            self.both(HALF, codes, lambda k, x, run=run: readers[k].code(run, x))
            found = b.registers("int16", (HALF,), "pairs")
            self.multiply(
                [Buffer(v.data, "int16", (HALF,), v.name) for v in (codes, data[run])], found, whole
            )
            whole = found
        assert whole is not None
        total, ones = b.registers("int32", (LANES,), "total"), b.const(0x00010001, "int32")
        wide = Buffer(whole.data, "int32", (LANES,), "pairs")
        self.along(lambda x: b.write(total, (x,), b.apply("pmaddwd.256", "int32", b.read(wide, (x,)), ones)))
        return total

    def multiply(self, factors: Sequence[Buffer], to: Buffer, more: Buffer | None) -> None:
        """Write the sums of two neighbouring products each, and what there is already."""
        b = self.b

        def step(x: Index) -> None:
            found = b.apply(INSTRUCTION, "int16", *[b.read(v, (x,)) for v in factors])
            b.write(to, (x,), found if more is None else b.add(found, b.read(more, (x,))))

        b.vector(HALF, step)

    def add_up(self, totals: Buffer) -> None:
        """The sums of each row, four of them."""
        b = self.b
        memory = Buffer(b.stack(4 * self.pairs * LANES), "float32", (self.pairs, LANES), "sums")

        def keep(p: Index) -> None:
            self.along(lambda x: b.write(memory, (p, x), b.read(self.sums, (p, x))))

        b.unrolled(self.pairs, keep)
        rows = Buffer(memory.data, "float32", (self.rows, 4), "sums")
        for r in range(self.rows):
            b.write(totals, (r,), sum_of(b, [b.read(rows, (r, k)) for k in range(4)]))
