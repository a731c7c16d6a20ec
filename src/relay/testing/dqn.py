"""The network that learned to play Atari games.  Source: Mnih et al., 2015."""

from collections.abc import Sequence
from typing import Any

import relay
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.testing import layers
from relay.testing.init import create_workload


def get_net(
    batch_size: int,
    num_actions: int = 18,
    image_shape: Sequence[int] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Expr:
    """`data (batch_size, *image_shape)`, four pictures, to the worth of each action."""
    x: Expr = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    for i, (channels, size, stride) in enumerate(((32, 8, 4), (64, 4, 2), (64, 3, 1))):
        name = f"conv{i + 1}"
        x = layers.conv2d(
            x,
            name=name,
            channels=channels,
            kernel_size=(size, size),
            strides=(stride, stride),
            data_layout=layout,
            kernel_layout=layers.conv_kernel_layout(layout),
        )
        x = relay.nn.relu(relay.nn.bias_add(x, relay.var(name + "_bias"), axis=layout.index("C")))
    x = relay.nn.relu(layers.dense_add_bias(relay.nn.batch_flatten(x), units=512, name="dense1"))
    return layers.network(layers.dense_add_bias(x, units=num_actions, name="dense2"))


def get_workload(
    batch_size: int,
    num_actions: int = 18,
    image_shape: Sequence[int] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, num_actions, image_shape, dtype, layout))
