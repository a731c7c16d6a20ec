"""Fourier transforms: of a length that is a product, by those of its factors (Cooley and Tukey, 1965)."""

from typing import Any

import numpy

from relay.ir.dim import floor_divide
from relay.ir.expr import Expr, Tuple, TupleGetItem
from relay.ir.type import TensorType, TupleType, Type
from relay.op.axes import attribute_fault
from relay.op.base import FLOATING, operator, sample
from relay.op.composite import Composite
from relay.op.numeric import apply, dims
from relay.op.relation import Typing
from relay.op.term import Term, counted_along, size_of, term

DIRECT = 64
"""A transform of so many terms is one product with a matrix."""
ZERO_TOLERANCE = 1e-12
"""Computed sines of multiples of half a turn are below this, other twiddle factors are not."""
Pair = tuple[Term, Term]


def factor(n: int) -> int:
    """A divisor of a length to split it by; 1 where it is small or prime."""
    if n <= DIRECT:
        return 1
    return max([d for d in range(2, DIRECT + 1) if n % d == 0], default=1)


def waves(rows: int, columns: int, n: int, sign: int, dtype: str) -> Pair:
    """Cosines and sines of the product of row and column in `n`-ths of a turn, 0 where they should be."""
    angle = sign * 2 * numpy.pi * (numpy.outer(numpy.arange(rows), numpy.arange(columns)) % n) / n
    found = [numpy.where(numpy.abs(v) < ZERO_TOLERANCE, 0.0, v) for v in (numpy.cos(angle), numpy.sin(angle))]
    return term(found[0], dtype), term(found[1], dtype)


def waves_along(places: Term, n: Term, sign: int, dtype: str) -> Pair:
    """Those of a length known at run time, from its places 0, 1, 2, …"""
    turns = (places.of("expand_dims", axis=1) * places).of("floor_mod", n).cast("float64") / n.cast("float64")
    angles = turns * (sign * 2 * numpy.pi)
    return angles.of("cos").cast(dtype), angles.of("sin").cast(dtype)


def dft_by_matmul(x: Pair, matrix: Pair) -> Pair:
    """The transform along the last axis as a product with a matrix of cosines and sines."""
    (ac, as_), (bc, bs) = ([v.of("nn.matmul", m) for m in matrix] for v in x)
    return ac - bs, as_ + bc


def transformed(x: Pair, n: int, sign: int) -> Pair:
    """The transform along the last axis, which has `n` elements; `sign` is that of the exponent."""
    first, dtype = factor(n), str(x[0].dtype)
    if first == 1:
        return dft_by_matmul(x, waves(n, n, n, sign, dtype))
    second = n // first
    parts = [v.of("reverse_reshape", newshape=(-1, 0)).of("reshape", newshape=(0, first, second)) for v in x]
    turned = [v.of("transpose", axes=(0, 2, 1)) for v in parts]  # (…, second, first)
    a, b = dft_by_matmul((turned[0], turned[1]), waves(first, first, first, sign, dtype))
    c, s = waves(second, first, n, sign, dtype)
    a, b = (v.of("transpose", axes=(0, 2, 1)) for v in (a * c - b * s, a * s + b * c))
    flat = [v.of("reshape", newshape=(-3, 0)) for v in (a, b)]
    found = transformed((flat[0], flat[1]), second, sign)
    back = [v.of("reshape", newshape=(-4, -1, first, 0)).of("transpose", axes=(0, 2, 1)) for v in found]
    rows = [
        v.of("reshape", newshape=(0, -3)).of("reshape_like", like) for v, like in zip(back, x, strict=True)
    ]
    return rows[0], rows[1]


@operator("dft")
class DFT(Composite):
    """The discrete Fourier transform along the last axis of numbers given as real and imaginary parts.

    The result is a pair too; the inverse is divided by the length.

    relay> dft([1.0, 2.0], [0.0, 0.0])
    ([3.0, -1.0], [0.0, 0.0])
    """

    inverse: bool = False
    results = 2
    dtypes = FLOATING
    samples = (
        sample("2x5 float32", "2x5 float32"),
        sample("72 float64", "72 float64", inverse=True),
        sample("2x1x8 float32", "2x1x8 float32"),
    )

    def infer(self, t: Typing, re_data: Type, im_data: Type) -> Type:
        if not t.shape(re_data):
            t.fail("rank-mismatch", "a scalar has no axis to transform along")
        t.equal(im_data, re_data, why="real and imaginary parts have one type")
        return TupleType([re_data, re_data])

    def decompose(self, types: Any, re_data: Expr, im_data: Expr) -> Expr:
        rank, dtype = len(dims(types[0])), types[0].dtype
        n = size_of(re_data, types[0], rank - 1)
        a, b = Term(re_data, dtype), Term(im_data, dtype)
        if rank == 1:
            a, b = (v.of("expand_dims", axis=0) for v in (a, b))
        sign = 1 if self.inverse else -1
        if isinstance(n, int):
            found = transformed((a, b), n, sign)
        else:
            places = counted_along(re_data, types[0], rank - 1)
            found = dft_by_matmul((a, b), waves_along(places, n, sign, str(dtype)))
        if self.inverse:
            found = tuple([v / term(n, str(dtype)) for v in found])
        if rank == 1:
            found = tuple([v.of("squeeze", axis=(0,)) for v in found])
        return Tuple(tuple([v.expr for v in found]))


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
        both = apply("dft", x.expr, x.of("zeros_like").expr)
        parts = [
            _field(both, k, dtype).of("strided_slice", begin=(0,), end=(self.terms,), axes=(2,))
            for k in (0, 1)
        ]
        found = Term(apply("stack", tuple([p.expr for p in parts]), axis=3), dtype)
        if self.normalized:
            found = found / float(numpy.sqrt(n))
        return found.of("transpose", axes=(0, 2, 1, 3)).expr


def _field(pair: Expr, k: int, dtype: Any) -> Term:
    return Term(TupleGetItem(pair, k), dtype)
