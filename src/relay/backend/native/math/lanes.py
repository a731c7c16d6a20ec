"""Floats in the code that is made, with the operators of Python: what the formulas of `vector_math` speak.

A `Lane` is a float32 or a float64, or a vector of them.  All of this is straight code: a loop may become
vector code, and several elements are computed at once by the same words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relay.backend.native.llvm.builder import Code, Value
from relay.backend.native.llvm.literals import float_text
from relay.backend.native.llvm.vectors import element_of

BITS = {"float": 32, "double": 64}
FRACTION = {"float": 23, "double": 52}
BIAS = {"float": 127, "double": 1023}
NAMES = {"float": "float32", "double": "float64"}


@dataclass(frozen=True, slots=True)
class Whole:
    """An integer as wide as the floats it goes with."""

    of: "Lane"
    value: Value

    def op(self, name: str, other: "Whole | int") -> "Whole":
        """An instruction on two integers."""
        return Whole(self.of, self.of.code.op(name, self.value, self.of.whole(other)))

    def __add__(self, other: "Whole | int") -> "Whole":
        return self.op("add", other)

    def __sub__(self, other: "Whole | int") -> "Whole":
        return self.op("sub", other)

    def __mul__(self, other: "Whole | int") -> "Whole":
        return self.op("mul", other)

    def __and__(self, other: "Whole | int") -> "Whole":
        return self.op("and", other)

    def __or__(self, other: "Whole | int") -> "Whole":
        return self.op("or", other)

    def __lshift__(self, places: int) -> "Whole":
        return self.op("shl", places)

    def __rshift__(self, places: int) -> "Whole":
        """To the right, the sign being kept."""
        return self.op("ashr", places)

    def compare(self, kind: str, other: "Whole | int") -> Value:
        """`eq`, `slt`, ... of integers."""
        return self.of.code.compare(f"icmp {kind}", self.value, self.of.whole(other))

    def choose(self, c: Value, other: "Whole | int") -> "Whole":
        """The integer where `c`, else the other."""
        return Whole(self.of, self.of.code.select(c, self.value, self.of.whole(other)))

    def bits(self) -> "Lane":
        """The float of these bits."""
        return self.of.like(self.of.code.cast("bitcast", self.value, self.of.kind))

    def number(self) -> "Lane":
        """The integer as a float."""
        return self.of.like(self.of.code.cast("sitofp", self.value, self.of.kind))


@dataclass(frozen=True, slots=True)
class Lane:
    """A float32 or float64 in the code that is made."""

    program: Any
    """Takes the declarations."""
    code: Code
    value: Value

    @property
    def kind(self) -> str:
        """`float` or `double`."""
        return element_of(self.value.type)

    @property
    def short(self) -> bool:
        """Whether it is a float32."""
        return self.kind == "float"

    def like(self, value: Value) -> "Lane":
        """Another number at the same place."""
        return Lane(self.program, self.code, value)

    def const(self, x: float) -> "Lane":
        """A constant of the same width."""
        return self.like(Value(self.kind, float_text(NAMES[self.kind], x)))

    def lift(self, x: "Lane | float") -> Value:
        """An operand as the code has it."""
        return x.value if isinstance(x, Lane) else self.const(x).value

    def whole(self, n: Whole | int) -> Value:
        """An integer operand as the code has it."""
        return n.value if isinstance(n, Whole) else Value(f"i{BITS[self.kind]}", str(n))

    def _op(self, name: str, x: "Lane | float", y: "Lane | float") -> "Lane":
        return self.like(self.code.op(name, self.lift(x), self.lift(y)))

    def __add__(self, y: "Lane | float") -> "Lane":
        return self._op("fadd", self, y)

    def __radd__(self, y: float) -> "Lane":
        return self._op("fadd", y, self)

    def __sub__(self, y: "Lane | float") -> "Lane":
        return self._op("fsub", self, y)

    def __rsub__(self, y: float) -> "Lane":
        return self._op("fsub", y, self)

    def __mul__(self, y: "Lane | float") -> "Lane":
        return self._op("fmul", self, y)

    def __rmul__(self, y: float) -> "Lane":
        return self._op("fmul", y, self)

    def __truediv__(self, y: "Lane | float") -> "Lane":
        return self._op("fdiv", self, y)

    def __rtruediv__(self, y: float) -> "Lane":
        return self._op("fdiv", y, self)

    def __neg__(self) -> "Lane":
        return self.like(self.code.set(self.value.type, f"fneg {self.value}"))

    def compare(self, kind: str, y: "Lane | float") -> Value:
        """`olt`, `une`, ... of floats."""
        return self.code.compare(f"fcmp {kind}", self.value, self.lift(y))

    def choose(self, c: Value, y: "Lane | float") -> "Lane":
        """The number where `c`, else `y`."""
        return self.like(self.code.select(c, self.value, self.lift(y)))

    def call(self, name: str, *others: "Lane | float") -> "Lane":
        """An intrinsic of LLVM that is an instruction: `fma`, `sqrt`, `fabs`."""
        return self.like(self.code.intrinsic(name, self.value, *map(self.lift, others)))

    def fma(self, y: "Lane | float", z: "Lane | float") -> "Lane":
        """`self * y + z`, rounded once."""
        return self.call("fma", y, z)

    def size(self) -> "Lane":
        """The absolute value."""
        return self.call("fabs")

    def signed(self, other: "Lane") -> "Lane":
        """The absolute value with the sign of another."""
        return self.call("copysign", other)

    def root(self) -> "Lane":
        """The square root."""
        return self.call("sqrt")

    def bits(self) -> Whole:
        """The bits as an integer."""
        return Whole(self, self.code.cast("bitcast", self.value, f"i{BITS[self.kind]}"))

    def nearest(self, scale: float = 1.0) -> tuple["Lane", Whole]:
        """The whole number nearest to `self * scale`, below 2 ** 22 (51), as a float and an integer; anything
        for NaN.
        """
        magic = 1.5 * 2.0 ** FRACTION[self.kind]
        moved = self + magic if scale == 1.0 else self.fma(scale, magic)
        return moved - magic, moved.bits() - self.const(magic).bits()

    def polynomial(self, coefficients: Sequence[float]) -> "Lane":
        """`c[0] + c[1] * x + ...`, by Horner's rule."""
        found = self.const(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            found = found.fma(self, c)
        return found

    def wide(self) -> "Lane":
        """As a float64."""
        return self.like(self.code.cast("fpext", self.value, "double"))

    def narrow(self) -> "Lane":
        """As a float32."""
        return self.like(self.code.cast("fptrunc", self.value, "float"))


def any_of(code: Code, *conditions: Value) -> Value:
    """Whether one of some conditions holds."""
    found = conditions[0]
    for c in conditions[1:]:
        found = code.op("or", found, c)
    return found


def all_of(code: Code, *conditions: Value) -> Value:
    """Whether all of some conditions hold."""
    found = conditions[0]
    for c in conditions[1:]:
        found = code.op("and", found, c)
    return found
