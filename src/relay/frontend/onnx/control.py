"""`If`, `Loop` and `Scan`: choices, and rounds."""

from collections.abc import Sequence
from math import inf
from typing import Any

from relay.frontend.onnx.containers import Items, Nothing
from relay.frontend.onnx.forks import RanksDifferError, bound_fields, chosen
from relay.frontend.onnx.graph import Scope
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.rounds import Round, rounds
from relay.frontend.support import axis_in, cast, same_kind, scalar, sizes_as_value, transpose
from relay.frontend.value import NeedsValueError, Value, call, constant, tuple_of, union

MAX_UNROLLED_ROUNDS = 1024
"""The most rounds of a loop that are unrolled."""


def branch(node: Node, graph: Any, what: str) -> tuple[Scope, list[Value]]:
    """The values of a graph without inputs."""
    scope = node.scope.inner()
    return scope, scope.run(graph, f"{node.scope.importer.name}:{node.name}.{what}")


def inlined(node: Node, scope: Scope, results: list[Value]) -> tuple[Value, ...]:
    """Results of a graph that is certain to run: its bindings join those around."""
    node.scope.bindings.made += scope.bindings.made
    return tuple(results)


@converts("If")
def convert_if(node: Node, condition: Value) -> Any:
    """One of two graphs."""
    decided = node.scope.choices.get(node.name)
    if condition.array is not None:
        decided = bool(condition.array.reshape(-1)[0])
    if decided is not None:
        name = "then_branch" if decided else "else_branch"
        return inlined(node, *branch(node, node.graph(name), name))
    yes, then = branch(node, node.graph("then_branch"), "then_branch")
    no, otherwise = branch(node, node.graph("else_branch"), "else_branch")
    for a, b in zip(then, otherwise, strict=True):
        if isinstance(a, Items | Nothing) or isinstance(b, Items | Nothing):
            raise NeedsValueError("which branch is taken", condition.sources)
        if same_kind(a.type) != same_kind(b.type):
            raise RanksDifferError(node.name, condition)
    if len(then) == 1:
        return chosen(node.mod, condition, yes, no, then[0], otherwise[0])
    whole = chosen(node.mod, condition, yes, no, tuple_of(then), tuple_of(otherwise))
    return bound_fields(node.scope, node.name, whole, node.span)


def unrolled(node: Node, count: Value | None, condition: Value | None, state: list[Value]) -> Any:
    """A loop of a known number of rounds, one after another: it carries a sequence known by its elements."""
    rounds = inf if count is None else int(count.number("the number of rounds"))
    going = True if condition is None else bool(condition.number("whether the loop begins"))
    body = node.graph("body")
    names = [i.name for i in body.input]
    rows: list[list[Value]] = []
    k = 0
    while going and k < rounds:
        if k == MAX_UNROLLED_ROUNDS:
            return node.fail(f"it carries a sequence through more than {MAX_UNROLLED_ROUNDS} rounds")
        scope = node.scope.inner()
        scope.prefix = f"{scope.prefix}{node.name}.{k}/"
        operands = [constant(k, "int64"), constant(True), *state]
        scope.values.update(dict(zip(names, operands, strict=True)))
        results = scope.run(body, f"{node.scope.importer.name}:{node.name}.body")
        node.scope.bindings.made += scope.bindings.made
        going = bool(results[0].number("whether the loop goes on"))
        state, k = results[1 : 1 + len(state)], k + 1
        rows.append(results[1 + len(state) :])
    stacked = [call("stack", column, axis=0) for column in zip(*rows, strict=True)]
    return (*state, *stacked)


@converts("Loop")
def loop(node: Node, count: Value | None = None, condition: Value | None = None, *state: Value) -> Any:
    """Rounds of a graph: so many, or while a condition holds; results of each round are stacked."""
    if any(isinstance(v, Items | Nothing) for v in state):
        return unrolled(node, count, condition, list(state))
    body = node.graph("body")
    first, goes_on, *names = [i.name for i in body.input]

    def turn(index: Value, before: list[Value]) -> Round:
        scope = node.scope.inner()
        scope.values.update({first: index, goes_on: constant(True)})
        for n, v in zip(names, before, strict=True):
            scope.values[n] = Value(v.expr, v.type, sources=frozenset({f"{node.name}.{n}"}))
        going, *results = scope.run(body, f"{node.scope.importer.name}:{node.name}.body")
        always = going.array is not None and bool(going.number("whether the loop goes on"))
        more = None if always else scalar(going)
        return Round(results[len(state) :], results[: len(state)], more, scope.bindings.around)

    limit = None if count is None else node.scope.bind(f"{node.name}.count", cast(scalar(count), "int64"))
    begins = None if condition is None else scalar(condition)
    whole = rounds(turn, state, limit, no_rows, names, begins)
    whole.sources = frozenset(s for s in whole.sources if not s.startswith(f"{node.name}."))
    return states_first(bound_fields(node.scope, node.name, whole, node.span), len(state))


def states_first(found: Sequence[Value], states: int) -> tuple[Value, ...]:
    """The last states, then what was collected."""
    return (*found[len(found) - states :], *found[: len(found) - states])


def no_rows(parts: list[Value]) -> list[Value]:
    """The result of a loop without iterations; unknown sizes are 0."""
    return [
        call("full", constant(0, p.dtype), shape=(0, *[d if isinstance(d, int) else 0 for d in p.shape]))
        for p in parts
    ]


@converts("Scan")
def scan_of_batches(node: Node, lengths: Value | None, *operands: Value) -> Any:
    """Version 8: the scan of each item of a batch."""
    inputs = node.int("num_scan_inputs")
    state, scanned = operands[: len(operands) - inputs], operands[len(operands) - inputs :]
    items = [
        scanned_once(node, [item(v, b) for v in state], [item(v, b) for v in scanned], [0] * inputs, None)
        for b in range(operands[-1].size(0))
    ]
    return tuple([call("stack", parts, axis=0) for parts in zip(*items, strict=True)])


def item(v: Value, index: int) -> Value:
    """One item of a batch."""
    return call("take", v, constant(index, "int64"), axis=0)


@converts("Scan", since=9)
def scan(node: Node, *operands: Value) -> Any:
    """Rounds of a graph over the parts of tensors along an axis; results of each round are stacked."""
    inputs = node.int("num_scan_inputs")
    state, scanned = operands[: len(operands) - inputs], operands[len(operands) - inputs :]
    axes = node.ints("scan_input_axes", [0] * inputs)
    return scanned_once(node, list(state), list(scanned), axes, node.ints("scan_output_axes", None))


def scanned_once(
    node: Node, state: list[Value], scanned: list[Value], axes: Sequence[int], out_axes: Sequence[int] | None
) -> tuple[Value, ...]:
    """A scan, round after round."""
    body = node.graph("body")
    names = [i.name for i in body.input]
    back = node.ints("scan_input_directions", [0] * len(scanned))
    axes = [axis_in(a, v.rank) for a, v in zip(axes, scanned, strict=True)]
    length = call("take", sizes_as_value(scanned[0]), constant(axes[0], "int64"), axis=0)
    length = node.scope.bind(f"{node.name}.length", length)

    def turn(index: Value, before: list[Value]) -> Round:
        scope = node.scope.inner()
        scope.values.update(zip(names, before, strict=False))
        for n, v, a, b in zip(names[len(state) :], scanned, axes, back, strict=True):
            scope.bind(n, call("take", v, (length - 1 - index) if b else index, axis=a))
        results = scope.run(body, f"{node.scope.importer.name}:{node.name}.body")
        return Round(results[len(state) :], results[: len(state)], None, scope.bindings.around)

    whole = rounds(turn, state, length, no_rows, names[: len(state)])
    whole.sources |= union(scanned)
    found = states_first(bound_fields(node.scope, node.name, whole, node.span), len(state))
    rows = [laid_out(node, k, v, out_axes) for k, v in enumerate(found[len(state) :])]
    return (*found[: len(state)], *rows)


def laid_out(node: Node, k: int, rows: Value, axes: Sequence[int] | None) -> Value:
    """Collected rows in their direction, along their axis."""
    directions = node.ints("scan_output_directions", None)
    if directions and directions[k]:
        rows = call("reverse", rows, axis=0)
    axis = axis_in(axes[k], rows.rank) if axes else 0
    return transpose(rows, [*range(1, axis + 1), 0, *range(axis + 1, rows.rank)])
