"""Inception v3.  Source: Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, 2015."""

from collections.abc import Sequence
from typing import Any

import relay
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.testing import layers
from relay.testing.init import create_workload

Step = tuple[int, tuple[int, int], tuple[int, int], int]
"""Channels, window, padding and stride of a convolution."""


def conv_bn_relu(
    data: Expr,
    name: str,
    channels: int,
    size: tuple[int, int] = (1, 1),
    padding: tuple[int, int] = (0, 0),
    stride: int = 1,
) -> Expr:
    """Convolution, batch normalisation and rectifier."""
    x = layers.conv2d(
        data, name=name, channels=channels, kernel_size=size, padding=padding, strides=(stride, stride)
    )
    return relay.nn.relu(layers.batch_norm_infer(x, name=name + "_bn", epsilon=1e-3))


def tower(data: Expr, name: str, *steps: Step) -> Expr:
    """Convolutions one after another."""
    for i, (channels, size, padding, stride) in enumerate(steps):
        data = conv_bn_relu(data, f"{name}_conv{i + 1}", channels, size, padding, stride)
    return data


def one(channels: int) -> Step:
    """A 1x1 convolution."""
    return channels, (1, 1), (0, 0), 1


def square(channels: int, size: int, stride: int = 1) -> Step:
    """A square convolution, which keeps the size unless it strides."""
    return channels, (size, size), (0, 0) if stride > 1 else (size // 2, size // 2), stride


def row(channels: int, size: int) -> Step:
    """A convolution along the width that keeps the size."""
    return channels, (1, size), (0, size // 2), 1


def column(channels: int, size: int) -> Step:
    """A convolution along the height that keeps the size."""
    return channels, (size, 1), (size // 2, 0), 1


def averaged(data: Expr) -> Expr:
    """The mean of each 3x3 window, the size kept."""
    return relay.nn.avg_pool2d(data, pool_size=(3, 3), padding=(1, 1), count_include_pad=True)


def shrunk(data: Expr) -> Expr:
    """The maximum of 3x3 windows two apart."""
    return relay.nn.max_pool2d(data, pool_size=(3, 3), strides=(2, 2))


def join(*towers: Expr) -> Expr:
    """The channels of all."""
    return relay.concatenate(towers, axis=1)


def inception_a(x: Expr, pooled: int, name: str) -> Expr:
    """Windows of 1x1, 5x5 and two of 3x3."""
    return join(
        tower(x, name + "_1x1", one(64)),
        tower(x, name + "_5x5", one(48), square(64, 5)),
        tower(x, name + "_3x3", one(64), square(96, 3), square(96, 3)),
        tower(averaged(x), name + "_pool", one(pooled)),
    )


def reduction_a(x: Expr, name: str) -> Expr:
    """Half the size."""
    return join(
        tower(x, name + "_3x3", square(384, 3, 2)),
        tower(x, name + "_double", one(64), square(96, 3), square(96, 3, 2)),
        shrunk(x),
    )


def inception_b(x: Expr, mid: int, name: str) -> Expr:
    """Windows of 7x7, as rows and columns."""
    return join(
        tower(x, name + "_1x1", one(192)),
        tower(x, name + "_7x7", one(mid), row(mid, 7), column(192, 7)),
        tower(x, name + "_double", one(mid), column(mid, 7), row(mid, 7), column(mid, 7), row(192, 7)),
        tower(averaged(x), name + "_pool", one(192)),
    )


def reduction_b(x: Expr, name: str) -> Expr:
    """Half the size."""
    return join(
        tower(x, name + "_3x3", one(192), square(320, 3, 2)),
        tower(x, name + "_7x7", one(192), row(192, 7), column(192, 7), square(192, 3, 2)),
        shrunk(x),
    )


def inception_c(x: Expr, name: str) -> Expr:
    """Rows and columns of 3 side by side."""
    left = tower(x, name + "_3x3", one(384))
    right = tower(x, name + "_double", one(448), square(384, 3))
    return join(
        tower(x, name + "_1x1", one(320)),
        tower(left, name + "_3x3_row", row(384, 3)),
        tower(left, name + "_3x3_column", column(384, 3)),
        tower(right, name + "_double_row", row(384, 3)),
        tower(right, name + "_double_column", column(384, 3)),
        tower(averaged(x), name + "_pool", one(192)),
    )


def get_net(
    batch_size: int,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 299, 299),
    dtype: str = "float32",
) -> Expr:
    """`data (batch_size, *image_shape)` to the chances of classes."""
    x: Expr = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    x = tower(x, "stem", (32, (3, 3), (0, 0), 2), (32, (3, 3), (0, 0), 1), square(64, 3))
    x = tower(shrunk(x), "stem2", one(80), (192, (3, 3), (0, 0), 1))
    x = shrunk(x)
    for i, pooled in enumerate((32, 64, 64)):
        x = inception_a(x, pooled, f"mixed_a{i + 1}")
    x = reduction_a(x, "mixed_reduce1")
    for i, mid in enumerate((128, 160, 160, 192)):
        x = inception_b(x, mid, f"mixed_b{i + 1}")
    x = reduction_b(x, "mixed_reduce2")
    for i in range(2):
        x = inception_c(x, f"mixed_c{i + 1}")
    x = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(x))
    return layers.network(relay.nn.softmax(layers.dense_add_bias(x, units=num_classes, name="fc1")))


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 299, 299),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
