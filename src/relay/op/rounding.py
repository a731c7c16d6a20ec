"""Whole numbers near a number, bounds, and questions about each element."""

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import Any

from relay.ir.dtype import dtype_name, integer_range, is_integer, is_signed
from relay.ir.expr import Expr
from relay.ir.type import Type
from relay.op.base import FLOATING, NUMERIC, Array, Numpy, Operator, sample
from relay.op.conversion import accumulator_name, through_wide
from relay.op.derivative import const_like, masked
from relay.op.family import Elementwise
from relay.op.kind import Derivative, Fusion, Precision
from relay.op.math import NUMBERS, REAL
from relay.op.native import Scalars
from relay.op.numeric import apply
from relay.op.registry import operator
from relay.op.relation import Typing, relation, relations


class Step(Elementwise):
    """A function that is constant between its jumps, so its cotangent is zero."""

    dtypes = NUMERIC
    derivative = Derivative.ZERO
    samples = NUMBERS


@operator("floor")
class Floor(Step):
    """The greatest whole number that is not above the element.

    relay> floor([1.5, -1.5])
    [1.0, -2.0]
    """

    ufunc = "floor"

    def native(self, b: Scalars, data: Any) -> Any:
        return data if is_integer(data.dtype) else b.function("floor", data)


@operator("ceil")
class Ceil(Step):
    """The least whole number that is not below the element.

    relay> ceil([1.5, -1.5])
    [2.0, -1.0]
    """

    ufunc = "ceil"

    def native(self, b: Scalars, data: Any) -> Any:
        return data if is_integer(data.dtype) else b.function("ceil", data)


@operator("round")
class Round(Step):
    """The nearest whole number, of two equally near ones the even one.

    relay> round([0.5, 1.5, -2.5])
    [0.0, 2.0, -2.0]
    """

    def reference(self, np: Numpy, data: Array) -> Array:
        return data if is_integer(dtype_name(data.dtype)) else np.rint(data)

    def native(self, b: Scalars, data: Any) -> Any:
        return data if is_integer(data.dtype) else b.function("rint", data)


@operator("trunc")
class Trunc(Step):
    """The whole number next to the element on the side of 0.

    relay> trunc([1.5, -1.5])
    [1.0, -1.0]
    """

    ufunc = "trunc"

    def native(self, b: Scalars, data: Any) -> Any:
        return data if is_integer(data.dtype) else b.function("trunc", data)


@operator("sign")
class Sign(Step):
    """-1, 0 or 1, as the element is negative, zero or positive; NaN stays.

    relay> sign([-2.5, 0.0, 7.0])
    [-1.0, 0.0, 1.0]
    """

    ufunc = "sign"

    def native(self, b: Scalars, data: Any) -> Any:
        zero = b.const(0, data)
        near = b.select(b.compare("eq", data, zero), zero, data)
        up = b.select(b.compare("gt", data, zero), b.const(1, data), near)
        return b.select(b.compare("lt", data, zero), b.const(-1, data), up) if is_signed(data.dtype) else up


@operator("copy")
class Copy(Elementwise):
    """The element itself.

    relay> copy([1, 2])
    [1, 2]
    """

    computes = False
    precision = Precision.FOLLOW
    derivative = Derivative.TRANSPOSE
    samples = (*NUMBERS, sample("2x3 bool"))

    def reference(self, np: Numpy, data: Array) -> Array:
        return data

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        return (g,)

    def native(self, b: Scalars, data: Any) -> Any:
        return data


@operator("clip")
class Clip(Elementwise):
    """`min(max(x, a_min), a_max)`; NaN stays.  Bounds beyond an integer type's range are its own.

    relay> clip([-3.0, 0.5, 7.0], a_min=0.0, a_max=6.0)
    [0.0, 0.5, 6.0]
    """

    precision = Precision.FOLLOW
    dtypes = NUMERIC
    derivative = Derivative.RULES
    samples = (
        *[sample(*s.operands, a_min=-0.5, a_max=0.75) for s in REAL],
        sample("3x5 int32", a_min=-2, a_max=3),
        sample("5 uint4", a_min=1, a_max=300),
        sample("int64", a_min=0, a_max=1),
    )

    a_min: float
    a_max: float

    def reference(self, np: Numpy, a: Array) -> Array:  # pyright: ignore[reportIncompatibleMethodOverride]
        low, high = self.bound(a, self.a_min), self.bound(a, self.a_max)
        return through_wide(partial(_between, np), a, low, high)

    def vjp(self, g: Expr, y: Expr, a: Expr) -> tuple[Expr, ...]:
        return (masked(self.inside(a), g),)

    def jvp(self, dxs: Sequence[Any], y: Expr, a: Expr) -> Expr:
        return masked(self.inside(a), dxs[0])

    def inside(self, a: Expr) -> Expr:
        """Whether an element is within the bounds or on one of them."""
        low, high = const_like(self.a_min, a), const_like(self.a_max, a)
        return apply("logical_and", apply("greater_equal", a, low), apply("less_equal", a, high))

    @staticmethod
    def bound(a: Array, value: float) -> Array:
        """A bound in the operand's dtype."""
        return a.dtype.type(limited(dtype_name(a.dtype), value))

    def native(self, b: Scalars, a: Any) -> Any:
        low, high = (b.const(limited(a.dtype, v), a) for v in (self.a_min, self.a_max))
        a = b.select(b.compare("lt", a, low), low, a)
        return b.select(b.compare("gt", a, high), high, a)


def limited(dtype: str, value: float) -> float:
    """A bound as a number that the dtype has, if that is one of integers."""
    if not is_integer(dtype):
        return value
    least, greatest = integer_range(dtype)
    return least if value <= least else greatest if value >= greatest else int(value)


def _between(np: Numpy, x: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(x, low), high)


@relation("Predicate")
def predicate(t: Typing, x: Type, out: Type) -> None:
    """`out` is of booleans and has the shape of `x`."""
    t.equal(t.dtype(out), "bool")
    t.equal(t.tensor(out).shape, t.tensor(x).shape)


class Predicate(Operator):
    """A question about each element."""

    fusion = Fusion.ELEMENTWISE
    relation_name = "Predicate"
    dtypes = FLOATING
    derivative = Derivative.ZERO
    samples = REAL

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        (x,) = args
        relations[self.relation_name](t, x, out)
        self.check_dtype(t, x)

    def reference(self, np: Numpy, data: Array) -> Array:
        return getattr(np, self.ufunc)(data)

    element = Elementwise.element
    is_pointwise = True
    extent = Elementwise.extent


def _size(b: Scalars, x: Any) -> Any:
    """The absolute value in a dtype that has infinities."""
    return b.function("fabs", b.cast(x, accumulator_name(x.dtype)))


@operator("isnan")
class IsNaN(Predicate):
    """Whether the element is NaN.

    relay> isnan([1.0, nanf])
    [False, True]
    """

    ufunc = "isnan"

    def native(self, b: Scalars, data: Any) -> Any:
        return b.compare("ne", data, data)


@operator("isinf")
class IsInf(Predicate):
    """Whether the element is infinite, of either sign.

    relay> isinf([1.0, -inff])
    [False, True]
    """

    ufunc = "isinf"

    def native(self, b: Scalars, data: Any) -> Any:
        return b.compare("eq", _size(b, data), b.const(inf, accumulator_name(data.dtype)))


@operator("isfinite")
class IsFinite(Predicate):
    """Whether the element is neither infinite nor NaN.

    relay> isfinite([1.0, inff])
    [True, False]
    """

    ufunc = "isfinite"

    def native(self, b: Scalars, data: Any) -> Any:
        return b.compare("lt", _size(b, data), b.const(inf, accumulator_name(data.dtype)))
