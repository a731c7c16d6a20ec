"""Functions of one number, applied to each element."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy

from relay.ir.dtype import is_float, is_signed
from relay.ir.expr import Expr
from relay.op.base import (
    FLOATING,
    NUMERIC,
    Array,
    Derivative,
    Elementwise,
    Numpy,
    Precision,
    operator,
    sample,
)
from relay.op.conversion import accumulator, through_float64
from relay.op.derivative import number, times
from relay.op.native import Scalars
from relay.op.numeric import apply, narrow

REAL = (
    sample("3x5 float32"),
    sample("float64"),
    sample("0x3 float32"),
    sample("7 float16"),
    sample("2x1 bfloat16"),
    sample("3 float8_e4m3fn"),
)
NUMBERS = (
    *REAL,
    sample("3x5 int32"),
    sample("int8"),
    sample("5 int4"),
    sample("3 uint2"),
    sample("2x3 uint64"),
)


class Smooth(Elementwise):
    """A function of real numbers with a derivative."""

    dtypes = FLOATING
    derivative = Derivative.PARTIALS
    samples = REAL


@operator("abs")
class Abs(Elementwise):
    """The absolute value; the least integer stays itself.

    relay> abs([-1.5, 2.0])
    [1.5, 2.0]
    """

    precision = Precision.FOLLOW
    dtypes = NUMERIC
    ufunc = "abs"
    derivative = Derivative.PARTIALS
    samples = NUMBERS

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (apply("sign", data),)

    def native(self, b: Scalars, data: Any) -> Any:
        return magnitude(b, data)


def magnitude(b: Scalars, x: Any) -> Any:
    """The absolute value of a number."""
    if is_float(x.dtype):
        return b.function("fabs", x)
    return b.select(b.compare("lt", x, b.const(0, x)), b.negative(x), x) if is_signed(x.dtype) else x


@operator("negative")
class Negative(Elementwise):
    """`-x`; integers wrap.

    relay> negative([1.5, -2.0])
    [-1.5, 2.0]
    """

    precision = Precision.FOLLOW
    dtypes = NUMERIC
    ufunc = "negative"
    derivative = Derivative.TRANSPOSE
    samples = NUMBERS

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        return (apply("negative", g),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.negative(data)


@operator("exp")
class Exp(Smooth):
    """e to the power of each element.

    relay> exp([0.0, -1000.0])
    [1.0, 0.0]
    """

    element_cost = 16
    ufunc = "exp"

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (y,)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("exp", data)


@operator("log")
class Log(Smooth):
    """The natural logarithm; NaN below 0.

    relay> log([1.0, 0.0])
    [0.0, -inf]
    """

    element_cost = 16
    ufunc = "log"
    domain = (0, math.inf)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (apply("divide", number(1, data), data),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("log", data)


@operator("log2")
class Log2(Smooth):
    """The logarithm to base 2.

    relay> log2([8.0, 0.5])
    [3.0, -1.0]
    """

    computes_in_float64 = True
    element_cost = 16
    ufunc = "log2"
    domain = (0, math.inf)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (apply("divide", number(1 / math.log(2), data), data),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("log2", data)


@operator("log10")
class Log10(Smooth):
    """The logarithm to base 10.

    relay> log10([10.0, 1.0])
    [1.0, 0.0]
    """

    computes_in_float64 = True
    element_cost = 16
    ufunc = "log10"
    domain = (0, math.inf)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (apply("divide", number(1 / math.log(10), data), data),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("log10", data)


@operator("sqrt")
class Sqrt(Smooth):
    """The square root; NaN below 0.

    relay> sqrt([4.0, 2.25])
    [2.0, 1.5]
    """

    element_cost = 4
    ufunc = "sqrt"
    domain = (0, math.inf)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (apply("divide", number(0.5, y), y),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("sqrt", data)


@operator("rsqrt")
class Rsqrt(Smooth):
    """`1 / sqrt(x)`.

    relay> rsqrt([4.0, 0.25])
    [0.5, 2.0]
    """

    element_cost = 16
    domain = (0, math.inf)

    def reference(self, np: Numpy, data: Array) -> Array:
        x = accumulator(data)
        return narrow(np.divide(np.ones_like(x), np.sqrt(x)), data.dtype)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (times(number(-0.5, y), apply("divide", y, data)),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("rsqrt", data)


@operator("erf")
class Erf(Smooth):
    """The error function.  Source: rational approximations of Cody, 1969.

    relay> erf([0.0, 10.0])
    [0.0, 1.0]
    """

    element_cost = 16

    def reference(self, np: Numpy, data: Array) -> Array:
        if data.ndim == 0 and np is numpy:
            return data.dtype.type(math.erf(float(data)))
        return through_float64(partial(_erf, np), data)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        bell = apply("exp", apply("negative", times(data, data)))
        return (times(number(2 / math.sqrt(math.pi), data), bell),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("erf", data)


_NEAR = (
    (
        3.16112374387056560e00,
        1.13864154151050156e02,
        3.77485237685302021e02,
        3.20937758913846947e03,
        1.85777706184603153e-1,
    ),
    (2.36012909523441209e01, 2.44024637934444173e02, 1.28261652607737228e03, 2.84423683343917062e03),
)
_MIDDLE = (
    (
        5.64188496988670089e-1,
        8.88314979438837594e00,
        6.61191906371416295e01,
        2.98635138197400131e02,
        8.81952221241769090e02,
        1.71204761263407058e03,
        2.05107837782607147e03,
        1.23033935479799725e03,
        2.15311535474403846e-8,
    ),
    (
        1.57449261107098347e01,
        1.17693950891312499e02,
        5.37181101862009858e02,
        1.62138957456669019e03,
        3.29079923573345963e03,
        4.36261909014324716e03,
        3.43936767414372164e03,
        1.23033935480374942e03,
    ),
)


def _erf(np: Numpy, x: Array) -> Array:
    """Erf in float64 with an error of a few units in the last place; it is 1 beyond 6."""
    y = np.minimum(np.abs(x), 6.0)
    near = x * _quotient(np, *_NEAR, np.minimum(y, 0.46875) ** 2)
    far = 1.0 - np.exp(-y * y) * _quotient(np, *_MIDDLE, y)
    return np.where(y <= 0.46875, near, np.copysign(far, x))


def _quotient(np: Numpy, above: Sequence[float], below: Sequence[float], x: Array) -> Array:
    """The quotient of two polynomials; the last of `above` leads, `below` is monic."""
    numerator, denominator = above[-1] * x, x
    for a, b in zip(above[:-2], below[:-1], strict=True):
        numerator, denominator = (numerator + a) * x, (denominator + b) * x
    return (numerator + above[-2]) / (denominator + below[-1])


@operator("sigmoid")
class Sigmoid(Smooth):
    """`1 / (1 + exp(-x))`, without overflow on either side.

    relay> sigmoid([0.0, -1000.0, 1000.0])
    [0.5, 0.0, 1.0]
    """

    element_cost = 16
    precision = Precision.FOLLOW

    def reference(self, np: Numpy, data: Array) -> Array:
        e, one = np.exp(np.negative(np.abs(data))), np.ones_like(data)
        below = np.add(one, e)
        return np.where(data >= 0, np.divide(one, below), np.divide(e, below))

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (times(y, apply("subtract", number(1, y), y)),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("sigmoid", data)
