"""`If`, `Loop` and `Scan`: choices, and functions that call themselves."""

from collections.abc import Sequence
from math import inf
from typing import Any

from relay.frontend.onnx.containers import Items, Nothing
from relay.frontend.onnx.graph import Scope
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.support import cast, loosened, same_kind, scalar, sizes_as_value
from relay.frontend.value import (
    NeedsValueError,
    Value,
    call,
    constant,
    fields,
    tuple_of,
    type_in,
    union,
)  # fmt: skip
from relay.ir.expr import Call, Expr, Function, If, Let, Tuple, Var
from relay.ir.type import ANY, TensorType, TupleType, Type

LONGEST = 1024
"""So many rounds are written out at most."""


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
    if condition.array is not None:
        name = "then_branch" if condition.array.reshape(-1)[0] else "else_branch"
        return inlined(node, *branch(node, node.graph(name), name))
    yes, then = branch(node, node.graph("then_branch"), "then_branch")
    no, otherwise = branch(node, node.graph("else_branch"), "else_branch")
    for a, b in zip(then, otherwise, strict=True):
        if isinstance(a, Items | Nothing) or isinstance(b, Items | Nothing):
            raise NeedsValueError("which branch is taken", condition.sources)
        if same_kind(a.type) != same_kind(b.type) and condition.sources:
            raise NeedsValueError("which branch is taken", condition.sources)
        if same_kind(a.type) != same_kind(b.type):
            return node.fail(f"its branches give {a.type} and {b.type}")
    if len(then) == 1:
        return chosen(node, condition, yes, no, then[0], otherwise[0])
    whole = chosen(node, condition, yes, no, tuple_of(then), tuple_of(otherwise))
    return bound_fields(node, whole)


def chosen(node: Node, condition: Value, yes: Scope, no: Scope, a: Value, b: Value) -> Value:
    """A choice between two values, each within the bindings of its scope."""
    flag = scalar(condition)
    probe = If(flag.stand_in, a.stand_in, b.stand_in)
    t = type_in(probe, node.mod)
    choice = If(flag.expr, yes.bindings.around(a.expr), no.bindings.around(b.expr))
    return Value(choice, t, sources=union([condition, a, b]))


def bound_fields(node: Node, whole: Value) -> tuple[Value, ...]:
    """The fields of a tuple, which is bound to a variable first."""
    var = Var(f"{node.scope.prefix}{node.name}", span=node.span)
    node.scope.bindings.made.append((var, whole.expr))
    return fields(Value(var, whole.type, sources=whole.sources))


def unrolled(node: Node, count: Value | None, condition: Value | None, state: list[Value]) -> Any:
    """A loop of a known number of rounds, one after another: it carries a sequence known by its elements."""
    rounds = inf if count is None else int(count.number("the number of rounds"))
    going = True if condition is None else bool(condition.number("whether the loop begins"))
    body = node.graph("body")
    names = [i.name for i in body.input]
    rows: list[list[Value]] = []
    k = 0
    while going and k < rounds:
        if k == LONGEST:
            return node.fail(f"it carries a sequence through more than {LONGEST} rounds")
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


class Round:
    """One conversion of a loop's body for carried values of given types."""

    def __init__(self, node: Node, body: Any, names: Sequence[str], types: Sequence[Type]) -> None:
        """Variables of those names and types are bound, then the graph is converted."""
        self.scope = node.scope.inner()
        self.variables = [Var(n, t, span=node.span) for n, t in zip(names, types, strict=True)]
        for n, var, t in zip(names, self.variables, types, strict=True):
            self.scope.values[n] = Value(var, t, sources=frozenset({f"{node.name}.{n}"}))
        self.node = node
        self.body = body

    def run(self) -> list[Value]:
        """The results of the graph."""
        return self.scope.run(self.body, f"{self.node.scope.importer.name}:{self.node.name}.body")


@converts("Loop")
def loop(node: Node, count: Value | None = None, condition: Value | None = None, *carried: Value) -> Any:
    """Rounds of a graph: so many, or while a condition holds; results of each round are stacked."""
    if any(isinstance(v, Items | Nothing) for v in carried):
        return unrolled(node, count, condition, list(carried))
    body = node.graph("body")
    names = [i.name for i in body.input]
    kept = len(carried)
    types: list[Type] = [TensorType((), "int64"), TensorType((), "bool")]
    types += [v.type for v in carried]
    one, results, types = carried_types(node, body, names, types, 1)
    going, after, scans = results[0], results[1 : 1 + kept], results[1 + kept :]
    rows = [stack_type(s) for s in scans]
    collected = [Var(f"scan{i}", t) for i, t in enumerate(rows)]
    recur = Var(f"{node.name}_loop", span=node.span)
    i, more, *state = one.variables
    grown = [appended(c, s, i) for c, s in zip(collected, scans, strict=True)]
    step = call("add", Value(i, types[0]), constant(1, "int64"))
    again = one.scope.bindings.around(
        Call(recur, (step.expr, scalar(going).expr, *[v.expr for v in after], *[g.expr for g in grown]))
    )
    done = Tuple((*state, *collected))
    result_type = TupleType([*types[2:], *rows])
    test: Expr = more
    if count is not None:
        inside = call("less", Value(i, types[0]), cast(scalar(count), "int64"))
        test = call("logical_and", Value(more, types[1]), inside).expr
    function = Function((*one.variables, *collected), If(test, again, done), result_type, span=node.span)
    begin = [constant(0, "int64"), constant(True) if condition is None else scalar(condition), *carried]
    empties = [empty_of(t) for t in rows]
    whole = Let(recur, function, Call(recur, tuple([v.expr for v in (*begin, *empties)])))
    inputs = [*begin, *([count] if count is not None else []), *results]
    outer = frozenset(s for s in union(inputs) if not s.startswith(f"{node.name}."))
    return bound_fields(node, Value(whole, result_type, sources=outer))


def carried_types(
    node: Node, body: Any, names: Sequence[str], first: Sequence[Type], start: int
) -> tuple[Round, list[Value], list[Type]]:
    """A round whose carried values, the last ones of `first`, have types that its results keep."""
    types = list(first)
    count = len(types) - 2
    for _ in range(8):
        one = Round(node, body, names, types)
        results = one.run()
        after = [r.type for r in results[start : start + count]]
        looser = [*types[:2], *[loosened(a, b) for a, b in zip(types[2:], after, strict=True)]]
        if looser == types:
            return one, results, types
        types = looser
    return node.fail("the sizes of what it carries do not settle")


def stack_type(x: Value) -> TensorType:
    """The type of any number of tensors, stacked."""
    return TensorType((ANY, *x.shape), x.dtype)


def appended(rows: Var, x: Value, index: Expr) -> Value:
    """Rows with one more; the first one says how long those are whose size is not known."""
    before = Value(rows, rows.type_annotation or stack_type(x))
    one = call("expand_dims", x, axis=0)
    more = call("concatenate", (before, one), axis=0)
    if all(isinstance(d, int) for d in x.shape):
        return more
    first = call("equal", Value(index, TensorType((), "int64")), constant(0, "int64"))
    return Value(If(first.expr, one.expr, more.expr), stack_type(x), sources=more.sources)


def empty_of(t: TensorType) -> Value:
    """No rows."""
    assert isinstance(t.shape, tuple)
    return call(
        "full",
        constant(0, str(t.dtype)),
        shape=(0, *[d if isinstance(d, int) else 0 for d in t.shape[1:]]),
    )


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
    """A scan as a function that calls itself."""
    names = [i.name for i in node.graph("body").input]
    kept = len(state)
    back = node.ints("scan_input_directions", [0] * len(scanned))
    axes = [a % v.rank for a, v in zip(axes, scanned, strict=True)]
    index = Var("i", TensorType((), "int64"))
    length = call("take", sizes_as_value(scanned[0]), constant(axes[0], "int64"), axis=0)
    parts: list[Value] = []
    for v, a, b in zip(scanned, axes, back, strict=True):
        at = Value(index, TensorType((), "int64"))
        parts.append(call("take", v, (length - 1 - at) if b else at, axis=a))
    scope, variables, results, types = scan_round(node, names, [v.type for v in state], parts)
    after, scans = results[:kept], results[kept:]
    rows = [stack_type(s) for s in scans]
    collected = [Var(f"scan{i}", t) for i, t in enumerate(rows)]
    recur = Var(f"{node.name}_scan", span=node.span)
    forward = node.ints("scan_output_directions", [0] * len(scans))
    grown = [appended(c, s, index) for c, s in zip(collected, scans, strict=True)]
    step = call("add", Value(index, TensorType((), "int64")), constant(1, "int64"))
    again = scope.bindings.around(
        Call(recur, (step.expr, *[v.expr for v in after], *[g.expr for g in grown]))
    )
    test = call("less", Value(index, TensorType((), "int64")), length)
    result_type = TupleType([*types, *rows])
    done = Tuple((*variables, *collected))
    function = Function(
        (index, *variables, *collected), If(test.expr, again, done), result_type, span=node.span
    )
    begin = [constant(0, "int64"), *state, *[empty_of(t) for t in rows]]
    whole = Let(recur, function, Call(recur, tuple([v.expr for v in begin])))
    found = list(bound_fields(node, Value(whole, result_type, sources=union([*state, *scanned]))))
    for k, v in enumerate(found[kept:]):
        v = call("reverse", v, axis=0) if forward[k] else v
        axis = out_axes[k] % v.rank if out_axes else 0
        order = [*range(1, axis + 1), 0, *range(axis + 1, v.rank)]
        found[kept + k] = call("transpose", v, axes=tuple(order)) if axis else v
    return tuple(found)


def scan_round(
    node: Node, names: Sequence[str], first: Sequence[Type], parts: Sequence[Value]
) -> tuple[Scope, list[Var], list[Value], list[Type]]:
    """A round of a scan whose state has types that its results keep."""
    types = list(first)
    for _ in range(8):
        scope = node.scope.inner()
        variables = [Var(n, t, span=node.span) for n, t in zip(names, types, strict=False)]
        scope.values.update({n: Value(v, t) for n, v, t in zip(names, variables, types, strict=False)})
        for n, part in zip(names[len(types) :], parts, strict=True):
            scope.bind(n, part)
        results = scope.run(node.graph("body"), f"{node.scope.importer.name}:{node.name}.body")
        looser = [loosened(a, r.type) for a, r in zip(types, results, strict=False)]
        if looser == types:
            return scope, variables, results, types
        types = looser
    return node.fail("the sizes of its state do not settle")
