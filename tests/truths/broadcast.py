"""Truths of the functions of two numbers of a floating dtype."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from mpmath import mp

from truths.pointwise import pointwise as pointwise_of_some

pointwise = partial(pointwise_of_some, operands=2)


def quiet(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy without its warnings, of Python's floats."""

    def call(*xs: float) -> float:
        with np.errstate(all="ignore"):
            return float(f(*map(np.float64, xs)))

    return call


def one(x: Any, y: Any) -> Any:
    return mp.mpf(1)


# --- arithmetic ---

pointwise("add", lambda x, y: x + y, one, one, at_infinity=quiet(np.add), ulps=0.51, slope_ulps=0)
pointwise("subtract", lambda x, y: x - y, one, lambda x, y: mp.mpf(-1), at_infinity=quiet(np.subtract),
          ulps=0.51, slope_ulps=0)  # fmt: skip
pointwise("multiply", lambda x, y: x * y, lambda x, y: y, lambda x, y: x, at_infinity=quiet(np.multiply),
          ulps=0.51, slope_ulps=0)  # fmt: skip


def quotient(x: Any, y: Any) -> Any:
    """Return `x / y`, of a positive zero where it is 0."""
    if y == 0:
        return mp.nan if x == 0 else mp.sign(x) * mp.inf
    return x / y


pointwise("divide", quotient, lambda x, y: quotient(1, y), lambda x, y: -quotient(x, y * y),
          at_infinity=quiet(np.divide), at=[(0, 1e-40), (1e-40, 1e-30), (1e-30, 1e-40)],
          ulps=0.51)  # fmt: skip


def tie(x: Any, y: Any, is_first: bool) -> Any:
    """Return the share of an operand: half of equal ones."""
    return mp.mpf(1) / 2 if x == y else mp.mpf(int(is_first))


pointwise("maximum", max, lambda x, y: tie(x, y, x > y), lambda x, y: tie(x, y, y > x),
          at_infinity=quiet(np.maximum), ulps=0, slope_ulps=0)  # fmt: skip
pointwise("minimum", min, lambda x, y: tie(x, y, x < y), lambda x, y: tie(x, y, y < x),
          at_infinity=quiet(np.minimum), ulps=0, slope_ulps=0)  # fmt: skip

# --- divisions that leave a remainder ---


def rounded_quotient(name: str) -> Callable[..., Any]:
    """Return a formula of the quotient, rounded to a whole number."""
    rounded = {"floor": math.floor, "trunc": math.trunc}[name]
    return lambda x, y: mp.mpf(rounded(fraction(x) / fraction(y))) if y else quotient(x, y)


def fraction(x: Any) -> Fraction:
    """Return a number exactly."""
    return Fraction(float(x))


def rest(x: Any, y: Any) -> Any:
    """Return what the quotient, rounded down, leaves."""
    left = fraction(x) % fraction(y)
    return mp.mpf(left.numerator) / left.denominator


def slope_of(name: str) -> Callable[..., Any]:
    """Return the derivative of a remainder by the divisor."""
    return lambda x, y: -rounded_quotient(name)(x, y) if y else None


pointwise("floor_divide", rounded_quotient("floor"), at_infinity=quiet(np.floor_divide), ulps=0.51)
pointwise(
    "trunc_divide", rounded_quotient("trunc"), at_infinity=quiet(lambda x, y: np.trunc(x / y)), ulps=0.51
)
for remainder in ("mod", "trunc_mod"):
    pointwise(remainder, lambda x, y: mp.mpf(math.fmod(x, y)) if y else mp.nan, one, slope_of("trunc"),
              at_infinity=quiet(np.fmod), ulps=0.51)  # fmt: skip
pointwise("floor_mod", lambda x, y: rest(x, y) if y else mp.nan, one, slope_of("floor"),
          at_infinity=quiet(np.remainder), ulps=0.51)  # fmt: skip

# --- lengths, angles and powers ---


def length(x: Any, y: Any) -> Any:
    return mp.sqrt(x * x + y * y)


def share(x: Any, y: Any) -> Any:
    """Return `x` over the length, which has no slope at 0: 0, as for `abs`."""
    return x / length(x, y) if x or y else mp.mpf(0)


pointwise("hypot", length, share, lambda x, y: share(y, x), at_infinity=quiet(np.hypot))
pointwise("atan2", mp.atan2, lambda x, y: share(y, x) / (length(x, y) or 1),
          lambda x, y: -share(x, y) / (length(x, y) or 1),
          at_infinity=math.atan2, at_zero=math.atan2)  # fmt: skip


def log_of_sum(x: Any, y: Any) -> Any:
    return max(x, y) + mp.log1p(mp.exp(-abs(x - y)))


def greater_size(x: Any, y: Any) -> Any:
    return abs(max(x, y))


# Where the greater operand cancels, near a result of 0, NumPy and PyTorch have the same rounding, that of
# the operand: 65 units of the result in float32 and 283 in float64 at some of 300 pairs, at most 2.2 of the
# operand.
pointwise("logaddexp", log_of_sum, lambda x, y: 1 / (1 + mp.exp(y - x)),
          lambda x, y: 1 / (1 + mp.exp(x - y)),
          slope_ulps={"float32": 56.0, "float64": 377.0},  # a difference is rounded, up to 104 and 745
          scale=dict.fromkeys(("float32", "float64"), greater_size),
          at_infinity=quiet(np.logaddexp))  # fmt: skip


def power(x: Any, n: Any) -> Any:
    """Return `x ** n` of a real number, by as many bits as the exponent takes."""
    if x == 0 or n == 0:
        return mp.mpf(1) if n == 0 else mp.mpf(0) if n > 0 else mp.inf
    is_whole = n == mp.floor(n)
    if x < 0 and not is_whole:
        return mp.nan
    with mp.workprec(mp.prec + max(0, mp.mag(n))):
        size = mp.exp(n * mp.log(abs(x)))
    return -size if x < 0 and mp.fmod(n, 2) != 0 else +size


def by_base(x: Any, n: Any) -> Any:
    with mp.workprec(mp.prec + abs(mp.mag(n)) if n else mp.prec):
        return n * power(x, n - 1) if n else mp.mpf(0)


def by_exponent(x: Any, n: Any) -> Any:
    """Return the derivative by the exponent: 0 at base 0, unless the power is infinite."""
    if x == 0:
        return -mp.inf if n < 0 else mp.mpf(0)
    return power(x, n) * mp.log(x) if x > 0 else mp.nan


def by_c(x: float, n: float) -> Any:
    """Return the power as C does, where NumPy takes the square root of -inf; Python's is an error at 0."""
    return math.pow(x, n) if x else quiet(np.power)(x, n)


pointwise("power", power, by_base, by_exponent, at_infinity=by_c, at_zero=quiet(np.power),
          at=[(1e-40, 0), (-1, 3e38), (-1, 3), (-1, 2**24 + 2), (2, 0), (1e30, 0.3), (1e30, 1.5),
              (0.3, -0.3), (1e-40, 2**-10), (3e-39, -(2**-10)), (1e20, -2), (1e-20, 2), (1e10, -4.5),
              (1e-44, 0.9), (1e-160, 2), (1e200, -1.6)])  # fmt: skip
