"""Fourier transforms of parts of signals."""

from typing import Any

import numpy

from relay.ir.dim import floor_divide
from relay.ir.expr import Expr, TupleGetItem
from relay.ir.type import TensorType, Type
from relay.op.axes import attribute_fault
from relay.op.base import FLOATING, sample
from relay.op.composite import Composite
from relay.op.numeric import apply
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.term import Term, term


@operator("stft")
class STFT(Composite):
    """The Fourier transforms of overlapping frames of a signal `(n, samples)`: `(n, terms, frames, 2)`.

    Frames of `n_fft` samples are `hop_length` apart (a quarter of their length), and are multiplied by
    `window`, of `win_length` samples with zeros on both sides.  `onesided` keeps the first `n_fft / 2 + 1`
    terms, and `normalized` divides by the root of `n_fft`.

    relay> stft([[1.0, 2.0, 3.0]], [1.0, 1.0], n_fft=2, hop_length=1)
    [[[[3.0, 0.0], [5.0, 0.0]], [[-1.0, 0.0], [-1.0, 0.0]]]]
    """

    n_fft: int
    hop_length: int | None = None
    win_length: int | None = None
    normalized: bool = False
    onesided: bool = True
    dtypes = FLOATING
    samples = (
        sample("2x20 float32", "8 float32", n_fft=8, hop_length=3),
        sample("1x20 float32", "4 float32", n_fft=6, win_length=4, onesided=False, normalized=True),
        sample("1x10 float32", n_fft=4),
    )
    builder_order = ("data", "n_fft", "hop_length", "win_length", "window", "normalized", "onesided")

    @property
    def hop(self) -> int:
        """How far apart frames are."""
        return self.n_fft // 4 if self.hop_length is None else self.hop_length

    @property
    def terms(self) -> int:
        """How many terms are kept."""
        return self.n_fft // 2 + 1 if self.onesided else self.n_fft

    def infer(self, t: Typing, data: Type, window: Type | None = None) -> Type:
        n, samples = t.shape(data, 2, "the signals")
        if self.n_fft < 1:
            attribute_fault(t, "n_fft", self.n_fft, "a frame has samples")
        if self.hop < 1:
            attribute_fault(t, "hop_length", self.hop, "frames are apart")
        width = self.n_fft if self.win_length is None else self.win_length
        if not 1 <= width <= self.n_fft:
            attribute_fault(t, "win_length", width, "the window fits into a frame")
        if window is not None:
            t.equal(
                window, TensorType((width,), t.dtype(data)), why="the window has a weight for each sample"
            )
        t.require(self.n_fft, "<=", samples, "a frame fits into the signal")
        frames = floor_divide(samples - self.n_fft, self.hop) + 1
        return TensorType((n, self.terms, frames, 2), t.dtype(data))

    def decompose(self, types: Any, data: Expr, window: Expr | None = None) -> Expr:
        n, dtype = self.n_fft, types[0].dtype
        width = n if self.win_length is None else self.win_length
        frames = Term(data, dtype).of("sliding_window", axis=1, window_shape=(n,), strides=(self.hop,))
        weight = term(numpy.ones(width), str(dtype)) if window is None else Term(window, dtype)
        if width < n:
            left = (n - width) // 2
            weight = weight.of("nn.pad", pad_width=((left, n - width - left),))
        x = frames * weight
        operands = (x,) if self.onesided else (x, x.of("zeros_like"))
        both = apply("rdft" if self.onesided else "dft", *[p.expr for p in operands])
        found = Term(apply("view_as_real", TupleGetItem(both, 0), TupleGetItem(both, 1)), dtype)
        if self.normalized:
            found = found / float(numpy.sqrt(n))
        return found.of("transpose", axes=(0, 2, 1, 3)).expr
