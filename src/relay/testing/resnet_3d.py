"""Residual networks for films.

Source: Tran et al., "A closer look at spatiotemporal convolutions", 2018 (R3D).
"""

from collections.abc import Sequence
from typing import Any

import relay
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.testing import layers
from relay.testing.init import create_workload
from relay.testing.resnet import UNITS

CHANNELS = (64, 64, 128, 256, 512)


def conv3d_bn(
    data: Expr,
    channels: int,
    size: Sequence[int],
    strides: Sequence[int],
    name: str,
    layout: str,
    *,
    act: bool = True,
) -> Expr:
    """Convolution, batch normalisation and (with `act`) rectifier; the size is kept but for the strides."""
    x = layers.conv3d(
        data,
        name=name,
        channels=channels,
        kernel_size=tuple(size),
        strides=tuple(strides),
        padding=tuple([k // 2 for k in size]),
        data_layout=layout,
        kernel_layout=layers.conv_kernel_layout(layout),
    )
    x = layers.batch_norm_infer(x, name=name + "_bn", axis=layout.index("C"))
    return relay.nn.relu(x) if act else x


def residual_unit_3d(data: Expr, channels: int, stride: int, dim_match: bool, name: str, layout: str) -> Expr:
    """`relu(data + f(data))` with two convolutions over space and time."""
    x = conv3d_bn(data, channels, (3, 3, 3), (stride,) * 3, name + "_conv1", layout)
    x = conv3d_bn(x, channels, (3, 3, 3), (1, 1, 1), name + "_conv2", layout, act=False)
    if not dim_match:
        data = conv3d_bn(data, channels, (1, 1, 1), (stride,) * 3, name + "_sc", layout, act=False)
    return relay.nn.relu(relay.add(x, data))


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 18,
    image_shape: Sequence[int] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
) -> Expr:
    """`data (batch_size, *image_shape)` to the chances of classes, with 18 or 34 layers."""
    if num_layers not in (18, 34):
        raise ValueError(f"residual networks for films have 18 or 34 layers, not {num_layers}")
    x: Expr = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    x = conv3d_bn(x, CHANNELS[0], (3, 7, 7), (1, 2, 2), "conv0", layout)
    for i, n in enumerate(UNITS[num_layers]):
        for j in range(n):
            same = bool(j) or i == 0
            x = residual_unit_3d(
                x, CHANNELS[i + 1], 1 if same else 2, same, f"stage{i + 1}_unit{j + 1}", layout
            )
    x = relay.nn.batch_flatten(relay.nn.global_avg_pool3d(x, layout=layout))
    return layers.network(relay.nn.softmax(layers.dense_add_bias(x, units=num_classes, name="fc1")))


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: Sequence[int] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype))
