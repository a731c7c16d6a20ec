"""Elements in order."""

from typing import Any

import numpy as np

from relay.frontend.rounds import Round, rounds
from relay.frontend.slices import sliced
from relay.frontend.support import ascribed, cast, merged, sizes_as_value
from relay.frontend.torch.arrange import rolled
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import axis_of
from relay.frontend.value import Value, call, constant, fields


@converts("aten.sort")
def sort(node: Node, x: Value, *rest: Any) -> Any:
    """Elements in order along an axis, and where they were."""
    dim, descending = rest[-2:] if len(rest) >= 2 else (-1, False)
    if node.operator.endswith("stable"):
        dim, descending = (*rest, -1, False)[:2] if rest and not isinstance(rest[0], bool) else (-1, False)
        if "dim" in node.options:
            dim, descending = node.options["dim"], node.options["descending"]
    if x.rank == 0:
        return x, constant(0, "int64")
    axis = axis_of(dim, x.rank)
    order = call("argsort", x, axis=axis, is_ascend=not descending, dtype="int64")
    if not node.wants(1):
        return call("sort", x, axis=axis, is_ascend=not descending), order
    return call("gather", x, order, axis=axis), order


def orderable(x: Value) -> Value:
    """Return booleans as integers, for operators of numbers."""
    return cast(x, "int8") if x.dtype == "bool" else x


@converts("aten.argsort")
def argsort(node: Node, x: Value, dim: int = -1, descending: bool = False) -> Value:
    """Where the elements in order are."""
    dim, descending = node.option("dim", dim), node.option("descending", descending)
    return call("argsort", x, axis=axis_of(dim, x.rank), is_ascend=not descending, dtype="int64")


@converts("aten.topk")
def topk(node: Node, x: Value, k: Any, dim: int = -1, largest: bool = True, ordered: bool = True) -> Any:
    """The greatest or least elements along an axis, and where they are."""
    if x.rank == 0:
        return x, constant(0, "int64")
    if not isinstance(k, int):
        return call("dyn.topk", x, k, axis=axis_of(dim, x.rank), is_ascend=not largest, dtype="int64")
    if k == 0:
        nothing = sliced(x, [0], [0], [axis_of(dim, x.rank)], [1])
        return nothing, cast(nothing, "int64")
    return call("topk", x, k=k, axis=axis_of(dim, x.rank), is_ascend=not largest, dtype="int64")


@converts("aten.kthvalue")
def kthvalue(node: Node, x: Value, k: int, dim: int = -1, keep: bool = False) -> Any:
    """The element at a place in the order along an axis, and where it is."""
    if x.rank == 0:
        return x, constant(0, "int64")
    axis = axis_of(dim, x.rank)
    order = call("argsort", x, axis=axis, is_ascend=True, dtype="int64")
    place = call("take", order, constant([k - 1], "int64"), axis=axis)
    found = call("gather", x, place, axis=axis)
    return (found, place) if keep else tuple([call("squeeze", v, axis=(axis,)) for v in (found, place)])


@converts("aten.median.dim")
def median(node: Node, x: Value, dim: int, keep: bool = False) -> Any:
    """The element in the middle of the order along an axis, the lower one of two, and where it is.

    Where there is NaN, it is the first of these.
    """
    if x.rank == 0:
        return x, constant(0, "int64")
    axis = axis_of(dim, x.rank)
    found, place = kthvalue(node, x, (x.size(axis) + 1) // 2, dim, keep)
    if not x.is_float:
        return found, place
    is_nan = call("isnan", x)
    there = call("any", is_nan, axis=(axis,), keepdims=keep)
    first = cast(call("argmax", is_nan, axis=axis, keepdims=keep), "int64")
    return call("where", there, constant(np.nan, x.dtype), found), call("where", there, first, place)


@converts("aten.median.default")
def median_of_all(node: Node, x: Value) -> Value:
    """The element in the middle of the order of all, the lower one of two."""
    return median(node, call("reshape", x, newshape=(-1,)), 0)[0]


@converts("aten._unique2", "aten._unique")
def unique(
    node: Node, x: Value, in_order: bool = True, inverse: bool = False, counts: bool = False
) -> tuple[Value, Value | None, Value | None]:
    """The distinct elements in order, which of them each element is, and how often each occurs.

    What is not asked for is empty in PyTorch, and nothing here.
    """
    flat = orderable(call("reshape", x, newshape=(-1,)))
    found = call("unique", flat, is_sorted=True, return_counts=True)
    places = call("reshape", cast(found[2], "int64"), newshape=x.sizes())
    times = cast(found[4], "int64")
    return cast(found[0], x.dtype), places if inverse else None, times if counts else None


@converts("aten.bincount")
def bincount(node: Node, x: Value, weights: Value | None = None, least: int = 0) -> Value:
    """How often each number from 0 on occurs, or the sums of weights."""
    places = cast(x, "int64")
    with_nothing = call("concatenate", (places, constant([least - 1], "int64")), axis=0)
    size = call("max", with_nothing, axis=(0,), keepdims=True) + 1
    zeros = call("dyn.zeros", size, dtype=node.dtype)
    one = call("full_like", cast(places, node.dtype), constant(1, node.dtype))
    added = one if weights is None else cast(weights, node.dtype)
    found = call("scatter_nd", zeros, call("expand_dims", places, axis=0), added, mode="add")
    return ascribed(found, node.shape)


def split_groups(x: Value, is_new: Value, axis: int) -> tuple[Value, Value, Value]:
    """Return the first part of each group along an axis, the group of each part, and the sizes of groups."""
    first = call("reshape", cast(call("argwhere", is_new), "int64"), newshape=(-1,))
    inverse = call("cumsum", cast(is_new, "int64"), axis=0) - 1
    size = call(
        "sum", call("full_like", cast(is_new, "int64"), constant(1, "int64")), axis=(0,), keepdims=True
    )
    ends = call("concatenate", (first, size), axis=0)
    counts = call("strided_slice", ends, begin=(1,), end=(np.iinfo("int64").max,)) - first
    return call("take", x, first, axis=axis), inverse, counts


@converts("aten.unique_consecutive")
def unique_consecutive(
    node: Node, x: Value, inverse: bool = False, counts: bool = False, dim: int | None = None
) -> Any:
    """Return the first of each run of equal elements, the run of each element, and the lengths of runs."""
    parts = call("reshape", x, newshape=(-1,)) if dim is None else x
    axis = 0 if dim is None else axis_of(dim, x.rank)
    others = tuple([a for a in range(parts.rank) if a != axis])
    differs = call("not_equal", parts, rolled(parts, 1, axis))
    differs = call("any", differs, axis=others) if others else differs
    at = call("cumsum", call("full_like", cast(differs, "int64"), constant(1, "int64")), axis=0)
    firsts, groups, sizes = split_groups(parts, call("logical_or", differs, call("equal", at, 1)), axis)
    if dim is None:
        groups = call("reshape", groups, newshape=x.sizes())
    return firsts, groups if inverse else None, sizes if counts else None


@converts("aten.unique_dim")
def unique_dim(
    node: Node, x: Value, dim: int, in_order: bool = True, inverse: bool = False, counts: bool = False
) -> Any:
    """Return the distinct parts along an axis in order, the place of each part among them, and their counts.

    Parts are ranked by their first elements, then by the next ones among parts with equal ranks.
    """
    axis = axis_of(dim, x.rank)
    order = (axis, *[a for a in range(x.rank) if a != axis])
    rows = merged(call("transpose", x, axes=order), 1)
    codes = call("unique", call("reshape", orderable(rows), newshape=(-1,)))[2]
    codes = call("reshape", cast(codes, "int64"), newshape=rows.sizes())

    def turn(i: Value, before: list[Value]) -> Round:
        rank, codes = before
        pairs = rank * call("ndarray_size", codes, dtype="int64") + call("take", codes, i, axis=1)
        return Round([], [cast(call("unique", pairs)[2], "int64"), codes])

    count = call("take", sizes_as_value(rows), constant(1, "int64"), axis=0)
    zeros = call("sum", codes, axis=(1,)) * 0
    rank = rounds(turn, [zeros, codes], count, lambda parts: parts)[0]
    _, first, places, _, sizes = fields(call("unique", rank, return_counts=True))
    return (
        call("take", x, first, axis=axis),
        cast(places, "int64") if inverse else None,
        cast(sizes, "int64") if counts else None,
    )
