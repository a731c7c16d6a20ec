"""Recurrent networks: `rnn_tanh`, `rnn_relu`, `gru`, `lstm`, layer after layer."""

from collections.abc import Callable, Sequence
from typing import Any

from relay.frontend.recurrence import Cell, gates, run_direction
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.value import Value, call, constant

Advance = Callable[[Value, Value, Sequence[Value]], list[Value]]
"""The next states from what the input and the output before say, and the states; the output is the first."""


def lstm_states(ours: Value, theirs: Value, states: Sequence[Value]) -> list[Value]:
    """Input, forget, cell and output gates."""
    i, f, g, o = gates(ours + theirs, 4)
    new = call("sigmoid", f) * states[1] + call("sigmoid", i) * call("tanh", g)
    return [call("sigmoid", o) * call("tanh", new), new]


def gru_states(ours: Value, theirs: Value, states: Sequence[Value]) -> list[Value]:
    """Reset, update and new gates."""
    r, z, n = gates(ours, 3)
    hr, hz, hn = gates(theirs, 3)
    new = call("tanh", n + call("sigmoid", r + hr) * hn)
    return [new + call("sigmoid", z + hz) * (states[0] - new)]


def plain_states(function: str) -> Advance:
    """One gate."""

    def advance(ours: Value, theirs: Value, states: Sequence[Value]) -> list[Value]:
        return [call(function, ours + theirs)]

    return advance


def cell_of(advance: Advance, weight: Value, bias: list[Value], tied: Value | None) -> Cell:
    """A step with the weight and bias of the output before; `tied` projects the output."""

    def step(x: Value, states: Sequence[Value], kept: Sequence[Value]) -> list[Value]:
        first, *rest = kept
        output, *others = advance(x, layer(states[0], first, rest[: len(bias)]), states)
        return [output if tied is None else call("nn.dense", output, rest[-1]), *others]

    return Cell(step, (weight, *bias, *([] if tied is None else [tied])))


def layer(x: Value, weight: Value, bias: list[Value]) -> Value:
    """`x @ weight.T + bias`."""
    found = call("nn.dense", x, weight)
    return found + bias[0] if bias else found


def run(
    x: Value, initial: list[Value], params: list[Value], biases: bool, layers: int, both: bool, first: bool,
    advance: Advance,
) -> list[Value]:  # fmt: skip
    """All outputs, and the last states of each layer and direction."""
    alone = x.rank == 2
    if alone:
        x, initial = call("expand_dims", x, axis=1), [call("expand_dims", v, axis=1) for v in initial]
    elif first:
        x = call("transpose", x, axes=(1, 0, 2))
    directions = 2 if both else 1
    each = len(params) // (layers * directions)
    finals: list[list[Value]] = []
    for k in range(layers):
        outputs: list[Value] = []
        for d in range(directions):
            n = k * directions + d
            own = params[n * each : (n + 1) * each]
            tied = own[-1] if each == (5 if biases else 3) else None
            states = [call("take", v, constant(n, "int64"), axis=0) for v in initial]
            ours, theirs = (own[2:3], own[3:4]) if biases else ([], [])
            cell = cell_of(advance, own[1], theirs, tied)
            found, last = run_direction(layer(x, own[0], ours), states, cell, None, d == 1)
            outputs.append(found)
            finals.append(last)
        x = call("concatenate", tuple(outputs), axis=2) if both else outputs[0]
    ends = [call("stack", tuple(column), axis=0) for column in zip(*finals, strict=True)]
    if alone:
        return [call("squeeze", v, axis=(1,)) for v in (x, *ends)]
    return [call("transpose", x, axes=(1, 0, 2)) if first else x, *ends]


@converts("aten.lstm.input")
def lstm(
    node: Node, x: Value, states: list[Value], params: list[Value], biases: bool, layers: int, rate: float,
    training: bool, both: bool, first: bool,
) -> Any:  # fmt: skip
    """Layers with a memory."""
    refuse_dropout(node, rate, training, layers)
    return tuple(run(x, states, params, biases, layers, both, first, lstm_states))


@converts("aten.gru.input", "aten.rnn_tanh.input", "aten.rnn_relu.input")
def gru(
    node: Node, x: Value, state: Value, params: list[Value], biases: bool, layers: int, rate: float,
    training: bool, both: bool, first: bool,
) -> Any:  # fmt: skip
    """Layers whose output is their state."""
    refuse_dropout(node, rate, training, layers)
    known = {"gru": gru_states, "rnn_tanh": plain_states("tanh"), "rnn_relu": plain_states("nn.relu")}
    chosen = known[node.operator.split(".")[1]]
    return tuple(run(x, [state], params, biases, layers, both, first, chosen))


def refuse_dropout(node: Node, rate: float, training: bool, layers: int) -> None:
    """Between layers, in training, there is dropout."""
    if rate and training and layers > 1:
        node.fail("dropout draws from PyTorch's generator", hint="export module.eval()")
