"""Truths of attention and of the softmax inside of it, rows whose keys are all masked included."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from mpmath import mp

from truths.base import Case, truth
from truths.computed import computed, exp

ROWS = [[0.0, 1.0, -2.5], [1e4, -1e4, 1e4], [-np.inf, 3.0, -np.inf], [-np.inf, -np.inf, -np.inf]]
SHAPES = ((3, 2), (4, 2), (4, 3))
"""The shapes of queries, keys and values."""
NEAR = {"ulps": 16, "slope_ulps": 64}
"""Scores are rounded before they are exponents, and derivatives by them are differences."""


def shares(scores: Any, axis: int = -1) -> Any:
    """Return the softmax of mpmath's numbers; 0 along an axis of infinite ones (PyTorch since 2.5)."""
    most = scores.max(axis, keepdims=True)
    most = np.where(most == -mp.inf, mp.mpf(0), most)
    grown = exp(scores - most)
    total = grown.sum(axis, keepdims=True)
    return grown / np.where(total == 0, mp.mpf(1), total)


@truth("nn.safe_softmax")
def safe_softmax(long: bool) -> Iterator[Case]:
    for dtype in ("float16", "float32", "float64"):
        yield computed(shares, np.asarray(ROWS, dtype))
        yield computed(lambda x: shares(x, 0), np.asarray(ROWS[:3], dtype), axis=0)


def mixed(q: Any, k: Any, v: Any, keep: Any = True, added: Any = 0) -> Any:
    """Return attention by its formula, with one head of keys for each of the queries."""
    scores = q @ np.swapaxes(k, -1, -2) / mp.sqrt(q.shape[-1]) + added
    scores = np.where(keep, scores, mp.mpf("-inf"))
    return shares(scores) @ v


@truth("nn.attention")
def attention(long: bool) -> Iterator[Case]:
    rng = np.random.default_rng(5)
    keep = np.asarray([[True, False, True, True], [False] * 4, [False, False, True, False]])
    causal = np.tri(3, 4, dtype=bool)
    for dtype in ("float32", "float64"):
        q, k, v = (rng.standard_normal(s).astype(dtype) for s in SHAPES)
        hidden = np.where(keep, rng.standard_normal(keep.shape), -np.inf).astype(dtype)
        yield computed(mixed, q, k, v, **NEAR)
        yield computed(lambda q, k, v: mixed(q, k, v, causal), q, k, v, causal=True, **NEAR)
        yield computed(mixed, q, k, v, keep, **NEAR, threads=(1, 2))
        yield computed(lambda q, k, v, m: mixed(q, k, v, True, m), q, k, v, hidden, **NEAR)
        yield computed(lambda q, k, v, m: mixed(q, k, v, causal & m), q, k, v, keep, causal=True, **NEAR)
        heads = [rng.standard_normal((n, *s)).astype(dtype) for n, s in zip((4, 2, 2), SHAPES, strict=True)]
        yield computed(
            lambda q, k, v, m: mixed(q, np.repeat(k, 2, 0), np.repeat(v, 2, 0), m),
            *heads,
            keep,
            group_size=2,
            **NEAR,
        )
