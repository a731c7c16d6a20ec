"""Random names and literals, plain and odd, for generated programs."""

from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relay.ir.dtype import DTYPES, integer_range, is_float, is_integer, to_numpy
from relay.ir.expr import Constant, constant

PLAIN = ("x", "y", "f", "n", "loss", "x_1", "_", "_y")
ODD = (
    "features.0/weight", "a b", 'quote"d', "back\\slash", "two\nlines", "tab\there", "ünï", "1st", "-",
    "%", "é" * 3,
    "let", "if", "fn", "def", "match", "rec", "True", "int32", "Tensor", "ref_read", "grad", "meta",
    "a.b", "日本",
    "`tick`", "//", "#[version", "{", "",
)  # fmt: skip
FLOATS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 1e-3, -2.5e10, 3.0e38, 1e-45, 1e300, 5e-324, float("inf"), float("-inf"),
    float("nan"),
    0.1, 1 / 3,
)  # fmt: skip
STRINGS = ("", "plain", 'say "hi"', "a\\b", "a\nb\tc", "ünï {x}", "\x00\x7f")


def random_name(rng: Random, odd: float = 0.25) -> str:
    """A name; names repeat often, so that scopes shadow one another."""
    return rng.choice(ODD if rng.random() < odd else PLAIN)


def random_value(rng: Random, dtype: str) -> Any:
    """A Python value that the dtype can hold; extremes are likely."""
    if dtype == "bool":
        return rng.random() < 0.5
    if dtype == "string":
        return rng.choice(STRINGS)
    if is_integer(dtype):
        low, high = integer_range(dtype)
        return rng.choice([low, high, 0, rng.randint(low, high), min(high, rng.randint(0, 9))])
    return rng.choice([*FLOATS, rng.gauss(0, 1)])


def random_array(rng: Random, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array of values from `random_value`."""
    flat = [random_value(rng, dtype) for _ in range(int(np.prod(shape)))]
    with np.errstate(all="ignore"):
        if dtype == "string" or not is_float(dtype):
            return np.array(flat, to_numpy(dtype)).reshape(shape)
        return np.array(flat, np.float64).astype(to_numpy(dtype)).reshape(shape)


def random_shape(rng: Random, rank: int = 3) -> tuple[int, ...]:
    """A small shape; scalars and empty axes included."""
    return tuple([rng.choice([0, 1, 2, 3]) for _ in range(rng.randint(0, rank))])


def random_constant(rng: Random) -> Constant:
    """An open literal, a nest of them, a closed constant, a filled one (a broadcast view), or a large one."""
    form = rng.random()
    shape = random_shape(rng) if rng.random() < 0.4 else ()
    if form < 0.3:
        return Constant(random_array(rng, rng.choice(["int64", "float64"]), shape))
    dtype = rng.choice(DTYPES)
    if form < 0.85:
        return constant(random_array(rng, dtype, shape), dtype)
    if form < 0.95:
        filled = np.broadcast_to(random_array(rng, dtype, ()), (rng.randint(1, 4), rng.choice([1, 1000])))
        return constant(filled, dtype)
    return constant(random_array(rng, dtype, (40, 30)), dtype)
