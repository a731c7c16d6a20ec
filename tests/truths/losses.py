"""Truths of losses, in mpmath on arrays of its numbers."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from mpmath import mp

from truths.base import Case, truth
from truths.computed import computed

PREDICTIONS = [[0.5, -2.0, 30.0, -100.0], [1e-30, 7.7, -1e4, 3e4]]
TARGETS = [[1.0, 0.25, 0.0, 0.75], [0.5, 1.0, 0.125, 0.0625]]
LOGARITHMS = [[-0.5, -1.0, -30.0, -2.0], [-1e4, -0.25, -3.0, -1e-3]]
CHANCES = [[0.5, 0.25, 1e-30, 0.125], [1.0, 1e-3, 0.75, 0.0625]]


def every(f: Callable[..., Any], inputs: int = 1) -> Callable[..., Any]:
    """Return a function of arrays from one of numbers."""
    return np.frompyfunc(f, inputs, 1)


def growth(x: Any) -> Any:
    """Return `log(1 + exp(x))`."""
    return max(x, mp.mpf(0)) + mp.log1p(mp.exp(-abs(x)))


def entropy(p: Any, t: Any) -> Any:
    """Return the cross-entropy of a chance and the logistic function of a number."""
    return t * growth(-p) + (1 - t) * growth(p)


def bent(d: Any) -> Any:
    """Return half a square, which goes on as a line from 1."""
    return d * d / 2 if abs(d) <= 1 else abs(d) - mp.mpf(1) / 2


def pairwise(name: str, f: Callable[..., Any], predictions: Any, targets: Any, **attrs: Any) -> None:
    """Declare a loss of two numbers, and its mean."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        g = every(f, 2)
        for dtype in ("float32", "float64"):
            p, t = np.asarray(predictions, dtype), np.asarray(targets, dtype)
            yield computed(g, p, t, reduction="none", is_normwise=True, **attrs)
            yield computed(lambda p, t: g(p, t).sum() / mp.mpf(p.size), p, t, is_normwise=True, **attrs)


pairwise("nn.mse_loss", lambda p, t: (p - t) ** 2, PREDICTIONS, TARGETS)
pairwise("nn.l1_loss", lambda p, t: abs(p - t), PREDICTIONS, TARGETS)
pairwise("nn.huber_loss", lambda p, t: bent(p - t), PREDICTIONS, TARGETS)
pairwise("nn.binary_cross_entropy_with_logits", entropy, PREDICTIONS, TARGETS)
pairwise("nn.kl_div", lambda p, t: t * (mp.log(t) - p), LOGARITHMS, CHANCES)
pairwise("nn.kl_div", lambda p, t: mp.exp(t) * (t - p), LOGARITHMS, TARGETS, log_target=True)


def of_rows(name: str, f: Callable[..., Any], predictions: Any, targets: Any) -> None:
    """Declare a loss of rows."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in ("float32", "float64"):
            yield computed(f, np.asarray(predictions, dtype), np.asarray(targets, dtype), is_normwise=True)


of_rows("nn.cross_entropy", lambda p, t: -(every(mp.log)(p) * t).sum() / 2, CHANCES, TARGETS)
of_rows("nn.cross_entropy_with_logits", lambda p, t: -(p * t).sum() / 2, LOGARITHMS, TARGETS)


@truth("nn.nll_loss")
def nll_loss(long: bool) -> Iterator[Case]:
    for dtype in ("float32", "float64"):
        operands = (np.asarray(LOGARITHMS, dtype), np.asarray([3, 1]), np.asarray([1, 0.5, 2, 4], dtype))
        yield computed(
            lambda p, t, w: -sum(p[i, c] * w[c] for i, c in enumerate(t)) / sum(w[c] for c in t),
            *operands,
            is_normwise=True,
        )


@truth("nn.softmax_cross_entropy")
def softmax_cross_entropy(long: bool) -> Iterator[Case]:
    def loss(p: Any, labels: Any) -> Any:
        return sum(mp.log(mp.fsum(map(mp.exp, row))) - row[c] for row, c in zip(p, labels, strict=True)) / 2

    for dtype in ("float32", "float64"):
        for rows in (PREDICTIONS, [[1e8, 1e8, 1e8, 1e8], [1e4, 0, 0, 0]]):
            yield computed(loss, np.asarray(rows, dtype), np.asarray([3, 0]), is_normwise=True)


@truth("nn.prelu")
def prelu(long: bool) -> Iterator[Case]:
    for dtype in ("float32", "float64"):
        x = np.asarray([[-1e-30, 2.0, -3e4], [1e30, -7.7, 0.25]], dtype)
        yield computed(
            lambda x, a: np.where(x > 0, x, a * x), x, np.asarray([0.25, 1e-3, 4.0], dtype), is_normwise=True
        )


@truth("linear_scan")
def linear_scan(long: bool) -> Iterator[Case]:
    def run(a: Any, x: Any) -> Any:
        rows = [x[0]]
        for i in range(1, len(x)):
            rows.append(a[i] * rows[-1] + x[i])
        return np.stack(rows)

    for dtype in ("float32", "float64"):
        a = np.asarray([[0.5, -2.0], [0.25, 1e-3], [0.999, 0.0], [1.5, -1.0]], dtype)
        x = np.asarray([[1.0, 100.0], [-3.0, 0.5], [1e-3, 7.0], [2.0, -1.0]], dtype)
        yield computed(run, a, x, axis=0, is_normwise=True)


@truth("fixed_point_multiply")
def fixed_point_multiply(long: bool) -> Iterator[Case]:
    xs = [0, 1, -1, 10, -3, 3, 2**30, -(2**30), 123456789]
    for multiplier, shift in ((2**30, 1), (2**30, 0), (1518500250, -3), (2**31 - 1, -20)):
        places = 31 - shift
        right = [(x * multiplier + (1 << (places - 1))) >> places for x in xs]
        attrs = {"multiplier": multiplier, "shift": shift}
        yield Case((np.asarray(xs, "int32"),), np.asarray(right, "int32"), attrs=attrs)


@truth("unique")
def unique(long: bool) -> Iterator[Case]:
    for dtype in ("float32", "int32"):
        x = np.asarray([4, 2, 4, 1, 2, 9]).astype(dtype)
        values, first, inverse = np.unique(x, return_index=True, return_inverse=True)
        right = (values, *[v.astype("int32") for v in (first, inverse, np.asarray([len(values)]))])
        slopes = (
            (np.asarray([0, 1, 0, 1, 0, 1]) + np.asarray([1, 0, 0, 0, 0, 0]),) if dtype == "float32" else None
        )
        yield Case((x,), right, slopes, ulps=0)
