"""Pooling over windows, and over everything."""

from typing import Any

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.onnx.window import geometry
from relay.frontend.support import cast, p_norm
from relay.frontend.value import Value, call, constant
from relay.frontend.window import windows
from relay.ir.dtype import integer_range


@converts("MaxPool")
def max_pool(node: Node, x: Value) -> Any:
    """The greatest element of each window, and where it is."""
    w = geometry(node, x, tuple(node.ints("kernel_shape")))
    rank = len(w.kernel)
    if not node.wants(1) and rank <= 3:
        return call(
            f"nn.max_pool{rank}d", x, pool_size=w.kernel, strides=w.strides, dilation=w.dilations,
            padding=w.padding, ceil_mode=w.ceil_mode,
        )  # fmt: skip
    least = -np.inf if x.is_float else integer_range(x.dtype)[0]
    elements, places = windows(x, w, least)
    best = call("argmax", elements, axis=3)
    n, c, *sizes = x.sizes()
    outs = w.outputs(tuple(sizes))
    shape = (n, c, *outs)
    of_windows = cast(best, "int64") + constant(np.arange(places.shape[0]) * places.shape[1])
    where = call("take", constant(places.reshape(-1)), of_windows, axis=0)
    if node.int("storage_order", 0) and rank == 2:
        row, column = call("floor_divide", where, sizes[1]), call("floor_mod", where, sizes[1])
        where = column * sizes[0] + row
    size = int(np.prod(sizes))
    where = where + constant((np.arange(n * c) * size).reshape(n, c, 1))
    most = call("max", elements, axis=(3,))
    return call("reshape", most, newshape=shape), call("reshape", where, newshape=shape)


@converts("AveragePool")
def average_pool(node: Node, x: Value) -> Value:
    """The mean of each window."""
    w = geometry(node, x, tuple(node.ints("kernel_shape")))
    rank = len(w.kernel)
    if rank > 3:
        return node.fail(f"pooling has 1, 2 or 3 spatial axes, not {rank}")
    return call(
        f"nn.avg_pool{rank}d", x, pool_size=w.kernel, strides=w.strides, dilation=w.dilations,
        padding=w.padding, ceil_mode=w.ceil_mode, count_include_pad=bool(node.int("count_include_pad", 0)),
    )  # fmt: skip


@converts("LpPool")
def lp_pool(node: Node, x: Value) -> Value:
    """The norm of each window."""
    w = geometry(node, x, tuple(node.ints("kernel_shape")))
    power = node.int("p", 2) if node.version >= 2 else node.float("p", 2.0)
    elements, _ = windows(x, w, 0)
    found = norm(elements, power, (3,))
    return call("reshape", found, newshape=(*x.sizes()[:2], *w.outputs(x.sizes()[2:])))


def norm(x: Value, power: float, axes: tuple[int, ...]) -> Value:
    """`sum(|x| ** power) ** (1 / power)` along axes."""
    if power == 1:
        return call("sum", call("abs", x), axis=axes)
    return p_norm(x, power, lambda powers: call("sum", powers, axis=axes))


def spatial(x: Value) -> tuple[int, ...]:
    """The axes after the channels."""
    return tuple(range(2, x.rank))


@converts("GlobalAveragePool")
def global_average_pool(node: Node, x: Value) -> Value:
    """The mean of each channel."""
    return call("mean", x, axis=spatial(x), keepdims=True)


@converts("GlobalMaxPool")
def global_max_pool(node: Node, x: Value) -> Value:
    """The greatest element of each channel."""
    return call("max", x, axis=spatial(x), keepdims=True)


@converts("GlobalLpPool")
def global_lp_pool(node: Node, x: Value) -> Value:
    """The norm of each channel."""
    found = norm(x, node.int("p", 2) if node.version >= 2 else node.float("p", 2.0), spatial(x))
    return call("expand_dims", found, axis=2, num_newaxis=x.rank - 2)


@converts("MaxUnpool")
def max_unpool(node: Node, x: Value, places: Value, shape: Value | None = None) -> Value:
    """Elements put back to where `MaxPool` found them, zeros elsewhere."""
    kernel = node.ints("kernel_shape")
    rank = len(kernel)
    strides, pads = node.ints("strides", [1] * rank), node.ints("pads", [0] * (2 * rank))
    small = [(x.size(i + 2) - 1) * strides[i] - pads[i] - pads[i + rank] + kernel[i] for i in range(rank)]
    own = [*x.sizes()[:2], *small]
    wanted = own if shape is None else shape.numbers("the output's shape")
    zeros = call("full", constant(0, x.dtype), shape=(int(np.prod(own)),))
    flat, index = (call("reshape", v, newshape=(-1,)) for v in (x, places))
    found = call("scatter_elements", zeros, index, flat, axis=0)
    found = call("reshape", found, newshape=tuple(own))
    if wanted != own:
        width = tuple([(0, b - a) for a, b in zip(own, wanted, strict=True)])
        found = call("nn.pad", found, pad_width=width)
    return found
