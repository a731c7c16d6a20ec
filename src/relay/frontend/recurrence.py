"""Recurrences over the steps of a sequence, written out."""

from collections.abc import Callable

from relay.frontend.value import Value, call, constant, fields

Step = Callable[[Value, list[Value]], list[Value]]
"""The states of the next step, the first of which is the output, from the input and the states."""


def run_direction(
    x: Value, states: list[Value], step: Step, lengths: Value | None, back: bool
) -> tuple[Value, list[Value]]:
    """All outputs and the last states of one direction over `x (time, batch, input)`."""
    steps = x.size(0)
    if lengths is not None and back:
        x = call("reverse_sequence", x, lengths, seq_axis=0, batch_axis=1)
    elif back:
        x = call("reverse", x, axis=0)
    outputs: list[Value] = []
    for t in range(steps):
        new = step(call("take", x, constant(t, "int64"), axis=0), states)
        if lengths is not None:
            alive = call("expand_dims", call("greater", lengths, t), axis=1)
            outputs.append(call("where", alive, new[0], constant(0, new[0].dtype)))
            states = [call("where", alive, n, s) for n, s in zip(new, states, strict=True)]
        else:
            states = new
            outputs.append(new[0])
    found = call("stack", tuple(outputs), axis=0)
    if lengths is not None and back:
        found = call("reverse_sequence", found, lengths, seq_axis=0, batch_axis=1)
    elif back:
        found = call("reverse", found, axis=0)
    return found, states


def gates(x: Value, count: int) -> list[Value]:
    """The parts of each gate along the last axis."""
    return list(fields(call("split", x, indices_or_sections=count, axis=x.rank - 1))) if count > 1 else [x]
