"""DenseNet: each layer sees all before it.  Source: Huang, Liu, van der Maaten and Weinberger, 2016."""

from collections.abc import Sequence
from typing import Any

import relay
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.testing import layers
from relay.testing.init import create_workload

SIZES = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}
"""Channels of the first layer, growth with each, and layers of each block."""


def conv_same(data: Expr, name: str, channels: int, size: int, stride: int = 1) -> Expr:
    """A convolution that keeps the size but for the stride."""
    return layers.conv2d(
        data,
        name=name,
        channels=channels,
        kernel_size=(size, size),
        strides=(stride, stride),
        padding=(size // 2, size // 2),
    )


def activated(data: Expr, name: str) -> Expr:
    """Batch normalisation and rectifier."""
    return relay.nn.relu(layers.batch_norm_infer(data, name=name))


def dense_layer(data: Expr, growth: int, name: str) -> Expr:
    """The data, and `growth` more channels made of all of it."""
    x = conv_same(activated(data, name + "_bn1"), name + "_conv1", 4 * growth, 1)
    x = conv_same(activated(x, name + "_bn2"), name + "_conv2", growth, 3)
    return relay.concatenate((data, x), axis=1)


def get_net(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
) -> Expr:
    """`data (batch_size, *image_shape)` to scores of classes, with 121, 161, 169 or 201 layers."""
    if densenet_size not in SIZES:
        raise ValueError(f"DenseNet has one of {list(SIZES)} layers, not {densenet_size}")
    channels, growth, blocks = SIZES[densenet_size]
    x: Expr = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    x = activated(conv_same(x, "conv1", channels, 7, 2), "bn1")
    x = relay.nn.max_pool2d(x, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    for i, n in enumerate(blocks):
        for j in range(n):
            x = dense_layer(x, growth, f"block{i + 1}_layer{j + 1}")
        channels += n * growth
        if i < len(blocks) - 1:
            channels //= 2
            x = conv_same(activated(x, f"transition{i + 1}_bn"), f"transition{i + 1}_conv", channels, 1)
            x = relay.nn.avg_pool2d(x, pool_size=(2, 2), strides=(2, 2))
    x = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(activated(x, "bn_last")))
    return layers.network(layers.dense_add_bias(x, units=classes, name="output"))


def get_workload(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(get_net(densenet_size, classes, batch_size, image_shape, dtype))
