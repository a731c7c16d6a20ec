"""A perceptron of three layers for images."""

from collections.abc import Sequence
from typing import Any

import relay
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.testing import layers
from relay.testing.init import create_workload


def get_net(
    batch_size: int, num_classes: int = 10, image_shape: Sequence[int] = (1, 28, 28), dtype: str = "float32"
) -> Expr:
    """`data (batch_size, *image_shape)` to the chances of classes, through layers of 128 and 64 units."""
    x = relay.nn.batch_flatten(relay.var("data", shape=(batch_size, *image_shape), dtype=dtype))
    x = relay.nn.relu(layers.dense_add_bias(x, units=128, name="fc1"))
    x = relay.nn.relu(layers.dense_add_bias(x, units=64, name="fc2"))
    return layers.network(relay.nn.softmax(layers.dense_add_bias(x, units=num_classes, name="fc3")))


def get_workload(
    batch_size: int, num_classes: int = 10, image_shape: Sequence[int] = (1, 28, 28), dtype: str = "float32"
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
