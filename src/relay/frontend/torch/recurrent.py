"""Recurrent networks: `rnn_tanh`, `rnn_relu`, `gru`, `lstm`, layer after layer."""

from collections.abc import Callable
from typing import Any

from relay.frontend.recurrence import Step, gates, run_direction
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.value import Value, call, constant


def lstm_step(weights: list[Value], tied: Value | None) -> Step:
    """Input, forget, cell and output gates; `tied` projects the output."""

    def step(x: Value, states: list[Value]) -> list[Value]:
        h, c = states
        i, f, g, o = gates(layer(x, weights[0], weights[2:3]) + layer(h, weights[1], weights[3:4]), 4)
        new = call("sigmoid", f) * c + call("sigmoid", i) * call("tanh", g)
        out = call("sigmoid", o) * call("tanh", new)
        return [out if tied is None else call("nn.dense", out, tied), new]

    return step


def gru_step(weights: list[Value], tied: Value | None) -> Step:
    """Reset, update and new gates."""

    def step(x: Value, states: list[Value]) -> list[Value]:
        h = states[0]
        ours = gates(layer(x, weights[0], weights[2:3]), 3)
        theirs = gates(layer(h, weights[1], weights[3:4]), 3)
        reset, update = (call("sigmoid", a + b) for a, b in zip(ours[:2], theirs[:2], strict=True))
        new = call("tanh", ours[2] + reset * theirs[2])
        return [new + update * (h - new)]

    return step


def plain_step(function: str) -> Callable[[list[Value], Value | None], Step]:
    """One gate."""

    def make(weights: list[Value], tied: Value | None) -> Step:
        def step(x: Value, states: list[Value]) -> list[Value]:
            total = layer(x, weights[0], weights[2:3]) + layer(states[0], weights[1], weights[3:4])
            return [call(function, total)]

        return step

    return make


def layer(x: Value, weight: Value, bias: list[Value]) -> Value:
    """`x @ weight.T + bias`."""
    found = call("nn.dense", x, weight)
    return found + bias[0] if bias else found


def run(
    x: Value, initial: list[Value], params: list[Value], biases: bool, layers: int, both: bool, first: bool,
    make: Callable[[list[Value], Value | None], Step],
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
            step = make(own[:-1] if tied is not None else own, tied)
            found, last = run_direction(x, states, step, None, d == 1)
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
    return tuple(run(x, states, params, biases, layers, both, first, lstm_step))


@converts("aten.gru.input", "aten.rnn_tanh.input", "aten.rnn_relu.input")
def gru(
    node: Node, x: Value, state: Value, params: list[Value], biases: bool, layers: int, rate: float,
    training: bool, both: bool, first: bool,
) -> Any:  # fmt: skip
    """Layers whose output is their state."""
    refuse_dropout(node, rate, training, layers)
    make = {"gru": gru_step, "rnn_tanh": plain_step("tanh"), "rnn_relu": plain_step("nn.relu")}
    chosen = make[node.operator.split(".")[1]]
    return tuple(run(x, [state], params, biases, layers, both, first, chosen))


def refuse_dropout(node: Node, rate: float, training: bool, layers: int) -> None:
    """Between layers, in training, there is dropout."""
    if rate and training and layers > 1:
        node.fail("dropout draws from PyTorch's generator", hint="export module.eval()")
