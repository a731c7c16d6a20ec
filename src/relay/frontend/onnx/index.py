"""Elements by index."""

from typing import Any

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.slices import between, sliced
from relay.frontend.support import ascribed, axes_in, axis_in, cast, reshape_to, transpose
from relay.frontend.value import Value, call, constant, fields, sizes_of
from relay.ir.dim import least, minimum
from relay.ir.type import ANY


def wrapped(indices: Value, size: Any) -> Value:
    """Indices of which negative ones count from the end."""
    if indices.dims is not None and all(isinstance(i, int) for i in indices.dims.flat):
        indices = constant(indices.dims.astype("int64"))
    if indices.array is not None:
        found = indices.array.astype("int64")
        if not (found < 0).any():
            return constant(found)
        if isinstance(size, int):
            return constant(np.where(found < 0, found + size, found))
    elif indices.dtype.startswith("uint"):
        return indices
    if not isinstance(size, int):
        return indices
    zero = constant(0, indices.dtype)
    return call("where", call("less", indices, zero), indices + size, indices)


@converts("Gather")
def gather(node: Node, x: Value, indices: Value) -> Value:
    """The parts along an axis."""
    axis = axis_in(node.int("axis", 0), x.rank)
    return call("take", x, wrapped(indices, x.shape[axis]), axis=axis, mode="wrap")


def gather_elements(x: Value, indices: Value, axis: int) -> Value:
    """An element along the axis for each index; the other axes are as long as those of `x`, or shorter."""
    return call("gather", x, indices, axis=axis)


@converts("GatherElements")
def convert_gather_elements(node: Node, x: Value, indices: Value) -> Value:
    """An element along the axis for each index."""
    return gather_elements(x, indices, axis_in(node.int("axis", 0), x.rank))


@converts("GatherND")
def gather_nd(node: Node, x: Value, indices: Value) -> Value:
    """The parts at points, whose coordinates are along the last axis."""
    batch = node.int("batch_dims", 0)
    last = indices.rank - 1
    points = transpose(indices, [last, *range(last)])
    return call("gather_nd", x, points, batch_dims=batch, index_rank=indices.size(last))


def reduction_of(node: Node) -> str:
    """How updates are combined."""
    name = node.text("reduction", "none")
    return "update" if name == "none" else name


@converts("ScatterElements", "Scatter")
def scatter_elements(node: Node, x: Value, indices: Value, updates: Value) -> Value:
    """A tensor with updates along an axis."""
    axis = axis_in(node.int("axis", 0), x.rank)
    return call("scatter_elements", x, indices, updates, axis=axis, reduction=reduction_of(node))


@converts("ScatterND")
def scatter_nd(node: Node, x: Value, indices: Value, updates: Value) -> Value:
    """A tensor with updates at points."""
    last = indices.rank - 1
    points = transpose(indices, [last, *range(last)])
    return call("scatter_nd", x, points, updates, mode=reduction_of(node))


@converts("Slice")
def slice_by_attributes(node: Node, x: Value) -> Value:
    """A part between places."""
    starts, ends = node.ints("starts"), node.ints("ends")
    return sliced(x, starts, ends, node.ints("axes", list(range(len(starts)))), [1] * len(starts))


@converts("Slice", since=10)
def convert_slice(
    node: Node, x: Value, starts: Value, ends: Value, axes: Value | None = None, steps: Value | None = None
) -> Value:
    """A part between places."""
    count = starts.size(0)
    along = list(range(count)) if axes is None else axes.numbers("the axes")
    step = [1] * count if steps is None else steps.numbers("the steps")
    begin, end = sizes_of(starts), sizes_of(ends)
    if begin is None or end is None or not all(isinstance(b, int) for b in begin.flat):
        return between(x, starts, ends, along, step)
    places = axes_in(along, x.rank)
    if any(not isinstance(e, int) and e != x.shape[a] for e, a in zip(end, places, strict=True)):
        dims = list(x.shape)
        for b, e, n, a in zip(begin, end, step, places, strict=True):
            dims[a] = minimum(e, dims[a]) if (b, n) == (0, 1) and least(e) >= 0 else ANY
        return ascribed(between(x, starts, ends, along, step), dims)
    return sliced(x, list(begin), list(end), along, step)


@converts("Compress")
def compress(node: Node, x: Value, condition: Value) -> Value:
    """The parts along an axis for which a condition holds."""
    axis = node.int("axis", None)
    if axis is None:
        x, axis = reshape_to(x, [-1]) if x.rank != 1 else x, 0
    places = call("argwhere", condition)
    return call("take", x, call("squeeze", places, axis=(1,)), axis=axis_in(axis, x.rank))


@converts("NonZero")
def non_zero(node: Node, x: Value) -> Value:
    """The coordinates of the elements that are not zero, a column for each."""
    return cast(call("transpose", call("argwhere", x), axes=(1, 0)), "int64")


@converts("OneHot")
def one_hot(node: Node, indices: Value, depth: Value, values: Value) -> Value:
    """A new axis with one value at the index and another elsewhere."""
    count = int(depth.number("the depth"))
    whole = cast(indices, "int64")
    whole = call("where", call("less", whole, 0), whole + count, whole)
    off, on = (call("take", values, constant(i, "int64"), axis=0) for i in (0, 1))
    axis = node.int("axis", -1)
    return call("one_hot", whole, on, off, depth=count, axis=axis, dtype=values.dtype)


@converts("TopK")
def topk(node: Node, x: Value, count: Value | None = None) -> Any:
    """The greatest or the least elements along an axis, and where they are."""
    k = node.int("k") if count is None else int(count.number("k"))
    axis = axis_in(node.int("axis", -1), x.rank)
    ascending = not node.int("largest", 1)
    if k == 0:
        empty = call("strided_slice", x, begin=(0,), end=(0,), axes=(axis,))
        return empty, cast(empty, "int64")
    return fields(call("topk", x, k=k, axis=axis, is_ascend=ascending, dtype="int64"))


@converts("Unique")
def unique(node: Node, x: Value) -> Any:
    """The distinct elements, or the distinct parts along an axis."""
    axis = node.int("axis", None)
    is_sorted = bool(node.int("sorted", 1))
    if axis is not None and x.rank > 1:
        return _unique_parts(x, axis_in(axis, x.rank), is_sorted)
    flat = call("reshape", x, newshape=(-1,))
    found = fields(call("unique", flat, is_sorted=is_sorted, return_counts=True))
    return found[0], *[cast(f, "int64") for f in (found[1], found[2], found[4])]


def _unique_parts(x: Value, axis: int, is_sorted: bool) -> Any:
    """Distinct parts: parts are numbered by the order they sort in, and those numbers made distinct."""
    moved = transpose(x, [axis, *[i for i in range(x.rank) if i != axis]])
    count = moved.size(0)
    rows = call("reshape", moved, newshape=(count, -1))
    left, right = call("expand_dims", rows, axis=1), call("expand_dims", rows, axis=0)
    differs = call("not_equal", left, right)
    first = call("argmax", differs, axis=2, keepdims=True)
    less = gather_elements(cast(call("less", left, right), "int8"), first, 2)
    before = call("squeeze", cast(less, "int32"), axis=(2,))
    order = call("sum", before, axis=0)  # how many rows are less than each
    found = fields(call("unique", order, is_sorted=is_sorted, return_counts=True))
    parts = call("take", x, found[1], axis=axis)
    return parts, *[cast(f, "int64") for f in (found[1], found[2], found[4])]


@converts("ReverseSequence")
def reverse_sequence(node: Node, x: Value, lengths: Value) -> Value:
    """The first elements along the time axis in opposite order, so many for each place of the batch."""
    return call(
        "reverse_sequence",
        x,
        lengths,
        seq_axis=node.int("time_axis", 0),
        batch_axis=node.int("batch_axis", 1),
    )


@converts("Trilu")
def trilu(node: Node, x: Value, k: Value | None = None) -> Value:
    """The upper or the lower triangle."""
    diagonal = constant(0, "int64") if k is None else k
    diagonal = diagonal if diagonal.rank == 0 else call("reshape", diagonal, newshape=())
    if 0 in x.shape:
        return x
    return call("trilu", x, diagonal, upper=bool(node.int("upper", 1)))
