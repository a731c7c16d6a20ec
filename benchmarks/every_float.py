"""Functions of floats as machine code on every float32 there is, and `power` on 100,000,000 pairs: how far
from the truth at worst, in units in the last place.

The truth is NumPy's in float64 (for `erf`, which NumPy lacks, machine code's in float64), in long double for
`power` of float64.  Usage: `python benchmarks/every_float.py [--pairs 100000000] [--every 1] [NAME ...]`;
`--every 256` tries one bit pattern in 256.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

os.environ |= {"RELAY_NUM_THREADS": "1"}

import numpy as np

import relay

BLOCK = 1 << 18
BARS = {"float32": 2.0, "float64": 4.0}
Array = Any


def machine_code(name: str, operands: int, dtype: str) -> Callable[..., Array]:
    """An operator on blocks of numbers."""
    names = [f"x{i}" for i in range(operands)]
    params = ", ".join([f"%{n}: Tensor[({BLOCK},), {dtype}]" for n in names])
    body = f"{name}({', '.join([f'%{n}' for n in names])})"
    return relay.build(relay.parse(f"def @main({params}) {{ {body} }}"))["main"]


@cache
def long_erf() -> Callable[[Array], Array]:
    """The error function of float64."""
    return machine_code("erf", 1, "float64")


def sigmoid(x: Array) -> Array:
    """As its definition says."""
    return 1 / (1 + np.exp(-x))


UNARY: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "tanh": np.tanh, "sigmoid": sigmoid,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh,
    "cosh": np.cosh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "erf": lambda x: long_erf()(x),
}  # fmt: skip


def ulps(found: Array, truth: Array) -> Array:
    """How far each number is from the truth; infinite where an end or the sign of a zero is wrong."""
    dtype = found.dtype
    wanted = truth.astype(dtype)
    unit = np.spacing(np.maximum(np.abs(wanted), np.finfo(dtype).smallest_normal)).astype(truth.dtype)
    away = np.abs(found.astype(truth.dtype) - truth) / unit
    special = ~(np.isfinite(wanted) & np.isfinite(found)) | ((wanted == 0) & (found == 0))
    if special.any():
        a, b = found[special], wanted[special]
        top = np.isinf(a) & (np.abs(b) == np.finfo(dtype).max)
        same = ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b)) | top
        away[special] = np.where(same, 0, np.inf)
    return away


def patterns(every: int) -> Iterator[tuple[Array]]:
    """The bit patterns of float32, one in so many, in blocks."""
    block = np.arange(0, BLOCK * every, every, dtype="uint64")
    for start in range(0, 1 << 32, BLOCK * every):
        yield ((block + start).astype("uint32").view("float32"),)


def pairs(dtype: str, count: int) -> Iterator[tuple[Array, Array]]:
    """Bases and exponents: in turn any bits at all, and such that the power is finite and not 0."""
    rng = np.random.default_rng(0)
    bits, reach = ("uint32", 87.0) if dtype == "float32" else ("uint64", 708.0)
    for i in range(-(-count // BLOCK)):
        if i % 4 == 0:
            yield tuple(rng.integers(0, np.iinfo(bits).max, BLOCK, dtype=bits).view(dtype) for _ in range(2))
            continue
        bases = np.exp(rng.uniform(-reach, reach, BLOCK) * 2.0 ** -rng.integers(0, 12, BLOCK)).astype(dtype)
        bases[bases == 1] = 2
        yield bases, (rng.uniform(-reach, reach, BLOCK) / np.log(bases.astype("float64"))).astype(dtype)


def tried(
    name: str, dtype: str, truth: Callable[..., Array], blocks: Iterator[tuple[Array, ...]], wide: str
) -> bool:
    """Try a function, say what the worst is, and whether that is below the bar: 0.5 is the truth rounded."""
    start, count, worst, at = time.time(), 0, 0.5, "all"
    bits = np.dtype(dtype).str.replace("f", "u")
    ours: Callable[..., Array] | None = None
    for block in blocks:
        ours = ours or machine_code(name, len(block), dtype)
        found, right = ours(*block), truth(*[x.astype(wide) for x in block])
        count += len(found)
        is_other = found.view(bits) != right.astype(dtype).view(bits)
        places = np.flatnonzero(is_other & ~(np.isnan(found) & np.isnan(right)))
        away = ulps(found[places], right[places])
        if away.max(initial=0) > worst:
            i = int(np.argmax(away))
            worst, at = float(away[i]), ", ".join([float(x[places[i]]).hex() for x in block])
    took = time.time() - start
    good = worst <= BARS[dtype]
    print(f"{name:<10}{dtype:<10}{count:>14,}{worst:>9.3f} ulp at {at:<50}{took:>7.0f} s", flush=True)
    return good


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=100_000_000)
    options.add_argument("--every", type=int, default=1)
    options.add_argument("names", nargs="*", metavar="NAME")
    given = options.parse_args()
    names = given.names or [*UNARY, "power"]
    good = True
    with np.errstate(all="ignore"):
        for name in names:
            if name != "power":
                good &= tried(name, "float32", UNARY[name], patterns(given.every), "float64")
                continue
            for dtype, wide in (("float32", "float64"), ("float64", "longdouble")):
                good &= tried(name, dtype, np.power, pairs(dtype, given.pairs), wide)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
