"""Activations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.support import axis_in, merged, reshape_to
from relay.frontend.value import Value, call, constant


def positive(x: Value) -> Value:
    """Whether `x > 0`."""
    return call("greater", x, constant(0, x.dtype))


def choose(x: Value, yes: Value, no: Value) -> Value:
    """`yes` where `x > 0`, else `no`."""
    return call("where", positive(x), yes, no)


@dataclass(frozen=True)
class Activation:
    """A function of one tensor and of numbers, which are attributes with defaults."""

    of: Callable[..., Value]
    defaults: Mapping[str, float]

    def convert(self, node: Node, x: Value) -> Value:
        """The function with the node's numbers."""
        return self.of(x, *[node.float(name, value) for name, value in self.defaults.items()])


ACTIVATIONS: dict[str, Activation] = {}
"""Those that recurrent networks may have too."""
F = TypeVar("F", bound=Callable[..., Value])


def activation(name: str, **defaults: float) -> Callable[[F], F]:
    """Register an activation of that name and those attributes."""

    def register(f: F) -> F:
        ACTIVATIONS[name] = Activation(f, defaults)
        converts(name)(ACTIVATIONS[name].convert)
        return f

    return register


@activation("Affine", alpha=1.0, beta=0.0)
def affine(x: Value, alpha: float, beta: float) -> Value:
    """`alpha * x + beta`."""
    return x * alpha + beta


@activation("Elu", alpha=1.0)
def elu(x: Value, alpha: float) -> Value:
    """`x` where it is positive, else `alpha * (exp(x) - 1)`."""
    return choose(x, x, (call("exp", x) - 1) * alpha)


@activation("HardSigmoid", alpha=0.2, beta=0.5)
def hard_sigmoid(x: Value, alpha: float, beta: float) -> Value:
    """`alpha * x + beta`, between 0 and 1."""
    return call("clip", x * alpha + beta, a_min=0.0, a_max=1.0)


@activation("LeakyRelu", alpha=0.01)
def leaky_relu(x: Value, alpha: float) -> Value:
    """`x` where it is positive, else `alpha * x`."""
    return call("nn.leaky_relu", x, alpha=alpha)


@activation("Relu")
def relu(x: Value) -> Value:
    """`max(x, 0)`."""
    return call("nn.relu", x)


@activation("ScaledTanh", alpha=1.0, beta=1.0)
def scaled_tanh(x: Value, alpha: float, beta: float) -> Value:
    """`alpha * tanh(beta * x)`."""
    return call("tanh", x * beta) * alpha


@activation("Sigmoid")
def sigmoid(x: Value) -> Value:
    """`1 / (1 + exp(-x))`."""
    return call("sigmoid", x)


@activation("Softplus")
def softplus(x: Value) -> Value:
    """`log(1 + exp(x))`, computed so that it does not overflow."""
    return relu(x) + call("log", call("exp", -call("abs", x)) + 1)


@activation("Softsign")
def softsign(x: Value) -> Value:
    """`x / (1 + |x|)`."""
    return x / (call("abs", x) + 1)


@activation("Tanh")
def tanh(x: Value) -> Value:
    """The hyperbolic tangent."""
    return call("tanh", x)


@activation("ThresholdedRelu", alpha=1.0)
def thresholded_relu(x: Value, alpha: float) -> Value:
    """`x` where it is above `alpha`, else 0."""
    return call("where", call("greater", x, alpha), x, constant(0, x.dtype))


@converts("Celu")
def celu(node: Node, x: Value) -> Value:
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`."""
    alpha = node.float("alpha", 1.0)
    low = call("minimum", (call("exp", x / alpha) - 1) * alpha, 0)
    return call("nn.relu", x) + low


@converts("Selu")
def selu(node: Node, x: Value) -> Value:
    """`gamma * x` where it is positive, else `gamma * alpha * (exp(x) - 1)`."""
    alpha = node.float("alpha", 1.67326319217681884765625)
    gamma = node.float("gamma", 1.05070102214813232421875)
    return choose(x, x, (call("exp", x) - 1) * alpha) * gamma


@converts("HardSwish")
def hard_swish(node: Node, x: Value) -> Value:
    """`x * clip(x / 6 + 0.5, 0, 1)`."""
    return x * call("clip", x * (1 / 6) + 0.5, a_min=0.0, a_max=1.0)


@converts("Mish")
def mish(node: Node, x: Value) -> Value:
    """`x * tanh(softplus(x))`."""
    return x * call("tanh", softplus(x))


@converts("Swish")
def swish(node: Node, x: Value) -> Value:
    """`x * sigmoid(alpha * x)`."""
    return x * call("sigmoid", x * node.float("alpha", 1.0))


@converts("Gelu")
def gelu(node: Node, x: Value) -> Value:
    """`x` times the normal distribution's probability below it, or the usual approximation by `tanh`."""
    return gelu_by_tanh(x) if node.text("approximate", "none") == "tanh" else gelu_by_erf(x)


def gelu_by_erf(x: Value) -> Value:
    """`x` times the normal distribution's probability below it."""
    return x * 0.5 * (call("erf", x * 0.7071067811865476) + 1)


def gelu_by_tanh(x: Value) -> Value:
    """The usual approximation."""
    inner = (x + x * x * x * 0.044715) * 0.7978845608028654
    return x * 0.5 * (call("tanh", inner) + 1)


@converts("Shrink")
def shrink(node: Node, x: Value) -> Value:
    """Numbers moved by `bias` towards 0, those nearer than `lambd` to 0."""
    bias, edge = constant(node.float("bias", 0.0), x.dtype), constant(node.float("lambd", 0.5), x.dtype)
    high = call("where", call("greater", x, edge), x - bias, constant(0, x.dtype))
    return call("where", call("less", x, -edge), x + bias, high)


def _normalised(node: Node, x: Value, name: str) -> Value:
    """A softmax of some kind: along an axis, or before version 13 over all axes from one on."""
    axis = axis_in(node.int("axis", 1 if node.version < 13 else -1), x.rank)
    if node.version >= 13 or axis == x.rank - 1:
        return call(name, x, axis=axis)
    return reshape_to(call(name, merged(x, axis), axis=1), x.shape)


@converts("Softmax")
def softmax(node: Node, x: Value) -> Value:
    """`exp(x) / sum(exp(x))`."""
    return _normalised(node, x, "nn.softmax")


@converts("LogSoftmax")
def log_softmax(node: Node, x: Value) -> Value:
    """The logarithm of `softmax`."""
    return _normalised(node, x, "nn.log_softmax")


@converts("Hardmax")
def hardmax(node: Node, x: Value) -> Value:
    """1 where the greatest element is (the first one), else 0."""
    axis = axis_in(node.int("axis", 1 if node.version < 13 else -1), x.rank)
    whole = x
    if node.version < 13 and axis != x.rank - 1:
        x, axis = merged(x, axis), 1
    where = call("argmax", x, axis=axis)
    one, zero = constant(1, x.dtype), constant(0, x.dtype)
    found = call("one_hot", where, one, zero, depth=x.size(axis), axis=axis, dtype=x.dtype)
    return reshape_to(found, whole.shape)
