"""Truths of factors of matrices and of least squares, in mpmath; signs of vectors are those of NumPy."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from mpmath import mp

from truths.base import Case, truth
from truths.computed import computed

SYMMETRIC = [[4, 1, 0.5], [1, 3, -1], [0.5, -1, 2]]
SQUARE = [[4, 1, 0.5], [1, 2, -1], [0.25, -1, 1.5]]
TALL = [[2, 0.5], [0.5, 1], [-1, 0.25]]
WIDE = [[4, 1, 0.5], [1, 3, -1]]


def on_matrices(name: str, f: Callable[..., Any], *matrices: Any) -> None:
    """Declare a function of matrices: rounding is relative to the greatest of its results."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in ("float32", "float64"):
            for matrix in matrices:
                xs = [np.asarray(x, dtype) for x in (matrix if isinstance(matrix, tuple) else (matrix,))]
                yield computed(f, *xs, ulps=16, slope_ulps=64, is_normwise=True)


def with_signs(vectors: Any, like: Any) -> Any:
    """Return the signs that columns need to point to where others do."""
    return np.asarray([mp.sign(s) for s in np.sum(vectors * like, axis=0)], object)


def array(x: Any) -> Any:
    """Return a matrix of mpmath's as an array."""
    return np.asarray(x.tolist(), object)


def eigh(a: Any) -> Any:
    values, vectors = mp.eigsy(mp.matrix(((a + a.T) / 2).tolist()))
    signs = with_signs(array(vectors), np.linalg.eigh(a.astype("float64"))[1])
    return np.asarray([*values], object), array(vectors) * signs


def svd(a: Any) -> Any:
    u, s, vh = mp.svd_r(mp.matrix(a.tolist()))
    signs = with_signs(array(u), np.linalg.svd(a.astype("float64"), full_matrices=False)[0])
    return array(u) * signs, np.asarray([*s], object), array(vh) * signs[:, None]


def qr(a: Any) -> Any:
    """Return the factors after Gram and Schmidt."""
    count = min(a.shape)
    q = np.empty((a.shape[0], count), object)
    for k in range(count):
        rest = a[:, k] - q[:, :k] @ (q[:, :k].T @ a[:, k])
        q[:, k] = rest / mp.sqrt(np.sum(rest * rest))
    q = q * with_signs(q, np.linalg.qr(a.astype("float64"))[0])
    r = q.T @ a
    for i, j in np.ndindex(r.shape):
        if i > j:
            r[i, j] = mp.mpf(0)
    return q, r


def lstsq(a: Any, b: Any) -> Any:
    """Return the solution of the normal equations."""
    wide = a.shape[1] > a.shape[0]
    square = a @ a.T if wide else a.T @ a
    right = b if wide else a.T @ b
    inverse = array(mp.matrix(square.tolist()) ** -1)
    return a.T @ (inverse @ right) if wide else inverse @ right


on_matrices("linalg.eigh", eigh, SYMMETRIC, SQUARE)
on_matrices("linalg.svd", svd, SQUARE, TALL, WIDE)
on_matrices("linalg.qr", qr, SQUARE, TALL, WIDE)
on_matrices("linalg.lstsq", lstsq, (TALL, [[1, 2], [3, -1], [0.5, 4]]), (WIDE, [[1], [-2]]))
