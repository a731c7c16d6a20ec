"""Functions of one number, applied to each element."""

import math
from typing import Any

from relay.ir.dtype import is_float, is_signed
from relay.ir.expr import Expr
from relay.op.base import FLOATING, NUMERIC, Array, Numpy, sample
from relay.op.conversion import accumulator
from relay.op.derivative import const_like, times
from relay.op.family import Elementwise
from relay.op.kind import Derivative, Precision, Wide
from relay.op.native import Scalars
from relay.op.numeric import apply, narrow
from relay.op.registry import operator

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

    wide = Wide.EXPONENTIAL
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


@operator("expm1")
class Expm1(Smooth):
    """`exp(x) - 1`, to full precision near 0 as well.

    relay> expm1([0.0, 1e-10, -1000.0])
    [0.0, 1e-10, -1.0]
    """

    element_cost = 16
    ufunc = "expm1"

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (apply("exp", data),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("expm1", data)


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
        return (apply("divide", const_like(1, data), data),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("log", data)


@operator("log1p")
class Log1p(Smooth):
    """`log(1 + x)`, to full precision near 0 as well; NaN below -1.

    relay> log1p([0.0, 1e-10, -1.0])
    [0.0, 1e-10, -inf]
    """

    element_cost = 16
    ufunc = "log1p"
    domain = (-1, math.inf)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (apply("divide", const_like(1, data), apply("add", data, const_like(1, data))),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("log1p", data)


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
        return (apply("divide", const_like(1 / math.log(2), data), data),)

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
        return (apply("divide", const_like(1 / math.log(10), data), data),)

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
        return (apply("divide", const_like(0.5, y), y),)

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
        return (apply("divide", times(const_like(-0.5, y), y), data),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("rsqrt", data)


@operator("sigmoid")
class Sigmoid(Smooth):
    """`1 / (1 + exp(-x))`, without overflow on either side.

    relay> sigmoid([0.0, -1000.0, 1000.0])
    [0.5, 0.0, 1.0]
    """

    wide = Wide.ARITHMETIC
    element_cost = 16
    precision = Precision.STORED

    def reference(self, np: Numpy, data: Array) -> Array:
        return narrow(logistic(np, accumulator(data)), data.dtype)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (times(y, apply("sigmoid", apply("negative", data))),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("sigmoid", data)


def logistic(np: Numpy, x: Array) -> Array:
    """`1 / (1 + exp(-x))` of an array, in its dtype."""
    e, one = np.exp(np.negative(np.abs(x))), np.ones_like(x)
    below = np.add(one, e)
    return np.where(x >= 0, np.divide(one, below), np.divide(e, below))
