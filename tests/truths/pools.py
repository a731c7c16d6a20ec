"""Truths of the derivatives of poolings, and of what is shared out among windows, by loops over windows."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from mpmath import mp

from truths.base import Case, truth
from truths.computed import computed
from truths.products import draw

Window = tuple[slice, ...]


def strided(sizes: Sequence[int], size: int, stride: int) -> Iterator[tuple[tuple[int, ...], Window]]:
    """Yield places of results and their windows."""
    counts = [(n - size) // stride + 1 for n in sizes]
    for place in np.ndindex(*counts):
        yield place, tuple([slice(stride * i, stride * i + size) for i in place])


def parts(sizes: Sequence[int], count: int) -> Iterator[tuple[tuple[int, ...], Window]]:
    """Yield places of results and the parts of data that adaptive poolings have them from."""
    for place in np.ndindex(*[count] * len(sizes)):
        ends = [(i * n // count, -(-(i + 1) * n // count)) for i, n in zip(place, sizes, strict=True)]
        yield place, tuple([slice(*end) for end in ends])


def first_greatest(window: Any) -> tuple[int, ...]:
    """Return the place of the greatest number, the first of several."""
    flat = [*window.ravel()]
    return tuple([int(i) for i in np.unravel_index(flat.index(max(flat)), window.shape)])


Windows = Callable[[Sequence[int]], Iterator[tuple[tuple[int, ...], Window]]]


def shared_out(windows: Windows) -> Callable[[Any, Any], Any]:
    """Return the derivative of means: each window's is shared out among its numbers."""

    def formula(g: Any, x: Any) -> Any:
        result = np.full(x.shape, mp.mpf(0))
        for n, c in np.ndindex(*x.shape[:2]):
            for place, window in windows(x.shape[2:]):
                result[(n, c, *window)] += g[(n, c, *place)] / mp.mpf(x[(n, c, *window)].size)
        return result

    return formula


def to_greatest(windows: Windows) -> Callable[[Any, Any], Any]:
    """Return the derivative of greatest numbers: each window's goes to the first of them."""

    def formula(g: Any, x: Any) -> Any:
        result = np.full(x.shape, mp.mpf(0))
        for n, c in np.ndindex(*x.shape[:2]):
            for place, window in windows(x.shape[2:]):
                result[(n, c, *window)][first_greatest(x[(n, c, *window)])] += g[(n, c, *place)]
        return result

    return formula


def of_greatest(windows: Windows) -> Callable[[Any, Any], Any]:
    """Return what another array has where data has its greatest number, for each window."""

    def formula(t: Any, x: Any) -> Any:
        numbers = {
            (n, c, *place): t[(n, c, *window)][first_greatest(x[(n, c, *window)])]
            for n, c in np.ndindex(*x.shape[:2])
            for place, window in windows(x.shape[2:])
        }
        result = np.empty(tuple(np.max([*numbers], axis=0) + 1), object)
        for place, number in numbers.items():
            result[place] = number
        return result

    return formula


def pooled(name: str, f: Callable[[Any, Any], Any], first: tuple[int, ...], data: tuple[int, ...],
           has_ties: bool, **attrs: Any) -> None:  # fmt: skip
    """Declare the derivative of a pooling, also where all numbers of a window are equal."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in ("float64", "float32") if long else ("float64",):
            yield computed(f, draw(first, dtype), draw(data, dtype, 1), is_normwise=True, **attrs)
        if has_ties:
            tied = np.resize(np.asarray([1.0, 1.0, -2.0], "float32"), data)
            yield computed(f, draw(first, "float32"), tied, has_slopes=False, is_normwise=True, **attrs)


for rank in (1, 2, 3):
    side = 5 if rank < 3 else 3
    data, result = (1, 2, *[side] * rank), (1, 2, *[2] * rank)
    size = 3 if rank < 3 else 2
    stride = side - size
    windows, adaptive = partial(strided, size=size, stride=stride), partial(parts, count=2)
    attrs = {"pool_size": size, "strides": stride}
    pooled(f"nn.avg_pool{rank}d_grad", shared_out(windows), result, data, False, **attrs)
    pooled(f"nn.max_pool{rank}d_grad", to_greatest(windows), result, data, True, **attrs)
    pooled(f"nn.max_pool{rank}d_tangent", of_greatest(windows), data, data, True, **attrs)
    pooled(f"nn.adaptive_avg_pool{rank}d_grad", shared_out(adaptive), result, data, False, output_size=2)
    pooled(f"nn.adaptive_max_pool{rank}d_grad", to_greatest(adaptive), result, data, True, output_size=2)
    pooled(f"nn.adaptive_max_pool{rank}d_tangent", of_greatest(adaptive), data, data, True, output_size=2)


def summed(*scales: int) -> Callable[[Any, Any], Any]:
    """Return the derivative of repetitions: the sum over those of each number."""

    def formula(g: Any, x: Any) -> Any:
        result = np.full(x.shape, mp.mpf(0))
        for place in np.ndindex(g.shape):
            result[(*place[:2], *[i // s for i, s in zip(place[2:], scales, strict=True)])] += g[place]
        return result

    return formula


pooled("nn.upsampling_grad", summed(2, 3), (1, 1, 4, 6), (1, 1, 2, 2), False, scale_h=2, scale_w=3)
pooled("nn.upsampling3d_grad", summed(2, 1, 3), (1, 1, 4, 2, 6), (1, 1, 2, 2, 2), False, scale_d=2, scale_h=1,
       scale_w=3)  # fmt: skip
