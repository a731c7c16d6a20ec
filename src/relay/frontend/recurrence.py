"""Recurrences over the steps of a sequence: a few are written out, many or any number are a function."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relay.frontend.rounds import Round, rounds
from relay.frontend.support import sizes_as_value
from relay.frontend.value import Value, call, constant, fields, union
from relay.ir.expr import Let, Var

WRITTEN_OUT = 16
"""So many steps are written out at most."""


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
    """A function of the first step and their number, as `rounds` has it."""
    outside = [x, *cell.kept, *([] if lengths is None else [lengths])]
    bound = [v if v.array is not None else v.named(Var(f"kept{k}", v.type)) for k, v in enumerate(outside)]
    x_in, kept = bound[0], tuple(bound[1 : 1 + len(cell.kept)])
    inside = Cell(cell.step, kept)
    limits = None if lengths is None else bound[-1]

    def turn(t: Value, before: list[Value]) -> Round:
        output, after = advanced(inside, x_in, t, before, limits)
        return Round([output], after)

    def nothing(_: list[Value]) -> list[Value]:
        row = call("expand_dims", states[0], axis=0)
        return [call("strided_slice", row, begin=(0,), end=(0,), axes=(0,))]

    total = call("take", sizes_as_value(x_in), constant(0, "int64"), axis=0)
    found = rounds(turn, states, total, nothing)
    whole = found.expr
    for v, o in zip(reversed(bound), reversed(outside), strict=True):
        if v is not o:
            assert isinstance(v.expr, Var)
            whole = Let(v.expr, o.expr, whole)
    rows, *last = fields(Value(whole, found.type, sources=union([*outside, *states])))
    return rows, last


def gates(x: Value, count: int) -> list[Value]:
    """The parts of each gate along the last axis."""
    return list(fields(call("split", x, indices_or_sections=count, axis=x.rank - 1))) if count > 1 else [x]
