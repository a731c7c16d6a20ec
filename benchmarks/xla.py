"""Training steps by XLA: of Relay programs, beside the same steps written by hand in JAX.

    pip install 'relay-ir[xla,bench]'
    python benchmarks/xla.py [--models "MLP,GPT-2"] [--rounds 30]

Both are on the same weights and batch, and have to give the same loss and the same next weights.  XLA's own
counts of operations and bytes are theirs and ours; times are taken in turns, weights on the device, the batch
in memory of the host: of calls as people make them, and of the compiled program alone.  A ratio is our time
by theirs, below 1 where Relay is faster: the median, with a 95% bootstrap interval.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from peers import interval
from xla_models import RATE, STEPS_MEASURED, Step

import relay
from relay.backend.xla.data import flatten

TURN = 0.02
"""Seconds of calls in each turn, or one call."""
NEAR = 1e-5
"""How far results may be from each other, relative to the greatest number of each."""


class Ours:
    """A step of a Relay program."""

    def __init__(self, step: Step) -> None:
        weights = tuple(step.weights.values())
        self.built = relay.build(step.mod, "xla")
        state = relay.optim.initial_state(relay.optim.sgd(RATE), weights)
        self.state: Any = self.built.put(params=weights, state=state)
        self.batch = tuple(step.batch.values())
        self.first = self.built(*self.state, *self.batch, on_device=True)
        whole = self.built.by_name["main"].whole
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

    def __init__(self, step: Step) -> None:
        self.weights = jax.device_put(step.weights)
        self.batch = step.batch
        self.jitted = jax.jit(step.by_hand)
        self.first = self.jitted(self.weights, self.batch)
        self.operands = (self.weights, jax.device_put(self.batch))
        self.program = self.jitted.lower(*self.operands).compile()

    def call(self) -> Any:
        loss, self.weights = self.jitted(self.weights, self.batch)
        return loss

    def alone(self) -> Any:
        return self.program(*self.operands)


def same(ours: Any, theirs: Any) -> bool:
    """Whether loss and weights are near each other."""
    pairs = zip(ours, theirs, strict=True)
    return all(np.abs(a - b).max() <= NEAR * max(1, np.abs(b).max()) for a, b in pairs)


def ratios(ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int) -> str:
    """Our time by theirs: the median of rounds, and its interval."""

    def seconds(run: Callable[[], Any], count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            jax.block_until_ready(run())
        return (time.perf_counter() - start) / count

    count = max(1, round(TURN / min(seconds(theirs, 1) for _ in range(3))))
    found: list[float] = []
    for i in range(rounds):
        pair = (ours, theirs) if i % 2 else (theirs, ours)
        times = {run: seconds(run, count) for run in pair}
        found.append(times[ours] / times[theirs])
    return "{ratio:.2f} ({low:.2f}-{high:.2f})".format_map(interval(found))


def measured(name: str, rounds: int) -> str:
    """What a model's line says."""
    step = STEPS_MEASURED[name]()
    ours, theirs = Ours(step), Theirs(step)
    agree = same([ours.first[0], *ours.first[1]], [theirs.first[0], *theirs.first[1].values()])
    counts = [run.program.cost_analysis() for run in (ours, theirs)]
    by_count = [counts[0][k] / counts[1][k] for k in ("flops", "bytes accessed")]
    times = [ratios(ours.call, theirs.call, rounds), ratios(ours.alone, theirs.alone, rounds)]
    cells = [*[f"{x:.3f}" for x in by_count], *times, "yes" if agree else "NO"]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", default=",".join(STEPS_MEASURED))
    parser.add_argument("--rounds", type=int, default=30)
    asked = parser.parse_args()
    print("| step | operations | bytes | time of a call | of the program alone | same numbers |")
    print("|---|---|---|---|---|---|")
    for name in asked.models.split(","):
        print(measured(name, asked.rounds), flush=True)


if __name__ == "__main__":
    main()
