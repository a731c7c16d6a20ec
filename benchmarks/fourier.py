"""Fourier transforms as machine code and by `numpy.fft`: microseconds, and how much quicker ours are.

Both take turns, and the median of the ratios of all rounds counts.  On one thread, or as many as
`RELAY_NUM_THREADS` says.  Usage: `python benchmarks/fourier.py [--rounds 15] [--dtype float64]`.
"""

import argparse
import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

os.environ.setdefault("RELAY_NUM_THREADS", "1")

import numpy as np

import relay

SHAPES: list[tuple[int, ...]] = [(1024,), (1000,), (1009,), (65536,), (64, 1024), (256, 256)]
ELEMENTS_A_ROUND = 1 << 17
rng = np.random.default_rng(0)


def cases(shape: tuple[int, ...], dtype: str) -> dict[str, tuple[Any, Callable[[Any], Any], Any]]:
    """Transforms by their text: ours of a value, NumPy's, and its value."""
    two = "2" if shape[0] == shape[-1] and len(shape) == 2 else ""
    size = f"s={shape}" if two else f"n={shape[-1]}"
    real = rng.standard_normal(shape).astype(dtype)
    there = getattr(np.fft, f"rfft{two}")
    back = getattr(np.fft, f"irfft{two}")
    half, whole = there(real), real + 1j * rng.standard_normal(shape).astype(dtype)
    known = {"s": shape} if two else {"n": shape[-1]}
    return {
        f"fft.fft{two}(%x)": (pairs(whole), getattr(np.fft, f"fft{two}"), whole),
        f"fft.rfft{two}(%x)": (real, there, real),
        f"fft.irfft{two}(%x, {size})": (pairs(half), lambda x: back(x, **known), half),
    }


def pairs(z: Any) -> Any:
    """Complex numbers as pairs."""
    return np.stack([z.real, z.imag], -1)


def seconds(run: Callable[[Any], Any], x: Any, calls: int) -> float:
    """How long a call takes."""
    begin = time.perf_counter()
    for _ in range(calls):
        run(x)
    return (time.perf_counter() - begin) / calls


def main() -> None:
    """A line for each transform."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--dtype", default="float64")
    given = parser.parse_args()
    print(f"{'':36}{'relay':>10}{'numpy':>10}{'ratio':>8}")
    for shape in SHAPES:
        for text, (x, theirs, z) in cases(shape, given.dtype).items():
            mod = relay.parse(f"def @main(%x: Tensor[{x.shape}, {x.dtype}]) {{ {text} }}")
            ours = relay.build(mod)["main"]
            calls = max(1, ELEMENTS_A_ROUND // z.size)
            rounds = [(seconds(ours, x, calls), seconds(theirs, z, calls)) for _ in range(given.rounds)]
            a, b = (median(column) * 1e6 for column in zip(*rounds, strict=True))
            ratio = median([them / us for us, them in rounds])
            print(f"{text + ' ' + str(shape):36}{a:10.1f}{b:10.1f}{ratio:8.2f}")


if __name__ == "__main__":
    main()
