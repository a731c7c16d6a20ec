"""The trigonometric and the hyperbolic functions, and their inverses."""

import math
from typing import Any

from relay.ir.expr import Expr
from relay.op.derivative import const_like, times
from relay.op.kind import Precision, Wide
from relay.op.math import Smooth
from relay.op.native import Scalars
from relay.op.numeric import apply
from relay.op.registry import operator


@operator("sin")
class Sin(Smooth):
    """The sine of an angle in radians.

    relay> sin([0.0])
    [0.0]
    """

    computes_in_float64 = True
    element_cost = 16
    ufunc = "sin"

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (apply("cos", data),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("sin", data)


@operator("cos")
class Cos(Smooth):
    """The cosine of an angle in radians.

    relay> cos([0.0])
    [1.0]
    """

    computes_in_float64 = True
    element_cost = 16
    ufunc = "cos"

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (apply("negative", apply("sin", data)),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("cos", data)


@operator("tan")
class Tan(Smooth):
    """The tangent of an angle in radians.

    relay> tan([0.0])
    [0.0]
    """

    computes_in_float64 = True
    element_cost = 16
    ufunc = "tan"
    domain = (-1.5, 1.5)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (apply("add", const_like(1, y), times(y, y)),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("tan", data)


@operator("sinh")
class Sinh(Smooth):
    """The hyperbolic sine.

    relay> sinh([0.0])
    [0.0]
    """

    computes_in_float64 = True
    element_cost = 16
    ufunc = "sinh"

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (apply("cosh", data),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("sinh", data)


@operator("cosh")
class Cosh(Smooth):
    """The hyperbolic cosine.

    relay> cosh([0.0])
    [1.0]
    """

    computes_in_float64 = True
    element_cost = 16
    ufunc = "cosh"

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (apply("sinh", data),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("cosh", data)


@operator("tanh")
class Tanh(Smooth):
    """The hyperbolic tangent.

    relay> tanh([0.0, 100.0])
    [0.0, 1.0]
    """

    wide = Wide.ARITHMETIC
    element_cost = 16
    precision = Precision.STORED
    ufunc = "tanh"

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        """`1 - y * y` as `4 * s * (1 - s)` with `s = sigmoid(-2 * abs(x))`, which does not cancel.

        The absolute value is a choice: all derivatives of the one that is chosen at 0 are right.
        """
        below = apply("less", data, const_like(0, data))
        share = apply(
            "sigmoid", times(data, apply("where", below, const_like(2, data), const_like(-2, data)))
        )
        return (times(times(const_like(4, y), share), apply("subtract", const_like(1, y), share)),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("tanh", data)


@operator("asin")
class Asin(Smooth):
    """The angle in radians whose sine is given; NaN outside -1 to 1.

    relay> asin([0.0])
    [0.0]
    """

    computes_in_float64 = True
    element_cost = 16
    ufunc = "arcsin"
    domain = (-1, 1)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (_steepness(data),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("asin", data)


@operator("acos")
class Acos(Smooth):
    """The angle in radians whose cosine is given; NaN outside -1 to 1.

    relay> acos([1.0])
    [0.0]
    """

    computes_in_float64 = True
    element_cost = 16
    ufunc = "arccos"
    domain = (-1, 1)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        steepness = _steepness(data)
        return (apply("negative", steepness),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("acos", data)


@operator("atan")
class Atan(Smooth):
    """The angle in radians, between -pi/2 and pi/2, whose tangent is given.

    relay> atan([0.0])
    [0.0]
    """

    computes_in_float64 = True
    element_cost = 16
    ufunc = "arctan"

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        inverse = _inverse_length(data)
        return (times(inverse, inverse),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("atan", data)


@operator("asinh")
class Asinh(Smooth):
    """The inverse of `sinh`.

    relay> asinh([0.0])
    [0.0]
    """

    computes_in_float64 = True
    element_cost = 16
    ufunc = "arcsinh"

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (_inverse_length(data),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("asinh", data)


@operator("acosh")
class Acosh(Smooth):
    """The inverse of `cosh`; NaN below 1.

    relay> acosh([1.0])
    [0.0]
    """

    computes_in_float64 = True
    element_cost = 16
    ufunc = "arccosh"
    domain = (1, math.inf)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        one = const_like(1, data)
        roots = [apply("rsqrt", apply(name, data, one)) for name in ("subtract", "add")]
        return (times(*roots),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("acosh", data)


@operator("atanh")
class Atanh(Smooth):
    """The inverse of `tanh`; NaN outside -1 to 1.

    relay> atanh([0.0])
    [0.0]
    """

    computes_in_float64 = True
    element_cost = 16
    ufunc = "arctanh"
    domain = (-1, 1)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (apply("divide", const_like(1, data), _rest_of_square(data)),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("atanh", data)


def _rest_of_square(x: Expr) -> Expr:
    """`1 - x * x` as a product, whose factors are exact near 1."""
    one = const_like(1, x)
    return times(apply("subtract", one, x), apply("add", one, x))


def _steepness(x: Expr) -> Expr:
    """`1 / sqrt(1 - x * x)`."""
    return apply("rsqrt", _rest_of_square(x))


def _inverse_length(x: Expr) -> Expr:
    """`1 / sqrt(1 + x * x)`, where the square may overflow."""
    return apply("divide", const_like(1, x), apply("hypot", x, const_like(1, x)))
