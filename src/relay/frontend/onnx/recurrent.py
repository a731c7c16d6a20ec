"""Recurrent networks: `RNN`, `GRU`, `LSTM`, step after step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.products import matmul
from relay.frontend.recurrence import Step, gates, run_direction
from relay.frontend.value import Value, call, constant

Activation = Callable[[Value], Value]


@dataclass(frozen=True)
class Settings:
    """The attributes that all of them have."""

    size: int
    directions: int
    backwards: tuple[bool, ...]
    clip: float
    activations: list[Activation]
    batch_first: bool


def activation(name: str, alpha: float | None, beta: float | None) -> Activation:
    """A function of the gates."""

    def given(x: float | None, default: float) -> float:
        return default if x is None else x

    match name.lower():
        case "sigmoid" | "tanh":
            return lambda x: call(name.lower(), x)
        case "relu":
            return lambda x: call("nn.relu", x)
        case "affine":
            return lambda x: x * given(alpha, 1.0) + given(beta, 0.0)
        case "leakyrelu":
            return lambda x: call("nn.leaky_relu", x, alpha=given(alpha, 0.01))
        case "hardsigmoid":
            return lambda x: call("clip", x * given(alpha, 0.2) + given(beta, 0.5), a_min=0.0, a_max=1.0)
        case "softsign":
            return lambda x: x / (call("abs", x) + 1)
        case "softplus":
            return lambda x: call("log", call("exp", x) + 1)
        case "scaledtanh":
            return lambda x: call("tanh", x * given(beta, 1.0)) * given(alpha, 1.0)
        case "thresholdedrelu":
            edge = given(alpha, 1.0)
            return lambda x: call("where", call("greater", x, edge), x, constant(0, x.dtype))
        case _:  # elu
            return lambda x: call(
                "where", call("greater", x, 0.0), x, (call("exp", x) - 1) * given(alpha, 1.0)
            )


def settings(node: Node, recurrence: Value, defaults: Sequence[str]) -> Settings:
    """What the node's attributes say."""
    direction = node.text("direction", "forward")
    count = 2 if direction == "bidirectional" else 1
    names = node.texts("activations", None) or list(defaults) * count
    alphas, betas = node.floats("activation_alpha", []), node.floats("activation_beta", [])
    functions = [
        activation(n, alphas[i] if i < len(alphas) else None, betas[i] if i < len(betas) else None)
        for i, n in enumerate(names)
    ]
    return Settings(
        size=node.int("hidden_size", recurrence.size(2)),
        directions=count,
        backwards={"forward": (False,), "reverse": (True,)}.get(direction, (False, True)),
        clip=node.float("clip", 0.0),
        activations=functions,
        batch_first=bool(node.int("layout", 0)),
    )


def of_direction(x: Value | None, d: int) -> Value | None:
    """The part of a parameter that belongs to a direction."""
    return None if x is None else call("take", x, constant(d, "int64"), axis=0)


def run(
    s: Settings, x: Value, initial: Sequence[Value | None], lengths: Value | None, make: Callable[[int], Step]
) -> list[Value]:
    """Outputs `(time, directions, batch, size)` and the last states `(directions, batch, size)`."""
    if s.batch_first:
        x = call("transpose", x, axes=(1, 0, 2))
        initial = [None if v is None else call("transpose", v, axes=(1, 0, 2)) for v in initial]
    batch = x.size(1)
    outputs: list[Value] = []
    finals: list[list[Value]] = []
    for d, back in enumerate(s.backwards):
        zeros = call("full", constant(0, x.dtype), shape=(batch, s.size))
        states = [of_direction(v, d) or zeros for v in initial]
        found, last = run_direction(x, states, make(d), lengths, back)
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


def clipped(s: Settings, x: Value) -> Value:
    """The input of a gate."""
    return call("clip", x, a_min=-s.clip, a_max=s.clip) if s.clip > 0 else x


def flipped(w: Value) -> Value:
    """A matrix, transposed."""
    return call("transpose", w, axes=(1, 0))


def biases(b: Value | None, d: int, parts: int) -> list[Value | None]:
    """The biases of input and recurrence."""
    row = of_direction(b, d)
    return [None, None] if row is None else list(gates(row, 2)) if parts else [row]


def plus(x: Value, b: Value | None) -> Value:
    """`x + b`."""
    return x if b is None else x + b


@converts("RNN")
def rnn(
    node: Node, x: Value, w: Value, r: Value, b: Value | None = None, lengths: Value | None = None,
    h0: Value | None = None,
) -> Any:  # fmt: skip
    """A layer that feeds its output back."""
    s = settings(node, r, ["Tanh"])

    def make(d: int) -> Step:
        wd, rd = flipped(_part(w, d)), flipped(_part(r, d))
        bw, br = biases(b, d, 2)
        f = s.activations[d]

        def step(xt: Value, states: list[Value]) -> list[Value]:
            return [f(clipped(s, plus(matmul(xt, wd), bw) + plus(matmul(states[0], rd), br)))]

        return step

    return tuple(run(s, x, [h0], lengths, make))


def _part(x: Value, d: int) -> Value:
    found = of_direction(x, d)
    assert found is not None
    return found


@converts("GRU")
def gru(
    node: Node, x: Value, w: Value, r: Value, b: Value | None = None, lengths: Value | None = None,
    h0: Value | None = None,
) -> Any:  # fmt: skip
    """Gated recurrent units; gates in the order update, reset, new."""
    s = settings(node, r, ["Sigmoid", "Tanh"])
    before = bool(node.int("linear_before_reset", 0))

    def make(d: int) -> Step:
        wd, rd = flipped(_part(w, d)), flipped(_part(r, d))
        bw, br = biases(b, d, 2)
        f, g = s.activations[2 * d : 2 * d + 2]
        r_gates, r_new = _split_at(rd, 2 * s.size)
        br_gates, br_new = (None, None) if br is None else _split_at(br, 2 * s.size)

        def step(xt: Value, states: list[Value]) -> list[Value]:
            (h,) = states
            xz, xr, xh = gates(plus(matmul(xt, wd), bw), 3)
            hz, hr = gates(plus(matmul(h, r_gates), br_gates), 2)
            z, reset = f(clipped(s, xz + hz)), f(clipped(s, xr + hr))
            if before:
                new = g(clipped(s, xh + reset * plus(matmul(h, r_new), br_new)))
            else:
                new = g(clipped(s, xh + plus(matmul(reset * h, r_new), br_new)))
            return [(1 - z) * new + z * h]

        return step

    return tuple(run(s, x, [h0], lengths, make))


def _split_at(x: Value, size: int) -> tuple[Value, Value]:
    axis = x.rank - 1
    first = call("strided_slice", x, begin=(0,), end=(size,), axes=(axis,))
    return first, call("strided_slice", x, begin=(size,), end=(None,), axes=(axis,))


@converts("LSTM")
def lstm(
    node: Node, x: Value, w: Value, r: Value, b: Value | None = None, lengths: Value | None = None,
    h0: Value | None = None, c0: Value | None = None, p: Value | None = None,
) -> Any:  # fmt: skip
    """Long short-term memory; gates in the order input, output, forget, new."""
    s = settings(node, r, ["Sigmoid", "Tanh", "Tanh"])
    coupled = bool(node.int("input_forget", 0))

    def make(d: int) -> Step:
        wd, rd = flipped(_part(w, d)), flipped(_part(r, d))
        bw, br = biases(b, d, 2)
        bias = None if bw is None or br is None else bw + br
        peep = [None] * 3 if p is None else gates(_part(p, d), 3)
        f, g, h_act = s.activations[3 * d : 3 * d + 3]

        def seen(x: Value, weight: Value | None, c: Value) -> Value:
            return x if weight is None else x + weight * c

        def step(xt: Value, states: list[Value]) -> list[Value]:
            h, c = states
            i, o, forget, new = gates(plus(matmul(xt, wd) + matmul(h, rd), bias), 4)
            i = f(clipped(s, seen(i, peep[0], c)))
            forget = (1 - i) if coupled else f(clipped(s, seen(forget, peep[2], c)))
            kept = forget * c + i * g(clipped(s, new))
            o = f(clipped(s, seen(o, peep[1], kept)))
            return [o * h_act(kept), kept]

        return step

    return tuple(run(s, x, [h0, c0], lengths, make))
