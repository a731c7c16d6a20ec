"""The innermost step of products: how a tile multiplies and adds, for each dtype of sums and of the numbers
that are multiplied, on each machine.

A tile reads elements of both operands and adds their products to its sums.  An element is a number, or
several neighbours along the summed dimension that an instruction multiplies and adds up at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from relay.backend.native.llvm.machine import Machine
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Value
from relay.backend.native.memory.representation import SIZES, scalar
from relay.ir.dtype import to_numpy

ELEMENT_BYTES = 4
"""Bytes of an element of several numbers: those of the sum that their products are added to."""
GREATEST_SMALL = 64
"""Signed bytes up to here are small: sums of two products of these and unsigned ones are exact in int16."""
Factors = Callable[[Builder, Value], Sequence[Value]]
"""The numbers that an element is multiplied as: itself, if an instruction multiplies all of its parts."""
MultiplyAdd = Callable[[Builder, Value, Value, Value], Value]
"""The sum and the product of two of those."""


def whole(b: Builder, x: Value) -> list[Value]:
    """An element as it is."""
    return [x]


def widened(b: Builder, x: Value) -> list[Value]:
    """An element as a float32.  A weight in short floats takes half of the bandwidth, and to convert it in
    registers was as quick where arithmetic is the limit: 16 to 512 rows, on AVX2.
    """
    return [b.cast(x, "float32")]


def int16_halves(b: Builder, x: Value) -> list[Value]:
    """Both numbers of a pair of int16, the lower first."""
    bits = b.const(16, "int32")
    return [b.bits("ashr", b.bits("shl", x, bits), bits), b.bits("ashr", x, bits)]


def fused(b: Builder, total: Value, x: Value, y: Value) -> Value:
    """`total + x * y`, rounded once where the machine can."""
    return b.function("fmuladd", x, y, total)


def plain(b: Builder, total: Value, x: Value, y: Value) -> Value:
    """`total + x * y` of integers."""
    return b.add(total, b.multiply(x, y))


@dataclass(frozen=True)
class InnerStep:
    """A row of the table: how elements are multiplied and added."""

    dtype: str
    """Of the sums."""
    first: str
    """Of the numbers of the first operand, which are converted to it when they are packed."""
    second: str
    """Of those of the second operand."""
    group: int = 1
    """How many neighbours along the summed dimension an element is: together they have `ELEMENT_BYTES`."""
    multiply_add: MultiplyAdd = fused
    factors: Factors = whole
    factor_count: int = 1
    instruction: str = ""
    """What the machine needs for it."""
    needs_small: bool = False
    """Whether numbers of the second operand are known to be small."""
    others: int = 0
    """Registers that it takes beside those of sums and factors, if these leave fewer."""
    unrolled: int = 1
    """How many elements a round of the loop over them takes: several where instructions, which are more than
    one for a product, are what it waits for.
    """

    @property
    def name(self) -> str:
        """What it is called in the symbols of kernels."""
        own = "int16" if self.dtype == "int32" else self.dtype
        return self.dtype if self.first == self.second == own else f"{self.dtype}.{self.first}.{self.second}"

    def __str__(self) -> str:
        return self.name

    def element_dtype(self, numbers: str) -> str:
        """Of the elements that are read, of an operand with such numbers: two of 16 bits make up an int32."""
        return numbers if self.group == 1 else "int32"

    @property
    def first_element(self) -> str:
        """The dtype of the elements of the first operand."""
        return self.element_dtype(self.first)

    @property
    def second_element(self) -> str:
        """The dtype of the elements of the second operand."""
        return self.element_dtype(self.second)

    @property
    def first_size(self) -> int:
        """Bytes of an element of the first operand."""
        return SIZES[scalar(self.first_element)]

    @property
    def second_size(self) -> int:
        """Bytes of an element of the second operand."""
        return SIZES[scalar(self.second_element)]

    @property
    def factor_dtype(self) -> str:
        """Of what an element of the second operand is multiplied as."""
        return self.second_element if self.factors is whole else self.dtype

    def tallest(self, machine: Machine, width: int) -> int:
        """The most rows of `width` vectors of sums that registers hold, beside the factors of a row of the
        second operand and of one element of the first.
        """
        return (machine.registers - (width + 1) * self.factor_count - self.others) // width

    def takes(self, first: str, second: str) -> bool:
        """Whether numbers of these dtypes are all among those that it multiplies."""
        return is_among(first, self.first) and is_among(second, self.second)


def has_small(x: Any) -> bool:
    """Whether all numbers of an array are small."""
    return bool(x.min(initial=0) >= -GREATEST_SMALL and x.max(initial=0) <= GREATEST_SMALL)


@cache
def is_among(dtype: str, wanted: str) -> bool:
    """Whether each number of a dtype is one of another."""
    return dtype == wanted or bool(np.can_cast(to_numpy(dtype), to_numpy(wanted), "safe"))


def added(name: str) -> MultiplyAdd:
    """The sum and what an instruction makes of two vectors."""
    return lambda b, total, x, y: b.add(total, b.apply(name, total.dtype, x, y))


def accumulated(name: str, swapped: bool = False) -> MultiplyAdd:
    """What an instruction makes of the sum and two vectors, which it may take the other way round."""
    return lambda b, total, x, y: b.apply(name, total.dtype, total, *((y, x) if swapped else (x, y)))


def summed_in_pairs(bits: int) -> MultiplyAdd:
    """The sum and products of unsigned bytes and small ones: two are added up in int16, then two of those."""

    def add(b: Builder, total: Value, x: Value, y: Value) -> Value:
        pairs, ones = b.apply(f"pmaddubsw.{bits}", total.dtype, x, y), b.const(0x00010001, total.dtype)
        return b.add(total, b.apply(f"pmaddwd.{bits}", total.dtype, pairs, ones))

    return add


def step_by(
    name: str, dtype: str, first: str, second: str, group: int, how: MultiplyAdd, unrolled: int = 1
) -> InnerStep:
    """A row with an instruction."""
    return InnerStep(dtype, first, second, group, how, instruction=name, unrolled=unrolled)


STEPS = (
    *[
        step_by(
            f"vpdpbusd.{bits}", "int32", first, second, 4, accumulated(f"vpdpbusd.{bits}", first == "int8")
        )
        for bits in (512, 256)
        for first, second in (("uint8", "int8"), ("int8", "uint8"))
    ],
    *[
        step_by(name, "int32", dtype, dtype, 4, accumulated(name))
        for name, dtype in (("sdot", "int8"), ("udot", "uint8"))
    ],
    step_by("usdot", "int32", "uint8", "int8", 4, accumulated("usdot")),
    step_by("usdot", "int32", "int8", "uint8", 4, accumulated("usdot", swapped=True)),
    *[
        InnerStep(
            "int32",
            "uint8",
            "int8",
            4,
            summed_in_pairs(bits),
            instruction=f"pmaddubsw.{bits}",
            needs_small=True,
            others=2,
            unrolled=2,
        )
        for bits in (512, 256)
    ],
    *[step_by(name, "int32", "int16", "int16", 2, added(name), 2) for name in ("pmaddwd.512", "pmaddwd.256")],
    InnerStep("int32", "int16", "int16", 2, plain, int16_halves, 2),
    step_by("vpdpbf16ps.512", "float32", "bfloat16", "bfloat16", 2, accumulated("vpdpbf16ps.512")),
    *[InnerStep("float32", "float32", dtype, factors=widened) for dtype in ("bfloat16", "float16")],
    InnerStep("float32", "float32", "float32"),
    InnerStep("float64", "float64", "float64"),
)
"""All steps, for each dtype of sums the best first.  A product takes the first that its machine has, and that
multiplies all numbers of its operands' dtypes.
"""


@cache
def inner_step(
    dtype: str, machine: Machine, first: str = "", second: str = "", are_small: bool = False
) -> InnerStep:
    """The best step of a machine for sums of a dtype, and numbers of both operands, which are of that dtype
    too where none is given; `are_small` are bytes of the second one.
    """
    found = [
        s
        for s in STEPS
        if s.dtype == dtype
        and s.takes(first or dtype, second or dtype)
        and (not s.instruction or s.instruction in machine.instructions)
        and (are_small or not s.needs_small)
    ]
    assert found, f"products of {first} and {second} are not added up in {dtype}"
    return found[0]
