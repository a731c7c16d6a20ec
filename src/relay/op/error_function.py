"""The error function, its complement, and the normal distribution.

Source: rational approximations of Cody, 1969.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy

from relay.ir.expr import Expr
from relay.op.base import Array, Numpy
from relay.op.conversion import through_float64
from relay.op.derivative import tensor_type, times
from relay.op.math import Smooth
from relay.op.native import Scalars
from relay.op.numeric import apply, computing_dtype, narrowed, scalar, widened
from relay.op.registry import operator


@operator("erf")
class Erf(Smooth):
    """The error function.  Source: Cody, 1969.

    relay> erf([0.0, 10.0])
    [0.0, 1.0]
    """

    element_cost = 16

    def reference(self, np: Numpy, data: Array) -> Array:
        if data.ndim == 0 and np is numpy:
            return data.dtype.type(math.erf(float(data)))
        return through_float64(partial(_erf, np), data)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (_bell(data, 2 / math.sqrt(math.pi)),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("erf", data)


@operator("erfc")
class Erfc(Smooth):
    """`1 - erf(x)`, to full precision where that is small as well.  Source: Cody, 1969.

    relay> erfc([0.0, 5.0, -10.0])
    [1.0, 1.5374598e-12, 2.0]
    """

    computes_in_float64 = True
    element_cost = 16

    def reference(self, np: Numpy, data: Array) -> Array:
        if data.ndim == 0 and np is numpy:
            return data.dtype.type(math.erfc(float(data)))
        return through_float64(partial(erfc, np), data)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (_bell(data, -2 / math.sqrt(math.pi)),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("erfc", data)


@operator("ndtr")
class Ndtr(Smooth):
    """The probability that a normally distributed number is below `x`: `erfc(-x / sqrt(2)) / 2`.

    relay> ndtr([0.0, 1.0, -10.0])
    [0.5, 0.8413448, 7.619853e-24]
    """

    element_cost = 16

    def reference(self, np: Numpy, data: Array) -> Array:
        return through_float64(partial(ndtr, np), data)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (_bell(data, 1 / math.sqrt(2 * math.pi), 0.5),)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("ndtr", data)


def ndtr(np: Numpy, x: Array) -> Array:
    """The probability that a normally distributed number is below `x`, in float64."""
    size = np.minimum(np.abs(x), END)
    y = size * math.sqrt(0.5)
    tail = 0.5 * _tail(np, y, _bell_of(np, size, 0.5))
    near = 0.5 + 0.5 * _near_zero(np, x * math.sqrt(0.5))
    return np.where(y <= 0.46875, near, np.where(x < 0, tail, 1.0 - tail))


def _bell(x: Expr, height: float, rate: float = 1.0) -> Expr:
    """`height * exp(-rate * x * x)`, where the rounding of the square is made up for.

    What that is depends on the digits of `x` alone, so it has no derivative.
    """
    narrow = tensor_type(x).dtype
    dtype = computing_dtype(narrow)
    held = apply("clip", widened(x, narrow), a_min=-END, a_max=END)
    top = times(apply("trunc", times(held, scalar(16, dtype))), scalar(1 / 16, dtype))
    square = times(held, held)
    rest = times(apply("subtract", held, top), apply("add", held, top))
    error = apply("stop_gradient", apply("add", apply("subtract", times(top, top), square), rest))
    factor = apply("subtract", scalar(height, dtype), times(scalar(height * rate, dtype), error))
    return narrowed(times(factor, apply("exp", times(scalar(-rate, dtype), square))), narrow)


END = 40.0
"""Beyond this, `exp(-x * x / 2)` is 0 in every dtype."""
_ERF_BELOW_HALF = (
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
_ERFC_TAIL = (
    (
        3.05326634961232344e-1,
        3.60344899949804439e-1,
        1.25781726111229246e-1,
        1.60837851487422766e-2,
        6.58749161529837803e-4,
        1.63153871373020978e-2,
    ),
    (
        2.56852019228982242e00,
        1.87295284992346047e00,
        5.27905102951428412e-1,
        6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)


def _erf(np: Numpy, x: Array) -> Array:
    """Erf in float64 with an error of a few units in the last place; it is 1 beyond 6."""
    y = np.minimum(np.abs(x), 6.0)
    far = 1.0 - np.exp(-y * y) * _quotient(np, *_MIDDLE, y)
    return np.where(y <= 0.46875, _near_zero(np, x), np.copysign(far, x))


def erfc(np: Numpy, x: Array) -> Array:
    """Erfc in float64 with an error of a few units in the last place."""
    y = np.abs(x)
    tail = _tail(np, y, _bell_of(np, np.minimum(y, END), 1.0))
    return np.where(y <= 0.46875, 1.0 - _near_zero(np, x), np.where(x < 0, 2.0 - tail, tail))


def _near_zero(np: Numpy, x: Array) -> Array:
    """Erf up to 0.46875."""
    return x * _quotient(np, *_ERF_BELOW_HALF, np.minimum(np.abs(x), 0.46875) ** 2)


def _bell_of(np: Numpy, x: Array, rate: float) -> Array:
    """`exp(-rate * x * x)`: the square is split, so that its exponential is exact."""
    top = np.trunc(x * 16) / 16
    return np.exp(-rate * top * top) * np.exp(rate * (top - x) * (top + x))


def _tail(np: Numpy, y: Array, bell: Array) -> Array:
    """Erfc from 0.46875, where the exponential of `-y * y` is given."""
    z = 1.0 / np.square(np.clip(y, 4.0, 28.0))
    far = (1 / math.sqrt(math.pi) - z * _quotient(np, *_ERFC_TAIL, z)) * np.sqrt(z)
    return bell * np.where(y <= 4, _quotient(np, *_MIDDLE, np.minimum(y, 4.0)), far)


def _quotient(np: Numpy, above: Sequence[float], below: Sequence[float], x: Array) -> Array:
    """The quotient of two polynomials; the last of `above` leads, `below` is monic."""
    numerator, denominator = above[-1] * x, x
    for a, b in zip(above[:-2], below[:-1], strict=True):
        numerator, denominator = (numerator + a) * x, (denominator + b) * x
    return (numerator + above[-2]) / (denominator + below[-1])
