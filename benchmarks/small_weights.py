"""Products by weights in fewer bits: GB/s of one row beside a loop that reads as much, and the speed of a
prompt beside float32.

    python benchmarks/small_weights.py [--threads 2] [--rounds 15] [FORMAT ...]

A format is a dtype (`bfloat16`), a format of blocks (`q4_0`), or one of those behind `rounded:`, for data
that is rounded to integers of 8 bits.  Weights are random, 24576 by 1536, more than caches hold.  The product
and the reading loop take turns; `share` is the median of their ratios, `prompt` that of a product of 128 rows
by float32 and by these weights.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import relay
from relay.op.blocks.formats import FORMATS

ROWS, COLUMNS, PROMPT = 24576, 1536, 128
DEFAULT = (
    "float32", "bfloat16", "float16", "int8", "q8_0", "rounded:q8_0", "q4_0", "rounded:q4_0", "q4_1",
    "rounded:q4_1", "q4_k", "rounded:q4_k", "q6_k",
)  # fmt: skip


def weights(name: str) -> tuple[Any, str]:
    """Random weights as they are kept, and the expression for their numbers."""
    rng = np.random.default_rng(0)
    if name in FORMATS:
        form = FORMATS[name]
        w = rng.integers(0, 120, (ROWS, COLUMNS // form.size * form.bytes)).astype("uint8")
        return w, f'dequantize_blocks(%w, format="{name}")'
    w = (rng.standard_normal((ROWS, COLUMNS)) * (30 if name == "int8" else 1)).astype(name)
    return w, "%w" if name == "float32" else "cast(%w, dtype=float32)"


def product(name: str, rows: int, threads: int) -> tuple[Callable[[], Any], int]:
    """A product of so many rows by weights, and the bytes of these."""
    kept = name.removeprefix("rounded:")
    w, text = weights(kept)
    x = np.random.default_rng(1).standard_normal((rows, COLUMNS)).astype("float32")
    data = "%x" if kept == name else "round_groups(%x)"
    types = f"%x: Tensor[{x.shape}, float32], %w: Tensor[{w.shape}, {w.dtype}]"
    built = relay.build(relay.parse(f"def @main({types}) {{ nn.dense({data}, {text}) }}"), threads=threads)
    return lambda: built(x, w), w.nbytes


def seconds(f: Callable[[], Any]) -> float:
    """The time of a call."""
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def main() -> None:
    """Print a line for each format."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("formats", nargs="*", default=DEFAULT)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    asked = parser.parse_args()
    big = np.ones(ROWS * COLUMNS // 2, "float32")
    read = relay.build(
        relay.parse(f"def @main(%w: Tensor[{big.shape}, float32]) {{ sum(%w) }}"), threads=asked.threads
    )
    whole, _ = product("float32", PROMPT, asked.threads)
    whole()
    print(f"{'format':14} {'GB/s':>6} {'read':>6} {'share':>6} {'Gweights/s':>11} {'prompt':>7}")
    for name in asked.formats:
        one, size = product(name, 1, asked.threads)
        many, _ = product(name, PROMPT, asked.threads)
        one(), many(), read(big)
        pairs = [(size / seconds(one), big.nbytes / seconds(lambda: read(big))) for _ in range(asked.rounds)]
        speed, bare = (median([p[i] for p in pairs]) / 1e9 for i in (0, 1))
        share = median([a / b for a, b in pairs])
        prompt = median([seconds(whole) / seconds(many) for _ in range(max(3, asked.rounds // 5))])
        count = ROWS * COLUMNS / size * speed
        print(f"{name:14} {speed:6.1f} {bare:6.1f} {share:6.2f} {count:11.1f} {prompt:7.2f}", flush=True)


if __name__ == "__main__":
    main()
