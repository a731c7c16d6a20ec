"""The innermost step of products: how a tile multiplies and adds, for each dtype of sums, on each machine.

A tile reads elements of both operands and adds their products to its sums.  An element is a number, or
several neighbours along the summed dimension that an instruction multiplies and adds up at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relay.backend.native.llvm.machine import Machine
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Value


@dataclass(frozen=True)
class InnerStep:
    """A row of the table: how elements are multiplied and added."""

    dtype: str
    """Of the sums."""
    number_dtype: str
    """Of the numbers that are multiplied: operands are converted to it when they are packed."""
    group: int
    """How many neighbours along the summed dimension an element is."""
    factors: Callable[[Builder, Value], Sequence[Value]]
    """The numbers of the sums' dtype that an element is multiplied as: itself, if an instruction multiplies
    all of its parts.
    """
    factor_count: int
    multiply_add: Callable[[Builder, Value, Value, Value], Value]
    """The sum and the product of two of those."""

    @property
    def element_dtype(self) -> str:
        """Of the elements that are read: two numbers of 16 bits make up an int32."""
        return self.number_dtype if self.group == 1 else "int32"

    @property
    def factor_dtype(self) -> str:
        """Of what an element is multiplied as."""
        return self.element_dtype if self.factor_count == 1 else self.dtype

    def tallest(self, machine: Machine, width: int) -> int:
        """The most rows of `width` vectors of sums that registers hold, beside the factors of a row of the
        second operand and of one element of the first.
        """
        return (machine.registers - (width + 1) * self.factor_count) // width


def whole(b: Builder, x: Value) -> list[Value]:
    """An element as it is."""
    return [x]


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


def by_instruction(name: str) -> Callable[[Builder, Value, Value, Value], Value]:
    """The sum and what an instruction makes of two vectors."""

    def multiply_add(b: Builder, total: Value, x: Value, y: Value) -> Value:
        return b.add(total, b.apply(name, total.dtype, x, y))

    return multiply_add


STEPS = {
    "float32": InnerStep("float32", "float32", 1, whole, 1, fused),
    "float64": InnerStep("float64", "float64", 1, whole, 1, fused),
    "int32": InnerStep("int32", "int16", 2, int16_halves, 2, plain),
    "int32 by pmaddwd.512": InnerStep("int32", "int16", 2, whole, 1, by_instruction("pmaddwd.512")),
    "int32 by pmaddwd.256": InnerStep("int32", "int16", 2, whole, 1, by_instruction("pmaddwd.256")),
}
"""The steps by the dtype of sums, and the instruction where the machine has one for it."""


def inner_step(dtype: str, machine: Machine) -> InnerStep:
    """The best step of a machine for sums of a dtype."""
    found = [STEPS[key] for i in machine.instructions if (key := f"{dtype} by {i}") in STEPS]
    return (found or [STEPS[dtype]])[0]
