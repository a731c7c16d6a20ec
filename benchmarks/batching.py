"""Batched programs in Relay and in JAX: gradients of each example, and Hessians.

Each system has a process of its own, on as many processors as it has threads; they take turns, as in
`peers.py`.  Results are compared first.  What is reported is the ratio of JAX's time to Relay's in the same
round: its median, with a 95% bootstrap interval.

    python benchmarks/batching.py [gradients] [hessians] [--threads 1,2] [--rounds 30] [--json FILE]
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from peer_systems import Run
from peers import JSON, OURS, Worker, prepared, ratio, take_rounds

THEIRS = "JAX"
TOLERANCE = 1e-4
"""How far results may be apart, of the greatest value."""
CLASSES = 10


def drawn(*shape: int, scale: float = 0.1) -> Any:
    """Numbers that do not change from run to run."""
    return (np.random.default_rng(sum(shape)).standard_normal(shape) * scale).astype("float32")


def classes(count: int) -> Any:
    return np.random.default_rng(count).integers(0, CLASSES, count).astype("int32")


class InRelay:
    """What the functions are written in, by Relay."""

    def __init__(self) -> None:
        import relay

        self.relay = relay
        self.tanh, self.relu, self.log, self.exp = relay.tanh, relay.nn.relu, relay.log, relay.exp
        self.log_softmax, self.sum, self.mean = relay.nn.log_softmax, relay.sum, relay.mean

    def apply(self, w: Any, x: Any) -> Any:
        """A matrix and a vector."""
        return self.relay.nn.dense(x, w)

    def products(self, x: Any, w: Any) -> Any:
        """The rows of a matrix and a vector."""
        return self.relay.nn.matmul(x, w)

    def chosen(self, x: Any, i: Any) -> Any:
        return self.relay.take(x, i, axis=0)

    def image(self, x: Any) -> Any:
        """An image given with channels first, as it is wanted here."""
        return x

    def flat(self, x: Any) -> Any:
        """All of an image, channel by channel."""
        return self.relay.reshape(x, (-1,))

    def conv(self, x: Any, w: Any, bias: Any) -> Any:
        nn = self.relay.nn
        y = nn.bias_add(nn.conv2d(self.relay.expand_dims(x, axis=0), w, padding=(1, 1)), bias)
        return self.relay.squeeze(y, axis=(0,))

    def pool(self, x: Any) -> Any:
        nn = self.relay.nn
        y = nn.max_pool2d(self.relay.expand_dims(x, axis=0), pool_size=(2, 2), strides=(2, 2))
        return self.relay.squeeze(y, axis=(0,))

    def gradients(self, loss: Any) -> Any:
        """The gradients by the weights for each example."""

        def slope(p: Any, x: Any, y: Any) -> Any:
            return self.relay.value_and_grad(lambda p: loss(self, p, x, y), 0)(p)[1]

        return self.relay.vmap(slope, (None, 0, 0))

    def hessian(self, f: Any) -> Any:
        """Forward over reverse: a tangent for each parameter."""
        relay = self.relay

        def slope(w: Any, x: Any, y: Any) -> Any:
            return relay.value_and_grad(lambda w: f(self, w, x, y), 0)(w)[1]

        def whole(w: Any, x: Any, y: Any) -> Any:
            def column(v: Any) -> Any:
                return relay.jvp(lambda w: slope(w, x, y))((w,), (v,))[1]

            return relay.vmap(column)(np.eye(w.shape[0], dtype="float32"))

        return whole

    def compiled(self, f: Any, args: Any, threads: int) -> Run:
        """The program, given arrays one by one as compiled programs of Relay are."""
        relay = self.relay
        flat, nested = flattened(args)
        traced, values = relay.function(lambda *xs: f(*nested(xs))).for_arguments(flat, {})
        main = relay.build(traced.mod, threads=threads)["main"]
        return lambda: main(*values)


class InJax:
    """The same by JAX; images with channels last, which is quicker there."""

    def __init__(self) -> None:
        self.jax: Any = import_module("jax")
        self.np: Any = import_module("jax.numpy")
        self.tanh, self.relu, self.log = self.np.tanh, self.jax.nn.relu, self.np.log
        self.exp, self.sum, self.mean = self.np.exp, self.np.sum, self.np.mean
        self.log_softmax = self.jax.nn.log_softmax

    def apply(self, w: Any, x: Any) -> Any:
        return w @ x

    def products(self, x: Any, w: Any) -> Any:
        return x @ w

    def chosen(self, x: Any, i: Any) -> Any:
        return x[i]

    def image(self, x: Any) -> Any:
        return x.transpose(1, 2, 0)

    def flat(self, x: Any) -> Any:
        return x.transpose(2, 0, 1).reshape(-1)

    def conv(self, x: Any, w: Any, bias: Any) -> Any:
        names = ("NHWC", "OIHW", "NHWC")
        y = self.jax.lax.conv_general_dilated(x[None], w, (1, 1), [(1, 1), (1, 1)], dimension_numbers=names)
        return y[0] + bias

    def pool(self, x: Any) -> Any:
        return self.jax.lax.reduce_window(x, -np.inf, self.jax.lax.max, (2, 2, 1), (2, 2, 1), "VALID")

    def gradients(self, loss: Any) -> Any:
        return self.jax.vmap(self.jax.grad(lambda p, x, y: loss(self, p, x, y)), (None, 0, 0))

    def hessian(self, f: Any) -> Any:
        return self.jax.hessian(lambda w, x, y: f(self, w, x, y))

    def compiled(self, f: Any, args: Any, threads: int) -> Run:
        given = self.jax.device_put(args)
        program = self.jax.jit(f)
        return lambda: self.jax.block_until_ready(program(*given))


def flattened(args: Any) -> tuple[list[Any], Callable[[Any], list[Any]]]:
    """The arrays of arguments, lists of which are spread, and what puts others in their places."""
    counts = [len(a) if isinstance(a, list) else None for a in args]
    flat = [x for a in args for x in (a if isinstance(a, list) else [a])]

    def nested(xs: Any) -> list[Any]:
        rest = iter(xs)
        return [next(rest) if n is None else [next(rest) for _ in range(n)] for n in counts]

    return flat, nested


# --- what is measured ---


def mlp_loss(u: Any, p: Any, x: Any, y: Any) -> Any:
    for w, bias in zip(p[:-2:2], p[1:-2:2], strict=True):
        x = u.tanh(u.apply(w, x) + bias)
    return -u.chosen(u.log_softmax(u.apply(p[-2], x) + p[-1]), y)


def conv_loss(u: Any, p: Any, x: Any, y: Any) -> Any:
    x = u.image(x)
    for w, bias in zip(p[:-2:2], p[1:-2:2], strict=True):
        x = u.pool(u.relu(u.conv(x, w, bias)))
    return -u.chosen(u.log_softmax(u.apply(p[-2], u.flat(x)) + p[-1]), y)


def logistic_loss(u: Any, w: Any, x: Any, y: Any) -> Any:
    return u.mean(u.log(1 + u.exp(-y * u.products(x, w)))) + 0.1 * u.sum(w * w)


def rosenbrock(u: Any, w: Any, x: Any, y: Any) -> Any:
    away = w[1:] - w[:-1] * w[:-1]
    return u.sum(100.0 * away * away + (1 - w[:-1]) * (1 - w[:-1])) + u.sum(x * y)


@dataclass(frozen=True)
class Case:
    """A program: how it is made of a function, and its arguments."""

    part: str
    what: Callable[[Any], Any]
    """Of a library, the function to compile."""
    args: Callable[[], list[Any]]


def mlp_args() -> list[Any]:
    sizes = [64, 128, 128, CLASSES]
    weights = [x for a, b in pairwise(sizes) for x in (drawn(b, a), drawn(b))]
    return [weights, drawn(128, 64, scale=1), classes(128)]


def conv_args() -> list[Any]:
    weights = [
        drawn(8, 1, 3, 3),
        drawn(8),
        drawn(16, 8, 3, 3),
        drawn(16),
        drawn(CLASSES, 784),
        drawn(CLASSES),
    ]
    return [weights, drawn(64, 1, 28, 28, scale=1), classes(64)]


def regression_args() -> list[Any]:
    return [drawn(64), drawn(256, 64, scale=1), np.sign(drawn(256))]


CASES = {
    "MLP 64-128-128-10, a gradient for each of 128": Case(
        "gradients", lambda u: u.gradients(mlp_loss), mlp_args
    ),
    "ConvNet 28x28, a gradient for each of 64": Case(
        "gradients", lambda u: u.gradients(conv_loss), conv_args
    ),
    "Hessian of logistic regression, 64 weights, 256 rows": Case(
        "hessians", lambda u: u.hessian(logistic_loss), regression_args
    ),
    "Hessian of Rosenbrock's function, 64 arguments": Case(
        "hessians", lambda u: u.hessian(rosenbrock), lambda: [drawn(64, scale=1), drawn(1), drawn(1)]
    ),
}
SYSTEMS = {OURS: InRelay, THEIRS: InJax}


def of_case(name: str, system: str, threads: int) -> Run:
    """A call of a program."""
    u, case = SYSTEMS[system](), CASES[name]
    return u.compiled(case.what(u), case.args(), threads)


def measured(name: str, threads: int, workers: dict[str, Worker], rounds: int) -> dict[str, Any]:
    """Times of a program, and the ratio."""
    failed = prepared(name, workers, TOLERANCE)
    if failed:
        raise SystemExit(f"{name}: {failed}")
    times = take_rounds(workers, rounds, lambda: None)
    entry = {"part": CASES[name].part, "threads": threads, "date": datetime.now(UTC).date().isoformat()}
    seconds = {system: median(t) for system, t in times.items()}
    found = ratio(times)
    line = ", ".join([f"{system} {1e3 * s:.3f} ms" for system, s in seconds.items()])
    print(f"{name}, threads: {threads}: {line}; "
          f"{found['ratio']:.2f} ({found['low']:.2f}-{found['high']:.2f})", flush=True)  # fmt: skip
    return entry | {"seconds": seconds} | found


def main() -> None:
    parts = list(dict.fromkeys([c.part for c in CASES.values()]))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(parts)}: all by default")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path, default=JSON)
    args = parser.parse_args()
    if not set(args.parts) <= set(parts):
        parser.error(f"parts are {', '.join(parts)}")
    found: dict[str, Any] = {}
    for threads in [int(t) for t in args.threads.split(",")]:
        workers = {system: Worker(system, threads, of_case) for system in SYSTEMS}
        for name, case in CASES.items():
            if case.part in (args.parts or parts):
                found[f"{name}, threads: {threads}"] = measured(name, threads, workers, args.rounds)
        for worker in workers.values():
            worker.stop()
    kept = json.loads(args.json.read_text()) if args.json.exists() else {}
    kept["batching"] = kept.get("batching", {}) | found
    args.json.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
