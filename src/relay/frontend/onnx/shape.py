"""Shapes: asking for them, changing them, and dtypes."""

from math import prod
from typing import Any

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.onnx.scales import FLOAT8E8M0, Scales, from_scales, to_scales
from relay.frontend.onnx.tensors import dtype_of
from relay.frontend.support import (
    axes_in,
    axis_in,
    cast,
    expand_to,
    merged,
    reshape_to,
    sizes_as_value,
    stretched,
    with_rest,
)  # fmt: skip
from relay.frontend.value import Value, call, constant, sizes_of
from relay.ir.dtype import is_float
from relay.ir.type import Dim


@converts("Shape")
def shape(node: Node, x: Value) -> Value:
    """The sizes, or some of them."""
    start, end = node.int("start", 0), node.int("end", None)
    begin, stop, _ = slice(start, end).indices(x.rank)
    whole = sizes_as_value(x)
    if (begin, stop) == (0, x.rank):
        return whole
    part = x.shape[begin:stop]
    if all(isinstance(d, int) for d in part):
        return constant(np.asarray(part, "int64"))
    return call("strided_slice", whole, begin=(begin,), end=(max(begin, stop),))


@converts("Size")
def size(node: Node, x: Value) -> Value:
    """The number of elements."""
    if all(isinstance(d, int) for d in x.shape):
        return constant(np.asarray(prod(x.sizes()), "int64"))
    return call("prod", sizes_as_value(x))


@converts("Reshape")
def reshape(node: Node, x: Value, sizes: Value | None = None) -> Value:
    """Reshape."""
    copies = not node.int("allowzero", 0)
    known = None if sizes is None else sizes_of(sizes)
    if sizes is not None and known is None:
        return call("dyn.reshape", x, cast(sizes, "int64"), allowzero=not copies)
    wanted: list[Any] = node.ints("shape", []) if known is None else list(known.reshape(-1))
    dims: list[Dim] = []
    for i, d in enumerate(wanted):
        copied = isinstance(d, int) and d == 0 and copies
        dims.append(x.shape[i] if copied and i < x.rank else d)
    if -1 in dims:
        return with_rest(x, dims, sizes)
    return reshape_to(x, dims, sizes)


@converts("Flatten")
def flatten(node: Node, x: Value) -> Value:
    """A matrix: the axes before one, and the others."""
    axis = node.int("axis", 1)
    return merged(x, axis + x.rank if axis < 0 else axis)


@converts("Squeeze")
def squeeze(node: Node, x: Value, axes: Value | None = None) -> Value:
    """Without axes of size 1."""
    along = node.axes(axes, 13)
    if along is None:
        along = [i for i, d in enumerate(x.shape) if d == 1]
    return call("squeeze", x, axis=tuple(axes_in(along, x.rank))) if along else x


@converts("Unsqueeze")
def unsqueeze(node: Node, x: Value, axes: Value | None = None) -> Value:
    """With new axes of size 1."""
    along = node.axes(axes, 13) or []
    rank = x.rank + len(along)
    for a in sorted(axes_in(along, rank)):
        x = call("expand_dims", x, axis=a)
    return x


@converts("Transpose")
def transpose(node: Node, x: Value) -> Value:
    """The axes in another order."""
    order = node.ints("perm", None) or list(range(x.rank))[::-1]
    return call("transpose", x, axes=tuple(order)) if x.rank > 1 else x


@converts("Expand")
def expand(node: Node, x: Value, sizes: Value) -> Value:
    """Stretched as operands of arithmetic are."""
    found = sizes_of(sizes)
    if found is None:
        return expand_to(x, sizes)
    return stretched(x, list(found.reshape(-1)), sizes)


@converts("Tile", since=6)
def tile(node: Node, x: Value, repeats: Value) -> Value:
    """The tensor so many times along each axis."""
    return call("tile", x, reps=tuple(repeats.numbers("the repeats"))) if x.rank else x


@converts("Tile")
def tile_along(node: Node, x: Value, count: Value, axis: Value) -> Value:
    """The tensor so many times along one axis."""
    reps = [1] * x.rank
    reps[axis_in(int(axis.number("the axis")), x.rank)] = int(count.number("the count"))
    return call("tile", x, reps=tuple(reps))


@converts("Cast")
def convert_cast(node: Node, x: Value) -> Value:
    """Another dtype."""
    given = node.attributes["to"]
    if given.i == FLOAT8E8M0:
        return to_scales(node, x)
    to = dtype_of(given.i) if given.i else str(given.s, "utf-8").lower().replace("float", "float32")
    return cast_to(node, x, to)


@converts("CastLike")
def cast_like(node: Node, x: Value, like: Value) -> Value:
    """The dtype of another tensor."""
    if isinstance(like, Scales):
        return to_scales(node, x)
    return cast_to(node, x, like.dtype)


def cast_to(node: Node, x: Value, to: str) -> Value:
    """Another dtype; what is too large for a float of 8 bits becomes the greatest one (`saturate`)."""
    if isinstance(x, Scales):
        return from_scales(x, to)
    if "string" in (x.dtype, to) and x.dtype != to:
        return node.fail("conversions between numbers and strings are unsupported")
    if is_float(x.dtype) and to.startswith("float8"):
        return to_float8(x, to, bool(node.int("saturate", 1)))
    if is_float(x.dtype) and to in ("int4", "uint4", "int2", "uint2"):
        return cast(cast(x, "int64"), to)
    return cast(x, to)


def to_float8(x: Value, to: str, saturate: bool) -> Value:
    """A float of 8 bits; beyond the greatest one that, or infinity (NaN where there is none)."""
    import ml_dtypes

    wide = cast(x, "float32") if x.dtype != "float64" else x
    library: Any = ml_dtypes
    top = float(library.finfo(to).max)
    if saturate:
        bounded = call("clip", wide, a_min=-top, a_max=top)
        return cast(call("where", call("isnan", wide), wide, bounded), to)
    return cast(x, to)


@converts("BitCast")
def bit_cast(node: Node, x: Value) -> Value:
    """Reinterpret the bits as another dtype of that width."""
    to = dtype_of(node.int("to"))
    if "bool" in (x.dtype, to):
        return cast(x, to)
    return x if to == x.dtype else call("reinterpret", x, dtype=to)
