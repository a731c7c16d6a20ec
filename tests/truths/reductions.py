"""Truths of float reductions, and of what divides rows by their sums or lengths."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from mpmath import mp

from truths.base import Case, truth
from truths.computed import computed, exp

ROWS = {
    "float16": ([1.0, -2.5, 0.75, 3.0], [1e4, -1e4, 5e3, 1e4], [1e-3, 2e-3, -1e-3, 5e-4], [0.5] * 4),
    "float32": (
        [1.0, -2.5, 0.75, 3.0],
        [1e20, -1e20, 5e19, 3e20],
        [1e-30, 2e-30, -1e-30, 5e-31],
        [1e7, 1e7 + 1, 1e7 + 3, 1e7 + 2],
        [1e6, 1.0, 2.0, -3.0],
        [0.5] * 4,
    ),
    "float64": ([1.0, -2.5, 0.75, 3.0], [1e100, -1e100, 5e99, 3e100], [1e15, 1e15 + 1, 1e15 + 3, 1e15 + 2]),
}
"""Rows of each dtype: plain, at the ends of the range, with a large offset, with an outlier, all equal."""
SCORES = {
    "float16": ([1.0, -2.5, 0.75, 3.0], [100.0, 100.0, 100.0, 99.0], [0.0, -5.0, -20.0, -100.0]),
    "float32": (
        [1.0, -2.5, 0.75, 3.0],
        [1e8, 1e8, 1e8, 1e8],
        [1e6, 1e6, 1e6 - 1, 1e6],
        [0.0, -80.0, -100.0, -1000.0],
        [0.0, -np.inf, 1.0, -np.inf],
    ),
    "float64": ([1.0, -2.5, 0.75, 3.0], [1e16, 1e16, 1e16, 1e16], [0.0, -600.0, -720.0, -1000.0]),
}
"""Rows of what exponentials are taken of."""
FACTORS = {
    "float16": ([1.0, -2.5, 0.75, 3.0], [1e4, 1e4, 1e-3, 1e-3]),
    "float32": (
        [1.0, -2.5, 0.75, 3.0],
        [1e30, 1e30, 1e-30, 1e-30],
        [1e-30, 1e30, 1e-30, 1e30],
        [0.0, 2.0, 1e-40, 3.0],
    ),
    "float64": ([1.0, -2.5, 0.75, 3.0], [1e-300, 1e200, 1e100, 2.0]),
}
"""Rows of factors."""
MILLION = 1 << 20


def rows_of(table: dict[str, Any]) -> Iterator[Any]:
    """Return the rows of a table, each an array of its dtype."""
    for dtype, rows in table.items():
        for row in rows:
            yield np.asarray(row, dtype)


def mean_of(x: Any) -> Any:
    """Return the mean of all elements."""
    return np.sum(x) / mp.mpf(x.size)


def variance_of(x: Any, less: int = 0) -> Any:
    """Return the variance of all elements."""
    return np.sum((x - mean_of(x)) ** 2) / mp.mpf(x.size - less)


def of_sizes(x: Any) -> Any:
    """Return the sum of absolute values: what a sum's rounding is relative to."""
    return np.sum(np.abs(x))


@truth("prod")
def prod(_: bool) -> Iterator[Case]:
    for x in rows_of(FACTORS):
        yield computed(np.prod, x, ulps=1)


@truth("sum")
def sum_(long: bool) -> Iterator[Case]:
    for x in rows_of(ROWS):
        yield computed(np.sum, x, scale=of_sizes)
    yield computed(lambda x: np.sum(x) * mp.mpf(1), np.zeros(0, "float32"), has_slopes=False)
    for shape, axis in (((MILLION,), None), ((MILLION // 2, 2), 0), ((2, MILLION // 2), 1)):
        x = np.full(shape, 0.1, "float32")
        right = np.sum(x.astype(np.longdouble), axis=axis)
        # Blocks of 32 rounds and 16 sums: each level may be off by half of that.
        yield Case((x,), right, attrs={"axis": axis}, ulps=16, threads=(1, 2))


@truth("mean")
def mean(long: bool) -> Iterator[Case]:
    for x in rows_of(ROWS):
        yield computed(mean_of, x, scale=lambda x: of_sizes(x) / x.size)
    x = np.full(MILLION, 0.1, "float32")
    yield Case((x,), np.mean(x.astype(np.longdouble)), ulps=16, threads=(1, 2))


def spread_scales(x: Any) -> tuple[Any, ...]:
    """Return what the rounding of derivatives by each element is relative to: that of the greatest."""
    away = np.abs(x - mean_of(x))
    return (np.full(x.shape, np.max(away), object),)


@truth("variance")
def variance(long: bool) -> Iterator[Case]:
    for x in rows_of(ROWS):
        if 1e-3 < np.max(np.abs(x.astype("float64"))) < 1e15 and x.dtype != "float16":
            yield computed(variance_of, x, slope_scales=spread_scales)
            yield computed(lambda x: variance_of(x, 1), x, slope_scales=spread_scales, unbiased=True)


@truth("std")
def std(long: bool) -> Iterator[Case]:
    for x in rows_of(ROWS):
        if np.ptp(x.astype("float64")):  # where all are equal there is no derivative
            yield computed(lambda x: mp.sqrt(variance_of(x)), x)


@truth("mean_variance")
def mean_variance(long: bool) -> Iterator[Case]:
    x = np.asarray(ROWS["float32"][3], "float32")
    yield computed(lambda x: (mean_of(x), variance_of(x)), x, has_slopes=True)


@truth("mean_std")
def mean_std(long: bool) -> Iterator[Case]:
    for dtype in ("float16", "float32"):
        x = np.asarray(ROWS[dtype][1], dtype)
        yield computed(lambda x: (mean_of(x), mp.sqrt(variance_of(x))), x, slope_ulps=8)


def grown(x: Any) -> Any:
    """Return exponentials from the greatest on."""
    return exp(x - np.max(x))


@truth("logsumexp")
def logsumexp(long: bool) -> Iterator[Case]:
    for x in rows_of(SCORES):
        # The logarithm is that of a rounded sum, which is 1 at least.
        yield computed(
            lambda x: np.max(x) + mp.log(np.sum(grown(x))),
            x,
            scale=lambda x: abs(np.max(x)) + 1,
            slope_ulps=16,
        )


def shares(least: float) -> Callable[[Any], Any]:
    """Return a formula of softmax, 0 below the least normal number."""

    def formula(x: Any) -> Any:
        y = grown(x) / np.sum(grown(x))
        return np.where(y < mp.mpf(least), mp.mpf(0), y)

    return formula


for name in ("nn.softmax", "nn.safe_softmax"):

    @truth(name)
    def softmax(long: bool) -> Iterator[Case]:
        for x in rows_of(SCORES):
            least = float(np.finfo(x.dtype).smallest_normal)
            # A derivative is rounded as the greatest share is.
            yield computed(
                shares(least), x, ulps=16, slope_ulps=16, slope_scales=lambda x: (np.ones_like(x),)
            )


@truth("nn.log_softmax")
def log_softmax(long: bool) -> Iterator[Case]:
    for x in rows_of(SCORES):
        if np.all(np.isfinite(x)):
            yield computed(
                lambda x: x - np.max(x) - mp.log(np.sum(grown(x))),
                x,
                scale=lambda x: np.max(x) - x + 1,
                slope_ulps=8,
                slope_scales=lambda x: (np.full(x.shape, 8, object),),
            )


@truth("nn.l2_normalize")
def l2_normalize(long: bool) -> Iterator[Case]:
    for x in rows_of(ROWS):
        yield computed(
            lambda x: x / mp.sqrt(np.sum(x * x)),
            x,
            eps=0.0,
            slope_ulps=16,
            slope_scales=lambda x: (np.full(x.shape, 4 / mp.sqrt(np.sum(x * x)), object),),
        )


@truth("nn.cosine_similarity")
def cosine_similarity(long: bool) -> Iterator[Case]:
    for x in rows_of(ROWS):
        y = np.roll(x, 1)
        yield computed(
            lambda x, y: np.sum(x * y) / mp.sqrt(np.sum(x * x) * np.sum(y * y)),
            x,
            y,
            axis=0,
            eps=0.0,
            scale=lambda x, y: mp.mpf(1),
            slope_ulps=16,
            slope_scales=lambda x, y: (np.full(x.shape, 1 / mp.sqrt(np.sum(x * x)), object),) * 2,
        )
