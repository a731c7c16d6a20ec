"""Shapes: reshapes, transposes, slices, borders, tensors made of nothing."""

from itertools import zip_longest
from typing import Any

import numpy as np

from relay.frontend.onnx.export.graph import Graph, Value, number_of, refuse, static
from relay.frontend.onnx.export.registry import exports
from relay.ir.dtype import to_numpy
from relay.ir.type import Dim

AXIS_BEGIN, AXIS_END = -(2**63), 2**63 - 1
"""The ends of any axis."""


@exports("reshape", "contrib_reverse_reshape")
def reshape(g: Graph, op: Any, x: Value) -> str:
    """Reshape to the inferred shape."""
    return reshape_to(g, x, g.result.shape)


def reshape_to(g: Graph, x: Value, dims: tuple[Dim, ...]) -> str:
    """Reshape; one size may be symbolic, and others if they keep their position."""
    if all(isinstance(d, int) for d in dims):
        return g.reshaped(x, static(dims))
    codes: list[int] = []
    for i, d in enumerate(dims):
        stays = i < x.rank and x.shape[i] == d
        codes.append(d if isinstance(d, int) else 0 if stays else -1)
    copies = [c for c, d in zip(codes, dims, strict=True) if c == 0 and not isinstance(d, int)]
    if codes.count(-1) <= 1 and codes.count(0) == len(copies):
        return g.add("Reshape", x, g.ints(codes))
    return g.add("Reshape", x, g.sizes_as_value(dims, x), allowzero=1)


@exports("reshape_like")
def reshape_like(g: Graph, op: Any, x: Value, like: Value) -> str:
    """The shape of another tensor."""
    if all(isinstance(d, int) for d in g.result.shape):
        return g.reshaped(x, g.result.sizes())
    return g.add("Reshape", x, g.sizes_as_value(g.result.shape, x, like), allowzero=1)


@exports("dyn.reshape")
def dyn_reshape(g: Graph, op: Any, x: Value, sizes: Value) -> str:
    """A shape that is known at run time."""
    return g.add("Reshape", x, g.cast(sizes, "int64"), allowzero=int(op.allowzero))


@exports("nn.batch_flatten")
def batch_flatten(g: Graph, op: Any, x: Value) -> str:
    """The first axis, and the others as one."""
    return g.add("Flatten", x, axis=1)


@exports("transpose")
def transpose(g: Graph, op: Any, x: Value) -> str:
    """The axes in another order."""
    axes = range(x.rank)[::-1] if op.axes is None else [a % x.rank for a in op.axes]
    return g.transposed(x, list(axes))


@exports("expand_dims")
def expand_dims(g: Graph, op: Any, x: Value) -> str:
    """New axes of size 1."""
    first = op.axis if op.axis >= 0 else op.axis + x.rank + 1
    axes = range(first, first + op.num_newaxis)
    if x.array is not None:
        return g.reshaped(x, g.result.sizes())
    return g.add("Unsqueeze", x, g.ints(axes)) if op.num_newaxis else g.add("Identity", x)


@exports("squeeze")
def squeeze(g: Graph, op: Any, x: Value) -> str:
    """Without axes of size 1."""
    given = [i for i, d in enumerate(x.shape) if d == 1] if op.axis is None else op.axis
    axes = [a % x.rank for a in ([given] if isinstance(given, int) else given)]
    return g.add("Squeeze", x, g.ints(axes)) if axes else g.add("Identity", x)


@exports("broadcast_to")
def broadcast_to(g: Graph, op: Any, x: Value) -> str:
    """Stretched to a shape."""
    return g.add("Expand", x, g.ints(g.result.sizes()))


@exports("dyn.broadcast_to")
def dyn_broadcast_to(g: Graph, op: Any, x: Value, sizes: Value) -> str:
    """Stretched to sizes that are known at run time."""
    return g.add("Expand", x, g.cast(sizes, "int64"))


@exports("broadcast_to_like")
def broadcast_to_like(g: Graph, op: Any, x: Value, like: Value) -> str:
    """Stretched to the shape of another tensor."""
    return g.add("Expand", x, g.add("Shape", like))


@exports("zeros", "ones")
def filled(g: Graph, op: Any) -> str:
    """A tensor of one number."""
    return _of_shape(g, g.ints(op.shape), int(op.name == "ones"), op.dtype)


@exports("zeros_like", "ones_like")
def filled_like(g: Graph, op: Any, x: Value) -> str:
    """A tensor of one number, as large as another."""
    return _of_shape(g, g.add("Shape", x), int(op.name == "ones_like"), x.dtype)


def _of_shape(g: Graph, sizes: str, number: int, dtype: str) -> str:
    from relay.frontend.onnx.export.graph import tensor_of

    one = tensor_of(np.asarray([number], to_numpy(dtype)), "value")
    return g.add("ConstantOfShape", sizes, value=one)


@exports("full")
def full(g: Graph, op: Any, x: Value) -> str:
    """A tensor of one number."""
    return g.add("Expand", g.cast(x, g.result.dtype), g.ints(op.shape))


@exports("full_like")
def full_like(g: Graph, op: Any, like: Value, x: Value) -> str:
    """A tensor of one number, as large as another."""
    return g.add("Expand", g.cast(x, like.dtype), g.add("Shape", like))


@exports("arange")
def arange(g: Graph, op: Any, *bounds: Value) -> str:
    """Numbers one step apart."""
    if not bounds:
        start, stop, step = op.start or 0, op.stop, 1 if op.step is None else op.step
        return g.add("Identity", g.constant(np.arange(start, stop, step), op.dtype))
    if len(bounds) != 3:
        refuse("only some of its bounds as operands")
    return g.add("Range", *bounds)


@exports("shape_of")
def shape_of(g: Graph, op: Any, x: Value) -> str:
    """The sizes."""
    return g.cast(g.add("Shape", x), op.dtype)


@exports("ndarray_size")
def ndarray_size(g: Graph, op: Any, x: Value) -> str:
    """The number of elements."""
    return g.cast(g.add("Size", x), op.dtype)


@exports("reverse")
def reverse(g: Graph, op: Any, x: Value) -> str:
    """Backwards along an axis."""
    return g.add("Slice", x, g.ints([-1]), g.ints([AXIS_BEGIN]), g.ints([op.axis % x.rank]), g.ints([-1]))


@exports("strided_slice")
def strided_slice(g: Graph, op: Any, x: Value) -> str:
    """A part between places."""
    axes = op.cut_axes(x.rank)
    if not axes:
        return g.add("Identity", x)
    begins = [b for b, _ in zip_longest(op.begin, axes, fillvalue=0)]
    ends = [e for e, _ in zip_longest(op.end, axes)]
    if op.slice_mode in ("size", "exact"):
        ends = [_end_of_size(b, size) for b, size in zip(begins, ends, strict=True)]
        return g.add("Slice", x, g.ints(begins), g.ints(ends), g.ints(axes))
    strides = [s for s, _ in zip_longest(op.strides or (), axes, fillvalue=1)][: len(axes)]
    ends = [
        (AXIS_END if s > 0 else AXIS_BEGIN) if e is None else e for e, s in zip(ends, strides, strict=True)
    ]
    return g.add("Slice", x, g.ints(begins), g.ints(ends), g.ints(axes), g.ints(strides))


def _end_of_size(begin: int, size: int | None) -> int:
    """Where so many elements from a place on end; what counts from the end may end there."""
    if size is None or size < 0 or begin + size == 0 > begin:
        return AXIS_END
    return begin + size


@exports("dyn.strided_slice")
def dyn_strided_slice(g: Graph, op: Any, x: Value, begin: Value, end: Value, strides: Value) -> str:
    """A part between places that are known at run time."""
    if op.slice_mode in ("size", "exact"):
        refuse(f'slice_mode="{op.slice_mode}"')
    axes = g.ints(range(begin.size(0)) if op.axes is None else op.axes)
    return g.add("Slice", x, *[g.cast(v, "int64") for v in (begin, end)], axes, g.cast(strides, "int64"))


@exports("slice_like")
def slice_like(g: Graph, op: Any, x: Value, like: Value) -> str:
    """As much of each axis, or of some, as another tensor has."""
    axes = [a % x.rank for a in op.axes or ()] or list(range(min(x.rank, like.rank)))
    if not axes:
        return g.add("Identity", x)
    ends = g.add("Gather", g.add("Shape", like), g.ints(axes))
    return g.add("Slice", x, g.ints([0] * len(axes)), ends, g.ints(axes))


@exports("nn.pad")
def pad(g: Graph, op: Any, x: Value, value: Value | None = None) -> str:
    """A border."""
    return _padded(g, x, op.pad_width, op.pad_mode, value)


@exports("nn.mirror_pad", fits=lambda op: op.mode == "REFLECT")
def mirror_pad(g: Graph, op: Any, x: Value) -> str:
    """A border that mirrors the tensor."""
    return _padded(g, x, op.pad_width, "reflect", None)


def _padded(g: Graph, x: Value, widths: Any, mode: str, value: Value | None) -> str:
    sizes = g.ints([w[0] for w in widths] + [w[1] for w in widths])
    return g.add("Pad", x, sizes, value if mode == "constant" else None, mode=mode)


@exports("collapse_sum_to")
def collapse_sum_to(g: Graph, op: Any, x: Value) -> str:
    """Summed over what broadcasting has stretched."""
    wanted = g.result.sizes()
    front = x.rank - len(wanted)
    axes = [i for i in range(x.rank) if i < front or wanted[i - front] != x.shape[i]]
    found = g.add("ReduceSum", x, g.ints(axes)) if axes else x.name
    return g.reshaped(found, wanted)


@exports("collapse_sum_like")
def collapse_sum_like(g: Graph, op: Any, x: Value, like: Value) -> str:
    """Summed over what broadcasting has stretched."""
    return collapse_sum_to(g, op, x)


@exports("reinterpret")
def reinterpret(g: Graph, op: Any, x: Value) -> str:
    """Reinterpret the bits, if the dtype is unchanged."""
    if op.dtype != x.dtype:
        refuse("bits of another dtype, which ONNX has from version 26 on")
    number_of(op.dtype)
    return g.add("Identity", x)
