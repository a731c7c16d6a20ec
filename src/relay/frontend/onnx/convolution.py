"""Convolutions."""

from typing import Any

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.onnx.window import geometry
from relay.frontend.support import as_rows, cast
from relay.frontend.value import Value, call, constant


def convolved(node: Node, x: Value, weight: Value, out_dtype: str = "") -> Value:
    """The convolution of data with a weight, as the node's attributes say."""
    kernel = weight.sizes()[2:]
    w = geometry(node, x, kernel)
    rank = len(kernel)
    if rank not in (1, 2, 3):
        return node.fail(f"convolutions have 1, 2 or 3 spatial axes, not {rank}")
    return call(
        f"nn.conv{rank}d", x, weight, strides=w.strides, padding=w.padding, dilation=w.dilations,
        groups=node.int("group", 1), out_dtype=out_dtype,
    )  # fmt: skip


@converts("Conv")
def conv(node: Node, x: Value, weight: Value, bias: Value | None = None) -> Value:
    """The convolution, and a number added to each channel."""
    found = convolved(node, x, weight)
    return found if bias is None else call("nn.bias_add", found, bias, axis=1)


@converts("ConvInteger")
def conv_integer(
    node: Node, x: Value, weight: Value, x_zero: Value | None = None, weight_zero: Value | None = None
) -> Value:
    """The convolution of integers, from which their zero points are subtracted first."""
    return convolved(node, centred(x, x_zero, 0), centred(weight, weight_zero, 0))


def check_fit(v: Value, x: Value, axis: int) -> None:
    """Refuse a vector of numbers for the places of an axis that has not so many."""
    count, size = v.shape[0], x.shape[axis]
    if isinstance(count, int) and isinstance(size, int) and count != size:
        raise ValueError(f"{count} scales or zero points for {size} places of an axis")


def centred(x: Value, zero: Value | None, axis: int) -> Value:
    """`x - zero` as int32; a vector of zero points lies along `axis`."""
    wide = cast(x, "int32")
    if zero is None:
        return wide
    shift = cast(zero, "int32")
    if shift.rank != 1 or shift.shape == (1,):
        return wide - shift
    check_fit(shift, x, axis)
    return wide - as_rows(shift, x.rank, axis)


@converts("ConvTranspose")
def conv_transpose(node: Node, x: Value, weight: Value, bias: Value | None = None) -> Value:
    """The transposed convolution, and a number added to each channel."""
    kernel = weight.sizes()[2:]
    rank = len(kernel)
    w = geometry_of_transpose(node, x, kernel)
    found = call(
        f"nn.conv{rank}d_transpose", x, weight, strides=w[0], padding=w[1], dilation=w[2],
        groups=node.int("group", 1), output_padding=w[3],
    )  # fmt: skip
    return found if bias is None else call("nn.bias_add", found, bias, axis=1)


def geometry_of_transpose(node: Node, x: Value, kernel: tuple[int, ...]) -> tuple[Any, ...]:
    """Strides, padding, dilations and what is added at the end of a transposed convolution."""
    rank = len(kernel)
    strides = node.ints("strides", [1] * rank)
    dilations = node.ints("dilations", [1] * rank)
    extra = node.ints("output_padding", [0] * rank)
    pads = node.ints("pads", [0] * (2 * rank))
    auto = node.text("auto_pad", "NOTSET")
    shape = node.ints("output_shape", None)
    if shape is None and auto in ("SAME_UPPER", "SAME_LOWER"):
        shape = [x.size(i + 2) * strides[i] for i in range(rank)]
    if shape is not None:
        for i, n in enumerate(shape[-rank:]):
            whole = strides[i] * (x.size(i + 2) - 1) + extra[i] + (kernel[i] - 1) * dilations[i] + 1
            total = whole - n
            if total < 0:
                extra[i] -= total
                total = 0
            small, large = total // 2, total - total // 2
            pads[i], pads[rank + i] = (small, large) if auto == "SAME_UPPER" else (large, small)
    return tuple(strides), tuple(pads), tuple(dilations), tuple(extra)


@converts("DeformConv")
def deform_conv(
    node: Node, x: Value, weight: Value, offset: Value, bias: Value | None = None, mask: Value | None = None
) -> Value:
    """The convolution of data taken at places moved by offsets, between the pixels by interpolation."""
    w = geometry(node, x, weight.sizes()[2:])
    found = call(
        "nn.deformable_conv2d", x, offset, weight, *([] if mask is None else [mask]), strides=w.strides,
        padding=w.padding, dilation=w.dilations, deformable_groups=node.int("offset_group", 1),
        groups=node.int("group", 1),
    )  # fmt: skip
    return found if bias is None else call("nn.bias_add", found, bias, axis=1)


@converts("Col2Im")
def col2im(node: Node, x: Value, image: Value, block: Value) -> Value:
    """Columns put back to where they come from, where they overlap added."""
    from relay.frontend.window import Window

    sizes = tuple(image.numbers("the image's shape"))
    kernel = tuple(block.numbers("the block's shape"))
    rank = len(sizes)
    pads = node.ints("pads", [0] * (2 * rank))
    w = Window(
        kernel, tuple(node.ints("strides", [1] * rank)), tuple(node.ints("dilations", [1] * rank)),
        tuple(pads[:rank]), tuple(pads[rank:]),
    )  # fmt: skip
    places, inside = w.places(sizes)  # (windows, elements)
    n, both, count = x.sizes()
    k = int(np.prod(kernel))
    c = both // k
    updates = call("reshape", x, newshape=(n, c, k * count))
    updates = call("where", constant(inside.T.reshape(-1)), updates, constant(0, x.dtype))
    index = constant(np.broadcast_to(places.T.reshape(-1), (n, c, k * count)))
    zeros = call("full", constant(0, x.dtype), shape=(n, c, int(np.prod(sizes))))
    found = call("scatter_elements", zeros, index, updates, axis=2, reduction="add")
    return call("reshape", found, newshape=(n, c, *sizes))
