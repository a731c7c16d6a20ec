"""Truths of normalisations, in the moderate range."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from mpmath import mp

from relay.ir.dtype import to_numpy
from truths.base import Case, truth
from truths.computed import computed, exp, sqrt
from truths.products import draw

EPSILON = mp.mpf(1e-5)


def normal(x: Any, axes: tuple[int, ...], epsilon: Any) -> Any:
    """Return numbers with mean 0 and variance 1."""
    count = mp.mpf(np.prod([x.shape[a] for a in axes]).item())
    away = x - np.sum(x, axis=axes, keepdims=True) / count
    return away / sqrt(np.sum(away * away, axis=axes, keepdims=True) / count + epsilon)


ENDS = (
    ("float32", 1e-2, 1e-2, 1e-5),
    ("float32", 100.0, 100.0, 1e-5),
    ("float64", 1.0, 1.0, 1e-5),
    ("float32", 1e20, 0.0, 1e-5),
    ("float32", 1e38, 0.0, 1e-5),
    ("float32", 1e-30, 0.0, 0.0),
    ("float32", 1e-40, 0.0, 0.0),
    ("float32", 1.0, 1e7, 1e-5),
    ("float32", 2e18, 1e24, 1e-5),
    ("bfloat16", 1e20, 0.0, 1e-5),
)
"""Dtypes, deviations and means of data, and epsilons."""


def normalises(
    name: str, f: Callable[..., Any], *shapes: tuple[int, ...], ulps: float = 8.0, **attrs: Any
) -> None:
    """Declare a normalisation: rounding is relative to the greatest of its results."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype, scale, offset, epsilon in ENDS:
            first = np.random.default_rng(3).standard_normal(shapes[0]) * scale + offset
            xs = [first.astype(to_numpy(dtype)), *[draw(s, dtype, i) for i, s in enumerate(shapes[1:])]]
            yield computed(
                partial(f, mp.mpf(epsilon)), *xs, ulps=ulps, is_normwise=True, epsilon=epsilon,
                has_slopes=scale > 1e-38,  # float32 has no room for the derivatives of smaller rows
                **attrs,
            )  # fmt: skip


def of_channels(v: Any) -> Any:
    return v[:, None]


normalises("nn.layer_norm", lambda e, x, g, b: normal(x, (1,), e) * g + b, (2, 4), (4,), (4,))
normalises("nn.rms_norm", lambda e, x, g: x / sqrt(np.sum(x * x, axis=1, keepdims=True) / 4 + e) * g,
           (2, 4), (4,))  # fmt: skip
normalises("nn.instance_norm", lambda e, x, g, b: normal(x, (2,), e) * of_channels(g) + of_channels(b),
           (2, 2, 4), (2,), (2,))  # fmt: skip


def group_normal(e: Any, x: Any, g: Any, b: Any) -> Any:
    return normal(x.reshape(1, 2, 2, 3), (2, 3), e).reshape(1, 4, 3) * of_channels(g) + of_channels(b)


normalises("nn.group_norm", group_normal, (1, 4, 3), (4,), (4,), num_groups=2)


@truth("nn.batch_norm")
def batch_norm(long: bool) -> Iterator[Case]:
    for dtype in ("float32", "float64"):
        xs = [np.asarray(v, dtype) for v in ([0.5, -2.0], [1.5, 0.25], [0.75, -300.0], [2.0, 1e-3])]
        yield computed(
            lambda x, g, b, m, v: (
                (x - of_channels(m)) / sqrt(of_channels(v) + EPSILON) * of_channels(g) + of_channels(b), m, v,
            ),
            draw((2, 2, 3), dtype), *xs, is_normwise=True,
        )  # fmt: skip


@truth("nn.lrn")
def lrn(long: bool) -> Iterator[Case]:
    def formula(x: Any) -> Any:
        squares = [np.sum(x[:, max(i - 1, 0) : i + 2] ** 2, axis=1) for i in range(x.shape[1])]
        powers = np.frompyfunc(lambda v: mp.mpf(v) ** mp.mpf("0.75"), 1, 1)(
            2 + mp.mpf("0.5") / 3 * np.stack(squares, axis=1)
        )
        return x / powers

    for dtype in ("float32", "float64"):
        x = np.random.default_rng(3).standard_normal((1, 4, 2)).astype(dtype)
        yield computed(formula, x, size=3, alpha=0.5, is_normwise=True)


@truth("nn.fast_softmax")
def fast_softmax(long: bool) -> Iterator[Case]:
    for row in ([1.0, -2.5, 0.75, 3.0], [1e6, 1e6, 1e6 - 1, 1e6], [0.0, -20.0, -40.0, -80.0]):
        # `fast_exp` is within 1e-6 of the exponential.
        yield computed(lambda x: exp(x - max(x)) / np.sum(exp(x - max(x))), np.asarray(row, "float32"),
                       ulps=2e-6 * 2**24, slope_scales=lambda x: (np.ones_like(x),))  # fmt: skip
