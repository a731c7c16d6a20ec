"""Convolutions."""

from typing import Any

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.onnx.window import geometry
from relay.frontend.support import as_rows, cast
from relay.frontend.value import Value, call, constant
from relay.frontend.window import corners


def convolved(node: Node, x: Value, weight: Value, out_dtype: str = "") -> Value:
    """The convolution of data with a weight, as the node's attributes say."""
    kernel = weight.sizes()[2:]
    w = geometry(node, x, kernel)
    rank = len(kernel)
    if rank not in (1, 2, 3):
        return node.fail(f"there are convolutions over 1, 2 or 3 axes, not {rank}")
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


def centred(x: Value, zero: Value | None, axis: int) -> Value:
    """`x - zero` as int32; a vector of zero points lies along `axis`."""
    wide = cast(x, "int32")
    if zero is None:
        return wide
    shift = cast(zero, "int32")
    return wide - (as_rows(shift, x.rank, axis) if shift.rank == 1 and shift.shape != (1,) else shift)


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
    n, c, h, w = x.sizes()
    o, cg, kh, kw = weight.sizes()
    parts, groups = node.int("offset_group", 1), node.int("group", 1)
    g = geometry(node, x, (kh, kw))
    oh, ow = g.outputs((h, w))
    k = kh * kw
    moves = call("reshape", offset, newshape=(n, parts, k, 2, oh * ow))
    rows = (np.arange(oh) * g.strides[0] - g.before[0])[None, :] + (np.arange(kh) * g.dilations[0])[:, None]
    columns = (np.arange(ow) * g.strides[1] - g.before[1])[None, :] + (np.arange(kw) * g.dilations[1])[
        :, None
    ]
    base = [
        np.broadcast_to(rows[:, None, :, None], (kh, kw, oh, ow)).reshape(k, oh * ow),
        np.broadcast_to(columns[None, :, None, :], (kh, kw, oh, ow)).reshape(k, oh * ow),
    ]
    at = [
        call("take", moves, constant(i, "int64"), axis=3) + constant(base[i], x.dtype) for i in (0, 1)
    ]  # each (n, parts, k, places)
    flat = call("reshape", x, newshape=(n, parts, c // parts, h * w))
    taken = interpolated(flat, at, (h, w))  # (n, parts, c / parts, k * places)
    taken = call("reshape", taken, newshape=(n, parts, c // parts, k, oh * ow))
    if mask is not None:
        taken = taken * call("reshape", mask, newshape=(n, parts, 1, k, oh * ow))
    taken = call("reshape", taken, newshape=(n, groups, cg * k, oh * ow))
    matrix = call("reshape", weight, newshape=(groups, o // groups, cg * k))
    found = call("nn.matmul", matrix, taken)
    found = call("reshape", found, newshape=(n, o, oh, ow))
    return found if bias is None else call("nn.bias_add", found, bias, axis=1)


def interpolated(flat: Value, at: list[Value], sizes: tuple[int, ...]) -> Value:
    """Data `(n, g, c, h * w)` at places `(n, g, ...)` between its pixels; 0 outside: `(n, g, c, places)`."""
    n, g, c, _ = flat.sizes()
    total: Value | None = None
    low = [call("floor", a) for a in at]
    for corner in corners(len(sizes)):
        weight: Value | None = None
        inside: Value | None = None
        place: Value | None = None
        for a, first, step, size in zip(at, low, corner, sizes, strict=True):
            part = (a - first) if step else (1 - (a - first))
            weight = part if weight is None else weight * part
            spot = cast(first, "int64") + step
            good = call("logical_and", call("greater_equal", spot, 0), call("less", spot, size))
            inside = good if inside is None else call("logical_and", inside, good)
            spot = call("clip", spot, a_min=0, a_max=size - 1)
            place = spot if place is None else place * size + spot
        assert weight is not None
        assert inside is not None
        assert place is not None
        factor = call("where", inside, weight, constant(0, weight.dtype))
        index = call("reshape", place, newshape=(n, g, 1, -1))
        index = call("broadcast_to", index, shape=(n, g, c, index.size(3)))
        term = call("gather", flat, index, axis=3) * call("reshape", factor, newshape=(n, g, 1, -1))
        total = term if total is None else total + term
    assert total is not None
    return total


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
