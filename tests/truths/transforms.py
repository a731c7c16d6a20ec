"""Truths of discrete Fourier transforms and of the algebra of matrices, by mpmath's numbers."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from mpmath import mp

from truths.base import Case, truth
from truths.computed import computed
from truths.products import DTYPES, draw

# --- Fourier transforms ---


def rotated(re: Any, im: Any, sign: int, scale: Any = 1) -> tuple[Any, Any]:
    """Return the transform along the last axis, of pairs of real and imaginary parts."""
    n = re.shape[-1]
    angles = [[2 * mp.pi * j * k / n for k in range(n)] for j in range(n)]
    cosine = np.asarray([[mp.cos(a) for a in row] for row in angles], object)
    sine = np.asarray([[sign * mp.sin(a) for a in row] for row in angles], object)
    return (re @ cosine - im @ sine) * scale, (re @ sine + im @ cosine) * scale


def halves(re: Any, im: Any) -> tuple[Any, Any]:
    """Return the first half of a transform of real numbers."""
    n = re.shape[-1] // 2 + 1
    return re[..., :n], im[..., :n]


def nothing(re: Any) -> Any:
    return np.full(re.shape, mp.mpf(0))


def transforms(name: str, f: Callable[..., Any], *shapes: tuple[int, ...], **attrs: Any) -> None:
    """Declare a transform, whose rounding is relative to its greatest number."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in DTYPES:
            operands = [draw(shape, dtype, i) for i, shape in enumerate(shapes)]
            yield computed(f, *operands, is_normwise=True, **attrs)


for n in (5, 8):
    transforms("dft", lambda re, im: rotated(re, im, -1), (2, n), (2, n))
    transforms(
        "dft", lambda re, im: rotated(re, im, 1, mp.mpf(1) / re.shape[-1]), (2, n), (2, n), inverse=True
    )
    transforms("rdft", lambda re: halves(*rotated(re, nothing(re), -1)), (2, n))

# --- matrices ---


def each(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of arrays from one of mpmath's matrices."""

    def call(*arrays: Any) -> Any:
        return as_array(f(*[mp.matrix(a.tolist()) for a in arrays]))

    return call


def as_array(m: Any) -> Any:
    """Return an array of the numbers of a matrix, or of one number."""
    if not isinstance(m, mp.matrix):
        return np.asarray(m, object)
    return np.asarray([[m[i, j] for j in range(m.cols)] for i in range(m.rows)], object)


MATRIX = [[4.0, 1.0, -2.0], [0.5, -3.0, 1.0], [1.0, 0.25, 5.0]]
POSITIVE = [[4.0, 1.0, -2.0], [1.0, 5.0, 0.5], [-2.0, 0.5, 6.0]]
RIGHT = [[1.0, -2.0], [0.5, 3.0], [100.0, 1e-3]]


def algebra(name: str, f: Callable[..., Any], *matrices: Any, ulps: float = 8.0, **attrs: Any) -> None:
    """Declare a function of well conditioned matrices; eliminations round once for each row and column."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in DTYPES:
            operands = [np.asarray(m, dtype) for m in matrices]
            yield computed(f, *operands, ulps=ulps, is_normwise=True, **attrs)


algebra("linalg.det", each(mp.det), MATRIX)
algebra("linalg.inv", each(mp.inverse), MATRIX)
algebra("linalg.solve", each(lambda a, b: mp.inverse(a) * b), MATRIX, RIGHT)
