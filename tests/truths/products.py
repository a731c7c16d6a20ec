"""Truths of products of matrices, convolutions and poolings, by sums over taps of mpmath's numbers."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from mpmath import mp

from relay.ir.dtype import to_numpy
from truths.base import Case, truth
from truths.computed import computed

DTYPES = ("float32", "float64")


def draw(shape: Sequence[int], dtype: str, seed: int = 0) -> Any:
    """Return numbers of a normal distribution, with an outlier."""
    x = np.random.default_rng(seed).standard_normal(shape)
    x.flat[0] = 1000.0
    return x.astype(to_numpy(dtype))


def sums(name: str, f: Callable[..., Any], *shapes: Any, ulps: float = 4.0, **attrs: Any) -> None:
    """Declare an operator that adds products up: rounding is relative to the greatest of its results."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in (*DTYPES, "float16", "bfloat16") if long else DTYPES:
            operands = [draw(s, dtype, i) if isinstance(s, tuple) else s for i, s in enumerate(shapes)]
            yield computed(f, *operands, ulps=ulps, is_normwise=True, **attrs)


# --- products of matrices ---

sums("nn.dense", lambda x, w: x @ w.T, (2, 5), (3, 5))
sums("nn.matmul", lambda a, b: a @ b, (2, 5), (5, 3))
sums("nn.matmul", lambda a, b: a.T @ b.T, (5, 2), (3, 5), transpose_a=True, transpose_b=True)
sums(
    "nn.batch_matmul",
    lambda a, b: np.stack([x @ y.T for x, y in zip(a, b, strict=True)]),
    (2, 2, 4),
    (2, 3, 4),
)
sums("nn.bias_add", lambda x, b: x + b[:, None], (2, 3, 2), (3,))


@truth("einsum")
def einsum(long: bool) -> Iterator[Case]:
    for dtype in DTYPES:
        xs = (draw((2, 3), dtype), draw((3, 2), dtype, 1))
        yield computed(lambda xs: xs[0] @ xs[1], xs, equation="ij,jk->ik", is_normwise=True)


# --- convolutions ---


def taps(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the places of a window."""
    return product(*map(range, sizes))


def padded(x: Any, padding: int, value: Any) -> Any:
    """Return data with numbers around its spatial axes."""
    widths = [(0, 0), (0, 0), *[(padding, padding)] * (x.ndim - 2)]
    return np.pad(x, widths, constant_values=value) if padding else x


def convolved(x: Any, w: Any, stride: int = 1, padding: int = 0, dilation: int = 1) -> Any:
    """Return a convolution of data `(n, c, ...)` with a weight `(o, c, ...)`."""
    x = padded(x, padding, mp.mpf(0))
    sizes = [
        (n - (k - 1) * dilation - 1) // stride + 1 for n, k in zip(x.shape[2:], w.shape[2:], strict=True)
    ]
    total = mp.mpf(0)
    for tap in taps(w.shape[2:]):
        places = [slice(t * dilation, t * dilation + (n - 1) * stride + 1, stride)
                  for t, n in zip(tap, sizes, strict=True)]  # fmt: skip
        seen = x[(slice(None), slice(None), *places)]
        total = total + np.moveaxis(np.tensordot(w[(..., *tap)], seen, (1, 1)), 0, 1)
    return total


def transposed(x: Any, w: Any, stride: int = 1, padding: int = 0) -> Any:
    """Return a transposed convolution, with a weight `(c, o, ...)`."""
    sizes = [(n - 1) * stride + k for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]
    result = np.full((x.shape[0], w.shape[1], *sizes), mp.mpf(0))
    for tap in taps(w.shape[2:]):
        places = [slice(t, t + (n - 1) * stride + 1, stride) for t, n in zip(tap, x.shape[2:], strict=True)]
        result[(slice(None), slice(None), *places)] += np.moveaxis(
            np.tensordot(w[(..., *tap)], x, (0, 1)), 0, 1
        )
    inner = [slice(padding, n - padding) for n in sizes]
    return result[(slice(None), slice(None), *inner)]


def of_weight(g: Any, x: Any, size: int) -> Any:
    """Return the sums of the products of data and the results' cotangents, for each tap."""
    rank = x.ndim - 2
    result = np.full((g.shape[1], x.shape[1], *[size] * rank), mp.mpf(0))
    for tap in taps([size] * rank):
        seen = x[
            (slice(None), slice(None), *[slice(t, t + n) for t, n in zip(tap, g.shape[2:], strict=True)])
        ]
        axes = [0, *range(2, 2 + rank)]
        result[(..., *tap)] = np.tensordot(g, seen, (axes, axes))
    return result


for rank in (1, 2, 3):
    data, window = (1, 2, *[5 if rank < 3 else 3] * rank), [3 if rank < 3 else 2] * rank
    sums(f"nn.conv{rank}d", convolved, data, (3, 2, *window))
    sums(f"nn.conv{rank}d_transpose", transposed, (1, 2, *[3 if rank < 3 else 2] * rank), (2, 2, *[2] * rank))
    sums(f"nn.conv{rank}d_backward_weight", lambda g, x: of_weight(g, x, 2), (1, 2, *[2] * rank),
         (1, 2, *[3] * rank), kernel_size=2)  # fmt: skip
sums(
    "nn.conv2d",
    lambda x, w: convolved(x, w, 2, 1, 2),
    (1, 2, 6, 6),
    (2, 2, 3, 3),
    strides=2,
    padding=1,
    dilation=2,
)
sums(
    "nn.conv2d_transpose",
    lambda x, w: transposed(x, w, 2, 1),
    (1, 2, 3, 3),
    (2, 2, 3, 3),
    strides=2,
    padding=1,
)

# --- poolings ---


def windows(x: Any, size: int, stride: int, padding: int, value: Any) -> Any:
    """Return the numbers of each window, one after the other along the first axis."""
    x = padded(x, padding, value)
    counts = [(n - size) // stride + 1 for n in x.shape[2:]]
    return np.stack([
        x[(slice(None), slice(None), *[slice(t, t + (n - 1) * stride + 1, stride)
                                       for t, n in zip(tap, counts, strict=True)])]
        for tap in taps([size] * (x.ndim - 2))
    ])  # fmt: skip


def mean(xs: Any) -> Any:
    return xs.sum(axis=0) / xs.shape[0]


for rank in (1, 2, 3):
    data = (1, 2, *[4 if rank < 3 else 3] * rank)
    sums(f"nn.max_pool{rank}d", lambda x: windows(x, 2, 1, 0, mp.ninf).max(axis=0), data, pool_size=2)
    sums(f"nn.avg_pool{rank}d", lambda x: mean(windows(x, 2, 1, 0, mp.mpf(0))), data, pool_size=2)
    spatial = tuple(range(2, 2 + rank))
    sums(f"nn.global_max_pool{rank}d", lambda x, axes=spatial: x.max(axis=axes, keepdims=True), data)
    sums(f"nn.global_avg_pool{rank}d",
         lambda x, axes=spatial: x.sum(axis=axes, keepdims=True) / mp.mpf(x[0, 0].size), data)  # fmt: skip
    sums(
        f"nn.adaptive_max_pool{rank}d",
        lambda x, axes=spatial: x.max(axis=axes, keepdims=True),
        data,
        output_size=1,
    )
    sums(f"nn.adaptive_avg_pool{rank}d",
         lambda x, axes=spatial: x.sum(axis=axes, keepdims=True) / mp.mpf(x[0, 0].size), data,
         output_size=1)  # fmt: skip
