"""Arithmetic on two operands that broadcast.

Integers wrap.  Dividing an integer by zero is `divide-by-zero`; the least integer divided by -1 wraps.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any, ClassVar

import numpy

from relay.diagnostic import fail
from relay.ir.dtype import INTEGERS, bits, dtype_name, is_float, is_integer, is_signed
from relay.ir.expr import Constant, Expr
from relay.ir.type import TensorType, Type
from relay.op.base import FLOATING, NUMERIC, Array, Broadcast, Derivative, Domain, Numpy, operator, sample
from relay.op.conversion import NUMPY_ARITHMETIC, accumulator_name, through_wide
from relay.op.derivative import number, spread, times, unbroadcast, written
from relay.op.native import Loops, Scalars
from relay.op.numeric import apply

Tangents = Sequence[Expr | None]

PAIRS = (
    sample("3x5 float32", "3x5 float32"),
    sample("2x1x4 float32", "3x1 float32"),
    sample("float64", "float64"),
    sample("0x3 float32", "3 float32"),
    sample("float16", "2x3 float16"),
    sample("5 bfloat16", "1 bfloat16"),
    sample("3x5 int32", "5 int32"),
    sample("int8", "4 int8"),
    sample("5 int4", "5 int4"),
    sample("3 uint2", "uint2"),
    sample("2 float8_e5m2", "2 float8_e5m2"),
    sample("2x3 uint64", "2x3 uint64"),
)
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


class Arithmetic(Broadcast):
    """A function of two numbers with a derivative."""

    dtypes = NUMERIC
    derivative = Derivative.PARTIALS
    samples = PAIRS


@operator("add")
class Add(Arithmetic):
    """`x + y`.

    relay> add([1, 2], 10)
    [11, 12]
    """

    ufunc = "add"
    derivative = Derivative.RULES

    def vjp(self, g: Expr, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        return unbroadcast(g, lhs, y), unbroadcast(g, rhs, y)

    def jvp(self, dxs: Tangents, y: Expr, lhs: Expr, rhs: Expr) -> Expr:
        left, right = dxs
        if left is not None and right is not None:
            return apply("add", left, right)
        return spread(left, y, lhs) if left is not None else spread(written(right, rhs), y, rhs)

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.add(lhs, rhs)


@operator("subtract")
class Subtract(Arithmetic):
    """`x - y`.

    relay> subtract([1, 2], 10)
    [-9, -8]
    """

    ufunc = "subtract"
    derivative = Derivative.RULES

    def vjp(self, g: Expr, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        return unbroadcast(g, lhs, y), apply("negative", unbroadcast(g, rhs, y))

    def jvp(self, dxs: Tangents, y: Expr, lhs: Expr, rhs: Expr) -> Expr:
        left, right = dxs
        if left is not None and right is not None:
            return apply("subtract", left, right)
        if left is not None:
            return spread(left, y, lhs)
        return spread(apply("negative", right), y, rhs)

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.subtract(lhs, rhs)


@operator("multiply")
class Multiply(Arithmetic):
    """`x * y`.

    relay> multiply([1.5, 2.0], 2.0)
    [3.0, 4.0]
    """

    ufunc = "multiply"
    derivative = Derivative.MULTILINEAR

    def transpose(self, g: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        return unbroadcast(times(g, rhs), lhs, g), unbroadcast(times(g, lhs), rhs, g)

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.multiply(lhs, rhs)


@operator("power")
class Power(Arithmetic):
    """`x ** y`; a negative power of an integer is `1 / x ** -y`, truncated.

    relay> power([2.0, 9.0], [3.0, 0.5])
    [8.0, 3.0]
    """

    samples = (
        sample("3x5 float32", "5 float32"),
        sample("float64", "float64"),
        sample("0 float32", "0 float32"),
        sample("3 int32", numpy.array([0, 1, 5], "int32")),
        sample("uint8", numpy.uint8(3)),
    )
    domain: ClassVar[Domain] = {"lhs": (0, inf)}

    def reference(self, np: Numpy, lhs: Array, rhs: Array) -> Array:
        return through_wide(partial(_power, np), lhs, rhs)

    def partials(self, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        return self.by_base(lhs, rhs), times(y, apply("log", _one_where_zero(lhs, lhs)))

    def by_base(self, x: Expr, n: Expr) -> Expr:
        """`n * x ** (n - 1)`; 0 where `n` is 0, even at `x = 0`."""
        if isinstance(n, Constant) and n.is_scalar and n.value:
            return times(n, x if n.value == 2 else apply("power", x, number(float(n.value) - 1, n)))
        base = _one_where_zero(x, x, also=n)
        return times(n, apply("power", base, apply("subtract", n, number(1, n))))

    def native(self, b: Loops, lhs: Any, rhs: Any) -> Any:
        return b.function("pow", lhs, rhs) if is_float(lhs.dtype) else _integer_power(b, lhs, rhs)


def _one_where_zero(x: Expr, like: Expr, also: Expr | None = None) -> Expr:
    """`x` with 1 where it is 0 (and `also` is); both have the base type of `like`."""
    zero = apply("equal", x, number(0, like))
    zero = zero if also is None else apply("logical_and", zero, apply("equal", also, number(0, like)))
    return apply("where", zero, number(1, like), x)


def _integer_power(b: Loops, x: Any, y: Any) -> Any:
    """A power of integers, by squaring (`divide-by-zero`)."""
    zero, one = b.const(0, x), b.const(1, x)
    below, nothing = b.compare("lt", y, zero), b.compare("eq", x, zero)
    bad = b.bits("and", below, nothing)
    hint = "cast to a float type for an infinite result"
    b.require(b.bits("xor", bad, b.const(True, bad)), "divide-by-zero", "0 to a negative power", hint)
    found, square, rest = one, x, y
    width = bits(x.dtype) - is_signed(x.dtype)
    for i in range(width):
        odd = b.compare("ne", b.bits("and", rest, one), zero)
        found = b.select(odd, b.multiply(found, square), found)
        if i + 1 < width:
            square, rest = b.multiply(square, square), b.bits("lshr", rest, one)
    if not is_signed(x.dtype):
        return found
    unit = b.bits("or", b.compare("eq", x, one), b.compare("eq", x, b.const(-1, x)))
    even = b.compare("eq", b.bits("and", y, one), zero)
    inverse = b.select(unit, b.select(even, b.multiply(x, x), x), zero)
    return b.select(below, inverse, found)


def _power(np: Numpy, x: Array, y: Array) -> Array:
    if not is_integer(dtype_name(y.dtype)) or not _any(y < 0):
        return np.power(x, y)
    if _any((x == 0) & (y < 0)):
        fail("divide-by-zero", "0 to a negative power", hint="cast to a float type for an infinite result")
    whole = np.power(x, np.maximum(y, y.dtype.type(0)))
    below = np.where(x == 1, x, np.where(x == -1, np.where(y % 2 == 0, -x, x), np.zeros_like(x)))
    return np.where(y < 0, below, whole)


def shares(x: Expr, y: Expr, loses: str) -> tuple[Expr, Expr]:
    """How much of an extreme of two depends on each: half where they are equal, as in PyTorch."""
    alone = apply("where", apply(loses, x, y), number(0, x), number(1, x))
    of_x = apply("where", apply("equal", x, y), number(0.5, x), alone)
    return of_x, apply("subtract", number(1, x), of_x)


def greater(b: Scalars, x: Any, y: Any) -> Any:
    """The greater of two numbers, or NaN."""
    return b.select(b.compare("ne", x, x), x, b.select(b.compare("gt", x, y), x, y))


def lesser(b: Scalars, x: Any, y: Any) -> Any:
    """The lesser of two numbers, or NaN."""
    return b.select(b.compare("ne", x, x), x, b.select(b.compare("lt", x, y), x, y))


@operator("maximum")
class Maximum(Arithmetic):
    """The greater of the two; NaN if one is NaN.

    relay> maximum([1.0, 5.0], [3.0, 4.0])
    [3.0, 5.0]
    """

    ufunc = "maximum"

    def partials(self, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        return shares(lhs, rhs, "less")

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return greater(b, lhs, rhs)


@operator("minimum")
class Minimum(Arithmetic):
    """The lesser of the two; NaN if one is NaN.

    relay> minimum([1.0, 5.0], [3.0, 4.0])
    [1.0, 4.0]
    """

    ufunc = "minimum"

    def partials(self, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        return shares(lhs, rhs, "greater")

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return lesser(b, lhs, rhs)


@operator("atan2")
class Atan2(Arithmetic):
    """The angle in radians from the x axis to the point `(rhs, lhs)`.

    relay> atan2([0.0, 0.0], [1.0, 2.0])
    [0.0, 0.0]
    """

    dtypes = FLOATING
    ufunc = "arctan2"
    samples = tuple([s for s in PAIRS if "float" in s.operands[0]])

    def partials(self, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        square = apply("add", times(lhs, lhs), times(rhs, rhs))
        square = _one_where_zero(square, lhs)
        return apply("divide", rhs, square), apply("negative", apply("divide", lhs, square))

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.function("atan2", lhs, rhs)


class Division(Arithmetic):
    """A division: `ufunc` on floats, `integer` on integers once the divisor is known not to be zero."""

    samples = DIVISIONS
    domain: ClassVar[Domain] = {"rhs": (0, inf)}
    integer: ClassVar[Callable[..., Any]]

    def reference(self, np: Numpy, lhs: Array, rhs: Array) -> Array:
        if is_integer(dtype_name(rhs.dtype)):
            check_divisor(rhs)
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
            check_divisor(y)
        return integer(numpy, x, y)

    return divide


def check_divisor(y: Array) -> None:
    """Refuse a divisor with a zero in it (`divide-by-zero`)."""
    if _any(y == 0):
        fail("divide-by-zero", "integer division by zero", hint="cast to a float type for an infinite result")


def _any(condition: Any) -> bool:
    return bool(condition.any()) if hasattr(condition, "any") else bool(condition)


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


@operator("divide")
class Divide(Division):
    """`x / y`; on integers rounded towards 0.

    relay> divide([7, -7], 2)
    [3, -3]
    """

    ufunc = "divide"
    integer = truncated_quotient
    derivative = Derivative.RULES

    def vjp(self, g: Expr, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        by_lhs = apply("divide", g, rhs)
        by_rhs = apply("negative", times(by_lhs, y))
        return unbroadcast(by_lhs, lhs, y), unbroadcast(by_rhs, rhs, y)

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
        return np.trunc(np.divide(lhs, rhs))

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        found = b.divide(lhs, rhs)
        return found if is_integer(lhs.dtype) else b.function("trunc", found)


@operator("mod")
class Mod(Division):
    """The remainder of `x / y`, with the sign of `x`.

    relay> mod([7, -7], 3)
    [1, -1]
    """

    ufunc = "fmod"
    integer = truncated_rest

    def partials(self, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        return number(1, y), apply("negative", apply("trunc_divide", lhs, rhs))

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.remainder(lhs, rhs)


@operator("floor_mod")
class FloorMod(Division):
    """The remainder of `x / y`, with the sign of `y`.

    relay> floor_mod([7, -7], 3)
    [1, 2]
    """

    ufunc = "remainder"
    integer = floor_rest

    def partials(self, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        return number(1, y), apply("negative", apply("floor_divide", lhs, rhs))

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        if is_integer(lhs.dtype):
            rest = b.remainder(lhs, rhs)
            return b.select(_crosses(b, lhs, rhs), b.add(rest, rhs), rest)
        return _by_wide(b, _floor_rest, lhs, rhs)


@operator("trunc_mod")
class TruncMod(Division):
    """The remainder of `x / y`, with the sign of `x`.

    relay> trunc_mod([7.5, -7.5], 2.0)
    [1.5, -1.5]
    """

    ufunc = "fmod"
    integer = truncated_rest

    def partials(self, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        return number(1, y), apply("negative", apply("trunc_divide", lhs, rhs))

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.remainder(lhs, rhs)
