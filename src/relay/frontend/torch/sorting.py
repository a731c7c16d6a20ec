"""Elements in order."""

from typing import Any

from relay.frontend.support import cast
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import axis_of
from relay.frontend.value import Value, call, constant


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
    order = call("argsort", numbers(x), axis=axis, is_ascend=not descending, dtype="int64")
    if not node.wants(1):
        return (cast(call("sort", numbers(x), axis=axis, is_ascend=not descending), x.dtype), order)
    return call("gather", x, order, axis=axis), order


def numbers(x: Value) -> Value:
    """Truths as numbers, which have an order."""
    return cast(x, "int8") if x.dtype == "bool" else x


@converts("aten.argsort")
def argsort(node: Node, x: Value, dim: int = -1, descending: bool = False) -> Value:
    """Where the elements in order are."""
    dim, descending = node.option("dim", dim), node.option("descending", descending)
    return call("argsort", numbers(x), axis=axis_of(dim, x.rank), is_ascend=not descending, dtype="int64")


@converts("aten.topk")
def topk(node: Node, x: Value, k: Any, dim: int = -1, largest: bool = True, ordered: bool = True) -> Any:
    """The greatest or least elements along an axis, and where they are."""
    if x.rank == 0:
        return x, constant(0, "int64")
    if not isinstance(k, int):
        return call("dyn.topk", x, k, axis=axis_of(dim, x.rank), is_ascend=not largest, dtype="int64")
    if k == 0:
        return node.fail("the 0 greatest elements")
    return call("topk", x, k=k, axis=axis_of(dim, x.rank), is_ascend=not largest, dtype="int64")


@converts("aten.kthvalue")
def kthvalue(node: Node, x: Value, k: int, dim: int = -1, keep: bool = False) -> Any:
    """The element at a place in the order along an axis, and where it is."""
    axis = axis_of(dim, x.rank)
    order = call("argsort", x, axis=axis, is_ascend=True, dtype="int64")
    place = call("take", order, constant([k - 1], "int64"), axis=axis)
    found = call("gather", x, place, axis=axis)
    return (found, place) if keep else tuple([call("squeeze", v, axis=(axis,)) for v in (found, place)])


@converts("aten.median.dim")
def median(node: Node, x: Value, dim: int, keep: bool = False) -> Any:
    """The element in the middle of the order along an axis, and where it is."""
    return kthvalue(node, x, (x.size(axis_of(dim, x.rank)) + 1) // 2, dim, keep)
