"""Residual networks.

Source: He, Zhang, Ren and Sun, "Deep residual learning for image recognition", 2015.
"""

from collections.abc import Sequence
from typing import Any

import relay
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.testing import layers
from relay.testing.init import create_workload

UNITS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
"""How many residual units each stage has."""
MAX_CIFAR_HEIGHT = 32
"""Images up to this height, in pixels, get the paper's networks for CIFAR-10."""


def conv_bn(
    data: Expr, channels: int, size: int, stride: int, name: str, layout: str, *, act: bool = True
) -> Expr:
    """Convolution, batch normalisation and (with `act`) rectifier; the size is kept but for the stride."""
    x = layers.conv2d(
        data,
        name=name,
        channels=channels,
        kernel_size=(size, size),
        strides=(stride, stride),
        padding=(size // 2, size // 2),
        data_layout=layout,
        kernel_layout=layers.conv_kernel_layout(layout),
    )
    x = layers.batch_norm_infer(x, name=name + "_bn", axis=layout.index("C"))
    return relay.nn.relu(x) if act else x


def residual_unit(
    data: Expr,
    channels: int,
    stride: int,
    dim_match: bool,
    name: str,
    bottle_neck: bool,
    layout: str = "NCHW",
) -> Expr:
    """`relu(data + f(data))`: `f` is two convolutions, or three with a narrow middle (`bottle_neck`).

    Without `dim_match` the data goes through a convolution of its own.
    """
    if bottle_neck:
        x = conv_bn(data, channels // 4, 1, 1, name + "_conv1", layout)
        x = conv_bn(x, channels // 4, 3, stride, name + "_conv2", layout)
        x = conv_bn(x, channels, 1, 1, name + "_conv3", layout, act=False)
    else:
        x = conv_bn(data, channels, 3, stride, name + "_conv1", layout)
        x = conv_bn(x, channels, 3, 1, name + "_conv2", layout, act=False)
    shortcut = data if dim_match else conv_bn(data, channels, 1, stride, name + "_sc", layout, act=False)
    return relay.nn.relu(relay.add(x, shortcut))


def plan(num_layers: int, height: int) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Units of each stage, channels before and after each, and whether units are bottle-necks."""
    if height > MAX_CIFAR_HEIGHT:
        if num_layers not in UNITS:
            raise ValueError(f"residual networks have one of {list(UNITS)} layers, not {num_layers}")
        deep = num_layers >= 50
        return UNITS[num_layers], (64, 256, 512, 1024, 2048) if deep else (64, 64, 128, 256, 512), deep
    deep = num_layers >= 164
    each, left = divmod(num_layers - 2, 9 if deep else 6)
    if left:
        raise ValueError(
            f"residual networks for small images have 6 n + 2 layers (9 n + 2 from 164), not {num_layers}"
        )
    return (each,) * 3, (16, 64, 128, 256) if deep else (16, 16, 32, 64), deep


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 50,
    image_shape: Sequence[int] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Expr:
    """`data (batch_size, *image_shape)`, in the order of `layout`, to the chances of classes."""
    height = image_shape["NCHW".index("H") - 1 if layout == "NCHW" else 0]
    units, channels, deep = plan(num_layers, height)
    x: Expr = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    if height > MAX_CIFAR_HEIGHT:
        x = conv_bn(x, channels[0], 7, 2, "conv0", layout)
        x = relay.nn.max_pool2d(x, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), layout=layout)
    else:
        x = conv_bn(x, channels[0], 3, 1, "conv0", layout)
    for i, (n, width) in enumerate(zip(units, channels[1:], strict=True)):
        for j in range(n):
            stride, same = (2 if i and not j else 1), bool(j) or channels[i] == width
            x = residual_unit(x, width, stride, same, f"stage{i + 1}_unit{j + 1}", deep, layout)
    x = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(x, layout=layout))
    return layers.network(relay.nn.softmax(layers.dense_add_bias(x, units=num_classes, name="fc1")))


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: Sequence[int] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype))
