"""Arithmetic on two operands that broadcast; integers wrap."""

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import Any, ClassVar

import numpy

from relay.diagnostic import Span
from relay.ir.dtype import bits, dtype_name, is_float, is_integer, is_signed
from relay.ir.expr import Constant, Expr
from relay.ir.module import IRModule
from relay.ir.type import DType, TensorType, Type
from relay.op.base import ANY_NUMBER, FLOATING, NUMERIC, Array, Domain, Numpy, sample
from relay.op.conversion import accumulator, accumulator_name, through_wide
from relay.op.derivative import broadcast_like, const_like, tensor_type, times, unbroadcast, written
from relay.op.family import Broadcast
from relay.op.kind import Derivative, Precision
from relay.op.native import Loops, Scalars
from relay.op.numeric import apply, computing_dtype, narrow, narrowed, scalar, widened
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.traced import may_hold, require

Tangents = Sequence[Expr | None]
INFINITE = "cast to a float type for an infinite result"

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
FLOAT_PAIRS = tuple([s for s in PAIRS if "float" in s.operands[0]])


class Arithmetic(Broadcast):
    """A function of two numbers with a derivative."""

    dtypes = NUMERIC
    derivative = Derivative.PARTIALS
    samples = PAIRS
    of_booleans: ClassVar[str] = ""
    """The operator that is meant on two booleans: sums of them count, and this would not."""

    def check_dtype(self, t: Typing, operand: Type) -> None:
        if self.of_booleans and t.dtype(operand) == "bool":
            hint = f"`{self.of_booleans}(a, b)` of truth values; `cast(a, int64)` makes numbers of them"
            t.fail("dtype-not-supported", f"`{self.name}` does not work on bool", hint=hint)
        super().check_dtype(t, operand)


@operator("add")
class Add(Arithmetic):
    """`x + y`; of strings it is `string.concat`, which inference puts in its place.

    relay> add([1, 2], 10)
    [11, 12]
    """

    precision = Precision.STORED
    commutative = True
    ufunc = "add"
    of_booleans = "logical_or"
    derivative = Derivative.RULES
    is_resolved = True
    settled_dtypes = ANY_NUMBER

    def check_dtype(self, t: Typing, operand: Type) -> None:
        found = t.resolve(operand)
        if not isinstance(found, TensorType) or found.dtype != "string":
            super().check_dtype(t, operand)

    def resolved(
        self, types: Sequence[Type], args: Sequence[Expr], mod: IRModule, span: Span | None
    ) -> Expr | None:
        (x, *_) = types
        return apply("string.concat", *args) if isinstance(x, TensorType) and x.dtype == "string" else None

    def vjp(self, g: Expr, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        return unbroadcast(g, lhs, y), unbroadcast(g, rhs, y)

    def jvp(self, dxs: Tangents, y: Expr, lhs: Expr, rhs: Expr) -> Expr:
        left, right = dxs
        if left is not None and right is not None:
            return apply("add", left, right)
        dx, x = (left, lhs) if left is not None else (written(right, rhs), rhs)
        return broadcast_like(dx, y, x)

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.add(lhs, rhs)


@operator("subtract")
class Subtract(Arithmetic):
    """`x - y`.

    relay> subtract([1, 2], 10)
    [-9, -8]
    """

    precision = Precision.STORED
    ufunc = "subtract"
    of_booleans = "logical_xor"
    derivative = Derivative.RULES

    def vjp(self, g: Expr, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        return unbroadcast(g, lhs, y), apply("negative", unbroadcast(g, rhs, y))

    def jvp(self, dxs: Tangents, y: Expr, lhs: Expr, rhs: Expr) -> Expr:
        left, right = dxs
        if left is not None and right is not None:
            return apply("subtract", left, right)
        if left is not None:
            return broadcast_like(left, y, lhs)
        return broadcast_like(apply("negative", right), y, rhs)

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.subtract(lhs, rhs)


@operator("multiply")
class Multiply(Arithmetic):
    """`x * y`.

    relay> multiply([1.5, 2.0], 2.0)
    [3.0, 4.0]
    """

    precision = Precision.STORED
    commutative = True
    ufunc = "multiply"
    of_booleans = "logical_and"
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

    computes_in_float64 = True
    element_cost = 16
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
        """By the exponent, `y * log(x)`; 0 where `x` is 0, unless the power is infinite.

        A power of narrow floats is computed again, in float32: the factors would bring its rounding back.
        """
        dtype = tensor_type(y).dtype
        wide = computing_dtype(dtype)
        if wide != dtype:
            lhs, rhs = [
                scalar(float(v.value), wide) if isinstance(v, Constant) and v.is_scalar else widened(v, dtype)
                for v in (lhs, rhs)
            ]
            y = apply("power", lhs, rhs)
        by_exponent = self.by_exponent(y, lhs, rhs, wide)
        return narrowed(self.by_base(lhs, rhs, wide), dtype), narrowed(by_exponent, dtype)

    def by_exponent(self, y: Expr, x: Expr, n: Expr, dtype: DType) -> Expr:
        """Return `y * log(x)`; 0 where `x` is 0, unless the power is infinite.

        A large logarithm would multiply the rounding of a subnormal power: it multiplies the root, which is
        normal, and that product multiplies the root again.
        """
        zero, one = scalar(0, dtype), scalar(1, dtype)
        is_still = apply("logical_and", apply("equal", x, zero), apply("greater_equal", n, zero))
        log = apply("log", apply("where", is_still, one, x))
        if isinstance(x, Constant) and x.is_scalar and SMALL_LOG[0] < x.value < SMALL_LOG[1]:
            return times(y, log)
        root = apply("power", x, times(n, scalar(0.5, dtype)))
        signed = apply("where", apply("equal", x, zero), y, root)  # a power of -0.0 may be negative
        return times(signed, times(root, log))

    def by_base(self, x: Expr, n: Expr, dtype: DType) -> Expr:
        """`n * x ** (n - 1)`; 0 where `n` is 0, even at `x = 0`.

        An exponent that `n - 1` rounds to would make the power another, so there it is `x ** n / x`; also
        where `n` is small, and `x ** (n - 1)` may be infinite; but not at infinity.
        """
        zero, one = scalar(0, dtype), scalar(1, dtype)
        if isinstance(n, Constant) and n.is_scalar and n.value and _is_exact(n.value):
            return times(n, x if n.value == 2 else apply("power", x, scalar(float(n.value) - 1, dtype)))
        less = apply("subtract", n, one)
        is_exact = apply(
            "logical_and",
            apply("equal", apply("subtract", n, less), one),
            apply("equal", apply("add", less, one), n),
        )
        is_large = apply("greater_equal", apply("abs", n), scalar(0.5, dtype))
        is_exact = apply("logical_or", apply("logical_and", is_exact, is_large), apply("equal", x, zero))
        is_exact = apply("logical_or", is_exact, apply("isinf", x))
        is_nothing = apply("logical_and", apply("equal", n, zero), apply("isinf", apply("divide", one, x)))
        base = apply("where", is_nothing, one, x)
        steps = apply("power", base, apply("where", is_exact, less, n))
        return apply("divide", times(n, steps), apply("where", is_exact, one, base))

    def native(self, b: Loops, lhs: Any, rhs: Any) -> Any:
        return b.function("pow", lhs, rhs) if is_float(lhs.dtype) else _integer_power(b, lhs, rhs)


SMALL_LOG = (1 / 16, 16)
"""Between these, a logarithm multiplies the half unit of a rounding to less than two."""


def _is_exact(n: Any) -> bool:
    """Return True where `n - 1` is not rounded."""
    less = n - n.dtype.type(1)
    return bool(less + n.dtype.type(1) == n and n - less == 1)


def _one_where_zero(x: Expr, like: Expr) -> Expr:
    """`x` with 1 where it is 0; it has the dtype of `like`."""
    zero = apply("equal", x, const_like(0, like))
    return apply("where", zero, const_like(1, like), x)


def _scaled_to_unit(x: Expr, y: Expr) -> tuple[Expr, Expr, Expr, Expr]:
    """Two numbers over the size of the greater, their length, and that size; lengths of 0 are 1.

    The size drops out of the derivatives that are computed from these, so it has none itself.
    """
    one = const_like(1, x)
    size = apply("maximum", apply("abs", x), apply("abs", y))
    is_end = apply("logical_or", apply("equal", size, const_like(0, x)), apply("isinf", size))
    size = apply("stop_gradient", apply("where", is_end, one, size))
    u, v = apply("divide", x, size), apply("divide", y, size)
    return u, v, _one_where_zero(apply("hypot", u, v), x), size


def _integer_power(b: Loops, x: Any, y: Any) -> Any:
    """A power of integers, by squaring (`divide-by-zero`)."""
    zero, one = b.const(0, x), b.const(1, x)
    below, nothing = b.compare("lt", y, zero), b.compare("eq", x, zero)
    bad = b.bits("and", below, nothing)
    b.require(b.bits("xor", bad, b.const(True, bad)), "divide-by-zero", "0 to a negative power", INFINITE)
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
    if not is_integer(dtype_name(y.dtype)):
        return np.power(_of_a_root(np, x, y), y)
    if not may_hold(np, y < 0):
        return np.power(x, y)
    require(np, (x != 0) | (y >= 0), "divide-by-zero", "0 to a negative power", INFINITE)
    whole = np.power(x, np.maximum(y, y.dtype.type(0)))
    below = np.where(x == 1, x, np.where(x == -1, np.where(y % 2 == 0, -x, x), np.zeros_like(x)))
    return np.where(y < 0, below, whole)


def _of_a_root(np: Numpy, x: Array, y: Array) -> Array:
    """The base, positive where NumPy's square root differs from the power 0.5 of C: at -0.0 and -infinity."""
    differs = (y == 0.5) & ((x == 0) | (x == -inf))
    return np.where(differs, np.abs(x), x) if may_hold(np, differs) else x


def shares(x: Expr, y: Expr, loses: str) -> tuple[Expr, Expr]:
    """How much of an extreme of two depends on each: half where they are equal, as in PyTorch."""
    alone = apply("where", apply(loses, x, y), const_like(0, x), const_like(1, x))
    of_x = apply("where", apply("equal", x, y), const_like(0.5, x), alone)
    return of_x, apply("subtract", const_like(1, x), of_x)


def greater(b: Scalars, x: Any, y: Any) -> Any:
    """The greater of two numbers, or NaN."""
    return b.function("maximum", x, y) if is_float(x.dtype) else b.select(b.compare("gt", x, y), x, y)


def lesser(b: Scalars, x: Any, y: Any) -> Any:
    """The lesser of two numbers, or NaN."""
    return b.function("minimum", x, y) if is_float(x.dtype) else b.select(b.compare("lt", x, y), x, y)


@operator("maximum")
class Maximum(Arithmetic):
    """The greater of the two; NaN if one is NaN.

    relay> maximum([1.0, 5.0], [3.0, 4.0])
    [3.0, 5.0]
    """

    precision = Precision.FOLLOW
    commutative = True
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

    precision = Precision.FOLLOW
    commutative = True
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

    computes_in_float64 = True
    element_cost = 16
    dtypes = FLOATING
    ufunc = "arctan2"
    samples = FLOAT_PAIRS

    def partials(self, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        up, right, length, size = _scaled_to_unit(lhs, rhs)
        square = times(length, length)
        by_lhs, by_rhs = (apply("divide", apply("divide", v, square), size) for v in (right, up))
        return by_lhs, apply("negative", by_rhs)

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.function("atan2", lhs, rhs)


@operator("hypot")
class Hypot(Arithmetic):
    """`sqrt(x * x + y * y)`, where the squares may overflow.

    relay> hypot([3.0, 1e30], [4.0, 0.0])
    [5.0, 1e+30]
    """

    element_cost = 4
    dtypes = FLOATING
    samples = FLOAT_PAIRS

    def reference(self, np: Numpy, lhs: Array, rhs: Array) -> Array:
        return narrow(np.hypot(accumulator(lhs), accumulator(rhs)), lhs.dtype)

    def partials(self, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        x, z, length, _ = _scaled_to_unit(lhs, rhs)
        return apply("divide", x, length), apply("divide", z, length)

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        x, y = (b.function("fabs", b.cast(v, accumulator_name(v.dtype))) for v in (lhs, rhs))
        high, low = b.function("maximum", x, y), b.function("minimum", x, y)
        is_end = b.bits("or", b.compare("eq", high, b.const(0, x)), b.compare("eq", high, b.const(inf, x)))
        share = b.divide(low, b.select(is_end, b.const(1, x), high))
        length = b.function("sqrt", b.add(b.multiply(share, share), b.const(1, x)))
        found = b.select(is_end, high, b.multiply(high, length))
        has_end = [b.compare("eq", v, b.const(inf, v)) for v in (x, y)]
        return b.cast(b.select(b.bits("or", *has_end), b.const(inf, x), found), lhs.dtype)


@operator("logaddexp")
class LogAddExp(Arithmetic):
    """`log(exp(x) + exp(y))`, where the exponentials may overflow.

    relay> logaddexp([0.0, 1000.0], [0.0, 999.0])
    [0.6931472, 1000.31323]
    """

    element_cost = 16
    dtypes = FLOATING
    samples = FLOAT_PAIRS

    def reference(self, np: Numpy, lhs: Array, rhs: Array) -> Array:
        return narrow(np.logaddexp(accumulator(lhs), accumulator(rhs)), lhs.dtype)

    def partials(self, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr, Expr]:
        dtype = tensor_type(lhs).dtype
        x, z = (widened(v, dtype) for v in (lhs, rhs))
        zero = scalar(0, computing_dtype(dtype))
        apart = apply("where", apply("equal", x, z), zero, apply("subtract", x, z))
        shares = [apply("sigmoid", v) for v in (apart, apply("negative", apart))]
        return narrowed(shares[0], dtype), narrowed(shares[1], dtype)

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        x, y = (b.cast(v, accumulator_name(v.dtype)) for v in (lhs, rhs))
        apart = b.select(b.compare("eq", x, y), b.const(0, x), b.function("fabs", b.subtract(x, y)))
        more = b.function("softplus", b.negative(apart))
        return b.cast(b.add(b.function("maximum", x, y), more), lhs.dtype)
