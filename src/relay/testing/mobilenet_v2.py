"""MobileNetV2: inverted residuals with narrow ends.  Source: Sandler et al., 2018."""

from collections.abc import Sequence
from typing import Any

import relay
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.testing import layers
from relay.testing.init import create_workload

STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""How much wider the middle of a block is, its channels, the number of blocks, the stride of the first."""


def conv_bn_relu6(
    data: Expr,
    name: str,
    channels: int,
    kernel_size: int,
    stride: int,
    layout: str,
    *,
    depthwise: bool = False,
    act: bool = True,
) -> Expr:
    """Convolution, batch normalisation and (with `act`) a rectifier that ends at 6."""
    x = layers.conv2d(
        data,
        name=name,
        channels=channels,
        kernel_size=(kernel_size, kernel_size),
        strides=(stride, stride),
        padding=(kernel_size // 2, kernel_size // 2),
        groups=channels if depthwise else 1,
        data_layout=layout,
        kernel_layout=layers.conv_kernel_layout(layout, depthwise),
    )
    x = layers.batch_norm_infer(x, name=name + "_bn", axis=layout.index("C"))
    return relay.clip(x, 0.0, 6.0) if act else x


def inverted_residual(
    data: Expr, name: str, before: int, after: int, wider: int, stride: int, layout: str
) -> Expr:
    """Widened, convolved channel by channel, and narrowed again; added to the data where that fits."""
    x = data if wider == 1 else conv_bn_relu6(data, name + "_expand", before * wider, 1, 1, layout)
    x = conv_bn_relu6(x, name + "_depthwise", before * wider, 3, stride, layout, depthwise=True)
    x = conv_bn_relu6(x, name + "_project", after, 1, 1, layout, act=False)
    return relay.add(data, x) if stride == 1 and before == after else x


def get_net(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Expr:
    """`data (batch_size, *image_shape)`, in the order of `layout`, to the scores of classes."""
    x: Expr = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    x = conv_bn_relu6(x, "conv0", 32, 3, 2, layout)
    before = 32
    for i, (wider, after, count, stride) in enumerate(STAGES):
        for j in range(count):
            name = f"stage{i + 1}_unit{j + 1}"
            x = inverted_residual(x, name, before, after, wider, stride if j == 0 else 1, layout)
            before = after
    x = conv_bn_relu6(x, "conv1", 1280, 1, 1, layout)
    x = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(x, layout=layout))
    return layers.network(layers.dense_add_bias(x, units=num_classes, name="fc1"))


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype, layout))
