"""From what calibration has seen to a scale and a zero point.

An integer `q` stands for `(q - zero) * scale`.  The end of a range that calibration chooses decides between
two errors: numbers beyond it are clipped, and those within it are rounded to steps of the scale.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from relay.ir.dtype import integer_range
from relay.quantize.histogram import Histogram

Method = Literal["minmax", "percentile", "entropy", "mse"]
METHODS: tuple[Method, ...] = ("minmax", "percentile", "entropy", "mse")
CANDIDATES = 100
"""Ranges that a search tries along each end."""
SMALLEST_PART = 0.1
"""The smallest part of the whole range that is tried."""
SMOOTHING = 1e-4
"""The part of a distribution's weight that goes to places where it has none."""
Ends = tuple[float, float]


@dataclass(frozen=True)
class Scale:
    """A scale (float32) and a zero point (int32) of a tensor; vectors where `axis` has one for each place."""

    scale: np.ndarray[Any, Any]
    zero: np.ndarray[Any, Any]
    dtype: str
    axis: int | None = None

    def laid(self, rank: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Scale and zero point so that they broadcast with a tensor of that rank."""
        if self.axis is None:
            return self.scale, self.zero
        shape = [1] * rank
        shape[self.axis] = -1
        return self.scale.reshape(shape), self.zero.reshape(shape)

    def quantized(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """`round(x / scale) + zero`, held within the dtype, as `qnn.quantize` computes it."""
        scale, zero = self.laid(x.ndim)
        low, high = integer_range(self.dtype)
        whole = np.round((x / scale).astype("float32")) + zero.astype("float32")
        return np.clip(whole, low, high).astype(self.dtype)

    def dequantized(self, q: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """`(q - zero) * scale`, float32, as `qnn.dequantize` computes it."""
        scale, zero = self.laid(q.ndim)
        return (q.astype("int32") - zero).astype("float32") * scale


def scale_of_range(low: Any, high: Any, dtype: str, symmetric: bool, axis: int | None = None) -> Scale:
    """The scale that maps a range, or a vector of them, onto a dtype.

    Symmetric ranges reach as far to both sides; int8 goes from -127 then, and uint8 has the zero point 128.
    Others are extended to contain 0, which is exact.  Sources: Jacob et al., 2018, section 2.1;
    Krishnamoorthi, 2018, section 2.
    """
    low, high = np.minimum(np.asarray(low, "float64"), 0), np.maximum(np.asarray(high, "float64"), 0)
    least, most = integer_range(dtype)
    scale: Any
    zero: Any
    if symmetric:
        middle = 0 if least < 0 else (most + 1) // 2
        scale = np.maximum(-low, high) / (most - middle)
        zero = np.full(scale.shape, middle)
    else:
        scale = (high - low) / (most - least)
        zero = np.clip(np.rint(least - low / np.where(scale > 0, scale, 1)), least, most)
    scale = np.where(scale.astype("float32") > 0, scale, 1).astype("float32")
    return Scale(scale, zero.astype("int32"), dtype, axis)


def chosen_range(h: Histogram, method: Method, percentile: float, dtype: str, symmetric: bool) -> Ends:
    """The range of some numbers by a method; an empty histogram has the range of 0 alone."""
    if h.is_empty:
        return 0.0, 0.0
    if method == "minmax":
        return h.low, h.high
    if method == "percentile":
        return percentile_range(h, percentile, symmetric)
    cost = clipping_error if method == "mse" else divergence
    return searched(h, lambda ends: cost(h, ends, dtype, symmetric), symmetric)


def percentile_range(h: Histogram, percentile: float, symmetric: bool) -> Ends:
    """The range without the outermost numbers: `percentile` percent of magnitudes, or, where ends may differ,
    of numbers from either end.
    """
    x, counts = h.content()
    part = percentile / 100
    if symmetric:
        order = np.argsort(np.abs(x), kind="stable")
        end = _quantile(np.abs(x)[order], counts[order], part)
        return -min(end, -h.low if h.low < 0 else end), min(end, max(h.high, -h.low))
    return -_quantile(-x[::-1], counts[::-1], part), _quantile(x, counts, part)


def _quantile(x: np.ndarray[Any, Any], counts: np.ndarray[Any, Any], part: float) -> float:
    """The least number that has this part of all at or below it."""
    reached = np.cumsum(counts)
    below = int(np.count_nonzero(reached < part * reached[-1]))
    return float(x[min(below, len(x) - 1)])


def searched(h: Histogram, cost: Callable[[Ends], float], symmetric: bool) -> Ends:
    """The range of least cost: of `CANDIDATES` parts of the whole range; where its ends may differ, the upper
    end is searched first, and then the lower one.
    """
    parts = np.linspace(1, SMALLEST_PART, CANDIDATES)
    low, high = min(h.low, 0.0), max(h.high, 0.0)
    if symmetric:
        end = max(-low, high)
        return min([(-end * p, end * p) for p in parts.tolist()], key=cost)
    ends = (low, high)
    if high > 0:
        ends = min([(low, high * p) for p in parts.tolist()], key=cost)
    if low < 0:
        ends = min([(low * p, ends[1]) for p in parts.tolist()], key=cost)
    return ends


def clipping_error(h: Histogram, ends: Ends, dtype: str, symmetric: bool) -> float:
    """The sum of squares of what quantisation changes, of numbers at the middles of their bins.

    Source: the expected error that Banner, Nahshan and Soudry, 2019, minimise, on the distribution itself.
    """
    x, counts = h.content()
    s = scale_of_range(*ends, dtype, symmetric)
    low, high = integer_range(dtype)
    low = -high if symmetric and low < 0 else low
    q = np.clip(np.round(x / float(s.scale)) + float(s.zero), low, high)
    gap = x - (q - float(s.zero)) * float(s.scale)
    return float(counts @ (gap * gap))


def divergence(h: Histogram, ends: Ends, dtype: str, symmetric: bool) -> float:
    """The Kullback-Leibler divergence of what a range and its levels leave of a distribution from the
    distribution that is clipped at the ends.

    Numbers that occur over and over, such as the zeros of a rectifier or what a background becomes, count as
    much as their neighbours: no range resolves what lies around a spike, and the least one tries to.
    The reference `p` has the numbers beyond the range at its ends.  The candidate `q` has the bins within the
    range spread over the levels of the dtype: the numbers of a level are shared equally by its bins that have
    any.  Places without numbers get a little weight on both sides.  Source: Migacz, 2017, "8-bit inference
    with TensorRT".
    """
    x, counts = h.content()
    counts = without_spikes(counts)
    least, most = integer_range(dtype)
    s = scale_of_range(*ends, dtype, symmetric)
    level = np.clip(np.round(x / float(s.scale)) + float(s.zero), least, most).astype("int64") - least
    inside = (x >= ends[0]) & (x <= ends[1])
    if not inside.any():
        return np.inf
    kept = np.where(inside, counts, 0).astype("float64")
    p = kept.copy()
    (places,) = np.nonzero(inside)
    p[places[0]] += counts[: places[0]].sum()
    p[places[-1]] += counts[places[-1] + 1 :].sum()
    p, kept, level = p[places], kept[places], level[places]
    has = p > 0
    weight = np.bincount(level, weights=kept, minlength=most - least + 1)
    bins = np.bincount(level, weights=has, minlength=most - least + 1)
    q = np.where(has, weight[level] / np.maximum(bins[level], 1), 0)
    p, q = _smoothed(p), _smoothed(q)
    return float((p * np.log(p / q)).sum())


def without_spikes(counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The distribution with no more numbers in a bin than in the fuller one beside it."""
    if len(counts) < 3:
        return counts
    beside = np.concatenate([counts[1:2], np.maximum(counts[:-2], counts[2:]), counts[-2:-1]])
    kept = np.minimum(counts, beside)
    return kept if kept.any() else counts


def _smoothed(p: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A distribution with the sum 1 and no zeros."""
    total = p.sum()
    p = p / total if total > 0 else np.full(len(p), 1 / len(p))
    return (1 - SMOOTHING) * p + SMOOTHING / len(p)


def weight_scale(
    w: np.ndarray[Any, Any],
    dtype: str,
    axis: int | None,
    kind: Literal["max", "power2", "mse"],
    top: int = 127,
) -> Scale:
    """The symmetric scale of a weight, one for all or one for each place of `axis`.

    `max` reaches the greatest magnitude, `power2` does so with a power of 2, and `mse` is the part of `max`
    with the least sum of squared errors.  The greatest magnitude becomes `top`.
    """
    rows = w.reshape(1, -1) if axis is None else np.moveaxis(w, axis, 0).reshape(w.shape[axis], -1)
    rows = rows.astype("float64")
    most = np.abs(rows).max(1, initial=0)
    if kind == "mse":
        most = most * _best_parts(rows, most, top)
    most = most * (integer_range(dtype)[1] / top)
    s = scale_of_range(-most, most, dtype, symmetric=True)
    scale = 2.0 ** np.ceil(np.log2(s.scale)) if kind == "power2" else s.scale
    scale = np.where(most > 0, scale, 1).astype("float32")
    return Scale(scale[0], s.zero[0], dtype) if axis is None else Scale(scale, s.zero, dtype, axis)


def _best_parts(rows: np.ndarray[Any, Any], most: np.ndarray[Any, Any], top: int) -> np.ndarray[Any, Any]:
    """For each row the part of its range with the least sum of squared errors."""
    best, least = np.ones(len(rows)), np.full(len(rows), np.inf)
    for part in np.linspace(1, 0.5, CANDIDATES // 2).tolist():
        scale = np.where(most > 0, most * part / top, 1)[:, None]
        gap = rows - np.clip(np.round(rows / scale), -top, top) * scale
        error = (gap * gap).sum(1)
        best, least = np.where(error < least, part, best), np.minimum(error, least)
    return best
