"""SqueezeNet: few parameters by squeezing before expanding.  Source: Iandola et al., 2016."""

from collections.abc import Sequence
from typing import Any

import relay
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.testing import layers
from relay.testing.init import create_workload

FIRE = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
"""Channels squeezed to, and expanded to twice, by each fire module."""
POOL_BEFORE = {"1.0": (0, 3, 7), "1.1": (0, 2, 4)}
"""Fire modules that a pooling precedes."""


def conv_bias_relu(
    data: Expr, channels: int, size: int, name: str, stride: int = 1, padding: int = 0
) -> Expr:
    """Convolution with bias and rectifier."""
    x = layers.conv_add_bias(
        data,
        name=name,
        channels=channels,
        kernel_size=(size, size),
        strides=(stride, stride),
        padding=(padding, padding),
    )
    return relay.nn.relu(x)


def fire(data: Expr, squeezed: int, expanded: int, name: str) -> Expr:
    """A 1x1 convolution to few channels, then 1x1 and 3x3 ones side by side."""
    x = conv_bias_relu(data, squeezed, 1, name + "_squeeze")
    left = conv_bias_relu(x, expanded, 1, name + "_expand1x1")
    right = conv_bias_relu(x, expanded, 3, name + "_expand3x3", padding=1)
    return relay.concatenate((left, right), axis=1)


def get_net(
    batch_size: int,
    image_shape: Sequence[int] = (3, 224, 224),
    num_classes: int = 1000,
    version: str = "1.0",
    dtype: str = "float32",
) -> Expr:
    """`data (batch_size, *image_shape)` to the chances of classes, in version "1.0" or "1.1"."""
    if version not in POOL_BEFORE:
        raise ValueError(f"SqueezeNet has the versions {list(POOL_BEFORE)}, not {version}")
    x: Expr = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    x = conv_bias_relu(x, 96, 7, "conv1", 2) if version == "1.0" else conv_bias_relu(x, 64, 3, "conv1", 2)
    for i, (squeezed, expanded) in enumerate(FIRE):
        if i in POOL_BEFORE[version]:
            x = relay.nn.max_pool2d(x, pool_size=(3, 3), strides=(2, 2), ceil_mode=True)
        x = fire(x, squeezed, expanded, f"fire{i + 2}")
    x = conv_bias_relu(relay.nn.dropout(x, rate=0.5), num_classes, 1, "conv10")
    x = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(x))
    return layers.network(relay.nn.softmax(x))


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    version: str = "1.0",
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
