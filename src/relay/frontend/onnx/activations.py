"""Activations."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.support import axis_in, merged, reshape_to
from relay.frontend.value import Value, call, constant

OPERATORS: dict[str, tuple[str, Mapping[str, float]]] = {
    "Celu": ("nn.celu", {"alpha": 1.0}),
    "Elu": ("nn.elu", {"alpha": 1.0}),
    "HardSigmoid": ("nn.hard_sigmoid", {"alpha": 0.2, "beta": 0.5}),
    "HardSwish": ("nn.hard_swish", {}),
    "LeakyRelu": ("nn.leaky_relu", {"alpha": 0.01}),
    "Mish": ("nn.mish", {}),
    "Relu": ("nn.relu", {}),
    "Selu": ("nn.selu", {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}),
    "Sigmoid": ("sigmoid", {}),
    "Softplus": ("nn.softplus", {}),
    "Swish": ("nn.silu", {"alpha": 1.0}),
    "Tanh": ("tanh", {}),
}
"""The operator of Relay for each activation, which has attributes of the same names, with ONNX's defaults."""


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


def _operator(name: str, attributes: Iterable[str]) -> Callable[..., Value]:
    def apply(x: Value, *numbers: float) -> Value:
        return call(name, x, **dict(zip(attributes, numbers, strict=True)))

    return apply


for _onnx, (_relay, _defaults) in OPERATORS.items():
    activation(_onnx, **_defaults)(_operator(_relay, _defaults))


@activation("Affine", alpha=1.0, beta=0.0)
def affine(x: Value, alpha: float, beta: float) -> Value:
    """`alpha * x + beta`."""
    return x * alpha + beta


@activation("ScaledTanh", alpha=1.0, beta=1.0)
def scaled_tanh(x: Value, alpha: float, beta: float) -> Value:
    """`alpha * tanh(beta * x)`."""
    return call("tanh", x * beta) * alpha


@activation("Softsign")
def softsign(x: Value) -> Value:
    """`x / (1 + |x|)`."""
    return x / (call("abs", x) + 1)


@activation("ThresholdedRelu", alpha=1.0)
def thresholded_relu(x: Value, alpha: float) -> Value:
    """`x` where it is above `alpha`, else 0."""
    return call("where", call("greater", x, alpha), x, constant(0, x.dtype))


@converts("Gelu")
def gelu(node: Node, x: Value) -> Value:
    """`x` times the normal distribution's probability below it, or the usual approximation by `tanh`."""
    return call("nn.gelu", x, approximate=node.text("approximate", "none"))


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
