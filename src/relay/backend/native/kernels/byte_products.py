"""How sums of products of bytes are computed, by the instructions that a machine has."""

from collections.abc import Callable
from dataclasses import dataclass

from relay.backend.native.llvm.machine import Machine
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Buffer, Index

Add = Callable[[Builder, Buffer, Buffer, Buffer, bool], None]


@dataclass(frozen=True)
class ByteProducts:
    """A row of the table."""

    name: str
    """The instruction."""
    vector: int
    """Bytes of a vector."""
    is_exact: bool
    """Whether codes may be unsigned bytes up to 255; else they are less than 128, or signed."""
    takes_signed: bool
    """Whether codes may be signed; if unsigned ones may not be, they are made so."""
    add: Add
    """`add(b, codes, data, sums, is_signed)`: add the products of codes and data, signed bytes in registers,
    to sums of int32, one for four neighbours.
    """


def by_pairs(b: Builder, codes: Buffer, data: Buffer, sums: Buffer, is_signed: bool) -> None:
    """By products of unsigned and signed bytes: two neighbours are added up in int16, then two of those."""
    if is_signed:
        own, signed = b.registers("int8", (32,), "own"), b.registers("int8", (32,), "signed")
        whole = Buffer(codes.data, "int8", (32,), "codes")

        def turn(x: Index) -> None:
            code = b.read(whole, (x,))
            b.write(own, (x,), b.apply("psign.256", "int8", code, code))
            b.write(signed, (x,), b.apply("psign.256", "int8", b.read(data, (x,)), code))

        b.vector(32, turn)
        codes, data = own, signed
    pairs = b.registers("int16", (16,), "pairs")
    multiply_pairs(b, codes, data, pairs, adds=False)
    add_pairs(b, pairs, sums)


def multiply_pairs(b: Builder, codes: Buffer, data: Buffer, pairs: Buffer, adds: bool) -> None:
    """Products of unsigned and signed bytes, two neighbours added up in int16; to what is there, if asked."""
    x16, y16 = Buffer(codes.data, "int16", (16,), "codes"), Buffer(data.data, "int16", (16,), "data")

    def multiply(x: Index) -> None:
        found = b.apply("pmaddubsw.256", "int16", b.read(x16, (x,)), b.read(y16, (x,)))
        b.write(pairs, (x,), b.add(b.read(pairs, (x,)), found) if adds else found)

    b.vector(16, multiply)


def add_pairs(b: Builder, pairs: Buffer, sums: Buffer) -> None:
    """Add two neighbours in int16 each to sums of int32."""
    ones, both = b.const(0x00010001, "int32"), Buffer(pairs.data, "int32", (8,), "pairs")

    def add(x: Index) -> None:
        found = b.apply("pmaddwd.256", "int32", b.read(both, (x,)), ones)
        b.write(sums, (x,), b.add(b.read(sums, (x,)), found))

    b.vector(8, add)


def by_instruction_of(name: str, vector: int) -> Add:
    """By an instruction that adds up four products."""

    def add(b: Builder, codes: Buffer, data: Buffer, sums: Buffer, is_signed: bool) -> None:
        lanes = vector // 4
        x32, y32 = (Buffer(v.data, "int32", (8,), v.name) for v in (codes, data))
        for at in range(0, 8, lanes):

            def part(x: Index, at: int = at) -> None:
                place = (b.plus(at, x),)
                found = b.apply(name, "int32", b.read(sums, (x,)), b.read(x32, place), b.read(y32, place))
                b.write(sums, (x,), found)

            b.vector(lanes, part)

    return add


TABLE = (
    ByteProducts("vpdpbusd.256", 32, True, False, by_instruction_of("vpdpbusd.256", 32)),
    ByteProducts("pmaddubsw.256", 32, False, True, by_pairs),
    ByteProducts("sdot", 16, False, True, by_instruction_of("sdot", 16)),
)
"""The best first."""


def byte_products(machine: Machine) -> ByteProducts | None:
    """The best way of a machine, if it has one."""
    return next((how for how in TABLE if how.name in machine.instructions), None)
