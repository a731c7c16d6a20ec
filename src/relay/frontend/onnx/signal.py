"""Fourier transforms, as products with matrices of cosines and sines."""

from typing import Any

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.onnx.tensors import dtype_of
from relay.frontend.products import matmul
from relay.frontend.support import axis_in, cast
from relay.frontend.value import Value, call, constant


def waves(length: int, count: int, *, inverse: bool) -> tuple[Any, Any]:
    """Cosines and sines `(length, count)` of the transform."""
    angle = (2 if inverse else -2) * np.pi * np.outer(np.arange(length), np.arange(count)) / length
    scale = 1 / length if inverse else 1.0
    return np.cos(angle) * scale, np.sin(angle) * scale


def part(x: Value, index: int) -> Value:
    """The real or the imaginary part."""
    return call("take", x, constant(index, "int64"), axis=x.rank - 1)


def fitted(x: Value, axis: int, length: int) -> Value:
    """Data cut or filled up with zeros to a length."""
    size = x.size(axis)
    if size > length:
        return call("strided_slice", x, begin=(0,), end=(length,), axes=(axis,))
    if size < length:
        width = [(0, 0)] * x.rank
        width[axis] = (0, length - size)
        return call("nn.pad", x, pad_width=tuple(width))
    return x


def transformed(real: Value, imaginary: Value | None, axis: int, count: int, inverse: bool) -> Value:
    """The first `count` terms along an axis, as pairs in a new last axis; `inverse` real terms stay pairs."""
    length = real.size(axis)
    cosines, sines = (constant(w, real.dtype) for w in waves(length, count, inverse=inverse))
    order = [a for a in range(real.rank) if a != axis] + [axis]
    back = list(np.argsort(order))

    def product(x: Value, w: Value) -> Value:
        moved = matmul(call("transpose", x, axes=tuple(order)), w)
        return call("transpose", moved, axes=tuple(int(b) for b in back))

    a, b = product(real, cosines), product(real, sines)
    if imaginary is not None:
        a, b = a - product(imaginary, sines), b + product(imaginary, cosines)
    return call("stack", (a, b), axis=real.rank)


def dft(x: Value, length: int | None, axis: int, inverse: bool, onesided: bool) -> Value:
    """The transform of real data `(..., 1)` or complex data `(..., 2)`."""
    n = x.size(axis) if length is None else length
    if inverse and onesided:
        return _real_from_half(x, axis, 2 * (x.size(axis) - 1) if length is None else n)
    x = fitted(x, axis, n)
    real = part(x, 0)
    imaginary = part(x, 1) if x.size(x.rank - 1) == 2 else None
    return transformed(real, imaginary, axis, n // 2 + 1 if onesided else n, inverse)


def _real_from_half(x: Value, axis: int, n: int) -> Value:
    """Real data from the first half of their terms; the others are their conjugates."""
    half = n // 2 + 1
    x = fitted(x, axis, half)
    k, t = np.arange(half), np.arange(n)
    times = np.where((k == 0) | ((n % 2 == 0) & (k == n // 2)), 1.0, 2.0)[:, None] / n
    angle = 2 * np.pi * np.outer(k, t) / n
    order = [a for a in range(x.rank - 1) if a != axis] + [axis]
    back = [int(b) for b in np.argsort(order)]
    found: Value | None = None
    for index, wave in ((0, np.cos(angle) * times), (1, -np.sin(angle) * times)):
        moved = matmul(call("transpose", part(x, index), axes=tuple(order)), constant(wave, x.dtype))
        term = call("transpose", moved, axes=tuple(back))
        found = term if found is None else found + term
    assert found is not None
    return call("expand_dims", found, axis=found.rank)


@converts("DFT", since=17)
def dft_by_attribute(node: Node, x: Value, length: Value | None = None) -> Value:
    """The transform along an axis."""
    n = None if length is None else int(length.number("the length"))
    axis = axis_in(node.int("axis", 1), x.rank)
    return dft(x, n, axis, bool(node.int("inverse", 0)), bool(node.int("onesided", 0)))


@converts("DFT", since=20)
def convert_dft(node: Node, x: Value, length: Value | None = None, axis: Value | None = None) -> Value:
    """The transform along an axis."""
    n = None if length is None else int(length.number("the length"))
    along = axis_in(-2 if axis is None else int(axis.number("the axis")), x.rank)
    return dft(x, n, along, bool(node.int("inverse", 0)), bool(node.int("onesided", 0)))


@converts("STFT", since=17)
def stft(
    node: Node, x: Value, step: Value, window: Value | None = None, length: Value | None = None
) -> Value:
    """The transform of each frame of a signal `(n, samples, 1 or 2)`."""
    hop = int(step.number("the step"))
    if length is not None:
        size = int(length.number("the length"))
    elif window is not None:
        size = window.size(0)
    else:
        return node.fail("neither a window nor the length of frames is given")
    if hop <= 0 or size <= 0:
        return node.fail("frames and steps are longer than 0")
    count = (x.size(1) - size) // hop + 1
    places = np.arange(count)[:, None] * hop + np.arange(size)[None]
    frames = call("take", x, constant(places), axis=1)  # (n, frames, size, 1 or 2)
    if window is not None:
        frames = frames * call("expand_dims", cast(window, x.dtype), axis=1)
    return dft(frames, size, 2, False, bool(node.int("onesided", 1)))


@converts("MelWeightMatrix")
def mel_weight_matrix(node: Node, bins: Value, length: Value, rate: Value, low: Value, high: Value) -> Value:
    """The weights of frequencies in bins of equal width on the mel scale."""
    count, n = int(bins.number("the bins")), int(length.number("the length"))
    sample_rate = float(rate.number("the rate"))
    edges = [2595 * np.log10(1 + float(v.number("an edge")) / 700) for v in (low, high)]
    step = (edges[1] - edges[0]) / (count + 2)
    mels = np.arange(count + 2) * step + edges[0]
    hertz = 700 * (10 ** (mels / 2595) - 1)
    places = ((n + 1) * hertz // sample_rate).astype("int64")
    found = np.zeros((n // 2 + 1, count))
    for i in range(count):
        first, middle, last = places[i : i + 3]
        rise = middle - first
        if rise == 0:
            found[middle, i] = 1
        else:
            for j in range(first, middle + 1):
                found[j, i] = (j - first) / rise
        fall = last - middle
        if fall > 0:
            for j in range(middle, last):
                found[j, i] = (last - j) / fall
    return constant(found, dtype_of(node.int("output_datatype", 1)))
