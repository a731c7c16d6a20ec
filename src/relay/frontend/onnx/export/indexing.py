"""Elements by index."""

from typing import Any

import numpy as np

from relay.frontend.onnx.export.graph import Graph, Value, refuse
from relay.frontend.onnx.export.registry import exports
from relay.ir.type import ANY, Dim

REDUCTIONS = {"update": "none", "add": "add", "mul": "mul", "min": "min", "max": "max"}


@exports("take")
def take(g: Graph, op: Any, x: Value, indices: Value) -> str:
    """The parts along an axis; what lies outside of it is moved inside as `mode` says."""
    if op.batch_dims:
        refuse(f"batch_dims={op.batch_dims}")
    axis, size = (0, ANY) if op.axis is None else _along(x, op.axis)
    if op.axis is None:
        x = Value(g.add("Reshape", x, g.ints([-1])), g.result.type)
    places = indices.name if op.mode == "fast" else _inside(g, op.mode, x, indices, axis, size)
    return g.add("Gather", x, places, axis=axis)


def _along(x: Value, axis: int) -> tuple[int, Dim]:
    """An axis counted from the front, and its size."""
    return axis % x.rank, x.shape[axis]


def _inside(g: Graph, mode: str, x: Value, indices: Value, axis: int, size: Dim) -> str:
    """Indices that lie within the axis."""
    known = indices.array
    if known is not None and isinstance(size, int) and size:
        wide = known.astype("int64")
        return g.constant(np.clip(wide, 0, size - 1) if mode == "clip" else wide % size)
    wide = g.cast(indices, "int64")
    count = g.constant(size, "int64") if isinstance(size, int) else _count(g, x, axis)
    if mode == "wrap":
        return g.add("Mod", wide, count)
    zero, one = g.constant(0, "int64"), g.constant(1, "int64")
    last = g.constant(size - 1, "int64") if isinstance(size, int) else g.add("Sub", count, one)
    return g.add("Max", g.add("Min", wide, last), zero)


def _count(g: Graph, x: Value, axis: int) -> str:
    return g.add("Squeeze", g.add("Shape", x.name, start=axis, end=axis + 1), g.ints([0]))


@exports("gather")
def gather(g: Graph, op: Any, x: Value, indices: Value) -> str:
    """An element along the axis for each index."""
    return g.add("GatherElements", x, _wide(g, indices), axis=op.axis)


def _wide(g: Graph, indices: Value) -> str:
    return indices.name if indices.dtype in ("int32", "int64") else g.cast(indices, "int64")


def _points(g: Graph, indices: Value) -> str:
    """Points whose coordinates are along the last axis, where ONNX has them."""
    return g.transposed(g.cast(indices, "int64"), [*range(1, indices.rank), 0])


@exports("gather_nd")
def gather_nd(g: Graph, op: Any, x: Value, indices: Value) -> str:
    """The parts at points."""
    return g.add("GatherND", x, _points(g, indices), batch_dims=op.batch_dims)


@exports("scatter_elements", fits=lambda op: op.reduction in REDUCTIONS)
def scatter_elements(g: Graph, op: Any, x: Value, indices: Value, updates: Value) -> str:
    """A tensor with updates along an axis."""
    how = REDUCTIONS[op.reduction]
    return g.add("ScatterElements", x, _wide(g, indices), updates, axis=op.axis, reduction=how)


@exports("scatter_nd", fits=lambda op: op.mode in REDUCTIONS)
def scatter_nd(g: Graph, op: Any, x: Value, indices: Value, updates: Value) -> str:
    """A tensor with updates at points."""
    return g.add("ScatterND", x, _points(g, indices), updates, reduction=REDUCTIONS[op.mode])


@exports("one_hot")
def one_hot(g: Graph, op: Any, indices: Value, on: Value, off: Value) -> str:
    """A new axis with one value at the index and another elsewhere."""
    rank = indices.rank + 1
    axis = op.axis % rank
    places = g.reshaped(g.ints(range(op.depth)), (op.depth, *[1] * (rank - 1 - axis)))
    here = g.add("Equal", g.add("Unsqueeze", g.cast(indices, "int64"), g.ints([axis])), places)
    return g.add("Where", here, *[g.cast(v, g.result.dtype) for v in (on, off)])


@exports("argwhere")
def argwhere(g: Graph, op: Any, x: Value) -> str:
    """The coordinates of the elements that are not zero."""
    if not x.rank:
        refuse("a scalar")
    found = g.add("Transpose", g.add("NonZero", x), perm=[1, 0])
    return g.cast(found, g.result.dtype)


@exports("reverse_sequence")
def reverse_sequence(g: Graph, op: Any, x: Value, lengths: Value) -> str:
    """The first elements of each sequence backwards."""
    axes = (op.seq_axis % x.rank, op.batch_axis % x.rank)
    if sorted(axes) != [0, 1]:
        refuse("axes other than the first two")
    wide = g.cast(lengths, "int64")
    return g.add("ReverseSequence", x, wide, time_axis=axes[0], batch_axis=axes[1])


@exports("trilu")
def trilu(g: Graph, op: Any, x: Value, k: Value) -> str:
    """The part of each matrix on one side of a diagonal."""
    return g.add("Trilu", x, g.cast(k, "int64"), upper=int(op.upper))
