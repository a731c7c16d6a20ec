"""A generator of pictures by transposed convolutions.  Source: Radford, Metz and Chintala, 2015."""

from collections.abc import Sequence
from typing import Any

import relay
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.testing import layers
from relay.testing.init import create_workload


def doubled(data: Expr, channels: int, name: str, layout: str) -> Expr:
    """A transposed convolution to twice the size."""
    return layers.conv2d_transpose(
        data,
        name=name,
        channels=channels,
        kernel_size=(4, 4),
        strides=(2, 2),
        padding=(1, 1),
        data_layout=layout,
        kernel_layout="IOHW" if layout == "NCHW" else "HWOI",
    )


def get_net(
    batch_size: int,
    random_len: int = 100,
    oshape: Sequence[int] = (3, 64, 64),
    ngf: int = 128,
    code: Expr | None = None,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Expr:
    """`data (batch_size, random_len)`, random numbers, to pictures of `oshape`, in the order of `layout`."""
    channels, side = (oshape[0], oshape[1]) if layout == "NCHW" else (oshape[2], oshape[1])
    if side != 64:
        raise ValueError(f"the generator makes pictures of 64 x 64, not of {side}")
    x = relay.var("data", shape=(batch_size, random_len), dtype=dtype) if code is None else code
    x = relay.nn.relu(relay.nn.dense(x, relay.var("dense_weight"), units=4 * 4 * ngf * 8))
    x = relay.reshape(x, (-1, ngf * 8, 4, 4) if layout == "NCHW" else (-1, 4, 4, ngf * 8))
    for i, width in enumerate((ngf * 4, ngf * 2, ngf)):
        x = doubled(x, width, f"g{i + 2}", layout)
        x = relay.nn.relu(
            layers.batch_norm_infer(x, name=f"g{i + 2}_bn", axis=layout.index("C"), scale=False)
        )
    return layers.network(relay.tanh(doubled(x, channels, "g5", layout)))


def get_workload(
    batch_size: int,
    oshape: Sequence[int] = (3, 64, 64),
    ngf: int = 128,
    random_len: int = 100,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, random_len, oshape, ngf, layout=layout, dtype=dtype))
