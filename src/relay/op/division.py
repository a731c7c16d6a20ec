"""Divisions and remainders of two operands that broadcast.

Dividing an integer by zero is `divide-by-zero`; the least integer divided by -1 wraps.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any, ClassVar

import numpy

from relay.ir.dtype import INTEGERS, dtype_name, is_integer
from relay.ir.expr import Expr
from relay.ir.type import TensorType, Type
from relay.op.arithmetic import INFINITE, Arithmetic, Tangents
from relay.op.base import Array, Domain, Numpy, sample
from relay.op.conversion import NUMPY_ARITHMETIC, accumulator, accumulator_name, through_wide
from relay.op.derivative import const_like, times, unbroadcast
from relay.op.kind import Derivative, Precision
from relay.op.native import Scalars
from relay.op.numeric import apply, narrow
from relay.op.registry import operator
from relay.op.traced import require

ONES = {t: numpy.ones(3, t) for t in ("float32", "int32", "uint8", "float16")}
DIVISIONS = (
    sample("3x5 float32", "3x5 float32"),
    sample("float64", "2x1 float64"),
    sample("0x3 float32", "3 float32"),
    sample("2 bfloat16", "2 bfloat16"),
    *[sample(f"2x3 {t}", ones) for t, ones in ONES.items()],
    sample("0 int32", "0 int32"),
    sample("int64", numpy.int64(-3)),
    sample("4 int8", numpy.int8(5)),
)


class Division(Arithmetic):
    """A division: `ufunc` on floats, `integer` on integers once the divisor is known not to be zero."""

    samples = DIVISIONS
    domain: ClassVar[Domain] = {"rhs": (0, inf)}
    integer: ClassVar[Callable[..., Any]]

    def reference(self, np: Numpy, lhs: Array, rhs: Array) -> Array:
        if is_integer(dtype_name(rhs.dtype)):
            check_divisor(np, lhs, rhs)
            return through_wide(partial(type(self).integer, np), lhs, rhs)
        return self.floating(np, lhs, rhs)

    def floating(self, np: Numpy, lhs: Array, rhs: Array) -> Array:
        """The value on floats."""
        return getattr(np, self.ufunc)(lhs, rhs)

    def compile_reference(self, types: Sequence[Type]) -> Callable[..., Any]:
        if all(isinstance(a, TensorType) and a.dtype in NUMPY_ARITHMETIC for a in types):
            x = types[0]
            assert isinstance(x, TensorType)
            if x.dtype in INTEGERS:
                return _checked(type(self).integer)
            if type(self).floating is Division.floating:
                return getattr(numpy, self.ufunc)
        return self._unboxed_reference


def _checked(integer: Callable[..., Any]) -> Callable[..., Any]:
    def divide(x: Any, y: Any) -> Any:
        if not (y if y.ndim == 0 else y.all()):
            check_divisor(numpy, x, y)
        return integer(numpy, x, y)

    return divide


def check_divisor(np: Numpy, x: Array, y: Array) -> None:
    """Refuse a divisor with a zero in it (`divide-by-zero`), unless there is nothing to divide."""
    if x.size:
        require(np, y != 0, "divide-by-zero", "integer division by zero", INFINITE)


def truncated_quotient(np: Numpy, x: Array, y: Array) -> Array:
    """The quotient of integers, rounded towards 0."""
    quotient = np.floor_divide(x, y)
    inexact = np.not_equal(np.multiply(quotient, y), x)
    return np.add(quotient, np.logical_and(inexact, np.less(quotient, 0)).astype(quotient.dtype))


def floor_quotient(np: Numpy, x: Array, y: Array) -> Array:
    """The quotient of integers, rounded down."""
    return np.floor_divide(x, y)


def truncated_rest(np: Numpy, x: Array, y: Array) -> Array:
    """The remainder of integers with the sign of `x`."""
    return np.fmod(x, y)


def floor_rest(np: Numpy, x: Array, y: Array) -> Array:
    """The remainder of integers with the sign of `y`."""
    return np.remainder(x, y)


def _crosses(b: Scalars, x: Any, y: Any) -> Any:
    """Whether the quotient of integers is inexact and negative."""
    zero, rest = b.const(0, x), b.remainder(x, y)
    signs = b.bits("xor", b.compare("lt", x, zero), b.compare("lt", y, zero))
    return b.bits("and", b.compare("ne", rest, zero), signs)


def _by_wide(b: Scalars, f: Callable[..., Any], x: Any, y: Any) -> Any:
    """A function of floats, short ones as float32."""
    wide = accumulator_name(x.dtype)
    return b.cast(f(b, b.cast(x, wide), b.cast(y, wide)), x.dtype)


def _floor_rest(b: Scalars, x: Any, y: Any) -> Any:
    """The remainder of floats with the sign of `y`, as NumPy has it."""
    zero, rest = b.const(0, x), b.remainder(x, y)
    crosses = b.bits("xor", b.compare("lt", rest, zero), b.compare("lt", y, zero))
    moved = b.select(crosses, b.add(rest, y), rest)
    found = b.select(b.compare("eq", rest, zero), b.function("copysign", zero, y), moved)
    return b.select(b.compare("eq", y, zero), rest, found)


def _floor_quotient(b: Scalars, x: Any, y: Any) -> Any:
    """The quotient of floats rounded down, as NumPy has it: from the remainder, so that it is exact."""
    zero, one, rest = b.const(0, x), b.const(1, x), b.remainder(x, y)
    crosses = b.bits("xor", b.compare("lt", rest, zero), b.compare("lt", y, zero))
    crosses = b.bits("and", crosses, b.compare("ne", rest, zero))
    near = b.divide(b.subtract(x, rest), y)
    near = b.select(crosses, b.subtract(near, one), near)
    down = b.function("floor", near)
    up = b.compare("gt", b.subtract(near, down), b.const(0.5, x))
    down, whole = b.select(up, b.add(down, one), down), b.divide(x, y)
    found = b.select(b.compare("eq", near, zero), b.function("copysign", zero, whole), down)
    return b.select(b.compare("eq", y, zero), whole, found)


def _truncated_quotient(b: Scalars, x: Any, y: Any) -> Any:
    """The quotient of floats rounded towards 0: from the remainder, so that it is exact."""
    quotient, rest = b.divide(x, y), b.remainder(x, y)
    truncated = b.function("copysign", b.function("rint", b.divide(b.subtract(x, rest), y)), quotient)
    is_finite = b.compare("lt", b.function("fabs", quotient), b.const(inf, x))
    return b.select(is_finite, truncated, quotient)


@operator("divide")
class Divide(Division):
    """`x / y`; on integers rounded towards 0.

    relay> divide([7, -7], 2)
    [3, -3]
    """

    element_cost = 4
    precision = Precision.STORED
    ufunc = "divide"
    integer = truncated_quotient
    derivative = Derivative.RULES

    def vjp(self, g: Expr, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        """The second divides the quotient: a factor `g / rhs` may overflow where that is 0."""
        by_rhs = apply("negative", times(g, apply("divide", y, rhs)))
        return unbroadcast(apply("divide", g, rhs), lhs, y), unbroadcast(by_rhs, rhs, y)

    def jvp(self, dxs: Tangents, y: Expr, lhs: Expr, rhs: Expr) -> Expr:
        above, below = dxs
        if below is None:
            return apply("divide", above, rhs)
        less = times(y, below)
        change = apply("negative", less) if above is None else apply("subtract", above, less)
        return apply("divide", change, rhs)

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.divide(lhs, rhs)


@operator("floor_divide")
class FloorDivide(Division):
    """`x / y` rounded down.

    relay> floor_divide([7, -7], 2)
    [3, -4]
    """

    element_cost = 4
    ufunc = "floor_divide"
    integer = floor_quotient
    derivative = Derivative.ZERO

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        if is_integer(lhs.dtype):
            return b.subtract(b.divide(lhs, rhs), b.cast(_crosses(b, lhs, rhs), lhs.dtype))
        return _by_wide(b, _floor_quotient, lhs, rhs)


@operator("trunc_divide")
class TruncDivide(Division):
    """`x / y` rounded towards 0.

    relay> trunc_divide([7.0, -7.0], 2.0)
    [3.0, -3.0]
    """

    integer = truncated_quotient
    derivative = Derivative.ZERO

    def floating(self, np: Numpy, lhs: Array, rhs: Array) -> Array:
        x, y = accumulator(lhs), accumulator(rhs)
        quotient = np.divide(x, y)
        rounded_quotient = np.rint(np.divide(x - np.fmod(x, y), y))
        exact = np.where(np.isfinite(quotient), np.copysign(rounded_quotient, quotient), quotient)
        return narrow(exact, lhs.dtype)

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.divide(lhs, rhs) if is_integer(lhs.dtype) else _by_wide(b, _truncated_quotient, lhs, rhs)


class Remainder(Division):
    """What a division that rounds towards 0 leaves."""

    ufunc = "fmod"
    integer = truncated_rest

    def partials(self, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        return const_like(1, y), apply("negative", apply("trunc_divide", lhs, rhs))

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.remainder(lhs, rhs)


@operator("mod")
class Mod(Remainder):
    """The remainder of `x / y`, with the sign of `x`.

    relay> mod([7, -7], 3)
    [1, -1]
    """

    element_cost = 4


@operator("floor_mod")
class FloorMod(Division):
    """The remainder of `x / y`, with the sign of `y`.

    relay> floor_mod([7, -7], 3)
    [1, 2]
    """

    element_cost = 4
    ufunc = "remainder"
    integer = floor_rest

    def partials(self, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        return const_like(1, y), apply("negative", apply("floor_divide", lhs, rhs))

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        if is_integer(lhs.dtype):
            rest = b.remainder(lhs, rhs)
            return b.select(_crosses(b, lhs, rhs), b.add(rest, rhs), rest)
        return _by_wide(b, _floor_rest, lhs, rhs)


@operator("trunc_mod")
class TruncMod(Remainder):
    """The remainder of `x / y`, with the sign of `x`.

    relay> trunc_mod([7.5, -7.5], 2.0)
    [1.5, -1.5]
    """
