"""How kernels read weights in groups: numbers of 2, 4 or 8 bits one after the other, with scales and zero
points in tensors beside them.

To kernels they are blocks of `BLOCK` numbers, or of a group where that is smaller.  A block's numbers are
spread out in registers first, each in a byte of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from relay.backend.native.kernels.decoding import BlockReader
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.functions import kernel_function
from relay.backend.native.loops.nodes import ADDRESS, INDEX, Buffer, Function, Index, Value
from relay.backend.native.memory.representation import SIZES, scalar
from relay.op.blocks.dequantize import BLOCK
from relay.op.blocks.formats import FORMATS, BlockFormat
from relay.op.blocks.readers import Word

ROW_PARAMS = (
    ("scales", ADDRESS), ("scale_pitch", INDEX), ("zeros", ADDRESS), ("zero_pitch", INDEX),
)  # fmt: skip
"""What kernels take besides: the scales of the first row, the bytes from there to those of the next one, and
the same of zero points.
"""
DECODING_PARAMS = (
    ("source", ADDRESS), ("scales", ADDRESS), ("zeros", ADDRESS), ("count", INDEX), ("to", ADDRESS),
)  # fmt: skip
"""Where a row begins, its scales and its zero points; how many blocks it has, and where its numbers go."""
SPREADS = {2: ("uint32", (6, 12, 18), 0x03030303), 4: ("uint16", (4,), 0x0F0F)}
"""By the bits of a number: the dtype in which a byte is as many bytes as it has numbers; how far copies of it
are shifted, so that each number is the lowest bits of a byte; and those bits.
"""
SIGN = 128
"""What is taken from numbers of 8 bits, which are signed then."""


@dataclass(frozen=True)
class Groups:
    """A matrix in groups: the bits of a number, how many have a scale, and the dtypes of scales and of zero
    points, which is empty if these are in the middle.
    """

    bits: int
    group: int
    scale: str
    zero: str = ""

    def __str__(self) -> str:
        return f"groups.{self.bits}.{self.group}.{self.scale}.{self.zero}"

    @property
    def size(self) -> int:
        """Numbers of a block."""
        return min(self.group, BLOCK)

    @cached_property
    def form(self) -> BlockFormat:
        """A block as kernels read it with a `GroupReader`."""
        middle = 0 if self.bits == 8 or self.zero else 1 << self.bits - 1
        return BlockFormat(
            self.size,
            self.size * self.bits // 8,
            self.size,
            lambda a, r, x: a.byte(x),
            scale_of_group,
            minimum_of_group if self.zero else None,
            zero=middle,
            is_signed=self.bits == 8,
            bits=self.bits,
        )

    def scale_bytes(self, b: Builder, depth: Index) -> Index:
        """Bytes of the scales of a row of so many numbers."""
        return b.times(b.quotient(depth, self.group), SIZES[scalar(self.scale)])

    def zero_bytes(self, b: Builder, depth: Index) -> Index:
        """Bytes of the zero points of a row."""
        count = b.quotient(depth, self.group)
        if self.zero == "uint8":
            return b.quotient(b.plus(b.times(count, self.bits), 7), 8)
        return b.times(count, SIZES[scalar(self.zero)]) if self.zero else 0


Kept = str | Groups
"""How a matrix is kept: the name of a dtype, or of a format of blocks, or in groups."""


def form_of(kept: Kept) -> BlockFormat | None:
    """The blocks of a matrix, if it is in such."""
    return kept.form if isinstance(kept, Groups) else FORMATS.get(kept)


def scale_of_group(a: Any, r: Any) -> Word:
    """The scale of the group that a `GroupReader` reads."""
    return a.scale


def minimum_of_group(a: Any, r: Any) -> Word:
    """What a number of the group stands for if its code is 0."""
    return -(a.scale * a.zero)


class GroupReader(BlockReader):
    """Reads a block of a group; its bytes are its codes."""

    def __init__(
        self, b: Builder, at: Value, how: Groups, number: Index, scales: Value, zeros: Value
    ) -> None:
        """`at` is where the block begins, which is so many blocks behind the first of its row; `scales` and
        `zeros` are where those of the row begin.
        """
        super().__init__(b, at, how.form)
        self.how, self.scales, self.zeros = how, scales, zeros
        self.group = b.quotient(number, how.group // how.size)
        codes = b.registers("uint8", (how.size,), "codes")
        source = Buffer(at, "uint8", (how.form.bytes,), "block")
        if how.bits == 8:
            sign = b.const(SIGN, "uint8")
            b.vector(how.size, lambda x: b.write(codes, (x,), b.bits("xor", b.read(source, (x,)), sign)))
        else:
            spread(b, source, how.form.bytes, how.bits, codes)

        def read(i: Index) -> Value:
            return b.read(codes, (i,))

        self.read = read

    @cached_property
    def scale(self) -> Word:
        """The scale, as float32."""
        return scale_at(self.build, self.how, self.scales, self.group)

    @cached_property
    def zero(self) -> Word:
        """The zero point, as float32, of codes as they are read."""
        return zero_at(self.build, self.how, self.zeros, self.group)


def scale_at(b: Builder, how: Groups, scales: Value, group: Index) -> Word:
    """The scale of a group, or of neighbours along the lanes, as float32; `scales` are those of its row."""
    return beside(b, scales, how.scale, group)


def zero_at(b: Builder, how: Groups, zeros: Value, group: Index) -> Word:
    """The zero point of a group, as float32, of codes as they are read; `zeros` are those of its row."""
    if not how.zero:
        return Word(b, b.const(how.form.zero, "float32"))
    if how.zero != "uint8":
        return taken(how, beside(b, zeros, how.zero, group))
    each = 8 // how.bits
    place = b.address(zeros, b.quotient(group, each))
    byte = Word(b, b.read(Buffer(place, "uint8", (1,)), (0,)))
    shift = b.as_number(b.times(b.rest(group, each), how.bits), "uint8")
    code = (byte >> Word(b, shift)) & ((1 << how.bits) - 1)
    return taken(how, real(b, code.x))


def beside(b: Builder, row: Value, dtype: str, i: Index) -> Word:
    """Number `i` of a row, as float32."""
    return Word(b, b.cast(b.read(Buffer(row, dtype, (b.plus(i, 1),)), (i,)), "float32"))


def real(b: Builder, code: Value) -> Word:
    """A code as float32."""
    return Word(b, b.cast(b.cast(code, "int32"), "float32"))


def taken(how: Groups, zero: Word) -> Word:
    """A zero point of codes as they are read: those of 8 bits are signed then."""
    return zero - SIGN if how.bits == 8 else zero


def spread(b: Builder, source: Buffer, size: int, bits: int, to: Buffer) -> None:
    """Write the numbers of so many bytes, each of which has several, to bytes of their own in registers."""
    dtype, shifts, mask = SPREADS[bits]
    words = Buffer(to.data, dtype, (size,), "codes")

    def one(x: Index) -> None:
        byte = Word(b, b.cast(b.read(source, (x,)), dtype))
        found = byte
        for shift in shifts:
            found = found | (byte << shift)
        b.write(words, (x,), (found & mask).x)

    b.vector(size, one)


@dataclass(frozen=True)
class GroupDecoding:
    """A way of writing what a row of groups stands for, as float32."""

    how: Groups

    @property
    def name(self) -> str:
        """The symbol of its code."""
        return f"relay.decode.{self.how}"

    def function(self) -> Function:
        """Its loops."""
        return kernel_function(self.name, DECODING_PARAMS, self.build)

    def build(self, b: Builder, given: Sequence[Value]) -> None:
        """Block after block."""
        source, scales, zeros, count, to = given
        how = self.how
        out = Buffer(to, "float32", (count, how.size), "to")

        def block(i: Index, _: Any) -> None:
            a = GroupReader(b, b.address(source, b.times(i, how.form.bytes)), how, i, scales, zeros)
            scale, zero = a.scale.x, a.zero.x

            def put(x: Index) -> None:
                b.write(out, (i, x), b.multiply(b.subtract(a.number(0, x), zero), scale))

            b.vector(how.size, put)

        b.loop(count, (), block)
