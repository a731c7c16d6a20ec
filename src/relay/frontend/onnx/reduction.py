"""Reductions along axes."""

from collections.abc import Callable
from typing import Any

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.support import axes_in, axis_in, cast, root_of
from relay.frontend.value import Value, call

Rule = Callable[[Value, dict[str, Any]], Value]


def _simple(name: str) -> Rule:
    return lambda x, how: call(name, x, **how)


def _extreme(name: str, of_truths: str) -> Rule:
    return lambda x, how: call(of_truths if x.dtype == "bool" else name, x, **how)


def _in_floats(f: Rule) -> Rule:
    """A function of floats; of whole numbers, what it gives, without its fraction."""

    def rule(x: Value, how: dict[str, Any]) -> Value:
        return f(x, how) if x.is_float else cast(f(cast(x, "float64"), how), x.dtype)

    return rule


RULES: dict[str, Rule] = {
    "ReduceSum": _simple("sum"),
    "ReduceMean": lambda x, how: call("mean", x, **how, keep_dtype=not x.is_float),
    "ReduceProd": _simple("prod"),
    "ReduceMax": _extreme("max", "any"),
    "ReduceMin": _extreme("min", "all"),
    "ReduceL1": lambda x, how: call("sum", call("abs", x), **how),
    "ReduceL2": _in_floats(lambda x, how: root_of(call("sum", x * x, **how))),
    "ReduceSumSquare": lambda x, how: call("sum", x * x, **how),
    "ReduceLogSum": _in_floats(lambda x, how: call("log", call("sum", x, **how))),
    "ReduceLogSumExp": _in_floats(lambda x, how: call("logsumexp", x, **how)),
}


def _reduction(name: str, rule: Rule) -> Callable[..., Any]:
    since = 13 if name == "ReduceSum" else 18

    def convert(node: Node, x: Value, axes: Value | None = None) -> Value:
        along = node.axes(axes, since)
        if not along:
            if node.int("noop_with_empty_axes", 0):
                return _alone(name, x)
            along = list(range(x.rank))
        if x.rank == 0:
            return _alone(name, x)
        return rule(x, {"axis": tuple(axes_in(along, x.rank)), "keepdims": bool(node.int("keepdims", 1))})

    return convert


def _alone(name: str, x: Value) -> Value:
    """The reduction of each element on its own."""
    match name:
        case "ReduceL1" | "ReduceL2":
            return call("abs", x)
        case "ReduceSumSquare":
            return x * x
        case "ReduceLogSum":
            return _in_floats(lambda x, how: call("log", x, **how))(x, {})
        case _:
            return x


for _name, _rule in RULES.items():
    converts(_name)(_reduction(_name, _rule))


def _place(name: str) -> Callable[..., Any]:
    def convert(node: Node, x: Value) -> Value:
        axis = axis_in(node.int("axis", 0), x.rank)
        last = bool(node.int("select_last_index", 0))
        found = call(name, x, axis=axis, keepdims=bool(node.int("keepdims", 1)), select_last_index=last)
        return cast(found, "int64")

    return convert


converts("ArgMax")(_place("argmax"))
converts("ArgMin")(_place("argmin"))
