"""Functions of one element: mathematics, activations, dtypes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relay.frontend.support import cast
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import as_float, finfo, in_type
from relay.frontend.torch.symbols import dtype_of
from relay.frontend.value import Value, call, constant

PLAIN = (
    "abs", "ceil", "floor", "trunc", "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "sin",
    "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc",
    "sigmoid",
)  # fmt: skip
"""Functions that have the same name in both."""
OPERATORS: dict[str, tuple[str, tuple[str, ...]]] = {
    **{f"aten.{name}": (name, ()) for name in PLAIN},
    "aten.neg": ("negative", ()),
    "aten.bitwise_not": ("bitwise_not", ()),
    "aten.special_expit": ("sigmoid", ()),
    "aten.special_ndtr": ("ndtr", ()),
    "aten.celu": ("nn.celu", ("alpha",)),
    "aten.hardsigmoid": ("nn.hard_sigmoid", ()),
    "aten.hardswish": ("nn.hard_swish", ()),
    "aten.leaky_relu": ("nn.leaky_relu", ("alpha",)),
    "aten.mish": ("nn.mish", ()),
    "aten.selu": ("nn.selu", ()),
    "aten.silu": ("nn.silu", ()),
}
"""The operator of Relay for functions of one tensor, and its attributes in the order of PyTorch's."""


def _operator(name: str, attributes: tuple[str, ...]) -> Callable[..., Value]:
    def convert(node: Node, x: Value, *numbers: float) -> Value:
        return call(name, as_float(node, x), **dict(zip(attributes, map(float, numbers), strict=False)))

    return convert


for _aten, (_relay, _attributes) in OPERATORS.items():
    converts(_aten)(_operator(_relay, _attributes))


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


@converts("aten.exp2")
def exp2(node: Node, x: Value) -> Value:
    """`2 ** x`."""
    return call("power", constant(2.0, node.dtype), as_float(node, x))


@converts("aten.frac")
def frac(node: Node, x: Value) -> Value:
    """The fractional part."""
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


@converts("aten.gelu")
def gelu(node: Node, x: Value) -> Value:
    """`x` times the probability that a normal number is below it, or its approximation by `tanh`."""
    return call("nn.gelu", x, approximate=node.option("approximate", "none"))


@converts("aten.prelu", "aten._prelu_kernel")
def prelu(node: Node, x: Value, slope: Value) -> Value:
    """`x`, below zero a factor for each channel times `x`."""
    if slope.rank == 1 and x.rank > 2:
        slope = call("expand_dims", slope, axis=1, num_newaxis=x.rank - 2)
    return call("where", call("greater", x, 0), x, x * slope)


@converts("aten.elu")
def elu(node: Node, x: Value, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Value:
    """`scale * x`, below zero `scale * alpha * expm1(input_scale * x)`."""
    found = call("nn.elu", x if input_scale == 1 else x * input_scale, alpha=float(alpha))
    found = found if input_scale == 1 else call("where", call("greater", x, 0), x, found)
    return found if scale == 1 else found * scale


@converts("aten.softplus")
def softplus(node: Node, x: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    """`log(1 + exp(beta * x)) / beta`, and `x` above a threshold, which changes nothing where it is large."""
    found = call("nn.softplus", x, beta=float(beta))
    return found if threshold >= 20 else call("where", call("greater", x * beta, threshold), x, found)


@converts("aten.log_sigmoid", "aten.log_sigmoid_forward")
def log_sigmoid(node: Node, x: Value) -> Any:
    """`log(sigmoid(x))`."""
    found = call("negative", call("nn.softplus", call("negative", x)))
    return (found, x) if "forward" in node.operator else found


@converts("aten.hardtanh")
def hardtanh(node: Node, x: Value, low: float = -1.0, high: float = 1.0) -> Value:
    """`x` between two bounds."""
    return call("clip", x, a_min=float(low), a_max=float(high))


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


# --- dtypes, and nothing --------------------------------------------------------------------------------


@converts(
    "aten._to_copy", "aten.to", "aten.type_as", "aten.clone", "aten.alias", "aten.detach", "aten.contiguous",
    "aten.lift_fresh_copy", "aten.lift_fresh", "aten.positive",
    "prims.convert_element_type", "aten.detach_", "aten.resolve_conj", "aten.resolve_neg",
)  # fmt: skip
def converted(node: Node, x: Value, *_: Any) -> Value:
    """The elements in the dtype of the result."""
    return cast(x, node.dtype)


@converts("aten.dropout", "aten.feature_dropout", "aten.alpha_dropout", "aten.native_dropout")
def dropout(node: Node, x: Value, rate: float, training: bool | None) -> Any:
    """What dropout is where nothing is trained: nothing."""
    if training and rate:
        return node.fail(
            "it uses PyTorch's random number generator, which cannot be reproduced",
            hint="export module.eval()",
        )
    if "native" in node.operator:
        return x, call("full_like", cast(x, "bool"), constant(True))
    return x


@converts("aten.rrelu")
def rrelu(
    node: Node, x: Value, low: float = 0.125, high: float = 1 / 3, training: bool = False, *_: Any
) -> Value:
    """`leaky_relu` with the mean slope, where nothing is trained."""
    if training:
        return node.fail(
            "it uses PyTorch's random number generator, which cannot be reproduced",
            hint="export module.eval()",
        )
    return call("nn.leaky_relu", x, alpha=(low + high) / 2)


@converts("aten.rrelu_with_noise_functional")
def rrelu_with_noise(node: Node, x: Value, noise: Value, *how: Any) -> tuple[Value, Value]:
    """`rrelu`, and the slopes that are drawn in training: they stay what they are."""
    return rrelu(node, x, *how), noise


@converts("aten.view.dtype")
def view_dtype(node: Node, x: Value, dtype: Any) -> Value:
    """Reinterpret the bits as another dtype of that width."""
    return call("reinterpret", x, dtype=dtype_of(dtype))
