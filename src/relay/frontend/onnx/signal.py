"""Fourier transforms."""

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.onnx.tensors import dtype_of
from relay.frontend.support import axis_in, cast
from relay.frontend.value import Value, call, constant, fields


def component(x: Value, index: int) -> Value:
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


def dft(x: Value, length: int | None, axis: int, inverse: bool, onesided: bool) -> Value:
    """The transform of real data `(..., 1)` or complex data `(..., 2)`."""
    half = inverse and onesided
    n = length if length is not None else 2 * (x.size(axis) - 1) if half else x.size(axis)
    x = fitted(x, axis, n // 2 + 1 if half else n)
    parts = [component(x, k) for k in range(x.size(x.rank - 1))]
    if onesided and not inverse and len(parts) == 1:
        return call("view_as_real", *fields(call("rdft", *parts, axis=axis)))
    real, imaginary = parts if len(parts) == 2 else (parts[0], call("zeros_like", parts[0]))
    if half:
        return call("expand_dims", call("irdft", real, imaginary, length=n, axis=axis), axis=x.rank - 1)
    found = fields(call("dft", real, imaginary, inverse=inverse, axis=axis))
    if onesided and not inverse:
        found = [call("strided_slice", v, begin=(0,), end=(n // 2 + 1,), axes=(axis,)) for v in found]
    return call("view_as_real", *found)


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
    """The transform of each frame of a signal `(n, samples, 1 or 2)`, or a real one `(n, samples)`."""
    if x.rank == 2:
        x = call("expand_dims", x, axis=2)
    if x.rank != 3:
        return node.fail(f"the signal has rank 2 or 3, not {x.rank}")
    hop = int(step.number("the step"))
    if length is not None:
        size = int(length.number("the length"))
    elif window is not None:
        size = window.size(0)
    else:
        return node.fail("neither a window nor the length of frames is given")
    if hop <= 0 or size <= 0:
        return node.fail("frames and steps are longer than 0")
    weights = [] if window is None else [cast(window, x.dtype)]
    several = x.size(2) == 2
    onesided = bool(node.int("onesided", 1)) and not several
    found = [
        call("stft", component(x, k), *weights, n_fft=size, hop_length=hop, onesided=onesided)
        for k in range(x.size(2))
    ]
    terms = found[0]
    if several:
        (a, b), (c, d) = ((component(v, 0), component(v, 1)) for v in found)
        terms = call("stack", (a - d, b + c), axis=3)
    return call("transpose", terms, axes=(0, 2, 1, 3))


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
