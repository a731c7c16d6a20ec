"""Convolutions."""

from typing import Any

from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import repeated
from relay.frontend.value import Value, call


@converts("aten.convolution")
def convolution(
    node: Node, x: Value, weight: Value, bias: Value | None, stride: list[int], padding: list[int],
    dilation: list[int], transposed: bool, output_padding: list[int], groups: int,
) -> Value:  # fmt: skip
    """The convolution of any rank, or the transposed one, and a number added to each channel."""
    rank = weight.rank - 2
    if not 1 <= rank <= 3:
        return node.fail(f"convolutions have 1, 2 or 3 spatial axes, not {rank}")
    alone = x.rank == weight.rank - 1
    x = call("expand_dims", x, axis=0) if alone else x
    how: dict[str, Any] = {
        "strides": repeated(stride, rank), "padding": repeated(padding, rank),
        "dilation": repeated(dilation, rank), "groups": groups,
    }  # fmt: skip
    if transposed:
        extra = repeated(output_padding, rank)
        found = call(f"nn.conv{rank}d_transpose", x, weight, output_padding=extra, **how)
    else:
        found = call(f"nn.conv{rank}d", x, weight, **how)
    found = found if bias is None else call("nn.bias_add", found, bias, axis=1)
    return call("squeeze", found, axis=(0,)) if alone else found


@converts("aten.conv1d", "aten.conv2d", "aten.conv3d")
def conv(
    node: Node,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Value:
    """The convolution; padding may be `"same"` or `"valid"`."""
    rank = weight.rank - 2
    if isinstance(padding, str):
        gaps = [d * (k - 1) for d, k in zip(repeated(dilation, rank), weight.sizes()[2:], strict=True)]
        if padding == "valid":
            padding = [0] * rank
        elif all(g % 2 == 0 for g in gaps):
            padding = [g // 2 for g in gaps]
        else:
            width = [(0, 0)] * (x.rank - rank) + [(g // 2, g - g // 2) for g in gaps]
            x, padding = call("nn.pad", x, pad_width=tuple(width)), [0] * rank
    return convolution(node, x, weight, bias, stride, padding, dilation, False, [0], groups)


@converts("aten.conv_transpose1d", "aten.conv_transpose2d", "aten.conv_transpose3d")
def conv_transpose(
    node: Node, x: Value, weight: Value, bias: Value | None, stride: Any, padding: Any, output_padding: Any,
    groups: int, dilation: Any,
) -> Value:  # fmt: skip
    """The transposed convolution."""
    return convolution(node, x, weight, bias, stride, padding, dilation, True, output_padding, groups)
