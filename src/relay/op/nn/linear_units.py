"""Activations that are nearly linear for large numbers: gelu, silu, mish, softplus, elu and kin.

They are computed in float32 or wider and rounded once.
"""

import math
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as _np

from relay.ir.expr import Expr
from relay.ir.type import DType, Type
from relay.op.axes import attribute_fault
from relay.op.base import FLOATING, Array, Numpy, sample
from relay.op.conversion import accumulator, accumulator_name, through_float64
from relay.op.derivative import const_like, tensor_type, times
from relay.op.error_function import ndtr
from relay.op.family import Elementwise, family
from relay.op.kind import Derivative, Precision
from relay.op.math import REAL, logistic
from relay.op.native import Scalars
from relay.op.nn.activation import where_positive
from relay.op.numeric import apply, computing_dtype, narrow, narrowed, scalar, widened
from relay.op.registry import operator
from relay.op.relation import Typing

CUBE = 0.044715
"""The factor of the cube in the approximation of gelu by the hyperbolic tangent."""
SLOPE_AT_ZERO = math.sqrt(8 / math.pi)
"""Factor of the number and its cube in the argument of the sigmoid."""


@family
class LinearUnit(Elementwise):
    """An activation: `value(np, x)` of arrays and `scalar(b, x)` of numbers, both float32 or wider."""

    element_cost = 16
    precision = Precision.STORED
    dtypes = FLOATING
    derivative = Derivative.PARTIALS
    samples = REAL

    def reference(self, np: Numpy, data: Array) -> Array:
        return narrow(self.value(np, accumulator(data)), data.dtype)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.cast(self.scalar(b, b.cast(data, accumulator_name(data.dtype))), data.dtype)

    def value(self, np: Numpy, x: Array) -> Array:
        """The activation of an array."""
        raise AssertionError(f"{self.name} does not say how an array is computed")

    def scalar(self, b: Scalars, x: Any) -> Any:
        """The activation of a number in machine code."""
        raise AssertionError(f"{self.name} does not say how a number is computed")


def _add(*terms: Expr) -> Expr:
    found = terms[0]
    for term in terms[1:]:
        found = apply("add", found, term)
    return found


class Zero(NamedTuple):
    """A zero of a slope, and `slope / (x - place)` around it: a polynomial of `x - place` for float32.

    The polynomial is `mpmath.chebyfit`, with an error below 0.02 units in the last place.
    """

    place: float
    reach: float
    """Distance from the zero up to which the polynomial holds."""
    factors: tuple[float, ...]
    """Coefficients, that of the highest power first."""


GELU_ZERO = Zero(-0.7517915246935645, 0.375, (
    -0.0007180758914, -0.002181322346, 0.004536423836, 0.0194155645, -0.01477141288,
    -0.1140079948, -0.01819967755, 0.3882849805, 0.4314939923,
))  # fmt: skip
TANH_ZERO = Zero(-0.7524614220710163, 0.375, (
    -0.0008891643598, -0.002341488189, 0.005257056146, 0.01967381495, -0.01661917254,
    -0.1139441525, -0.01578285516, 0.3875184427, 0.430400091,
))  # fmt: skip
SILU_ZERO = Zero(-1.2784645427610737, 0.5, (
    -4.23852593e-5, 0.0001694746102, 0.000798789184, 0.0001296420293, -0.0066066074,
    -0.01522286371, 0.01887481456, 0.1466488009, 0.2178117057,
))  # fmt: skip
MISH_ZERO = Zero(-1.1924312145154952, 0.375, (
    0.0002365401054, 0.0009754211747, 0.001094257966, -0.003359129847, -0.01582119888,
    -0.02027188407, 0.04190782181, 0.2047312647, 0.266947914,
))  # fmt: skip


def _exact_at_zero(slope: Expr, x: Expr, dtype: DType, zero: Zero, rate: float = 1.0) -> Expr:
    """Return the slope at `rate * x`; next to its zero, where its terms cancel, by the polynomial.

    Dtypes wider than float32 keep the slope.
    """
    if computing_dtype(dtype) != "float32" or abs(zero.place) >= 1e30 * abs(rate):
        return slope
    place = zero.place / rate
    high = float(_np.float32(place))
    away = apply("subtract", x, scalar(high, "float32"))
    held = _held_to(zero.reach / abs(rate), away)
    # The limits stand between the two constants: XLA would add these up, and round the sum to one of them.
    near = apply("subtract", held, scalar(place - high, "float32"))
    near = near if rate == 1 else times(near, scalar(rate, "float32"))
    factor: Expr = scalar(zero.factors[0], "float32")
    for value in zero.factors[1:]:
        factor = _add(times(factor, near), scalar(value, "float32"))
    return apply("where", apply("equal", held, away), times(near, factor), slope)


@operator("nn.gelu")
class Gelu(LinearUnit):
    """`x` times the probability that a normal number is below it; `approximate="tanh"` has a cheaper form.

    That form is `x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3))) / 2`.  Source: Hendrycks and Gimpel,
    2016.

    relay> nn.gelu([0.0, 1.0, -10.0])
    [0.0, 0.8413448, -7.619853e-23]
    """

    approximate: Literal["none", "tanh"] = "none"
    samples = (*REAL, sample("3x5 float32", approximate="tanh"), sample("4 bfloat16", approximate="tanh"))

    def value(self, np: Numpy, x: Array) -> Array:
        return through_float64(partial(self._exact, np), _not_infinite(np, x))

    def _exact(self, np: Numpy, x: Array) -> Array:
        if self.approximate == "tanh":
            return _gate(np, x, SLOPE_AT_ZERO * (x + CUBE * x * x * x))
        return x * ndtr(np, x)

    def scalar(self, b: Scalars, x: Any) -> Any:
        x = _not_below(b, x, -GATE_END)
        if self.approximate == "tanh":
            return b.function("gelu_tanh", x)
        return b.multiply(x, b.function("ndtr", x))

    def partials(self, y: Expr, data: Expr) -> tuple[Expr]:
        """The probability, plus `x` times its density; for `tanh` the share, and `x` times its rise."""
        dtype = tensor_type(data).dtype
        wide, x = computing_dtype(dtype), widened(data, dtype)
        if self.approximate == "none":
            held = _held_to(GATE_END, x)
            bell = apply("exp", times(times(held, held), scalar(-0.5, wide)))
            rise = times(times(held, bell), scalar(1 / math.sqrt(2 * math.pi), wide))
            slope = _add(apply("ndtr", x), rise)
            return (narrowed(_exact_at_zero(slope, x, dtype, GELU_ZERO), dtype),)
        x = _held_to(30.0, x)
        slope = _gate_slope(*_tanh_inner(x, wide), wide)
        return (narrowed(_exact_at_zero(slope, x, dtype, TANH_ZERO), dtype),)


@operator("nn.silu")
class Silu(LinearUnit):
    """`x * sigmoid(alpha * x)`, also called swish.  Source: Ramachandran, Zoph and Le, 2017.

    relay> nn.silu([0.0, 1.0, -20.0])
    [0.0, 0.7310586, -4.1223075e-08]
    """

    alpha: float = 1.0
    aliases = ("nn.swish",)
    samples = (*REAL, sample("3x5 float32", alpha=1.702))

    def value(self, np: Numpy, x: Array) -> Array:
        if x.dtype.type(self.alpha) == 0:
            return x * x.dtype.type(0.5)
        end = x.dtype.type(math.copysign(math.inf, -self.alpha))
        held = np.where(x == end, np.nextafter(end, x.dtype.type(0)), x)
        return _gate(np, held, x * x.dtype.type(self.alpha))

    def scalar(self, b: Scalars, x: Any) -> Any:
        if _np.dtype(x.dtype).type(self.alpha) == 0:
            return b.multiply(x, b.const(0.5, x))
        end = math.copysign(float(_np.finfo(x.dtype).max), -self.alpha)
        is_beyond = b.compare("lt" if end < 0 else "gt", x, b.const(end, x))
        inner = x if self.alpha == 1 else b.multiply(x, b.const(self.alpha, x))
        return b.function("gate", b.select(is_beyond, b.const(end, x), x), inner)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr]:
        """`s * (1 + alpha * x * (1 - s))` with the sigmoid `s`; `1 - s` is that of `-alpha * x`."""
        dtype = tensor_type(data).dtype
        wide, x = computing_dtype(dtype), widened(data, dtype)
        alpha = _np.float32(self.alpha) if wide == "float32" else self.alpha
        if alpha == 0:
            return (const_like(0.5, data),)
        inner = _held_to(GATE_END, times(x, scalar(self.alpha, wide)))
        slope = _gate_slope(inner, inner, wide)
        return (narrowed(_exact_at_zero(slope, x, dtype, SILU_ZERO, self.alpha), dtype),)


@operator("nn.softplus")
class Softplus(LinearUnit):
    """`log(1 + exp(beta * x)) / beta`, exact where the exponential is small and where it would overflow.

    relay> nn.softplus([0.0, -20.0, 1000.0])
    [0.6931472, 2.0611537e-09, 1000.0]
    """

    beta: float = 1.0
    samples = (*REAL, sample("3x5 float32", beta=2.5))

    def value(self, np: Numpy, x: Array) -> Array:
        inner, bend = x * x.dtype.type(self.beta), np.maximum if self.beta > 0 else np.minimum
        return bend(x, 0) + np.log1p(np.exp(-np.abs(inner))) / x.dtype.type(self.beta)

    def scalar(self, b: Scalars, x: Any) -> Any:
        if self.beta == 1:
            return b.function("softplus", x)
        inner = b.function("fabs", b.multiply(x, b.const(self.beta, x)))
        inverse = 1 / self.beta if self.beta else math.copysign(math.inf, self.beta)
        rest = b.multiply(b.function("softplus", b.negative(inner)), b.const(inverse, x))
        return b.add(b.function("maximum" if self.beta > 0 else "minimum", x, b.const(0, x)), rest)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr]:
        """`sigmoid(beta * x)`."""
        return (apply("sigmoid", times(data, const_like(self.beta, data))),)


@operator("nn.mish")
class Mish(LinearUnit):
    """`x * tanh(softplus(x))`, as a quotient of polynomials in `exp(-abs(x))`.  Source: Misra, 2019.

    relay> nn.mish([0.0, 1.0, -20.0])
    [0.0, 0.8650985, -4.1223075e-08]
    """

    def value(self, np: Numpy, x: Array) -> Array:
        x = _not_infinite(np, x)
        lifted, factor = _lifted_array(np, x)
        e = np.exp(-np.abs(lifted))
        above, least = np.where(x < 0, e * (e + 2), 1 + 2 * e), np.where(x < 0, 2, 2 * e * e)
        return x * (above / (above + least)) * factor

    def scalar(self, b: Scalars, x: Any) -> Any:
        return b.function("mish", _not_below(b, x, -GATE_END))

    def partials(self, y: Expr, data: Expr) -> tuple[Expr]:
        """`w / d` below 0, otherwise 1 more, with polynomials `w` and `d` in `e = exp(-abs(x))`.

        Below 0, `d` is `(e * (e + 2) + 2) ** 2`, multiplied out as the square would double the rounding, and
        `w = e * (4 + 4 * x + e * (6 + 4 * x + e * (4 + e)))`; otherwise `d = (1 + e * (2 + 2 * e)) ** 2` and
        `w = e * e * (4 * x - 2 + e * (4 * x - 4 - 4 * e))`.
        """
        dtype = tensor_type(data).dtype
        wide, x = computing_dtype(dtype), widened(data, dtype)
        one, two, four, six, eight = (scalar(v, wide) for v in (1, 2, 4, 6, 8))
        held = _held_to(GATE_END, x)
        is_below = apply("less", held, scalar(0, wide))
        size, factor = _decay(held, wide)
        e = apply("exp", size)
        line, twice, last = times(four, held), _add(e, e), times(e, _add(four, e))
        below = times(e, _add(four, line, times(e, _add(six, line, last))))
        square = _add(four, times(e, _add(eight, times(e, _add(eight, last)))))
        rest = apply("subtract", apply("subtract", line, four), _add(twice, twice))
        above = times(times(e, e), _add(apply("subtract", line, two), times(e, rest)))
        root = _add(one, times(e, _add(two, twice)))
        share = apply("where", is_below, below, above)
        least = apply("where", is_below, square, times(root, root))
        start = apply("where", is_below, scalar(0, wide), one)
        slope = _add(start, times(apply("divide", share, least), factor))
        return (narrowed(_exact_at_zero(slope, x, dtype, MISH_ZERO), dtype),)


@family
class ExponentialUnit(LinearUnit):
    """`slope * x` where `x > 0`, otherwise `depth * expm1(rate * x)`."""

    def factors(self) -> tuple[float, float, float]:
        """`slope`, `depth` and `rate`."""
        raise AssertionError(f"{self.name} does not say its factors")

    def value(self, np: Numpy, x: Array) -> Array:
        slope, depth, rate = (x.dtype.type(v) for v in self.factors())
        return np.where(x > 0, slope * x, depth * np.expm1(rate * np.minimum(x, 0)))

    def scalar(self, b: Scalars, x: Any) -> Any:
        slope, depth, rate = self.factors()
        below = b.function("expm1", x if rate == 1 else b.multiply(x, b.const(rate, x)))
        below = below if depth == 1 else b.multiply(below, b.const(depth, x))
        above = x if slope == 1 else b.multiply(x, b.const(slope, x))
        return b.select(b.compare("gt", x, b.const(0, x)), above, below)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr]:
        """`slope` where `x > 0`, otherwise `depth * rate * exp(rate * x)`."""
        slope, depth, rate = self.factors()
        held = times(apply("minimum", data, const_like(0, data)), const_like(rate, data))
        below = times(apply("exp", held), const_like(depth * rate, data))
        return (where_positive(data, const_like(slope, data), below),)


@operator("nn.elu")
class Elu(ExponentialUnit):
    """`x` where `x > 0`, otherwise `alpha * expm1(x)`.  Source: Clevert, Unterthiner and Hochreiter, 2015.

    relay> nn.elu([2.0, -1e-4, -100.0], alpha=2.0)
    [2.0, -0.00019999, -2.0]
    """

    alpha: float = 1.0
    samples = (*REAL, sample("3x5 float32", alpha=0.5))

    def factors(self) -> tuple[float, float, float]:
        return 1.0, self.alpha, 1.0


@operator("nn.celu")
class Celu(ExponentialUnit):
    """`x` where `x > 0`, otherwise `alpha * expm1(x / alpha)`.  Source: Barron, 2017.

    relay> nn.celu([2.0, -100.0], alpha=2.0)
    [2.0, -2.0]
    """

    alpha: float = 1.0
    samples = (*REAL, sample("3x5 float32", alpha=0.5))

    def check_dtype(self, t: Typing, operand: Type) -> None:
        if self.alpha == 0:
            attribute_fault(t, "alpha", self.alpha, "nothing can be divided by it")
        super().check_dtype(t, operand)

    def factors(self) -> tuple[float, float, float]:
        return 1.0, self.alpha, 1 / self.alpha


@operator("nn.selu")
class Selu(ExponentialUnit):
    """`gamma * elu(x, alpha)`, with numbers that keep mean 0 and variance 1 from layer to layer.

    Source: Klambauer, Unterthiner, Mayr and Hochreiter, 2017.

    relay> nn.selu([1.0, -100.0])
    [1.050701, -1.7580993]
    """

    alpha: float = 1.6732632423543772
    gamma: float = 1.0507009873554805
    samples = (*REAL, sample("3x5 float32", alpha=0.5, gamma=2.0))

    def factors(self) -> tuple[float, float, float]:
        return self.gamma, self.gamma * self.alpha, 1.0


@operator("nn.hard_sigmoid")
class HardSigmoid(LinearUnit):
    """`alpha * x + beta`, held between 0 and 1.

    relay> nn.hard_sigmoid([-4.0, 0.0, 1.5])
    [0.0, 0.5, 0.75]
    """

    element_cost = 1
    alpha: float = 1 / 6
    beta: float = 0.5
    samples = (*REAL, sample("3x5 float32", alpha=0.2))

    @property
    def _start(self) -> float:
        """`beta / alpha`: next to where the line is 0, the sum with it is exact."""
        return self.beta / self.alpha

    def value(self, np: Numpy, x: Array) -> Array:
        slope, start = (x.dtype.type(v) for v in (self.alpha, self._start))
        return np.clip((x + start) * slope, 0, 1)

    def scalar(self, b: Scalars, x: Any) -> Any:
        line = b.multiply(b.add(x, b.const(self._start, x)), b.const(self.alpha, x))
        return _held(b, line, 1)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr]:
        """`alpha` between the bends, 0 outside."""
        zero, one = const_like(0, y), const_like(1, y)
        inside = apply("logical_and", apply("greater", y, zero), apply("less", y, one))
        return (apply("where", inside, const_like(self.alpha, y), zero),)


@operator("nn.hard_swish")
class HardSwish(LinearUnit):
    """`x * clip(x + 3, 0, 6) / 6`.  Source: Howard et al., 2019.

    relay> nn.hard_swish([-4.0, 0.0, 1.5, 4.0])
    [-0.0, 0.0, 1.125, 4.0]
    """

    element_cost = 1

    def value(self, np: Numpy, x: Array) -> Array:
        return np.maximum(x, -3) * (np.clip(x + 3, 0, 6) / 6)

    def scalar(self, b: Scalars, x: Any) -> Any:
        x = _not_below(b, x, -3)
        return b.multiply(x, b.multiply(_held(b, b.add(x, b.const(3, x)), 6), b.const(1 / 6, x)))

    def partials(self, y: Expr, data: Expr) -> tuple[Expr]:
        """0 below -3, 1 above 3, and a line between."""
        line = times(_add(data, const_like(1.5, data)), const_like(1 / 3, data))
        upper = apply("where", apply("less", data, const_like(3, data)), line, const_like(1, data))
        return (apply("where", apply("less_equal", data, const_like(-3, data)), const_like(0, data), upper),)


GATE_END = 1000.0
"""Beyond this, the exponential of the negative is 0 in every dtype."""
LIFT_END = -85.0
"""Below this, exponentials may be subnormal that multiply a larger number; their sum with 1 is 1."""
LIFT = 45.0
"""Added to the exponent there: the sum is exact, and the exponential normal, still nothing beside 1."""


def _lifted_array(np: Numpy, x: Array) -> tuple[Array, Array]:
    """Return exponents with `LIFT` added where they are far below 0, and the factors of the products."""
    is_far, number = x < LIFT_END, x.dtype.type
    factors = np.where(is_far, number(math.exp(-LIFT)), number(1))
    return np.where(is_far, x + number(LIFT), x), factors


def _decay(x: Expr, dtype: DType) -> tuple[Expr, Expr]:
    """Return `-abs(x)` with `LIFT` added where `x` is far below 0, and the factor of the product."""
    is_below, is_far = (apply("less", x, scalar(end, dtype)) for end in (0, LIFT_END))
    size = apply("where", is_below, x, apply("negative", x))
    return (
        apply("where", is_far, _add(x, scalar(LIFT, dtype)), size),
        apply("where", is_far, scalar(math.exp(-LIFT), dtype), scalar(1, dtype)),
    )


def _tanh_inner(x: Expr, dtype: DType) -> tuple[Expr, Expr]:
    """Return the argument of the sigmoid in the approximation of gelu, and its derivative times `x`.

    The argument is the cube of the leading digits of `x`, which is exact, plus a small correction: the
    exponential would multiply the rounding of a plain product.
    """
    scale = SLOPE_AT_ZERO * CUBE / 64
    digits = round(scale * 2**16) / 2**16
    x = times(x, scalar(4, dtype))
    top, line = apply("trunc", x), times(x, scalar(SLOPE_AT_ZERO / 4, dtype))
    square = times(top, top)
    cube = times(times(top, scalar(digits, dtype)), square)
    others = times(_add(square, times(x, _add(x, top))), scalar(scale, dtype))
    rest = _add(line, times(cube, scalar(scale / digits - 1, dtype)))
    inner = _add(cube, _add(times(apply("subtract", x, top), others), rest))
    bend = apply("subtract", inner, line)
    return inner, _add(inner, bend, bend)


def _gate_slope(inner: Expr, rise: Expr, dtype: DType) -> Expr:
    """Return `s * (1 + rise * (1 - s))` with the sigmoid `s` of `inner`, as one quotient.

    It is the derivative of `x * s`, with `rise` that of `inner` times `x`.
    """
    size, factor = _decay(inner, dtype)
    e, is_below = apply("exp", size), apply("less", inner, scalar(0, dtype))
    one = scalar(1, dtype)
    below = _add(one, e)
    above = _add(below, times(rise, apply("where", is_below, one, e)))
    share = times(above, apply("where", is_below, e, one))
    return times(apply("divide", share, times(below, below)), factor)


def _gate(np: Numpy, x: Array, inner: Array) -> Array:
    """Return `x * sigmoid(inner)`, as exact where the sigmoid is subnormal."""
    lifted, factor = _lifted_array(np, inner)
    return x * logistic(np, lifted) * factor


def _not_infinite(np: Numpy, x: Array) -> Array:
    """`x`, where it is infinite and negative a finite number: what it is multiplied with is 0."""
    return np.where(x == -math.inf, x.dtype.type(-GATE_END), x)


def _not_below(b: Scalars, x: Any, low: float) -> Any:
    """`x` or a bound, if that is greater; NaN stays."""
    return b.select(b.compare("lt", x, b.const(low, x)), b.const(low, x), x)


def _held_to(high: float, x: Expr) -> Expr:
    """`x` between bounds: what it is multiplied with is 0 beyond them."""
    return apply("clip", x, a_min=-high, a_max=high)


def _held(b: Scalars, x: Any, high: float) -> Any:
    """A number between 0 and a bound; NaN stays."""
    return b.function("minimum", b.function("maximum", x, b.const(0, x)), b.const(high, x))
