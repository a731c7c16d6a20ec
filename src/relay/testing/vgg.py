"""VGG networks: stacks of 3x3 convolutions.  Source: Simonyan and Zisserman, 2014."""

from collections.abc import Sequence
from typing import Any

import relay
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.testing import layers
from relay.testing.init import create_workload

STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
"""How many convolutions each stage has."""
CHANNELS = (64, 128, 256, 512, 512)


def get_net(
    batch_size: int,
    image_shape: Sequence[int] = (3, 224, 224),
    num_classes: int = 1000,
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Expr:
    """`data (batch_size, *image_shape)` to the chances of classes, with 11, 13, 16 or 19 layers."""
    if num_layers not in STAGES:
        raise ValueError(f"VGG networks have one of {list(STAGES)} layers, not {num_layers}")
    x: Expr = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    for i, (n, channels) in enumerate(zip(STAGES[num_layers], CHANNELS, strict=True)):
        for j in range(n):
            name = f"conv{i + 1}_{j + 1}"
            x = layers.conv_add_bias(x, name=name, channels=channels, kernel_size=(3, 3), padding=(1, 1))
            if batch_norm:
                x = layers.batch_norm_infer(x, name=name + "_bn")
            x = relay.nn.relu(x)
        x = relay.nn.max_pool2d(x, pool_size=(2, 2), strides=(2, 2))
    x = relay.nn.batch_flatten(x)
    for i in (6, 7):
        x = relay.nn.dropout(relay.nn.relu(layers.dense_add_bias(x, units=4096, name=f"fc{i}")), rate=0.5)
    return layers.network(relay.nn.softmax(layers.dense_add_bias(x, units=num_classes, name="fc8")))


def get_workload(
    batch_size: int,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm))
