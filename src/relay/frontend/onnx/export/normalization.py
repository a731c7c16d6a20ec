"""Normalisations that ONNX has as operators of their own."""

from typing import Any

import numpy as np

from relay.frontend.onnx.export.graph import Graph, Value, refuse
from relay.frontend.onnx.export.registry import exports


def _is_whole(op: Any) -> bool:
    return op.center and op.scale


def _first_to_channels(g: Graph, x: Value, axis: int) -> tuple[str, list[int] | None]:
    """`x` with its channels on axis 1, and the order that takes them back."""
    axis %= x.rank
    if axis == 1:
        return x.name, None
    order = [i for i in range(x.rank) if i != axis]
    order.insert(1, axis)
    return g.transposed(x, order), np.argsort(order).tolist()


@exports("nn.batch_norm", fits=_is_whole)
def batch_norm(g: Graph, op: Any, x: Value, *rest: Value) -> tuple[str, str, str]:
    """Each channel with the mean and variance given."""
    if x.rank == 1:
        refuse("a vector")
    name, back = _first_to_channels(g, x, op.axis)
    found = g.add("BatchNormalization", name, *rest, epsilon=op.epsilon)
    return (found if back is None else g.transposed(found, back)), rest[2].name, rest[3].name


@exports("nn.layer_norm", fits=_is_whole)
def layer_norm(g: Graph, op: Any, x: Value, gamma: Value, beta: Value) -> str:
    """Mean 0 and variance 1 along an axis, scaled and moved."""
    axis = op.axis % x.rank
    order = [i for i in range(x.rank) if i != axis] + [axis]
    found = g.add("LayerNormalization", g.transposed(x, order), gamma, beta, epsilon=op.epsilon, axis=-1)
    return g.transposed(found, np.argsort(order).tolist())


@exports("nn.instance_norm", fits=_is_whole)
def instance_norm(g: Graph, op: Any, x: Value, gamma: Value, beta: Value) -> str:
    """Each channel of each item with mean 0 and variance 1, scaled and moved."""
    if x.rank < 3:
        refuse("data without spatial axes")
    name, back = _first_to_channels(g, x, op.axis)
    found = g.add("InstanceNormalization", name, gamma, beta, epsilon=op.epsilon)
    return found if back is None else g.transposed(found, back)


@exports("nn.lrn", fits=lambda op: op.axis == 1 and op.size % 2)
def lrn(g: Graph, op: Any, x: Value) -> str:
    """Local response normalisation over the channels."""
    if x.rank < 3:
        refuse("data without spatial axes")
    return g.add("LRN", x, size=op.size, alpha=op.alpha, beta=op.beta, bias=op.bias)
