"""`scan`: a graph for each row of some tensors, which carries states and gives rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay.frontend.recurrence import WRITTEN_OUT
from relay.frontend.rounds import Round, rounds
from relay.frontend.support import sizes_as_value
from relay.frontend.torch.control import as_values, in_type_of, unpacked
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.value import Value, call, constant
from relay.ir.type import TupleType


@converts("scan")
def scan_rows(
    node: Node, graph: Any, initial: list[Any], rows: list[Value], given: Sequence[Any] = ()
) -> Any:
    """The last states, and the stacked rows that the graph gives."""
    states = as_values(initial)
    if not rows:
        return node.fail("it goes through the rows of a tensor at least")
    steps = rows[0].shape[0]
    if isinstance(steps, int) and 1 <= steps <= WRITTEN_OUT:
        return steps_in_line(node, graph, states, rows, given, steps)

    def turn(i: Value, before: list[Value]) -> Round:
        scope = node.scope.inner(graph, node.name)
        found = as_values(scope.run([*before, *rows_at(rows, i), *given]))
        return Round(found[len(before) :], in_types(found, before), None, scope.bindings.around)

    def nothing(parts: list[Value]) -> list[Value]:
        if not all(isinstance(d, int) for p in parts for d in p.shape):
            node.fail("the sizes of what it gives must be known where there may be no row")
        return [constant(np.zeros((0, *p.shape)), p.dtype) for p in parts]

    total = call("take", sizes_as_value(rows[0]), constant(0, "int64"), axis=0)
    names = [f"{node.name}.{i}" for i in range(len(states))]
    whole = rounds(turn, states, total, nothing, names)
    assert isinstance(whole.type, TupleType)
    parts = unpacked(node, whole, whole.type.fields)
    given_rows = len(parts) - len(states)
    return [*parts[given_rows:], *parts[:given_rows]]


def steps_in_line(
    node: Node, graph: Any, states: list[Value], rows: list[Value], given: Sequence[Any], steps: int
) -> list[Value]:
    """One step after another."""
    count, columns = len(states), list[list[Value]]()
    for t in range(steps):
        scope = node.scope.inner(graph, f"{node.name}.{t}")
        found = as_values(scope.run([*states, *rows_at(rows, constant(t, "int64")), *given]))
        node.scope.bindings.made += scope.bindings.made
        states = in_types(found, states)
        columns.append(found[count:])
    return [*states, *[call("stack", parts, axis=0) for parts in zip(*columns, strict=True)]]


def in_types(found: list[Value], states: Sequence[Value]) -> list[Value]:
    """The states that a step gives, in the dtypes that they have."""
    return [in_type_of(v, s.type) for v, s in zip(found, states, strict=False)]


def rows_at(rows: Sequence[Value], i: Value) -> list[Value]:
    """Row `i` of each tensor."""
    return [call("take", x, i, axis=0) for x in rows]
