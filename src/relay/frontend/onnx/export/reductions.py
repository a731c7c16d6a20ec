"""Reductions along axes, running sums, sorting."""

from typing import Any

from relay.frontend.onnx.export.graph import Graph, Value, refuse
from relay.frontend.onnx.export.registry import exports
from relay.ir.dtype import is_float

KINDS = {
    "sum": "ReduceSum", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin", "mean": "ReduceMean",
    "logsumexp": "ReduceLogSumExp",
}  # fmt: skip


@exports(*KINDS)
def reduction(g: Graph, op: Any, x: Value) -> str:
    """A reduction along axes."""
    if op.name == "mean" and not is_float(x.dtype):
        refuse(f"the dtype {x.dtype}")
    return _reduced(g, KINDS[op.name], op, x, x.name)


@exports("any")
def any_of(g: Graph, op: Any, x: Value) -> str:
    """Whether some are true: there are more than none."""
    return g.cast(_reduced(g, "ReduceSum", op, x, g.cast(x, "int32")), "bool")


@exports("all")
def all_of(g: Graph, op: Any, x: Value) -> str:
    """Whether none is false."""
    wrong = g.cast(g.add("Not", g.cast(x, "bool")), "int32")
    return g.add("Not", g.cast(_reduced(g, "ReduceSum", op, x, wrong), "bool"))


def _reduced(g: Graph, kind: str, op: Any, x: Value, name: str) -> str:
    axes = op.axes(x.rank)
    if not axes:
        return g.add(kind, name, g.ints([]), keepdims=1, noop_with_empty_axes=1)
    return g.add(kind, name, g.ints(axes), keepdims=int(op.keepdims))


@exports("argmax", "argmin")
def place(g: Graph, op: Any, x: Value) -> str:
    """Where the greatest or the least element is."""
    axes = op.axes(x.rank)
    name = x.name
    if len(axes) > 1:
        if len(axes) < x.rank or op.keepdims:
            refuse("several axes")
        name, axes = g.add("Reshape", x, g.ints([-1])), (0,)
    if not axes:
        refuse("no axis")
    found = g.add(
        "ArgMax" if op.name == "argmax" else "ArgMin", name,
        axis=axes[0], keepdims=int(op.keepdims), select_last_index=int(op.select_last_index),
    )  # fmt: skip
    return g.cast(found, g.result.dtype)


@exports("cumsum")
def cumsum(g: Graph, op: Any, x: Value) -> str:
    """Running sums."""
    name = g.cast(x, g.result.dtype)
    name = g.add("Reshape", name, g.ints([-1])) if op.axis is None else name
    axis = 0 if op.axis is None else op.axis % x.rank
    return g.add("CumSum", name, g.constant(axis, "int64"), exclusive=int(bool(op.exclusive)))


@exports("topk")
def topk(g: Graph, op: Any, x: Value) -> Any:
    """The greatest or the least elements, and where they are."""
    axis = op.axis % x.rank
    count = g.ints([op.k]) if op.k > 0 else g.add("Shape", x, start=axis, end=axis + 1)
    return _sorted(g, x, count, axis, op)


@exports("dyn.topk")
def dyn_topk(g: Graph, op: Any, x: Value, k: Value) -> Any:
    """As many of the greatest or the least elements as is known at run time."""
    return _sorted(g, x, g.reshaped(g.cast(k, "int64"), (1,)), op.axis % x.rank, op)


def _sorted(g: Graph, x: Value, count: str, axis: int, op: Any) -> Any:
    values, places = g.add("TopK", x, count, outputs=2, axis=axis, largest=int(not op.is_ascend))
    places = g.cast(places, op.dtype)
    return {"both": (values, places), "values": values, "indices": places}[op.ret_type]


@exports("sort")
def sort(g: Graph, op: Any, x: Value) -> str:
    """In order."""
    axis = op.axis % x.rank
    count = g.add("Shape", x, start=axis, end=axis + 1)
    return g.add("TopK", x, count, outputs=2, axis=axis, largest=int(not op.is_ascend))[0]


@exports("argsort")
def argsort(g: Graph, op: Any, x: Value) -> str:
    """The places of the elements in order."""
    axis = op.axis % x.rank
    count = g.add("Shape", x, start=axis, end=axis + 1)
    places = g.add("TopK", x, count, outputs=2, axis=axis, largest=int(not op.is_ascend))[1]
    return g.cast(places, op.dtype)
