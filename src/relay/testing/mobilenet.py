"""MobileNet: depthwise convolutions followed by pointwise ones.  Source: Howard et al., 2017."""

from collections.abc import Sequence
from typing import Any

import relay
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.testing import layers
from relay.testing.init import create_workload

BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))
"""Channels and stride of each separable block."""


def conv_block(
    data: Expr,
    name: str,
    channels: int,
    kernel_size: int,
    stride: int,
    layout: str,
    *,
    depthwise: bool = False,
) -> Expr:
    """Convolution, batch normalisation and rectifier."""
    x = layers.conv2d(
        data,
        name=name + "_conv",
        channels=channels,
        kernel_size=(kernel_size, kernel_size),
        strides=(stride, stride),
        padding=(kernel_size // 2, kernel_size // 2),
        groups=channels if depthwise else 1,
        data_layout=layout,
        kernel_layout=layers.conv_kernel_layout(layout, depthwise),
    )
    return relay.nn.relu(layers.batch_norm_infer(x, name=name + "_bn", axis=layout.index("C")))


def mobile_net(
    num_classes: int = 1000,
    data_shape: Sequence[int] = (1, 3, 224, 224),
    dtype: str = "float32",
    alpha: float = 1.0,
    layout: str = "NCHW",
) -> Expr:
    """The network for data of `data_shape`; `alpha` scales the number of channels."""
    x: Expr = relay.var("data", shape=data_shape, dtype=dtype)
    before = int(32 * alpha)
    x = conv_block(x, "conv_block_1", before, 3, 2, layout)
    for i, (width, stride) in enumerate(BLOCKS):
        after = int(width * alpha)
        x = conv_block(
            x, f"separable_conv_block_{i + 1}_depthwise", before, 3, stride, layout, depthwise=True
        )
        x = conv_block(x, f"separable_conv_block_{i + 1}_pointwise", after, 1, 1, layout)
        before = after
    x = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(x, layout=layout))
    return layers.network(relay.nn.softmax(layers.dense_add_bias(x, units=num_classes, name="fc")))


def get_net(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Expr:
    """`data (batch_size, *image_shape)`, in the order of `layout`, to the chances of classes."""
    return mobile_net(num_classes, (batch_size, *image_shape), dtype, layout=layout)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype, layout))
