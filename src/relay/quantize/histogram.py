"""What calibration keeps of the values that pass by: extremes, a histogram, sums per channel.

All of it is gathered in one pass, whatever the number of batches, and in memory of a fixed size.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relay.op.base import Array

BINS = 4096
"""Bins of a histogram, of which a range takes from a quarter to all."""
LEAST_EXPONENT = -126
"""Bins are at least this power of 2 wide: float32 has no smaller normal numbers."""


@dataclass(slots=True)
class Histogram:
    """How many of some numbers lie in each of `BINS` bins, and the extremes of all.

    Bin `i` holds the numbers from `(first + i) * width` on, and `width` is a power of 2.  Where a batch goes
    beyond the bins, `width` doubles and neighbours are added, which is exact: the order and the size of
    batches change nothing but where the bins begin.
    """

    low: float = math.inf
    high: float = -math.inf
    exponent: int | None = None
    first: int = 0
    counts: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(BINS, "int64"))

    def add(self, values: Array) -> None:
        """Count the finite numbers of an array of any shape."""
        x = np.asarray(values).ravel().astype("float64", copy=False)
        x = x if np.isfinite(x).all() else x[np.isfinite(x)]
        if not x.size:
            return
        self.low, self.high = min(self.low, float(x.min())), max(self.high, float(x.max()))
        self._cover()
        assert self.exponent is not None
        places = np.floor(np.ldexp(x, -self.exponent)).astype("int64") - self.first
        self.counts += np.bincount(places, minlength=BINS)

    def _cover(self) -> None:
        """Make the bins wide enough for the extremes, and move them there."""
        widest = max(self.high - self.low, abs(self.high) * 2.0**-40, abs(self.low) * 2.0**-40)
        e = max(math.frexp(widest / BINS)[1], LEAST_EXPONENT) if widest else LEAST_EXPONENT
        if self.exponent is not None:
            e = max(e, self.exponent)
        while self._bin(self.high, e) - self._bin(self.low, e) >= BINS:
            e += 1
        if self.exponent is None:
            self.exponent, self.first = e, self._bin(self.low, e)
            return
        first = self._bin(self.low, e)
        if e == self.exponent and first >= self.first and self._bin(self.high, e) < self.first + BINS:
            return
        (used,) = np.nonzero(self.counts)
        moved = ((used + self.first) >> (e - self.exponent)) - first
        self.counts = np.bincount(moved, weights=self.counts[used], minlength=BINS).astype("int64")
        self.exponent, self.first = e, first

    @staticmethod
    def _bin(x: float, exponent: int) -> int:
        return math.floor(math.ldexp(x, -exponent))

    @property
    def is_empty(self) -> bool:
        """Whether no number has been counted."""
        return self.exponent is None

    def content(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Middles of the bins from the first to the last that has numbers, float64 `(n,)`, held within the
        extremes, and how many each has, int64 `(n,)`.
        """
        assert self.exponent is not None
        (used,) = np.nonzero(self.counts)
        a, b = int(used[0]), int(used[-1]) + 1
        middles = np.ldexp(np.arange(self.first + a, self.first + b) + 0.5, self.exponent)
        return np.clip(middles, self.low, self.high), self.counts[a:b]


@dataclass(slots=True)
class Channels:
    """The greatest magnitude and the mean of the numbers at each place of an axis, of finite rows alone."""

    axis: int
    greatest: np.ndarray[Any, Any] | None = None
    sums: np.ndarray[Any, Any] | None = None
    magnitudes: np.ndarray[Any, Any] | None = None
    count: int = 0

    def add(self, values: Array) -> None:
        """Take account of an array."""
        x = finite_rows(np.moveaxis(np.asarray(values), self.axis, -1))
        if not x.size:
            return
        size = np.abs(x)
        if self.greatest is None or self.sums is None or self.magnitudes is None:
            self.greatest, self.sums, self.magnitudes = (np.zeros(x.shape[1]) for _ in range(3))
        self.greatest = np.maximum(self.greatest, size.max(0))
        self.sums = self.sums + x.sum(0)
        self.magnitudes = self.magnitudes + size.sum(0)
        self.count += len(x)

    @property
    def mean(self) -> np.ndarray[Any, Any]:
        """The mean at each place, float64."""
        assert self.sums is not None
        return self.sums / self.count

    @property
    def mean_magnitude(self) -> np.ndarray[Any, Any]:
        """The mean of magnitudes at each place, float64."""
        assert self.magnitudes is not None
        return self.magnitudes / self.count


@dataclass(slots=True)
class Products:
    """`sum(x.T @ x)` over the finite rows `x` of what passes by, `(k, k)` float64."""

    sums: np.ndarray[Any, Any] | None = None

    def add(self, values: Array) -> None:
        """Take account of an array `(..., k)`."""
        x = finite_rows(np.asarray(values))
        if not x.size:
            return
        new = x.T @ x
        self.sums = new if self.sums is None else self.sums + new


def finite_rows(x: Array) -> Array:
    """The rows of an array `(..., k)` whose numbers are all finite, float64 `(n, k)`."""
    x = x.reshape(math.prod(x.shape[:-1]), x.shape[-1]).astype("float64", copy=False)
    is_finite = np.isfinite(x).all(1)
    return x if is_finite.all() else x[is_finite]
