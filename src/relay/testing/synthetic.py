"""A small network with many kinds of layers, for tests."""

from collections.abc import Sequence
from typing import Any

import relay
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.testing import layers
from relay.testing.init import create_workload


def get_net(
    input_shape: Sequence[int] = (1, 3, 24, 12), dtype: str = "float32", wtype: str | None = None
) -> Expr:
    """`data` of `input_shape` (NCHW) to a tensor of that shape, by dense and convolutional layers."""
    weight_type = dtype if wtype is None else wtype
    channels, width = input_shape[1], input_shape[3]
    data = relay.var("data", shape=input_shape, dtype=dtype)

    def dense(x: Expr, name: str) -> Expr:
        weight = relay.var(name + "_weight", shape=(width, width), dtype=weight_type)
        flat = relay.nn.dense(relay.reshape(x, (-1, width)), weight)
        return relay.reshape_like(relay.nn.relu(flat), data)

    def convolve(x: Expr, name: str) -> Expr:
        weight = relay.var(name + "_weight", shape=(channels, channels, 3, 3), dtype=weight_type)
        return relay.nn.conv2d(x, weight, padding=(1, 1), channels=channels, kernel_size=(3, 3))

    x = relay.add(dense(data, "dense"), relay.nn.softmax(convolve(data, "conv")))
    x = relay.nn.bias_add(x, relay.var("bias", shape=(channels,), dtype=dtype))
    x = layers.batch_norm_infer(x, name="batch_norm")
    return layers.network(relay.add(dense(x, "dense2"), convolve(x, "conv2")))


def get_workload(
    input_shape: Sequence[int] = (1, 3, 24, 12), dtype: str = "float32", wtype: str | None = None
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(get_net(input_shape, dtype, wtype))
