"""Truths of Fourier transforms, by sums of mpmath's complex numbers."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from mpmath import mp

from truths.base import Case, truth
from truths.computed import PRECISION, computed


@cache
def turns(n: int, sign: int) -> Any:
    """Return the matrix of a transform of `n` numbers."""
    with mp.workprec(PRECISION):
        roots = [mp.expjpi(mp.mpf(2 * sign * k) / n) for k in range(n)]
        matrix = np.empty((n, n), object)
        for i, j in np.ndindex(n, n):
            matrix[i, j] = roots[i * j % n]
    return matrix


def transform(z: Any, axes: Sequence[int], sign: int) -> Any:
    """Return the transform along some axes; `sign` is 1 for the inverse, which is divided."""
    for axis in axes:
        n = z.shape[axis]
        z = np.moveaxis(np.tensordot(turns(n, sign), z, (1, axis)), 0, axis)
        z = z / n if sign > 0 else z
    return z


def to_complex(x: Any) -> Any:
    return x[..., 0] + x[..., 1] * mp.mpc(0, 1)


def to_pairs(z: Any) -> Any:
    re, im = (np.frompyfunc(lambda v, p=p: getattr(mp.mpc(v), p), 1, 1)(z) for p in ("real", "imag"))
    return np.stack([re, im], axis=-1)


def mirrored(z: Any, n: int, axes: Sequence[int]) -> Any:
    """Return all terms of real numbers, of which the last axis has the first half.

    The imaginary parts of terms that are their own mirror images do not count: the result's real part is the
    same with and without them.
    """
    last = z.shape[-1]
    others = z[..., 1 : n - last + 1][..., ::-1]
    for axis in axes[:-1]:
        others = np.roll(np.flip(others, axis), 1, axis)
    conjugate = np.frompyfunc(lambda v: mp.conj(v), 1, 1)
    return np.concatenate([z, conjugate(others)], axis=-1)


def real(z: Any) -> Any:
    return np.frompyfunc(lambda v: mp.mpc(v).real, 1, 1)(z)


def transforms(name: str, f: Callable[[Any], Any], *shape: int, **attrs: Any) -> None:
    """Declare a transform: rounding is relative to the greatest of its results."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in ("float32", "float64") if long else ("float64",):
            x = np.random.default_rng(3).standard_normal(shape).astype(dtype)
            yield computed(f, x, is_normwise=True, **attrs)


LAST, BOTH = (-1,), (-2, -1)
for suffix, axes, shape in (("", LAST, (5,)), ("2", BOTH, (2, 3)), ("n", (-3, -2, -1), (2, 2, 2))):
    for prefix, sign in (("", -1), ("i", 1)):
        transforms(f"fft.{prefix}fft{suffix}",
                   lambda x, a=axes, s=sign: to_pairs(transform(to_complex(x), a, s)), *shape, 2)  # fmt: skip
for suffix, axes, shape in (("", LAST, (5,)), ("2", BOTH, (3, 4)), ("n", (-3, -2, -1), (2, 3, 2))):
    half = shape[-1] // 2 + 1
    transforms(f"fft.rfft{suffix}", lambda x, a=axes, h=half: to_pairs(transform(x, a, -1)[..., :h]), *shape)
    even = 2 * (half - 1)
    transforms(
        f"fft.irfft{suffix}",
        lambda x, a=axes, n=even: real(transform(mirrored(to_complex(x), n, a), a, 1)),
        *shape[:-1], half, 2,
    )  # fmt: skip
transforms("fft.hfft", lambda x: real(transform(mirrored(to_complex(x), 4, LAST), LAST, -1)), 3, 2)
transforms("fft.ihfft", lambda x: to_pairs(transform(x, LAST, 1)[..., :3]), 5)


@truth("irdft")
def irdft(long: bool) -> Iterator[Case]:
    for dtype in ("float32", "float64"):
        re, im = np.random.default_rng(3).standard_normal((2, 2, 3)).astype(dtype)
        for n in (4, 5):
            yield computed(
                lambda re, im, n=n: real(transform(mirrored(re + im * mp.mpc(0, 1), n, LAST), LAST, 1)),
                re, im, length=n, is_normwise=True,
            )  # fmt: skip


@truth("stft")
def stft(long: bool) -> Iterator[Case]:
    def formula(x: Any, window: Any) -> Any:
        frames = np.stack([x[:, k : k + 4] * window for k in range(0, x.shape[1] - 3, 2)], axis=1)
        return to_pairs(transform(frames, LAST, -1)[..., :3].transpose(0, 2, 1))

    for dtype in ("float32", "float64"):
        x, window = (np.random.default_rng(3).standard_normal(s).astype(dtype) for s in ((2, 8), (4,)))
        yield computed(formula, x, window, n_fft=4, hop_length=2, is_normwise=True)
