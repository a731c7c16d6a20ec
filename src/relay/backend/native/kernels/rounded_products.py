"""Products of a row of data that is rounded to integers of 8 bits, and the rows of a matrix in blocks:
integers are multiplied, 32 products are added up exactly, and their sum is scaled.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from relay.backend.native.kernels.byte_products import ByteProducts, byte_products
from relay.backend.native.kernels.decoding import BlockReader
from relay.backend.native.kernels.group_weights import Kept, form_of
from relay.backend.native.kernels.row_products import RowProductBuilder, params_of
from relay.backend.native.llvm.machine import Machine
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.functions import kernel_function
from relay.backend.native.loops.nodes import ADDRESS, INDEX, Buffer, Function, Index, Value
from relay.op.blocks.formats import BlockFormat
from relay.op.blocks.rounding import GREATEST_CODE

GROUP = 32
"""Numbers of a group, which has a scale."""
GROUP_BYTES = 2 * GROUP + 4
"""Bytes of a group of data: codes, as many of sums of four, and the scale."""
ROUNDING_PARAMS = (("source", ADDRESS), ("count", INDEX), ("to", ADDRESS))
"""Where numbers are, as float32, how many groups of them, and where they go."""


def is_rounded(kept: Kept, machine: Machine) -> bool:
    """Whether there are such products for a format on a machine."""
    form = form_of(kept)
    if form is None or byte_products(machine) is None or form.levels:
        return False
    return form.run == GROUP or form.size == GROUP


def flips_codes(form: BlockFormat, how: ByteProducts) -> bool:
    """Whether signed codes are made unsigned, by the sign of all."""
    return form.is_signed and not how.takes_signed


@dataclass(frozen=True)
class Rounding:
    """A way of rounding data: codes, sums of four of them each, and a scale for each group."""

    machine: Machine

    @property
    def name(self) -> str:
        """The symbol of its code."""
        return "relay.round.groups"

    def function(self) -> Function:
        """Its loops."""
        return kernel_function(self.name, ROUNDING_PARAMS, self.build)

    def build(self, b: Builder, given: Sequence[Value]) -> None:
        """Group after group."""
        source, count, to = given
        lanes = self.machine.lanes("float")
        x = Buffer(source, "float32", (count, GROUP), "source")
        parts = range(0, GROUP, lanes)
        memory = Buffer(b.stack(4 * lanes), "float32", (lanes,), "most")

        def group(g: Index, _: object) -> None:
            place = b.address(to, b.times(g, GROUP_BYTES))

            def most(i: Index) -> None:
                found = [b.function("fabs", b.read(x, (g, b.plus(at, i)))) for at in parts]
                total = found[0]
                for other in found[1:]:
                    total = b.function("maximum", total, other)
                b.write(memory, (i,), total)

            b.vector(lanes, most)
            total: Value = b.read(memory, (0,))
            for i in range(1, lanes):
                total = b.function("maximum", total, b.read(memory, (i,)))
            scale, zero = b.divide(total, b.const(GREATEST_CODE, total)), b.const(0, total)
            inverse = b.select(b.compare("eq", scale, zero), zero, b.divide(b.const(1, total), scale))
            b.write(Buffer(b.address(place, 2 * GROUP), "float32", (1,), "scale"), (0,), scale)
            codes = Buffer(place, "int8", (GROUP,), "codes")
            for at in parts:

                def put(i: Index, at: int = at) -> None:
                    whole = b.function("rint", b.multiply(b.read(x, (g, b.plus(at, i))), inverse))
                    b.write(codes, (b.plus(at, i),), b.cast(b.cast(whole, "int32"), "int8"))

                b.vector(lanes, put)
            self.add_up(b, codes, Buffer(b.address(place, GROUP), "int32", (GROUP // 4,), "sums"))

        b.loop(count, (), group)

    def add_up(self, b: Builder, codes: Buffer, to: Buffer) -> None:
        """The sums of codes that instructions make of four neighbours each."""
        how = byte_products(self.machine)
        assert how is not None
        one = b.const(1, "uint8")
        ones, data, sums = (
            b.registers(dtype, (n,)) for dtype, n in (("uint8", 32), ("int8", 32), ("int32", 8))
        )
        for at in range(0, GROUP, how.vector):
            b.vector(how.vector, lambda x, at=at: b.write(ones, (b.plus(at, x),), one))
            b.vector(
                how.vector, lambda x, at=at: b.write(data, (b.plus(at, x),), b.read(codes, (b.plus(at, x),)))
            )
        lanes = how.vector // 4
        b.vector(lanes, lambda x: b.write(sums, (x,), b.const(0, "int32")))
        how.add(b, ones, data, sums, False)
        b.vector(lanes, lambda x: b.write(to, (x,), b.read(sums, (x,))))


@dataclass(frozen=True)
class RoundedProduct:
    """The schedule of such products, of a matrix in blocks of a format, or in groups."""

    machine: Machine
    kept: Kept

    @property
    def name(self) -> str:
        """The symbol of its code."""
        return f"relay.rows.rounded.{self.kept}"

    @property
    def how(self) -> ByteProducts:
        """How bytes are multiplied."""
        found = byte_products(self.machine)
        assert found is not None, "a kernel is for machines that have instructions for it"
        return found

    @property
    def lanes(self) -> int:
        """Sums in a vector."""
        return self.how.vector // 4

    @property
    def rows(self) -> int:
        """Rows of the matrix that are gone through at once."""
        return self.lanes

    def function(self) -> Function:
        """Its loops."""
        return kernel_function(
            self.name, params_of(self.kept), lambda b, given: RoundedProductBuilder(b, self, given).build()
        )


class RoundedProductBuilder(RowProductBuilder):
    """The loops of such products."""

    how: RoundedProduct

    def part(self, form: BlockFormat, runs: Sequence[int], i: Index, offset: Index) -> None:
        """A group of each row."""
        b, how, lanes, q = self.b, self.how.how, self.lanes, runs[0]
        place = b.address(self.first.data, b.times(self.group_of(form, i, q), GROUP_BYTES))
        scale = b.read(Buffer(b.address(place, 2 * GROUP), "float32", (1,), "scale"), (0,))
        data, start = self.codes_of_data(place), b.registers("int32", (lanes,), "start")
        whole = b.registers("float32", (1, lanes), "whole")
        flips = flips_codes(form, how)
        zero = b.const(-128 if flips else -form.zero, "int32")

        def sums(x: Index) -> None:
            found = b.read(Buffer(b.address(place, GROUP), "int32", (GROUP // 4,), "sums"), (x,))
            b.write(start, (x,), b.multiply(found, zero) if zero.value else b.const(0, "int32"))
            if form.minimum is not None:
                b.write(whole, (0, x), b.multiply(b.cast(found, "float32"), scale))

        b.vector(lanes, sums)

        def row(r: Index) -> None:
            a = self.reader(form, r, i, offset)
            own = b.multiply(form.scale(a, q).x, scale)
            least = None if form.minimum is None else form.minimum(a, q).x
            codes, total = self.codes(a, form, runs), b.registers("int32", (lanes,), "total")
            b.vector(lanes, lambda x: b.write(total, (x,), b.read(start, (x,))))
            how.add(b, codes, data, total, form.is_signed and not flips)

            def add(x: Index) -> None:
                self.add(r, x, b.cast(b.read(total, (x,)), "float32"), own)
                if least is not None:
                    self.add(r, x, least, b.read(whole, (0, x)))

            b.vector(lanes, add)

        b.unrolled(self.rows, row)

    def codes_of_data(self, place: Value) -> Buffer:
        """The codes of a group of data, in registers."""
        b, vector = self.b, self.how.how.vector
        data, source = b.registers("int8", (GROUP,), "data"), Buffer(place, "int8", (GROUP,), "data")
        for at in range(0, GROUP, vector):

            def read(x: Index, at: int = at) -> None:
                b.write(data, (b.plus(at, x),), b.read(source, (b.plus(at, x),)))

            b.vector(vector, read)
        return data

    def group_of(self, form: BlockFormat, i: Index, q: int) -> Index:
        """Which group of its row run `q` of block `i` is, or begins."""
        return self.b.plus(self.b.times(i, form.size // GROUP), q * form.run // GROUP)

    def codes(self, a: BlockReader, form: BlockFormat, runs: Sequence[int]) -> Buffer:
        """The codes of a group, as instructions take them: unsigned, unless these take signed ones."""
        b, how = self.b, self.how.how
        flips = flips_codes(form, how)
        codes, size = b.registers("uint8", (GROUP,), "codes"), min(form.run, how.vector)
        for n, run in enumerate(runs):
            for at in range(0, form.run, size):

                def put(x: Index, run: int = run, at: int = at, n: int = n) -> None:
                    code = a.code(run, b.plus(at, x))
                    code = b.bits("xor", code, b.const(128, "uint8")) if flips else code
                    b.write(codes, (b.plus(n * form.run + at, x),), code)

                b.vector(size, put)
        return codes
