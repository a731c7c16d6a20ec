"""Recurrences over the steps of a sequence: a few are written out, many or any number are a function."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relay.frontend.support import ascribed, loosened, sizes_as_value
from relay.frontend.value import Value, call, constant, fields, union
from relay.ir.expr import Call, Expr, Function, If, Let, Tuple, Var
from relay.ir.type import ANY, TensorType, TupleType, Type

WRITTEN_OUT = 16
"""So many steps are written out at most."""
COUNT = TensorType((), "int64")


@dataclass(frozen=True)
class Cell:
    """What happens in a step.

    `step` takes the input of a step, the states and `kept`, which does not change from step to step, and
    gives the next states, the first of which is the output.
    """

    step: Callable[[Value, Sequence[Value], Sequence[Value]], list[Value]]
    kept: tuple[Value, ...]


def run_direction(
    x: Value, states: list[Value], cell: Cell, lengths: Value | None, back: bool
) -> tuple[Value, list[Value]]:
    """All outputs and the last states of one direction over `x (time, batch, input)`."""
    if lengths is not None and back:
        x = call("reverse_sequence", x, lengths, seq_axis=0, batch_axis=1)
    elif back:
        x = call("reverse", x, axis=0)
    steps = x.shape[0]
    few = isinstance(steps, int) and steps <= WRITTEN_OUT
    found, last = (written_out if few else repeated)(x, states, cell, lengths)
    if lengths is not None and back:
        found = call("reverse_sequence", found, lengths, seq_axis=0, batch_axis=1)
    elif back:
        found = call("reverse", found, axis=0)
    return found, last


def advanced(
    cell: Cell, x: Value, t: Value, states: Sequence[Value], lengths: Value | None
) -> tuple[Value, list[Value]]:
    """The output and the states of step `t`; a sequence that has ended gives zeros and keeps its states."""
    new = cell.step(call("take", x, t, axis=0), states, cell.kept)
    if lengths is None:
        return new[0], new
    alive = call("expand_dims", call("greater", call("cast", lengths, dtype="int64"), t), axis=1)
    output = call("where", alive, new[0], constant(0, new[0].dtype))
    return output, [call("where", alive, n, s) for n, s in zip(new, states, strict=True)]


def written_out(
    x: Value, states: list[Value], cell: Cell, lengths: Value | None
) -> tuple[Value, list[Value]]:
    """One step after another."""
    outputs: list[Value] = []
    for t in range(x.size(0)):
        output, states = advanced(cell, x, constant(t, "int64"), states, lengths)
        outputs.append(output)
    return call("stack", tuple(outputs), axis=0), states


def repeated(x: Value, states: list[Value], cell: Cell, lengths: Value | None) -> tuple[Value, list[Value]]:
    """A function of the first step and their number, which does one half of them after the other.

    So every output is copied as often as their number can be halved, not once for each step that follows.
    """
    outside = [x, *cell.kept, *([] if lengths is None else [lengths])]
    bound = [v if v.array is not None else v.named(Var(f"kept{k}", v.type)) for k, v in enumerate(outside)]
    x_in, kept = bound[0], tuple(bound[1 : 1 + len(cell.kept)])
    inside = Cell(cell.step, kept)
    limits = None if lengths is None else bound[-1]
    first, count = (Var(name, COUNT) for name in ("first", "count"))
    start, number = Value(first, COUNT), Value(count, COUNT)
    types = [v.type for v in states]
    while True:
        held = [Var(f"state{k}", t) for k, t in enumerate(types)]
        before = [Value(v, t) for v, t in zip(held, types, strict=True)]
        output, after = advanced(inside, x_in, start, before, limits)
        looser = [loosened(t, v.type) for t, v in zip(types, after, strict=True)]
        if looser == types:
            break
        types = looser
    rows = TensorType((ANY, *output.shape), output.dtype)
    result = TupleType([rows, *types])
    recur = Var("steps")
    one = Tuple((call("expand_dims", output, axis=0).expr, *[v.expr for v in after]))
    body = If(call("equal", number, 1).expr, one, halves(recur, start, number, before, result))
    function = Function((first, count, *held), body, result)
    total = call("take", sizes_as_value(x_in), constant(0, "int64"), axis=0)
    whole: Expr = Call(recur, (constant(0, "int64").expr, total.expr, *[v.expr for v in states]))
    if not isinstance(x.shape[0], int):
        none = call("strided_slice", call("expand_dims", states[0], axis=0), begin=(0,), end=(0,), axes=(0,))
        nothing = Tuple((none.expr, *[v.expr for v in states]))
        whole = If(call("greater", total, 0).expr, whole, nothing)
    whole = Let(recur, function, whole)
    for v, o in zip(reversed(bound), reversed(outside), strict=True):
        if v is not o:
            assert isinstance(v.expr, Var)
            whole = Let(v.expr, o.expr, whole)
    found, *last = fields(Value(whole, result, sources=union([*outside, *states])))
    return ascribed(found, (x.shape[0], *output.shape)), last


def halves(recur: Var, first: Value, count: Value, states: Sequence[Value], result: Type) -> Expr:
    """The first half of some steps and then the second."""
    half = call("floor_divide", count, 2)
    early = Var("early", result)
    a = fields(Value(early, result))
    late = Var("late", result)
    b = fields(Value(late, result))
    rows = call("concatenate", (a[0], b[0]), axis=0)
    begun = Call(recur, (first.expr, half.expr, *[v.expr for v in states]))
    ended = Call(recur, ((first + half).expr, (count - half).expr, *[v.expr for v in a[1:]]))
    done = Tuple((rows.expr, *[v.expr for v in b[1:]]))
    return Let(early, begun, Let(late, ended, done))


def gates(x: Value, count: int) -> list[Value]:
    """The parts of each gate along the last axis."""
    return list(fields(call("split", x, indices_or_sections=count, axis=x.rank - 1))) if count > 1 else [x]
