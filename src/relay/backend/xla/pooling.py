"""Pooling of floats over windows, and its derivatives, as XLA's own reductions of windows."""

from functools import partial, reduce
from typing import Any

import numpy

from relay.op.conversion import accumulator
from relay.op.nn.pool import AvgPool, MaxPool
from relay.op.nn.pool_grad import AvgPoolGrad, MaxPoolGrad
from relay.op.nn.window import Sliding


def greatest(np: Any, op: MaxPool, data: Any) -> Any:
    """`nn.max_pool{n}d`."""
    x = op.opened(np, accumulator(data))
    return op.closed(np, maxima(np.jax, op, x), data.dtype)


def to_greatest(np: Any, op: MaxPoolGrad, out_grad: Any, data: Any) -> Any:
    """`nn.max_pool{n}d_grad`: NaN counts as infinity, so of both in one window the first takes it."""
    if any(s.dilation != 1 for s in op.slides):
        return op.reference(np, out_grad, data)  # XLA's own is for windows without gaps
    x, y = op.opened(np, accumulator(data)), op.pooled_axes(np, out_grad)
    known = np.where(np.isnan(x), x.dtype.type(numpy.inf), x)
    _, back = np.jax.vjp(partial(maxima, np.jax, op), known)
    return op.restored(np, back(y)[0], data.dtype)


def averages(np: Any, op: AvgPool, data: Any) -> Any:
    """`nn.avg_pool{n}d`."""
    x = op.opened(np, accumulator(data))
    return op.closed(np, means(np.jax, op, x), data.dtype)


def to_averaged(np: Any, op: AvgPoolGrad, out_grad: Any, data: Any) -> Any:
    """`nn.avg_pool{n}d_grad`: the transpose of the means."""
    jax = np.jax
    y = op.pooled_axes(np, out_grad)
    shape = op.opened(np, data).shape
    (found,) = jax.linear_transpose(partial(means, jax, op), jax.ShapeDtypeStruct(shape, y.dtype))(y)
    return op.restored(np, found, data.dtype)


def maxima(jax: Any, op: Sliding, x: Any) -> Any:
    """The greatest element of each window of `(n, c, ...)`."""
    return windows(jax, op, x, x.dtype.type(-numpy.inf), jax.lax.max)


def means(jax: Any, op: Any, x: Any) -> Any:
    """The mean of each window of `(n, c, ...)`."""
    counts: Any = reduce(numpy.multiply.outer, op.counts(x.shape[2:]))
    return windows(jax, op, x, x.dtype.type(0), jax.lax.add) / counts.astype(x.dtype)


def windows(jax: Any, op: Sliding, x: Any, start: Any, combine: Any) -> Any:
    """The elements of each window of `(n, c, ...)` combined, from `start` on."""
    pads = [
        (s.before, max(0, (s.steps(d) - 1) * s.stride + s.extent - s.before - d))
        for d, s in zip(x.shape[2:], op.slides, strict=True)
    ]
    taps = [(s.size, s.stride, s.dilation) for s in op.slides]
    size, stride, dilation = [[1, 1, *several] for several in zip(*taps, strict=True)]
    return jax.lax.reduce_window(
        x, start, combine, size, stride, ((0, 0), (0, 0), *pads), window_dilation=dilation
    )
