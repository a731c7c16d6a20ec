"""Truths of operators that move elements, or combine them in products."""

from collections.abc import Iterator

import numpy as np

from truths.base import Case, truth
from truths.computed import computed

ROWS = [[0.0, 1.0, -2.5, 1e-30], [3e4, -1.0, np.inf, 7.0]]


@truth("concatenate")
def concatenate(long: bool) -> Iterator[Case]:
    for dtype in ("float32", "float64", "int64"):
        x = np.asarray([[1, 2, 3], [4, 5, 6]], dtype)
        yield computed(
            lambda xs: np.concatenate(xs, axis=1),
            (x, x[:, :1], x[:, :0]),
            axis=1,
            has_slopes=dtype != "int64",
        )


@truth("reverse")
def reverse(long: bool) -> Iterator[Case]:
    for dtype in ("float16", "float32"):
        yield computed(lambda x: x[:, ::-1], np.asarray(ROWS, dtype), axis=1, ulps=0)
