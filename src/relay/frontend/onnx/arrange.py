"""Tensors taken apart, put together, and moved around."""

from typing import Any

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.support import axes_in, axis_in, scalar
from relay.frontend.value import Value, call, constant, fields


@converts("Concat")
def concat(node: Node, *xs: Value) -> Value:
    """One tensor after another."""
    if len(xs) == 1:
        return xs[0]
    return call("concatenate", tuple(xs), axis=axis_in(node.int("axis", 1), xs[0].rank))


@converts("Split")
def split(node: Node, x: Value, sizes: Value | None = None) -> Any:
    """Parts along an axis, of given sizes or of equal ones (the last one may be smaller)."""
    axis = axis_in(node.int("axis", 0), x.rank)
    given = sizes.numbers("the sizes") if sizes is not None else node.ints("split", None)
    if given is None:
        count = node.int("num_outputs", node.outputs)
        if count != node.outputs:
            return node.fail(f"it has {node.outputs} results, not {count}")
        each = -(-x.size(axis) // count)
        given = [max(min(each, x.size(axis) - i * each), 0) for i in range(count)]
    return parts(node, x, given, axis)


def parts(node: Node, x: Value, sizes: list[int], axis: int) -> Any:
    """Consecutive parts of those sizes, which are all of `x`."""
    whole = x.shape[axis]
    if any(n < 0 for n in sizes) or (isinstance(whole, int) and sum(sizes) != whole):
        return node.fail(f"the sizes {', '.join(map(str, sizes))} are not those of parts of {whole}")
    if len(sizes) == 1:
        return (x,)
    cuts = np.cumsum(sizes)[:-1].tolist()
    return fields(call("split", x, indices_or_sections=tuple(cuts), axis=axis))


@converts("Pad")
def pad_by_attributes(node: Node, x: Value) -> Value:
    """A border."""
    widths = node.ints("pads", None) or node.ints("paddings")
    return padded(node, x, widths, constant(node.float("value", 0.0), x.dtype))


@converts("Pad", since=11)
def pad(node: Node, x: Value, pads: Value, value: Value | None = None, axes: Value | None = None) -> Value:
    """A border, along all axes or some."""
    widths = pads.numbers("the widths")
    if axes is not None:
        along = axes_in(axes.numbers("the axes"), x.rank)
        full = [0] * (2 * x.rank)
        for i, a in enumerate(along):
            full[a], full[a + x.rank] = widths[i], widths[i + len(along)]
        widths = full
    return padded(node, x, widths, None if value is None else scalar(value))


def padded(node: Node, x: Value, widths: list[int], value: Value | None) -> Value:
    """`x` with a border; where a width is negative, that much is cut off first."""
    pairs = list(zip(widths[: x.rank], widths[x.rank :], strict=True))
    mode = node.text("mode", "constant")
    if any(w < 0 for pair in pairs for w in pair):
        begin = [max(-a, 0) for a, _ in pairs]
        end = [None if b >= 0 else b for _, b in pairs]
        x = call("strided_slice", x, begin=tuple(begin), end=tuple(end))
        pairs = [(max(a, 0), max(b, 0)) for a, b in pairs]
    if not any(w for pair in pairs for w in pair):
        return x
    if mode == "wrap":
        return wrapped_around(x, pairs)
    operands = [x] if value is None or mode != "constant" else [x, value]
    return call("nn.pad", *operands, pad_width=tuple(pairs), pad_mode=mode)


def wrapped_around(x: Value, pairs: list[tuple[int, int]]) -> Value:
    """A border that goes on at the other end."""
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            n = x.size(axis)
            if not n:
                raise ValueError(f"axis {axis} has no elements to repeat in a border")
            x = call("take", x, constant(np.arange(-before, n + after) % n), axis=axis)
    return x


@converts("DepthToSpace")
def depth_to_space(node: Node, x: Value) -> Value:
    """Channels spread over blocks of pixels."""
    return call("nn.depth_to_space", x, block_size=node.int("blocksize"), mode=node.text("mode", "DCR"))


@converts("SpaceToDepth")
def space_to_depth(node: Node, x: Value) -> Value:
    """Blocks of pixels as channels."""
    block = node.int("blocksize")
    if node.text("mode", "DCR") == "DCR":
        return call("nn.space_to_depth", x, block_size=block)
    n, c, h, w = x.sizes()
    cut = call("reshape", x, newshape=(n, c, h // block, block, w // block, block))
    moved = call("transpose", cut, axes=(0, 1, 3, 5, 2, 4))
    return call("reshape", moved, newshape=(n, c * block * block, h // block, w // block))


@converts("TensorScatter")
def tensor_scatter(node: Node, cache: Value, update: Value, starts: Value | None = None) -> Value:
    """A cache with an update along an axis, for each item of the batch from a place of its own on."""
    axis = axis_in(node.int("axis", -2), cache.rank)
    length, size = update.size(axis), cache.size(axis)
    steps = constant(np.arange(length), "int64")
    batch = cache.size(0)
    first = constant(np.zeros(batch), "int64") if starts is None else call("cast", starts, dtype="int64")
    places = call("expand_dims", first, axis=1) + steps
    if node.text("mode", "linear") == "circular":
        places = call("floor_mod", places, constant(size, "int64"))
    laid: list[int] = [1] * cache.rank
    laid[0], laid[axis] = batch, length
    shaped = call("reshape", places, newshape=tuple(laid))
    spread = call("broadcast_to", shaped, shape=update.sizes())
    return call("scatter_elements", cache, spread, update, axis=axis)
