"""Elements by index."""

from typing import Any

import numpy as np

from relay.frontend.support import cast
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import axis_of
from relay.frontend.value import Value, call, constant


@converts("aten.embedding")
def embedding(node: Node, weight: Value, indices: Value, *_: Any) -> Value:
    """A row of a table for each index."""
    return call("take", weight, indices, axis=0)


@converts("aten._embedding_bag", "aten._embedding_bag_forward_only")
def embedding_bag(node: Node, weight: Value, indices: Value, offsets: Value, *rest: Any) -> Any:
    """Rows of a table, summed (0), averaged (1), or the greatest (2) in each bag; that of padding is none."""
    mode, weights, last, padding = rest[1], rest[3], bool(rest[4]), rest[5]
    if node.wants(1) or node.wants(2) or node.wants(3):
        return node.fail("only its first result is supported")
    rows = call("take", weight, indices, axis=0)
    rows = rows if weights is None else rows * call("expand_dims", weights, axis=1)
    at = constant(list(range(indices.size(0))), "int64")
    starts = cast(offsets, "int64")
    if last:
        starts = call("strided_slice", starts, begin=(0,), end=(offsets.size(0) - 1,))
    begun = call("less_equal", call("expand_dims", starts, axis=0), call("expand_dims", at, axis=1))
    bag = call("sum", cast(begun, "int64"), axis=(1,)) - 1
    count = starts.size(0)
    numbers = constant([[i] for i in range(count)], "int64")
    inside = call("equal", numbers, call("expand_dims", bag, axis=0))
    if padding >= 0:
        inside = call("logical_and", inside, call("not_equal", indices, padding))
    if mode == 2:
        return (greatest_of_bags(rows, inside),)
    belongs = cast(inside, rows.dtype)
    total = call("nn.matmul", belongs, rows)
    if mode == 1:
        sizes = call("maximum", call("sum", belongs, axis=(1,), keepdims=True), 1)
        total = total / sizes
    return (total,)


def greatest_of_bags(rows: Value, inside: Value) -> Value:
    """The greatest of the rows that are in each bag, by element; 0 for a bag without any."""
    least = constant(-np.inf, rows.dtype)
    kept = call("where", call("expand_dims", inside, axis=2), call("expand_dims", rows, axis=0), least)
    some = call("any", inside, axis=(1,), keepdims=True)
    return call("where", some, call("max", kept, axis=(1,)), constant(0, rows.dtype))


@converts("aten.index_select", "aten.index_select.default")
def index_select(node: Node, x: Value, dim: int, indices: Value) -> Value:
    """The parts of an axis at indices."""
    if x.rank == 0:
        return x
    indices = indices if indices.rank else call("reshape", indices, newshape=(1,))
    return call("take", x, indices, axis=axis_of(dim, x.rank), mode="wrap")


@converts("aten.take_along_dim")
def take_along_dim(node: Node, x: Value, indices: Value, dim: int | None = None) -> Value:
    """An element along an axis for each index, where the other axes broadcast."""
    if dim is None:
        return call(
            "take", call("reshape", x, newshape=(-1,)), call("reshape", indices, newshape=(-1,)), axis=0
        )
    axis = axis_of(dim, x.rank)
    rest = [max(a, b) for a, b in zip(x.sizes(), indices.sizes(), strict=True)]
    x = call("broadcast_to", x, shape=(*rest[:axis], x.size(axis), *rest[axis + 1 :]))
    places = call("broadcast_to", indices, shape=(*rest[:axis], indices.size(axis), *rest[axis + 1 :]))
    return gather(node, x, dim, places)


@converts("aten.gather")
def gather(node: Node, x: Value, dim: int, indices: Value, *_: Any) -> Value:
    """An element along an axis for each index."""
    if x.rank == 0:
        return call("broadcast_to", x, shape=indices.sizes()) if indices.rank else x
    return call("gather", x, cast(indices, "int64"), axis=axis_of(dim, x.rank))


@converts("aten.take")
def take(node: Node, x: Value, indices: Value) -> Value:
    """Elements of the flattened tensor."""
    return call("take", call("reshape", x, newshape=(-1,)), indices, axis=0, mode="wrap")


@converts("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(node: Node, x: Value, indices: list[Value | None]) -> Value:
    """Elements at indices of some axes, as `x[i, :, j]`."""
    indices = in_places(indices)
    used = [a for a, i in enumerate(indices) if i is not None]
    if not used:
        return x
    places = [i for i in indices if i is not None]
    if len(used) == 1:
        return call("take", x, places[0], axis=used[0], mode="wrap")
    others = [a for a in range(x.rank) if a not in used]
    turned = call("transpose", x, axes=(*used, *others)) if used != list(range(len(used))) else x
    found = call("adv_index", (turned, *places))
    together = used == list(range(used[0], used[0] + len(used)))
    front = used[0] if together else 0
    wide = found.rank - len(others)
    order = (*range(wide, wide + front), *range(wide), *range(wide + front, found.rank))
    return found if order == tuple(range(found.rank)) else call("transpose", found, axes=order)


def in_places(indices: list[Value | None]) -> list[Value | None]:
    """Indices with masks as the places where they hold."""
    found: list[Value | None] = []
    for i in indices:
        if i is not None and i.dtype in ("bool", "uint8"):
            points = call("argwhere", cast(i, "bool"))
            found += [
                cast(call("take", points, constant(k, "int64"), axis=1), "int64") for k in range(i.rank)
            ]
        else:
            found.append(i)
    return found


@converts("aten.masked_select")
def masked_select(node: Node, x: Value, mask: Value) -> Value:
    """The elements for which a mask holds."""
    shape = call("broadcast_to_like", x, cast(mask, x.dtype) + x) if x.shape != mask.shape else x
    wide = call("broadcast_to_like", cast(mask, "int32"), cast(shape, "int32"))
    return index(node, shape, [cast(wide, "bool")])


@converts("aten.nonzero")
def nonzero(node: Node, x: Value) -> Value:
    """The coordinates of the elements that are not zero, a row for each."""
    return cast(call("argwhere", cast(x, "bool") if x.dtype != "bool" else x), "int64")


@converts("aten.where.default")
def nonzero_coordinates(node: Node, x: Value) -> Any:
    """The coordinates of the elements that are not zero, a vector for each axis."""
    return in_places([cast(x, "bool")])


@converts("aten.item", "aten._local_scalar_dense")
def item(node: Node, x: Value) -> Value:
    """The only element."""
    return x if x.rank == 0 else call("reshape", x, newshape=())


@converts("aten.one_hot")
def one_hot(node: Node, x: Value, classes: int = -1) -> Value:
    """1 at the place of each index along a new axis, else 0."""
    if classes < 0:
        return node.fail("the number of classes must be given")
    return call(
        "one_hot", x, constant(1, "int64"), constant(0, "int64"), depth=classes, axis=-1, dtype="int64"
    )


@converts("aten.searchsorted.Tensor", "aten.bucketize.Tensor")
def searchsorted(node: Node, a: Value, b: Value, *_: Any) -> Value:
    """Where elements would be put in a sorted sequence."""
    edges, x = (a, b) if "searchsorted" in node.operator else (b, a)
    sorter = node.option("sorter")
    edges = edges if sorter is None else call("gather", edges, sorter, axis=edges.rank - 1)
    right = bool(node.option("right", False)) or node.option("side") == "right"
    return cast(call("searchsorted", edges, cast(x, edges.dtype), right=right), node.dtype)
