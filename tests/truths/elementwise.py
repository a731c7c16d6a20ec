"""Truths of the functions of one number."""

from typing import Any

from mpmath import mp

from truths.pointwise import pointwise


def inverse(x: Any) -> Any:
    """Return `1 / x`, which is infinite at 0."""
    return mp.inf if x == 0 else 1 / x


def nothing(x: Any) -> Any:
    """Return NaN, as functions do that have no limit."""
    return mp.nan


def of_domain(low: float, high: float, f: Any) -> Any:
    """Return a derivative that is not compared outside of an interval, where the function is NaN."""
    return lambda x: f(x) if low <= x <= high else mp.nan if mp.isnan(x) else None


# --- exponentials and logarithms ---

pointwise("exp", mp.exp, mp.exp)
pointwise("expm1", mp.expm1, mp.exp)
pointwise("expm1", lambda x: x if abs(x) < 1e-30 else None, ulps=0.9, dtypes=("float32", "float64"))
pointwise("log", mp.log, of_domain(0, mp.inf, inverse))
pointwise("log1p", mp.log1p, of_domain(-1, mp.inf, lambda x: inverse(1 + x)))
pointwise("log2", lambda x: mp.log(x) / mp.log(2), of_domain(0, mp.inf, lambda x: inverse(x * mp.log(2))))
pointwise("log10", lambda x: mp.log(x) / mp.log(10), of_domain(0, mp.inf, lambda x: inverse(x * mp.log(10))))
pointwise("sqrt", mp.sqrt, lambda x: inverse(2 * mp.sqrt(x)))
pointwise("rsqrt", lambda x: inverse(mp.sqrt(x)), lambda x: -inverse(2 * x * mp.sqrt(x)))
pointwise("sigmoid", lambda x: 1 / (1 + mp.exp(-x)), lambda x: 1 / (mp.exp(x) + 2 + mp.exp(-x)))

# --- circular and hyperbolic functions ---

TURN = [k * 3.141592653589793 / 4 for k in (1, 2, 3, 4, 5, 6, 7, 8, 100, 1001)]


def cosine_of_inverse(x: Any) -> Any:
    """Return `sqrt(1 - x * x)`."""
    return mp.sqrt((1 - x) * (1 + x))


pointwise("sin", mp.sin, mp.cos, at=TURN, at_infinity=nothing)
pointwise("cos", mp.cos, lambda x: -mp.sin(x), at=TURN, at_infinity=nothing)
pointwise("tan", mp.tan, lambda x: 1 / mp.cos(x) ** 2, at=TURN, at_infinity=nothing)
pointwise("asin", mp.asin, lambda x: inverse(cosine_of_inverse(x)), at=[0.5, -0.5])
pointwise("acos", mp.acos, lambda x: -inverse(cosine_of_inverse(x)), at=[0.5, -0.5])
pointwise("atan", mp.atan, lambda x: 1 / (1 + x * x))
pointwise("sinh", mp.sinh, mp.cosh)
pointwise("cosh", mp.cosh, mp.sinh)
pointwise("tanh", mp.tanh, lambda x: mp.sech(x) ** 2)
pointwise("asinh", mp.asinh, lambda x: 1 / mp.sqrt(1 + x * x))
pointwise("acosh", mp.acosh, of_domain(1, mp.inf, lambda x: inverse(mp.sqrt((x - 1) * (x + 1)))))
pointwise(
    "atanh",
    lambda x: mp.sign(x) * mp.inf if abs(x) == 1 else mp.atanh(x),
    of_domain(-1, 1, lambda x: inverse((1 - x) * (1 + x))),
)

# --- the error function ---


def erfc(x: Any) -> Any:
    """Return the complement of the error function, of large numbers by its first terms."""
    return mp.erfc(x) if x < 1e9 else mp.exp(-x * x) / (x * mp.sqrt(mp.pi)) * (1 - 1 / (2 * x * x))


def bell(x: Any) -> Any:
    """Return the density of a normally distributed number."""
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def below(x: Any) -> Any:
    """Return the probability that a normally distributed number is below `x`."""
    return erfc(-x / mp.sqrt(2)) / 2


pointwise("erf", mp.erf, lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x))
pointwise("erfc", erfc, lambda x: -2 / mp.sqrt(mp.pi) * mp.exp(-x * x), at=[1, 4, 8, 9, 10, 26, 27])
NDTR32 = 4e-6 / 2**-24
"""Of float32 down to -6: the exponent is rounded, and is a polynomial, to be as fast as `tanh`."""
pointwise("ndtr", below, bell, at=[-6, -8, -10, -13, -14, -37, -38], ulps={"float32": NDTR32})

# --- activations ---


def logistic(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


CUBE = mp.mpf("0.044715")


def gelu_tanh_share(x: Any) -> Any:
    return logistic(2 * mp.sqrt(2 / mp.pi) * (x + CUBE * x**3))


def gelu_tanh(x: Any) -> Any:
    return x * gelu_tanh_share(x)


def gelu_tanh_slope(x: Any) -> Any:
    rise = 2 * mp.sqrt(2 / mp.pi) * (1 + 3 * CUBE * x**2)
    return gelu_tanh_share(x) * (1 + x * rise * gelu_tanh_share(-x))


def silu_slope(x: Any) -> Any:
    return logistic(x) * (1 + x * logistic(-x))


def mish_share(x: Any) -> Any:
    """Return `tanh(log(1 + exp(x)))`."""
    e = mp.exp(x)
    return e * (e + 2) / (e * (e + 2) + 2)


def mish_slope(x: Any) -> Any:
    e = mp.exp(x)
    return mish_share(x) + x * 4 * e * (e + 1) / (e * (e + 2) + 2) ** 2


GELU_ZERO, TANH_ZERO, SILU_ZERO, MISH_ZERO = -0.7517915247, -0.7524614220, -1.2784645428, -1.1924312145
"""The zeros of derivatives, near which terms cancel."""

EXPONENT = {"float32": 104.0, "float64": 1200.0}
"""Where a product is the argument of an exponential: as many units as it has, up to 104 and 745, and half as
many more of a second rounding."""

# Derivatives of float64 are as exact as the greater of the two terms that cancel next to their zero.
pointwise("nn.gelu", lambda x: x * below(x), lambda x: below(x) + x * bell(x), slope_scale={"float64": below},
          at=[GELU_ZERO, -6, -8, -10, -13, -14, -37, -38],
          ulps={"float32": NDTR32, "float64": 24.0}, slope_ulps=EXPONENT)  # fmt: skip
pointwise("nn.gelu", gelu_tanh, gelu_tanh_slope, slope_scale={"float64": gelu_tanh_share},
          at=[TANH_ZERO, -5, -7, 5, -9.72, -10.0574, -10.0777],
          ulps=EXPONENT, slope_ulps=EXPONENT, approximate="tanh")  # fmt: skip
pointwise("nn.silu", lambda x: x * logistic(x), silu_slope, slope_scale={"float64": logistic},
          at=[SILU_ZERO, -95, -737])  # fmt: skip
pointwise("nn.silu", lambda x: x * logistic(1.75 * x), lambda x: silu_slope(1.75 * x),
          slope_scale={"float64": lambda x: logistic(1.75 * x)}, at=[SILU_ZERO / 1.75],
          ulps=EXPONENT, slope_ulps=EXPONENT, alpha=1.75)  # fmt: skip
pointwise("nn.silu", lambda x: x * logistic(-1.75 * x), lambda x: silu_slope(-1.75 * x),
          at=[SILU_ZERO / -1.75], dtypes=("float32",), ulps=EXPONENT,
          slope_ulps=EXPONENT, alpha=-1.75)  # fmt: skip
pointwise(
    "nn.silu", lambda x: x / 2, lambda x: None if mp.isnan(x) else mp.mpf(0.5), dtypes=("float32",), alpha=0.0
)
pointwise("nn.silu", lambda x: x * logistic(1e-30 * x), lambda x: silu_slope(1e-30 * x), dtypes=("float32",),
          slope_scale={"float32": lambda x: logistic(1e-30 * x)}, alpha=1e-30)  # fmt: skip
pointwise("nn.softplus", lambda x: -mp.log1p(mp.exp(-4 * x)) / 4 if x > -100 else x - mp.exp(4 * x) / 4,
          lambda x: logistic(-4 * x), dtypes=("float32",), beta=-4.0)  # fmt: skip
pointwise("nn.softplus", lambda x: mp.log1p(mp.exp(x)) if x < 400 else x + mp.exp(-x), logistic)
pointwise("nn.softplus", lambda x: mp.log1p(mp.exp(4 * x)) / 4 if x < 100 else x + mp.exp(-4 * x) / 4,
          lambda x: logistic(4 * x), beta=4.0)  # fmt: skip
pointwise("nn.mish", lambda x: x * mish_share(x), mish_slope, slope_scale={"float64": mish_share},
          at=[MISH_ZERO, -0.17616, -95, -737])  # fmt: skip
for name, slope, depth, rate, attrs in (
    ("nn.elu", 1.0, 1.0, 1.0, {}),
    ("nn.elu", 1.0, 0.5, 1.0, {"alpha": 0.5}),
    ("nn.celu", 1.0, 1.0, 1.0, {}),
    ("nn.celu", 1.0, 0.25, 4.0, {"alpha": 0.25}),
    ("nn.selu", 1.0507009873554805, 1.0507009873554805 * 1.6732632423543772, 1.0, {}),
):
    pointwise(
        name,
        lambda x, s=slope, d=depth, r=rate: s * x if x > 0 else d * mp.expm1(r * x),
        lambda x, s=slope, d=depth, r=rate: mp.mpf(s) if x > 0 else d * r * mp.exp(r * x),
        **attrs,
    )
pointwise("nn.relu", lambda x: max(x, mp.mpf(0)), lambda x: mp.mpf(int(x > 0)), ulps=0, slope_ulps=0)
pointwise("nn.leaky_relu", lambda x: x if x > 0 else 0.1 * x, lambda x: mp.mpf(1 if x > 0 else 0.1),
          alpha=0.1)  # fmt: skip
pointwise(
    "nn.hard_sigmoid",
    lambda x: min(max(x / 6 + 0.5, 0), 1),
    lambda x: mp.mpf(int(abs(x) < 3)) / 6,
    at=[-3, 3],
)
pointwise("nn.hard_swish", lambda x: x * min(max(x + 3, 0), 6) / 6,
          lambda x: x / 3 + 0.5 if abs(x) < 3 else mp.mpf(int(x >= 3)), at=[-3, 3, -1.5])  # fmt: skip

# --- approximations: the accurate functions, within what they say, and beyond their ends whatever ---

UNIT = 2.0**-24


def inside(high: float, f: Any, low: float | None = None) -> Any:
    """Return a formula that is not compared outside of an interval."""
    least = -high if low is None else low
    return lambda x: f(x) if least <= x <= high else None


pointwise("fast_exp", inside(88.3, mp.exp, -87.3), inside(88.3, mp.exp, -87.3), ulps=1e-6 / UNIT,
          slope_ulps=1e-6 / UNIT)  # fmt: skip
pointwise("fast_tanh", inside(7.9, mp.tanh), inside(7.9, lambda x: mp.sech(x) ** 2), ulps=5e-6 / UNIT,
          slope_ulps=5e-6 / UNIT)  # fmt: skip
pointwise("fast_erf", inside(4.0, mp.erf), inside(4.0, lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)),
          ulps=5e-6 / UNIT, slope_ulps=5e-6 / UNIT)  # fmt: skip

# --- steps, bounds and questions ---


def of_whole(f: Any) -> Any:
    return lambda x: x if abs(x) > 2**60 else mp.mpf(f(x))


pointwise("abs", abs, mp.sign, ulps=0, slope_ulps=0)
pointwise("negative", lambda x: -x, lambda x: mp.mpf(-1), ulps=0, slope_ulps=0)
pointwise("copy", lambda x: x, lambda x: mp.mpf(1), ulps=0, slope_ulps=0)
pointwise("stop_gradient", lambda x: x, ulps=0)
pointwise("clip", lambda x: min(max(x, -0.5), 2.0),
          lambda x: mp.mpf(int(-0.5 <= x <= 2)), at=[-0.5, 2], ulps=0,
          slope_ulps=0, a_min=-0.5, a_max=2.0)  # fmt: skip
HALVES = [0.5, 1.5, 2.5, 8388607.5]
pointwise("floor", of_whole(mp.floor), at=HALVES, ulps=0)
pointwise("ceil", of_whole(mp.ceil), at=HALVES, ulps=0)
pointwise("round", of_whole(mp.nint), at=HALVES, ulps=0)
pointwise("trunc", of_whole(lambda x: mp.sign(x) * mp.floor(abs(x))), at=HALVES, ulps=0)
pointwise("sign", mp.sign, ulps=0)
