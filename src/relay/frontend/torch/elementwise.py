"""Functions of one element: mathematics, activations, base types."""

from collections.abc import Callable, Sequence
from math import pi, sqrt
from typing import Any

import numpy as np

from relay.frontend.support import cast
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import as_float, finfo, in_type
from relay.frontend.torch.symbols import dtype_of
from relay.frontend.value import Value, call, constant

ERFC = (
    -0.6513268598908548, 0.6419697923564902, 0.01947647320418599, -0.009561514786808748,
    -0.0009465953444818375, 0.00036683949785286526, 4.25233248071911e-05, -2.0278578112335477e-05,
    -1.6242900047506503e-06, 1.3036558357296203e-06, 1.5626441551403025e-08, -8.523809564838902e-08,
    6.529054414315481e-09, 5.0593437991937996e-09, -9.913641134573353e-10, -2.2736492289566606e-10,
    9.646798562066669e-11, 2.393919205114929e-12, -6.886013956944178e-12, 8.944003700265053e-13,
    3.132654286189469e-13, -1.1273524634132233e-13,
)  # fmt: skip
"""`log(erfc(x) * exp(x * x) / t)` for `t = 2 / (2 + x)`, `x >= 0`, by Chebyshev polynomials of `2 * t - 1`:
within 6e-14, the first twelve within 1e-8."""
PLAIN = (
    "abs", "ceil", "floor", "trunc", "exp", "log", "log2", "log10", "sqrt", "rsqrt", "sin", "cos",
    "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "sigmoid",
)  # fmt: skip
"""Functions that have the same name in both."""


def _plain(name: str) -> Callable[..., Value]:
    def convert(node: Node, x: Value) -> Value:
        return call(name, as_float(node, x))

    return convert


for _name in PLAIN:
    converts(f"aten.{_name}")(_plain(_name))
for _name, _ours in {"neg": "negative", "bitwise_not": "bitwise_not", "special_expit": "sigmoid"}.items():
    converts(f"aten.{_name}")(_plain(_ours))


@converts("aten.sign", "aten.sgn")
def sign(node: Node, x: Value) -> Value:
    """-1, 0 or 1; of NaN 0."""
    if x.dtype == "bool":
        return x
    found = call("sign", x)
    return call("where", call("isnan", x), constant(0, x.dtype), found) if x.is_float else found


@converts("aten.round")
def convert_round(node: Node, x: Value, decimals: int = 0) -> Value:
    """The nearest whole number, of two the even one."""
    decimals = node.option("decimals", decimals)
    if not decimals:
        return call("round", x)
    factor = 10.0**decimals
    return call("round", x * factor) / factor


@converts("aten.reciprocal")
def reciprocal(node: Node, x: Value) -> Value:
    """`1 / x`."""
    return 1 / as_float(node, x)


@converts("aten.square")
def square(node: Node, x: Value) -> Value:
    """`x * x`."""
    return x * x


@converts("aten.log1p")
def log1p(node: Node, x: Value) -> Value:
    """`log(1 + x)`, exact for small `x` too (after Kahan)."""
    x = as_float(node, x)
    u = x + 1
    exact = call("log", u) * (x / (u - 1))
    small = call("equal", u, 1.0)
    return call("where", small, x, call("where", call("equal", x, np.inf), x, exact))


@converts("aten.expm1")
def expm1(node: Node, x: Value) -> Value:
    """`exp(x) - 1`, exact for small `x` too."""
    x = as_float(node, x)
    half = call("tanh", x * 0.5)
    near = 2 * half / (1 - half)
    return call("where", call("less", call("abs", x), 0.5), near, call("exp", x) - 1)


@converts("aten.exp2")
def exp2(node: Node, x: Value) -> Value:
    """`2 ** x`."""
    return call("power", constant(2.0, node.dtype), as_float(node, x))


@converts("aten.erfc")
def erfc(node: Node, x: Value) -> Value:
    """`1 - erf(x)`, exact where that is small too."""
    x = as_float(node, x)
    size = call("abs", x)
    t = 2 / (size + 2)
    terms = ERFC if x.dtype == "float64" else ERFC[:12]
    found = t * call("exp", chebyshev(terms, t * 2 - 1) - size * size)
    return call("where", call("less", x, 0), 2 - found, found)


def chebyshev(terms: Sequence[float], u: Value) -> Value:
    """A series of Chebyshev polynomials for `u` from -1 to 1 (after Clenshaw)."""
    twice = u * 2
    after, before = u * 0.0, u * 0.0 + terms[-1]
    for term in reversed(terms[1:-1]):
        after, before = before, twice * before - after + term
    return u * before - after + terms[0]


@converts("aten.frac")
def frac(node: Node, x: Value) -> Value:
    """What is behind the point."""
    return x - call("trunc", x)


@converts("aten.logit")
def logit(node: Node, x: Value, eps: float | None = None) -> Value:
    """The inverse of the logistic function."""
    x = as_float(node, x)
    if eps is not None:
        x = call("clip", x, a_min=eps, a_max=1 - eps)
    return call("log", x / (1 - x))


def _test(name: str) -> Callable[..., Value]:
    def convert(node: Node, x: Value) -> Value:
        return call(name, x if x.is_float else cast(x, "float32"))

    return convert


for _name in ("isnan", "isinf", "isfinite"):
    converts(f"aten.{_name}")(_test(_name))


@converts("aten.logical_not")
def logical_not(node: Node, x: Value) -> Value:
    """Whether an element is zero."""
    return call("logical_not", cast(x, "bool"))


@converts("aten.signbit")
def signbit(node: Node, x: Value) -> Value:
    """Whether an element has the sign of what is below zero: that of -0.0 too."""
    return has_sign(x)


def has_sign(x: Value) -> Value:
    """Whether an element is negative, -0.0 and NaN by their sign."""
    width = {"float64": "int64", "float32": "int32", "float16": "int16", "bfloat16": "int16"}.get(x.dtype)
    return call("less", x if width is None else call("reinterpret", x, dtype=width), 0)


# --- activations --------------------------------------------------------------------------------------------


@converts("aten.relu")
def relu(node: Node, x: Value) -> Value:
    """`max(x, 0)`."""
    return call("nn.relu", x) if x.is_float else call("maximum", x, 0)


@converts("aten.relu6")
def relu6(node: Node, x: Value) -> Value:
    """`min(max(x, 0), 6)`."""
    return call("clip", x, a_min=0.0, a_max=6.0)


@converts("aten.silu")
def silu(node: Node, x: Value) -> Value:
    """`x * sigmoid(x)`."""
    return x * call("sigmoid", x)


@converts("aten.gelu")
def gelu(node: Node, x: Value) -> Value:
    """`x` times the probability that a normal number is below it, or its approximation by `tanh`."""
    if node.option("approximate") == "tanh":
        inner = (x + x * x * x * 0.044715) * sqrt(2 / pi)
        return x * 0.5 * (call("tanh", inner) + 1)
    return x * 0.5 * (call("erf", x * sqrt(0.5)) + 1)


@converts("aten.leaky_relu")
def leaky_relu(node: Node, x: Value, slope: float = 0.01) -> Value:
    """`x`, below zero `slope * x`."""
    return call("nn.leaky_relu", x, alpha=float(slope))


@converts("aten.prelu", "aten._prelu_kernel")
def prelu(node: Node, x: Value, slope: Value) -> Value:
    """`x`, below zero a factor for each channel times `x`."""
    if slope.rank == 1 and x.rank > 2:
        slope = call("expand_dims", slope, axis=1, num_newaxis=x.rank - 2)
    return call("where", call("greater", x, 0), x, x * slope)


@converts("aten.elu")
def elu(node: Node, x: Value, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Value:
    """`x`, below zero `alpha * (exp(x) - 1)`."""
    below = (call("exp", call("minimum", x, 0) * input_scale) - 1) * (alpha * scale)
    return call("where", call("greater", x, 0), x * scale, below)


@converts("aten.celu")
def celu(node: Node, x: Value, alpha: float = 1.0) -> Value:
    """`x`, below zero `alpha * (exp(x / alpha) - 1)`."""
    return elu(node, x, alpha, 1.0, 1 / alpha)


@converts("aten.selu")
def selu(node: Node, x: Value) -> Value:
    """`elu` with the constants that keep mean and variance."""
    return elu(node, x, 1.6732632423543772, 1.0507009873554805)


@converts("aten.softplus")
def softplus(node: Node, x: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    """`log(1 + exp(beta * x)) / beta`, and `x` where that is the same."""
    scaled = x * beta
    away = call("exp", call("negative", call("abs", scaled)))
    soft = (call("maximum", scaled, 0) + log1p_of(away)) * (1 / beta)
    return call("where", call("greater", scaled, threshold), x, soft)


def log1p_of(x: Value) -> Value:
    """`log(1 + x)` of a float that is not below zero."""
    return call("log", x + 1)


@converts("aten.log_sigmoid", "aten.log_sigmoid_forward")
def log_sigmoid(node: Node, x: Value) -> Any:
    """`log(sigmoid(x))`."""
    found = call("minimum", x, 0) - log1p_of(call("exp", call("negative", call("abs", x))))
    return (found, x) if "forward" in node.operator else found


@converts("aten.mish")
def mish(node: Node, x: Value) -> Value:
    """`x * tanh(softplus(x))`."""
    return x * call("tanh", softplus(node, x))


@converts("aten.hardtanh")
def hardtanh(node: Node, x: Value, low: float = -1.0, high: float = 1.0) -> Value:
    """`x` between two bounds."""
    return call("clip", x, a_min=float(low), a_max=float(high))


@converts("aten.hardsigmoid")
def hardsigmoid(node: Node, x: Value) -> Value:
    """`min(max(x + 3, 0), 6) / 6`."""
    return call("clip", x + 3, a_min=0.0, a_max=6.0) * (1 / 6)


@converts("aten.hardswish")
def hardswish(node: Node, x: Value) -> Value:
    """`x * hardsigmoid(x)`."""
    return x * hardsigmoid(node, x)


@converts("aten.hardshrink")
def hardshrink(node: Node, x: Value, bound: float = 0.5) -> Value:
    """0 between `-bound` and `bound`, else `x`."""
    return call("where", call("less_equal", call("abs", x), bound), constant(0, x.dtype), x)


@converts("aten.softshrink")
def softshrink(node: Node, x: Value, bound: float = 0.5) -> Value:
    """`x` moved towards 0 by `bound`."""
    return x - call("clip", x, a_min=-float(bound), a_max=float(bound))


@converts("aten.threshold")
def threshold(node: Node, x: Value, bound: float, value: float) -> Value:
    """`x` where it is above a bound, else a number."""
    return call("where", call("less_equal", x, bound), constant(value, x.dtype), x)


@converts("aten.glu")
def glu(node: Node, x: Value, dim: int = -1) -> Value:
    """One half times the sigmoid of the other."""
    parts = call("split", x, indices_or_sections=2, axis=dim % x.rank)
    return parts[0] * call("sigmoid", parts[1])


# --- bounds -------------------------------------------------------------------------------------------------


@converts("aten.clamp", "aten.clip")
def clamp(node: Node, x: Value, low: Any = None, high: Any = None) -> Value:
    """`x` between bounds, numbers or tensors."""
    x = cast(x, node.dtype)
    if x.is_float and all(b is None or isinstance(b, int | float) for b in (low, high)):
        least, most = (-np.inf if low is None else float(low)), (np.inf if high is None else float(high))
        return call("clip", x, a_min=least, a_max=most)
    if low is not None:
        x = call("maximum", x, *in_type(x.dtype, low))
    return x if high is None else call("minimum", x, *in_type(x.dtype, high))


@converts("aten.clamp_min")
def clamp_min(node: Node, x: Value, low: Any) -> Value:
    """At least a bound."""
    return clamp(node, x, low)


@converts("aten.clamp_max")
def clamp_max(node: Node, x: Value, high: Any) -> Value:
    """At most a bound."""
    return clamp(node, x, None, high)


@converts("aten.nan_to_num")
def nan_to_num(
    node: Node, x: Value, nan: float | None = None, above: float | None = None, below: float | None = None
) -> Value:
    """Numbers for NaN and the infinities."""
    if not x.is_float:
        return x
    most = float(finfo(x.dtype).max)
    found = call("where", call("isnan", x), constant(nan or 0.0, x.dtype), x)
    top, low = (most if above is None else above), (-most if below is None else below)
    found = call("where", call("equal", found, np.inf), constant(top, x.dtype), found)
    return call("where", call("equal", found, -np.inf), constant(low, x.dtype), found)


# --- base types, and nothing --------------------------------------------------------------------------------


@converts(
    "aten._to_copy", "aten.to", "aten.type_as", "aten.clone", "aten.alias", "aten.detach", "aten.contiguous",
    "aten.lift_fresh_copy", "aten.lift_fresh", "aten.positive",
    "prims.convert_element_type", "aten.detach_", "aten.resolve_conj", "aten.resolve_neg",
)  # fmt: skip
def converted(node: Node, x: Value, *_: Any) -> Value:
    """The same elements, in the base type of the result."""
    return cast(x, node.dtype)


@converts("aten.dropout", "aten.feature_dropout", "aten.alpha_dropout", "aten.native_dropout")
def dropout(node: Node, x: Value, rate: float, training: bool | None) -> Any:
    """What dropout is where nothing is trained: nothing."""
    if training and rate:
        return node.fail(
            "it draws from PyTorch's generator, which a program has not", hint="export module.eval()"
        )
    if "native" in node.operator:
        return x, call("full_like", cast(x, "bool"), constant(True))
    return x


@converts("aten.rrelu")
def rrelu(node: Node, x: Value, low: float = 0.125, high: float = 1 / 3, training: bool = False) -> Value:
    """`leaky_relu` with the mean slope, where nothing is trained."""
    if training:
        return node.fail(
            "it draws from PyTorch's generator, which a program has not", hint="export module.eval()"
        )
    return call("nn.leaky_relu", x, alpha=(low + high) / 2)


@converts("aten.view.dtype")
def view_dtype(node: Node, x: Value, dtype: Any) -> Value:
    """The same bits as another base type of that width."""
    return call("reinterpret", x, dtype=dtype_of(dtype))
