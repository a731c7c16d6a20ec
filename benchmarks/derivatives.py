"""Loops and recursion of 10,000 steps of little work, and their derivatives, each on one thread, in one run.

    python benchmarks/derivatives.py [--order 3] [WORD ...]    # only the cases with one of the words

The derivative of order `k` is the gradient of the sum of that of order `k - 1`.  A ratio is the median, over
rounds in which all take turns, of a derivative's time by that of the function; behind it is what half of the
rounds lie between, and CPU seconds of compiling last.
"""

import argparse
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

import relay

STEPS = 10_000
ROUNDS, SECONDS = 15, 0.01
"""How often each takes its turn, and how long a turn is at least."""
WIDTH = 32
TEXT = """
def @main(%x: {t}) -> float32 {{ sum(@loop(10000, %x)) }}
def @order1(%x: {t}) -> float32 {{ sum(grad(@main)(%x).1.0) }}
def @order2(%x: {t}) -> float32 {{ sum(grad(@order1)(%x).1.0) }}
def @order3(%x: {t}) -> float32 {{ sum(grad(@order2)(%x).1.0) }}
def @loop(%n: int32, %x: {t}) -> {t} {{
  if (%n == 0) {{ %x }} else {{ {step} }}
}}
"""
SINE = "@loop(%n - 1, sin(%x * 1.01f))"
TAIL = "@loop(%n - 1, %x * (1.001f - 0.001f * %x))"
SUMS = "let %y = @loop(%n - 1, %x); %y * (1.001f - 0.001f * %y)"
State: TypeAlias = Any


def scan(x: State) -> State:
    """A scan that keeps each state."""
    return relay.scan(lambda c, _: (c * (1.001 - 0.001 * c), c), x, None, STEPS)[1].sum()


def fori(x: State) -> State:
    """A loop with a counter."""
    return relay.fori(0, STEPS, lambda _, c: c * (1.001 - 0.001 * c), x).sum()


def while_loop(x: State) -> State:
    """A loop until a condition on a number that is counted beside."""
    start = (np.int32(0), x)
    return relay.while_loop(
        lambda s: s[0] < STEPS, lambda s: (s[0] + 1, s[1] * (1.001 - 0.001 * s[1])), start
    )[1].sum()


def rnn(w: State) -> State:
    """A recurrent network over rows, by its square of weights."""
    rows = np.random.default_rng(0).standard_normal((STEPS, WIDTH)).astype("float32")
    return relay.scan(lambda h, x: (relay.tanh(w @ h + x), None), np.zeros(WIDTH, "float32"), rows)[0].sum()


def traced(f: Callable[..., Any], order: int) -> Callable[..., Any]:
    """A derivative of a function of Python."""
    for _ in range(order):
        f = partial(lambda g, x: relay.value_and_grad(g, 0)(x)[1].sum(), f)
    return f


def built(case: str, order: int, x: Any) -> Callable[[], Any]:
    """A call of the derivative of some order."""
    kind = case.split()[0]
    if kind in TEXTS:
        t = "float32" if x.ndim == 0 else f"Tensor[({WIDTH},), float32]"
        mod = relay.parse(TEXT.format(t=t, step=TEXTS[kind]))
        name = f"order{order}" if order else "main"
        entry = relay.build(mod, entries=[name])[name]
    else:
        entry = relay.compile(traced(TRACED[kind], order)).specialised(x)
    return partial(entry, x)


TEXTS = {"sine": SINE, "tail": TAIL, "recursion": SUMS}
TRACED = {"scan": scan, "fori": fori, "while": while_loop, "rnn": rnn}
CASES = [*[f"{kind} {size}" for kind in (*TEXTS, *TRACED) if kind != "rnn" for size in ("1", "32")], "rnn 32"]


def report(case: str, orders: int) -> None:
    """One line for each order."""
    rng = np.random.default_rng(0)
    shape = (WIDTH, WIDTH) if case.startswith("rnn") else (WIDTH,) if case.endswith("32") else ()
    x = np.asarray(rng.uniform(0.1, 0.3, shape), "float32") / max(1, WIDTH * (len(shape) - 1))
    ways: list[Callable[[], Any]] = []
    seconds: list[float] = []
    for order in range(orders + 1):
        start = time.process_time()
        ways.append(built(case, order, x))
        ways[-1]()
        seconds.append(time.process_time() - start)
    rounds = np.array(measured(ways))
    for order in range(orders + 1):
        ratios = rounds[:, order] / rounds[:, 0]
        low, middle, high = np.percentile(ratios, [25, 50, 75])
        print(
            f"{case:13} order {order} {np.median(rounds[:, order]) * 1e3:9.3f} ms  {middle:7.2f}"
            f"  ({low:.2f} to {high:.2f})  {seconds[order]:6.2f} s to compile",
            flush=True,
        )


def measured(ways: Sequence[Callable[[], Any]]) -> list[list[float]]:
    """Seconds of each in rounds in which they take turns."""
    times = [max(1, round(SECONDS / min(turn(run, 1) for _ in range(2)))) for run in ways]
    return [[turn(run, n) for run, n in zip(ways, times, strict=True)] for _ in range(ROUNDS)]


def turn(run: Callable[[], Any], times: int) -> float:
    """Seconds of a call, over some of them."""
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def main() -> None:
    """Report on the cases that the words on the command line choose."""
    os.environ["RELAY_NUM_THREADS"] = "1"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("words", nargs="*")
    chosen = parser.parse_args()
    for case in CASES:
        if not chosen.words or any(word in case for word in chosen.words):
            report(case, chosen.order)


if __name__ == "__main__":
    main()
