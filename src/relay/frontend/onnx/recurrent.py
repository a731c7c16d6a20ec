"""Recurrent networks: `RNN`, `GRU`, `LSTM`, step after step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from relay.frontend.onnx.activations import ACTIVATIONS, Activation
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.recurrence import Cell, gates, run_direction
from relay.frontend.support import sizes_as_value, stretched
from relay.frontend.value import Value, call, constant

Function = Callable[[Value], Value]
BY_LOWER_NAME = {name.lower(): f for name, f in ACTIVATIONS.items()}
Dense = Callable[..., Value]
"""The product of rows and a weight, which is one tensor or several (with scales)."""
Part = tuple[Sequence[Value], Value | None, Cell]
"""What one direction does: the weight and the bias of all inputs at once, and what happens in a step."""


def plain_dense(x: Value, weight: Value) -> Value:
    """Rows times rows of the weight."""
    return call("nn.dense", x, weight)


@dataclass(frozen=True)
class Settings:
    """The attributes that all of them have."""

    size: int
    directions: int
    backwards: tuple[bool, ...]
    clip: float
    activations: list[Function]
    batch_first: bool


def activations(node: Node, names: Sequence[str]) -> list[Function]:
    """The functions of the gates; their numbers are given in order, to those that have any."""
    given = {
        "alpha": iter(node.floats("activation_alpha", [])),
        "beta": iter(node.floats("activation_beta", [])),
    }
    found: list[Function] = []
    for name in names:
        f = BY_LOWER_NAME.get(name.lower())
        if f is None:
            return node.fail(f"there is no activation `{name}`", hint=f"there are {', '.join(ACTIVATIONS)}")
        numbers = [next(given[key], default) for key, default in f.defaults.items()]
        found.append(partial(_applied, f, numbers))
    return found


def _applied(f: Activation, numbers: Sequence[float], x: Value) -> Value:
    return f.of(x, *numbers)


def settings(node: Node, recurrence: Value, defaults: Sequence[str]) -> Settings:
    """What the node's attributes say."""
    direction = node.text("direction", "forward")
    count = 2 if direction == "bidirectional" else 1
    names = node.texts("activations", None) or list(defaults) * count
    return Settings(
        size=node.int("hidden_size", recurrence.size(2)),
        directions=count,
        backwards={"forward": (False,), "reverse": (True,)}.get(direction, (False, True)),
        clip=node.float("clip", 0.0),
        activations=activations(node, names),
        batch_first=bool(node.int("layout", 0)),
    )


def run(
    s: Settings, x: Value, initial: Sequence[Value | None], lengths: Value | None,
    make: Callable[[int], Part], dense: Dense = plain_dense,
) -> list[Value]:  # fmt: skip
    """Outputs `(time, directions, batch, size)` and the last states `(directions, batch, size)`."""
    if s.batch_first:
        x = call("transpose", x, axes=(1, 0, 2))
        initial = [None if v is None else call("transpose", v, axes=(1, 0, 2)) for v in initial]
    sizes = call("concatenate", (sizes_at(x, 1), constant([s.size], "int64")), axis=0)
    zeros = stretched(constant(0, x.dtype), (x.shape[1], s.size), sizes)
    outputs: list[Value] = []
    finals: list[list[Value]] = []
    for d, back in enumerate(s.backwards):
        states = [zeros if v is None else direction_of(v, d) for v in initial]
        weight, bias, cell = make(d)
        found, last = run_direction(plus(dense(x, *weight), bias), states, cell, lengths, back)
        outputs.append(found)
        finals.append(last)
    whole = call("stack", tuple(outputs), axis=1)
    results = [whole, *[call("stack", tuple(column), axis=0) for column in zip(*finals, strict=True)]]
    if s.batch_first:
        results = [
            call("transpose", results[0], axes=(2, 0, 1, 3)),
            *[call("transpose", v, axes=(1, 0, 2)) for v in results[1:]],
        ]
    return results


def sizes_at(x: Value, axis: int) -> Value:
    """The size of an axis, as a vector."""
    return call("take", sizes_as_value(x), constant([axis], "int64"), axis=0)


def clipped(s: Settings, x: Value) -> Value:
    """The input of a gate."""
    return call("clip", x, a_min=-s.clip, a_max=s.clip) if s.clip > 0 else x


def biases(b: Value | None, d: int) -> tuple[Value | None, Value | None]:
    """The biases of input and recurrence."""
    if b is None:
        return None, None
    first, second = gates(direction_of(b, d), 2)
    return first, second


def plus(x: Value, b: Value | None) -> Value:
    """`x + b`."""
    return x if b is None else x + b


def direction_of(x: Value, d: int) -> Value:
    """The part of a parameter that belongs to a direction."""
    return call("take", x, constant(d, "int64"), axis=0)


def known(*values: Value | None) -> tuple[Value, ...]:
    """Those values that there are."""
    return tuple([v for v in values if v is not None])


@converts("RNN")
def rnn(
    node: Node, x: Value, w: Value, r: Value, b: Value | None = None, lengths: Value | None = None,
    h0: Value | None = None,
) -> Any:  # fmt: skip
    """A layer that feeds its output back."""
    s = settings(node, r, ["Tanh"])

    def make(d: int) -> Part:
        bw, br = biases(b, d)
        f = s.activations[d]

        def step(x: Value, states: Sequence[Value], kept: Sequence[Value]) -> list[Value]:
            return [f(clipped(s, x + call("nn.dense", states[0], kept[0])))]

        return (direction_of(w, d),), total(bw, br), Cell(step, (direction_of(r, d),))

    return tuple(run(s, x, [h0], lengths, make))


def total(a: Value | None, b: Value | None) -> Value | None:
    """The sum of two biases."""
    return a if b is None else b if a is None else a + b


@converts("GRU")
def gru(
    node: Node, x: Value, w: Value, r: Value, b: Value | None = None, lengths: Value | None = None,
    h0: Value | None = None,
) -> Any:  # fmt: skip
    """Gated recurrent units; gates in the order update, reset, new."""
    s = settings(node, r, ["Sigmoid", "Tanh"])
    before = bool(node.int("linear_before_reset", 0))

    def make(d: int) -> Part:
        bw, br = biases(b, d)
        f, g = s.activations[2 * d : 2 * d + 2]
        r_gates, r_new = split_at(direction_of(r, d), 2 * s.size)
        br_gates, br_new = (None, None) if br is None else split_at(br, 2 * s.size)

        def step(x: Value, states: Sequence[Value], kept: Sequence[Value]) -> list[Value]:
            (h,) = states
            gated, new_one, *rest = kept
            b_gates, b_new = rest if rest else (None, None)
            xz, xr, xh = gates(x, 3)
            hz, hr = gates(plus(call("nn.dense", h, gated), b_gates), 2)
            z, reset = f(clipped(s, xz + hz)), f(clipped(s, xr + hr))
            if before:
                new = g(clipped(s, xh + reset * plus(call("nn.dense", h, new_one), b_new)))
            else:
                new = g(clipped(s, xh + plus(call("nn.dense", reset * h, new_one), b_new)))
            return [(1 - z) * new + z * h]

        return (direction_of(w, d),), bw, Cell(step, known(r_gates, r_new, br_gates, br_new))

    return tuple(run(s, x, [h0], lengths, make))


def split_at(x: Value, size: int) -> tuple[Value, Value]:
    """The first so many rows, and the others."""
    first = call("strided_slice", x, begin=(0,), end=(size,), axes=(0,))
    return first, call("strided_slice", x, begin=(size,), end=(None,), axes=(0,))


@converts("LSTM")
def lstm(
    node: Node, x: Value, w: Value, r: Value, b: Value | None = None, lengths: Value | None = None,
    h0: Value | None = None, c0: Value | None = None, p: Value | None = None,
) -> Any:  # fmt: skip
    """Long short-term memory; gates in the order input, output, forget, new."""
    s = settings(node, r, ["Sigmoid", "Tanh", "Tanh"])
    return lstm_of(node, s, plain_dense, x, (w,), (r,), b, lengths, h0, c0, p)


def lstm_of(
    node: Node, s: Settings, dense: Dense, x: Value, w: Sequence[Value], r: Sequence[Value],
    b: Value | None, lengths: Value | None, h0: Value | None, c0: Value | None, p: Value | None,
) -> Any:  # fmt: skip
    """Long short-term memory of some kind of product; first axes of weights are directions."""
    coupled = bool(node.int("input_forget", 0))

    def make(d: int) -> Part:
        peep = () if p is None else gates(direction_of(p, d), 3)
        f, g, h_act = s.activations[3 * d : 3 * d + 3]

        def step(x: Value, states: Sequence[Value], kept: Sequence[Value]) -> list[Value]:
            h, c = states
            weight, holes = kept[: len(r)], kept[len(r) :]
            i, o, forget, new = gates(x + dense(h, *weight), 4)
            if holes:
                i, forget = i + holes[0] * c, forget + holes[2] * c
            i = f(clipped(s, i))
            forget = (1 - i) if coupled else f(clipped(s, forget))
            memory = forget * c + i * g(clipped(s, new))
            o = f(clipped(s, o + holes[1] * memory if holes else o))
            return [o * h_act(memory), memory]

        first, later = (tuple([direction_of(v, d) for v in weights]) for weights in (w, r))
        return first, total(*biases(b, d)), Cell(step, (*later, *peep))

    return tuple(run(s, x, [h0, c0], lengths, make, dense))
