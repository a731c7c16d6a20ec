"""Training steps by XLA: of Relay programs, beside the same steps written by hand in JAX.

    pip install 'relay-ir[xla,bench]'
    python benchmarks/xla.py [--models "MLP,GPT-2"] [--rounds 30] [--size large] [--precisions f32,fast,bf16]

They run on the device that JAX prefers.  Both are on the same weights and batch, and have to give the same
loss and the same next weights.  XLA's own counts of operations and bytes are theirs and ours; times are taken
in turns, weights on the device, the batch in memory of the host: of calls as people make them, and of the
compiled program alone.  A ratio is our time by theirs, below 1 where Relay is faster: the median, with a 95%
bootstrap interval.  Beside it is the median time of the step by hand, in ms.

`fast` lets the device multiply float32 numbers with fewer digits.  With `bf16`, our products are of such
numbers and all else is in float32; by hand all but the weights is in bfloat16.
"""

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

import jax
import numpy as np
from peers import interval
from xla_models import RATE, SIZES, STEPS_MEASURED, Step

import relay
from relay.backend.xla.data import flatten

TURN = 0.02
"""Seconds of calls in each turn, or one call."""
NEAR = {"f32": 1e-5, "fast": 2e-3, "bf16": 5e-2}
"""The precisions, and how far results may be from each other, relative to the greatest number of each."""
OPTIONS: dict[str, dict[str, str]] = {
    "f32": {},
    "fast": {"matmul_precision": "fast"},
    "bf16": {"precision": "bf16"},
}


class Ours:
    """A step of a Relay program."""

    def __init__(self, step: Step, precision: str) -> None:
        weights = tuple(step.weights.values())
        self.built = relay.build(step.mod, "xla", **OPTIONS[precision])
        state = relay.optim.initial_state(relay.optim.sgd(RATE), weights)
        self.state: Any = self.built.put(params=weights, state=state)
        self.batch = tuple(step.batch.values())
        self.first = self.built(*self.state, *self.batch)
        entry = self.built.by_name["main"]
        assert not entry.not_whole, entry.not_whole
        whole = entry.whole
        (structure,) = whole.kept
        self.program = whole.lowered(structure).compile()
        arguments = (*self.state, *map(jax.device_put, self.batch))
        self.operands = (whole.program.placed(whole.layout), [], flatten(arguments)[0])

    def call(self) -> Any:
        loss, *self.state = self.built(*self.state, *self.batch, on_device=True)
        return loss

    def alone(self) -> Any:
        return self.program(*self.operands)


class Theirs:
    """A step by hand."""

    def __init__(self, step: Step, precision: str) -> None:
        self.weights = jax.device_put(step.weights)
        self.batch = step.batch
        dtype = "bfloat16" if precision == "bf16" else "float32"
        digits = "highest" if precision == "f32" else "default"

        def by_hand(weights: Any, batch: Any) -> Any:
            with jax.default_matmul_precision(digits):
                return step.by_hand(weights, batch, dtype)

        self.jitted = jax.jit(by_hand)
        self.first = jax.device_get(self.jitted(self.weights, self.batch))
        self.operands = (self.weights, jax.device_put(self.batch))
        self.program = self.jitted.lower(*self.operands).compile()

    def call(self) -> Any:
        loss, self.weights = self.jitted(self.weights, self.batch)
        return loss

    def alone(self) -> Any:
        return self.program(*self.operands)


def distance(ours: Any, theirs: Any) -> float:
    """How far loss and weights are from each other at most, relative to the greatest number of each."""
    pairs = zip(ours, theirs, strict=True)
    return max([float(np.abs(a - b).max() / max(1, np.abs(b).max())) for a, b in pairs])


def ratios(ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int) -> str:
    """Our time by theirs: the median of rounds, and its interval."""

    def seconds(run: Callable[[], Any], count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            jax.block_until_ready(run())
        return (time.perf_counter() - start) / count

    count = max(1, round(TURN / min(seconds(theirs, 1) for _ in range(3))))
    found: list[float] = []
    by_hand: list[float] = []
    for i in range(rounds):
        pair = (ours, theirs) if i % 2 else (theirs, ours)
        times = {run: seconds(run, count) for run in pair}
        found.append(times[ours] / times[theirs])
        by_hand.append(1e3 * times[theirs])
    text = "{ratio:.2f} ({low:.2f}-{high:.2f})".format_map(interval(found))
    return f"{text} | {median(by_hand):.2f}"


def prepared(name: str, size: str, precision: str) -> tuple[str, str, Ours, Theirs, float]:
    """A model's step in a precision, ours and theirs, and how far the results are from each other."""
    step = STEPS_MEASURED[name](**SIZES[size].get(name, {}))
    ours, theirs = Ours(step, precision), Theirs(step, precision)
    (loss, weights, _), (wanted, new) = ours.first, theirs.first
    apart = distance([loss, *weights], [wanted, *new.values()])
    ours.first = theirs.first = None
    return name, precision, ours, theirs, apart


def measured(name: str, precision: str, ours: Ours, theirs: Theirs, apart: float, rounds: int) -> str:
    """What a model's line says."""
    counts = [run.program.cost_analysis() or {} for run in (ours, theirs)]
    by_count = [counts[0].get(k, 0) / (counts[1].get(k) or np.nan) for k in ("flops", "bytes accessed")]
    times = [ratios(ours.call, theirs.call, rounds), ratios(ours.alone, theirs.alone, rounds)]
    same = f"{'yes' if apart <= NEAR[precision] else 'NO'} ({apart:.0e})"
    return f"| {name} | {precision} | {' | '.join([*[f'{x:.3f}' for x in by_count], *times, same])} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", default=",".join(STEPS_MEASURED))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--precisions", default="f32", help=", ".join(OPTIONS))
    parser.add_argument("--jobs", type=int, default=1, help="how many steps are compiled at a time")
    asked = parser.parse_args()
    chosen = [(n, p) for p in asked.precisions.split(",") for n in asked.models.split(",")]
    print(f"JAX {jax.__version__} on {jax.devices()[0].device_kind}, sizes: {asked.size}\n")
    with ThreadPoolExecutor(asked.jobs) as pool:
        steps = list(pool.map(lambda c: prepared(c[0], asked.size, c[1]), chosen))
    print(f"compiled in {time.process_time():.0f} s of processors", flush=True)
    print("| step | precision | operations | bytes | a call | ms by hand | alone | ms by hand | same |")
    print("|---|---|---|---|---|---|---|---|---|")
    while steps:
        print(measured(*steps.pop(0), asked.rounds), flush=True)


if __name__ == "__main__":
    main()
