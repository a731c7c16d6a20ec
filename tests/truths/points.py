"""Numbers of each floating dtype at the ends of its range, near 1, and between."""

from collections.abc import Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from relay.ir.dtype import to_numpy

DTYPES = ("float16", "bfloat16", "float32", "float64")
"""The dtypes that truths of floating-point functions are compared in."""
NARROW = ("float16", "bfloat16")
"""Those of 16 bits."""


def numbers(dtype: str, values: Iterable[float]) -> Any:
    """An array of a dtype without repetitions, zeros by their sign; values beyond its range are left out."""
    with np.errstate(all="ignore"):
        wide = np.asarray(list(values), "float64")
        rounded = wide.astype(to_numpy(dtype))
    inside = np.isfinite(rounded.astype("float64")) | ~np.isfinite(wide)
    bits = rounded[inside].view(f"u{rounded.itemsize}")
    _, first = np.unique(bits, return_index=True)
    return rounded[inside][np.sort(first)]


def ends(dtype: str) -> list[float]:
    """Return zero, subnormal numbers, the least normal number, and the greatest."""
    info = ml_dtypes.finfo(to_numpy(dtype))
    least, normal = float(info.smallest_subnormal), float(info.smallest_normal)
    return [0.0, least, 3 * least, normal / 2 + least, normal - least, normal, float(info.max)]


def near_one(dtype: str) -> list[float]:
    """Return 1 and numbers on both sides of it."""
    eps = float(ml_dtypes.finfo(to_numpy(dtype)).eps)
    return [1.0, 1 - eps / 2, 1 + eps, 1 - 8 * eps, 1 + 8 * eps, 1 - 2.0**-6, 1 + 2.0**-6]


def decades(long: bool) -> list[float]:
    """Return powers of 10 from 1e-30 to 1e30, and of float64 beyond."""
    step = 1 if long else 3
    far = [10.0**k for k in range(-300, 301, 10 if long else 50)]
    return [1.3 * 10.0**k for k in range(-30, 31, step)] + [1e-30, 1e30, *far]


def between(long: bool) -> list[float]:
    """Return numbers from 0.01 to 1000, evenly in the logarithm."""
    return list(np.geomspace(0.01, 1000, 400 if long else 28) * 1.0123)


def around(dtype: str, places: Iterable[float]) -> list[float]:
    """Return places and numbers next to them."""
    info = ml_dtypes.finfo(to_numpy(dtype))
    steps = [0, 1, -1, 5, -5, 2**-4 / float(info.eps), -(2**-4) / float(info.eps)]
    return [p + k * float(info.eps) * max(abs(p), 1e-2) for p in places for k in steps]


def line(dtype: str, at: Sequence[float] = (), long: bool = False) -> Any:
    """Return the points of a function of one number: of both signs, with infinities and NaN."""
    sizes = [*ends(dtype), *decades(long), *near_one(dtype), *between(long)]
    both = [*sizes, *[-x for x in sizes]]
    return numbers(dtype, [*both, *around(dtype, at), np.inf, -np.inf, np.nan])


def plane(dtype: str, at: Sequence[tuple[float, float]] = (), long: bool = False) -> tuple[Any, Any]:
    """Return the points of a function of two numbers: pairs of all sizes, signs and ends."""
    least, *_, greatest = ends(dtype)[1:]
    eps = float(ml_dtypes.finfo(to_numpy(dtype)).eps)
    sizes = [0.0, least, 1e-30, 0.3, 1.0, 1 + eps, 2.0, 7.7, 1e30, greatest / 2, np.inf]
    if long:
        sizes += [1e-6, 1e6, 3e-39, 1e-20, 1e-3, 0.5, 1 - eps / 2, 3.0, 4.5, 100.0, 1e4, 1e10, 1e20]
    some = numbers(dtype, [*sizes, *[-x for x in sizes], np.nan])
    x, y = (v.ravel() for v in np.meshgrid(some, some))
    with np.errstate(over="ignore"):
        more = [np.asarray([p[i] for p in at], "float64").astype(some.dtype) for i in (0, 1)]
    return np.concatenate([x, more[0]]), np.concatenate([y, more[1]])
