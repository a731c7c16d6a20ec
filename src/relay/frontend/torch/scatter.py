"""Tensors with some elements replaced."""

from typing import Any

from relay.frontend.support import cast, stretched
from relay.frontend.torch.index import in_places
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import axis_of, moved, size_at, vector
from relay.frontend.value import Value, call, constant
from relay.ir.dim import broadcast


def put(node: Node, x: Value, dim: int, indices: Value, updates: Any, reduction: str) -> Value:
    """`x` with updates at the places of indices along an axis."""
    if not isinstance(updates, Value) or (updates.rank == 0 and indices.rank):
        one = updates if isinstance(updates, Value) else constant(updates, x.dtype)
        zeros = call("cast", call("zeros_like", indices), dtype=x.dtype)
        updates = zeros + cast(one, x.dtype)
    updates = cast(updates, x.dtype)
    if updates.shape != indices.shape and updates.rank:
        updates = cut_to(updates, indices)
    if x.rank == 0:
        x, indices, updates = (call("reshape", v, newshape=(1,)) for v in (x, indices, updates))
        made = call("scatter_elements", x, cast(indices, "int64"), updates, axis=0, reduction=reduction)
        return call("reshape", made, newshape=())
    return call(
        "scatter_elements", x, cast(indices, "int64"), updates, axis=axis_of(dim, x.rank), reduction=reduction
    )


def cut_to(x: Value, like: Value) -> Value:
    """The first elements along each axis, as many as another tensor has."""
    return call("slice_like", x, like)


@converts("aten.scatter.src", "aten.scatter.value")
def scatter(node: Node, x: Value, dim: int, indices: Value, updates: Any) -> Value:
    """`x` with elements replaced."""
    return put(node, x, dim, indices, updates, "update")


@converts("aten.scatter.reduce", "aten.scatter.value_reduce")
def scatter_reduced(node: Node, x: Value, dim: int, indices: Value, updates: Any) -> Value:
    """`x` with elements added or multiplied."""
    names = {"add": "add", "multiply": "mul"}
    return put(node, x, dim, indices, updates, names[node.option("reduce")])


@converts("aten.scatter_add")
def scatter_add(node: Node, x: Value, dim: int, indices: Value, updates: Value) -> Value:
    """`x` with elements added."""
    return put(node, x, dim, indices, updates, "add")


@converts("aten.scatter_reduce.two")
def scatter_reduce(node: Node, x: Value, dim: int, indices: Value, updates: Value, reduce: str) -> Value:
    """`x` with elements combined; without `include_self` its own ones do not count where others come."""
    names = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}
    own = node.options.get("include_self", True)
    if own and reduce in names:
        return put(node, x, dim, indices, updates, names[reduce])
    kept = x
    if not own:
        neutral = {"sum": 0, "mean": 0, "prod": 1, "amax": -float("inf"), "amin": float("inf")}[reduce]
        if not x.is_float and reduce in ("amax", "amin"):
            return node.fail(f"`{reduce}` without include_self is of floats only")
        kept = put(node, x, dim, indices, neutral, "update")
    total = put(node, kept, dim, indices, updates, names.get(reduce, "add"))
    if reduce != "mean":
        return total
    ones = call("zeros_like", x) if not own else call("ones_like", x)
    count = put(node, ones, dim, indices, 1, "add")
    count = call("maximum", count, 1)
    return total / count if x.is_float else call("floor_divide", total, count)


@converts("aten.copy")
def copy(node: Node, x: Value, source: Value, *_: Any) -> Value:
    """The elements of a source, repeated to the shape of `x`."""
    return stretched(cast(source, x.dtype), list(x.shape), vector([size_at(x, a) for a in range(x.rank)]))


@converts("aten.index_put", "aten._unsafe_index_put")
def index_put(
    node: Node, x: Value, indices: list[Value | None], values: Value, accumulate: bool = False
) -> Value:
    """`x` with values at indices of some axes, as `x[i, :, j] = values`."""
    values = cast(values, x.dtype)
    masked = [i for i in indices if i is not None and i.dtype in ("bool", "uint8")]
    if masked and len(indices) == 1 and values.rank == 0 and not accumulate:
        mask = call("expand_dims", masked[0], axis=masked[0].rank, num_newaxis=x.rank - masked[0].rank) \
            if x.rank > masked[0].rank else masked[0]  # fmt: skip
        return call("where", cast(mask, "bool"), values, x)
    indices = in_places(indices)
    used = [a for a, i in enumerate(indices) if i is not None]
    others = [a for a in range(x.rank) if a not in used]
    order = (*used, *others)
    turned = call("transpose", x, axes=order) if order != tuple(range(x.rank)) else x
    points = points_of([i for i in indices if i is not None], [size_at(x, a) for a in used])
    wide = points.rank - 1
    together = used == list(range(used[0], used[0] + len(used)))
    updates = spread(values, points, turned, len(used), wide, used[0] if together else 0)
    mode = "add" if accumulate else "update"
    found = call("scatter_nd", turned, points, updates, mode=mode)
    if turned is x:
        return found
    back = [order.index(a) for a in range(x.rank)]
    return call("transpose", found, axes=tuple(back))


def points_of(places: list[Value], sizes: list[Any]) -> Value:
    """Indices that broadcast, as points whose coordinates are along the first axis; none is negative."""
    whole = cast(places[0], "int64")
    for p in places[1:]:
        whole = whole * 0 + cast(p, "int64") * 0 if whole.shape != p.shape else whole
    rows: list[Value] = []
    for p, size in zip(places, sizes, strict=True):
        p = cast(p, "int64")
        p = call("where", call("less", p, 0), p + size, p)
        rows.append(p if p.shape == whole.shape else p + whole * 0)
    return call("stack", tuple(rows), axis=0)


def spread(values: Value, points: Value, x: Value, count: int, wide: int, front: int) -> Value:
    """Values as `points.shape[1:] + x.shape[count:]`; in them, `front` of the latter axes come first."""
    rest = list(range(count, x.rank))
    outer = [(points, a + 1) for a in range(wide)]
    inner = [(x, a) for a in rest]
    axes = [*inner[:front], *outer, *inner[front:]]
    dims = [v.shape[a] for v, a in axes]
    if values.shape != tuple(dims):
        own = [*[1] * (len(dims) - values.rank), *values.shape]
        if any(broadcast(a, b) is None for a, b in zip(own, dims, strict=True)):
            raise ValueError(f"values of shape {values.shape} do not fit {tuple(dims)}")
        values = stretched(values, dims, vector([size_at(v, a) for v, a in axes]))
    order = (*range(front, front + wide), *range(front), *range(front + wide, values.rank))
    return values if order == tuple(range(values.rank)) else call("transpose", values, axes=order)


@converts("aten.index_copy", "aten.index_add", "aten.index_fill.int_Scalar")
def index_copy(node: Node, x: Value, dim: int, indices: Value, source: Any) -> Value:
    """`x` with the parts at indices of an axis replaced, or with others added to them."""
    if x.rank == 0:
        x, *new = [call("reshape", v, newshape=(1,)) for v in (x, source) if isinstance(v, Value)]
        return call("reshape", index_copy(node, x, 0, indices, new[0] if new else source), newshape=())
    axis = axis_of(dim, x.rank)
    indices = indices if indices.rank else call("reshape", indices, newshape=(1,))
    whole = moved(x, axis, 0)
    if isinstance(source, Value):
        new = moved(cast(source, x.dtype), axis, 0)
    else:
        rows = call("take", whole, indices, axis=0, mode="wrap")
        new = call("full_like", rows, constant(source, x.dtype))
    alpha = node.option("alpha", 1)
    adds = "add" in node.operator
    points = points_of([indices], [size_at(x, axis)])
    new = new * alpha if adds and alpha != 1 else new
    return moved(call("scatter_nd", whole, points, new, mode="add" if adds else "update"), 0, axis)


@converts("aten.masked_scatter")
def masked_scatter(node: Node, x: Value, mask: Value, source: Value) -> Value:
    """`x` with elements replaced, where a mask holds, by those of a source in order."""
    flags = cast(mask, "int64")
    wide = flags if mask.shape == x.shape else flags + cast(call("zeros_like", x), "int64")
    flat = call("reshape", wide, newshape=(-1,))
    place = call("maximum", call("cumsum", flat, axis=0) - 1, 0)
    taken = call("take", call("reshape", cast(source, x.dtype), newshape=(-1,)), place, axis=0)
    taken = call("reshape_like", taken, x)
    return call("where", cast(wide, "bool"), taken, x)


@converts("aten.diagonal_scatter")
def diagonal_scatter(node: Node, x: Value, source: Value, offset: int = 0, a: int = 0, b: int = 1) -> Value:
    """`x` with a diagonal replaced."""
    i, j = axis_of(a, x.rank), axis_of(b, x.rank)
    if (i, j) != (x.rank - 2, x.rank - 1):
        return node.fail("the diagonal must be of the last two axes")
    return call("matrix_set_diag", x, cast(source, x.dtype), k=offset)
