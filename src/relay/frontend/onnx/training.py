"""Steps of optimisers."""

from collections.abc import Callable
from typing import Any

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import TRAINING, converts
from relay.frontend.onnx.support import cast
from relay.frontend.onnx.value import Value, call, constant

Update = Callable[..., tuple[Value, ...]]


def groups(tensors: tuple[Value, ...], kinds: int) -> list[tuple[Value, ...]]:
    """For each parameter what belongs to it; tensors are given kind by kind."""
    count = len(tensors) // kinds
    return [tuple(tensors[k * count + i] for k in range(kinds)) for i in range(count)]


def by_kind(results: list[tuple[Value, ...]]) -> tuple[Value, ...]:
    """Results kind by kind."""
    return tuple([v for column in zip(*results, strict=True) for v in column])


@converts("Adagrad", domain=TRAINING)
def adagrad(node: Node, rate: Value, count: Value, *tensors: Value) -> Any:
    """Steps as long as the root of the sum of squares is short."""
    decay, norm = node.float("decay_factor", 0.0), node.float("norm_coefficient", 0.0)
    epsilon = node.float("epsilon", 0.0)
    pace = rate / (cast(count, rate.dtype) * decay + 1)

    def update(x: Value, g: Value, h: Value) -> tuple[Value, Value]:
        g = x * norm + g
        total = h + g * g
        return x - pace * g / (call("sqrt", total) + epsilon), total

    return by_kind([update(*group) for group in groups(tensors, 3)])


@converts("Adam", domain=TRAINING)
def adam(node: Node, rate: Value, count: Value, *tensors: Value) -> Any:
    """Steps along the running mean of gradients, by the root of that of their squares."""
    alpha, beta = node.float("alpha", 0.9), node.float("beta", 0.999)
    norm, post = node.float("norm_coefficient", 0.0), node.float("norm_coefficient_post", 0.0)
    epsilon = node.float("epsilon", 0.0)
    steps = cast(count, rate.dtype)
    fixed = call("sqrt", 1 - call("power", constant(beta, rate.dtype), steps)) / (
        1 - call("power", constant(alpha, rate.dtype), steps)
    )
    pace = call("where", call("greater", count, 0), rate * fixed, rate)

    def update(x: Value, g: Value, v: Value, h: Value) -> tuple[Value, Value, Value]:
        g = x * norm + g
        v = v * alpha + g * (1 - alpha)
        h = h * beta + g * g * (1 - beta)
        new = x - pace * v / (call("sqrt", h) + epsilon)
        return new * (1 - post), v, h

    return by_kind([update(*group) for group in groups(tensors, 4)])


@converts("Momentum", domain=TRAINING)
def momentum(node: Node, rate: Value, count: Value, *tensors: Value) -> Any:
    """Steps along a running sum of gradients, plain or after Nesterov."""
    alpha, beta = node.float("alpha"), node.float("beta")
    norm, nesterov = node.float("norm_coefficient"), node.text("mode") == "nesterov"
    first = call("greater", count, 0)
    weight = call("where", first, constant(beta, rate.dtype), constant(1.0, rate.dtype))

    def update(x: Value, g: Value, v: Value) -> tuple[Value, Value]:
        g = x * norm + g
        v = v * alpha + weight * g
        return (x - rate * (g + v * alpha) if nesterov else x - rate * v), v

    return by_kind([update(*group) for group in groups(tensors, 3)])
