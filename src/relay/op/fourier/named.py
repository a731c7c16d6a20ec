"""Fourier transforms of complex numbers as pairs: an axis behind the others holds real and imaginary part."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy

from relay.ir.dim import floor_divide
from relay.ir.expr import Expr, TupleGetItem, constant
from relay.ir.type import TensorType, Type
from relay.op.attribute import Size
from relay.op.axes import UNCHECKED, Checker, attribute_fault, axes_of
from relay.op.base import FLOATING, sample
from relay.op.composite import Composite
from relay.op.family import family
from relay.op.fourier.pairs import pair_shape
from relay.op.fourier.transform import Norm
from relay.op.numeric import apply, dims
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.term import Term, iota, size_of, term


@family
class Transform(Composite):
    """Along some axes of a tensor; the axis of the pairs is none of them, and does not count."""

    dtypes = FLOATING
    takes_pairs = True
    gives_pairs = True
    is_inverse = False

    def wanted(self, t: Checker, rank: int) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
        """The axes, and what sizes they are cut or filled up with zeros to, if any."""
        raise AssertionError(f"{self.name} does not say its axes")

    def infer(self, t: Typing, data: Type) -> Type:
        shape = list(pair_shape(t, data) if self.takes_pairs else t.shape(data))
        axes, sizes = self.wanted(t, len(shape))
        if not axes:
            t.fail("rank-mismatch", "there is no axis to transform along")
        for a, n in zip(axes, sizes, strict=True):
            if isinstance(n, int) and n < 1:
                attribute_fault(t, "n", n, "a transform is of one element or more")
            t.require(1, "<=", shape[a], "a transform is of one element or more")
            shape[a] = shape[a] if n is None else n
        last = axes[-1]
        if not self.takes_pairs:
            shape[last] = floor_divide(shape[last], 2) + 1
        if not self.gives_pairs and sizes[-1] is None:
            shape[last] = 2 * (shape[last] - 1)
            t.require(1, "<=", shape[last], "a transform is of one element or more")
        return TensorType((*shape, 2) if self.gives_pairs else tuple(shape), t.dtype(data))

    def decompose(self, types: Any, data: Expr) -> Expr:
        shape = dims(types[0])
        axes, sizes = self.wanted(UNCHECKED, len(shape) - self.takes_pairs)
        norm: Any = getattr(self, "norm", None)
        for a, n in zip(axes, sizes, strict=True):
            if n is not None:
                is_half = not self.gives_pairs and a == axes[-1]
                data = fitted(data, types[0], a, half(n) + 1 if is_half else n)
        if self.takes_pairs:
            found = apply("view_as_complex", data)
        else:
            found = apply("rdft", data, axis=axes[-1], norm=norm)
        parts = (TupleGetItem(found, 0), TupleGetItem(found, 1))
        for a in axes if self.takes_pairs and self.gives_pairs else axes[:-1]:
            found = apply("dft", *parts, axis=a, norm=norm, inverse=self.is_inverse)
            parts = (TupleGetItem(found, 0), TupleGetItem(found, 1))
        if self.gives_pairs:
            return apply("view_as_real", *parts)
        return real_line(parts, sizes[-1], axis=axes[-1], norm=norm)


def half(n: "int | Term") -> "int | Term":
    """Half of a size, rounded down."""
    return n.of("floor_divide", 2) if isinstance(n, Term) else n // 2


def real_line(parts: Sequence[Expr], length: "int | Term | None", axis: int, **attrs: Any) -> Expr:
    """`irdft` of a length that is a number, a scalar, or the even one."""
    if not isinstance(length, Term):
        return apply("irdft", *parts, axis=axis, length=length, **attrs)
    like = apply("take", parts[0], iota(length).of("zeros_like").expr, axis=axis)
    return apply("irdft", *parts, like, axis=axis, **attrs)


def fitted(x: Expr, t: Any, axis: int, n: "int | Term") -> Expr:
    """A tensor cut or filled up with zeros to a size along an axis, which has the size that a type says."""
    shape = dims(t)
    size = shape[axis]
    if isinstance(n, Term):
        place, last = iota(n), term(size_of(x, t, axis), "int64") - 1
        there = (place <= last).of("expand_dims", axis=1, num_newaxis=len(shape) - 1 - axis)
        found = apply("take", x, place.of("minimum", last).expr, axis=axis)
        return apply("where", there.expr, found, apply("zeros_like", found))
    known = size if isinstance(size, int) else 0
    if known < n:
        width = [(0, n - known if a == axis else 0) for a in range(len(shape))]
        x = apply("nn.pad", x, pad_width=tuple(width))
    if not isinstance(size, int):
        return apply("take", x, constant(numpy.arange(n)), axis=axis)
    return apply("strided_slice", x, begin=(0,), end=(n,), axes=(axis,)) if size > n else x


@family
class OneAxis(Transform):
    """Along one axis, cut or filled up with zeros to `n` elements."""

    n: Size | None = None
    axis: int = -1
    norm: Norm = "backward"

    def wanted(self, t: Checker, rank: int) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
        return axes_of(t, (self.axis,), rank, "axis"), (self.n,)


@family
class SeveralAxes(Transform):
    """Along some axes, the last ones if it is said how many, cut or filled up with zeros to sizes `s`."""

    s: tuple[Size, ...] | None = None
    axes: tuple[int, ...] | None = None
    norm: Norm = "backward"

    def wanted(self, t: Checker, rank: int) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
        count = rank if self.s is None else len(self.s)
        axes = axes_of(t, tuple(range(-count, 0)) if self.axes is None else self.axes, rank)
        if self.s is not None and len(self.s) != len(axes):
            attribute_fault(t, "s", self.s, f"there is a size for each of {len(axes)} axes")
        return axes, (None,) * len(axes) if self.s is None else self.s


@family
class TwoAxes(SeveralAxes):
    """Along two axes."""

    s: tuple[Size, ...] | None = None
    axes: tuple[int, ...] | None = (-2, -1)
    norm: Norm = "backward"


@operator("fft.fft")
class FFT(OneAxis):
    """The Fourier transform of complex numbers along an axis, cut or filled up with zeros to `n` elements.

    Complex numbers are pairs along an axis of size 2 behind the others, which `axis` does not count.  `norm`
    says which transform is divided by the number of elements: the inverse (`"backward"`), this one
    (`"forward"`), or both by its root (`"ortho"`).

    relay> fft.fft([[1.0, 0.0], [2.0, 0.0]])
    [[3.0, 0.0], [-1.0, 0.0]]
    """

    samples = (
        sample("3x5x2 float32"),
        sample("3x4x2 float64", n=6, axis=0, norm="ortho"),
        sample("7x2 float64", n=4, norm="forward"),
    )


@operator("fft.fft2")
class FFT2(TwoAxes):
    """The Fourier transform of complex numbers along two axes, cut or filled up with zeros to sizes `s`.

    Pairs and `norm` are those of `fft.fft`.

    relay> fft.fft2([[[1.0, 0.0], [2.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]])
    [[[3.0, 1.0], [-1.0, 1.0]], [[3.0, -1.0], [-1.0, -1.0]]]
    """

    samples = (sample("3x4x2 float32"), sample("3x4x2 float64", s=(4, 3), axes=(1, 0), norm="ortho"))


@operator("fft.fftn")
class FFTN(SeveralAxes):
    """The Fourier transform of complex numbers along `axes`, cut or filled up with zeros to sizes `s`.

    Without `axes` they are the last ones that `s` has sizes for, or all.  Pairs and `norm` are those of
    `fft.fft`.

    relay> fft.fftn([[[[1.0, 2.0]]]])
    [[[[1.0, 2.0]]]]
    """

    samples = (sample("2x3x4x2 float32"), sample("3x4x2 float64", s=(5,)))


@operator("fft.ifft")
class IFFT(OneAxis):
    """The inverse of `fft.fft`, of pairs.

    relay> fft.ifft([[3.0, 0.0], [-1.0, 0.0]])
    [[1.0, 0.0], [2.0, 0.0]]
    """

    is_inverse = True
    samples = (sample("3x5x2 float32"), sample("3x4x2 float64", n=6, axis=0, norm="ortho"))


@operator("fft.ifft2")
class IFFT2(TwoAxes):
    """The inverse of `fft.fft2`, of pairs.

    relay> fft.ifft2([[[4.0, 0.0], [0.0, 0.0]], [[0.0, 4.0], [0.0, 0.0]]])
    [[[1.0, 1.0], [1.0, 1.0]], [[1.0, -1.0], [1.0, -1.0]]]
    """

    is_inverse = True
    samples = (sample("2x3x4x2 float32"), sample("3x4x2 float64", s=(4, 3)))


@operator("fft.ifftn")
class IFFTN(SeveralAxes):
    """The inverse of `fft.fftn`, of pairs.

    relay> fft.ifftn([[4.0, 0.0], [0.0, 4.0]], norm="forward")
    [[4.0, 4.0], [4.0, -4.0]]
    """

    is_inverse = True
    samples = (sample("2x3x4x2 float32"), sample("3x4x2 float64", axes=(0,), norm="forward"))


@operator("fft.rfft")
class RFFT(OneAxis):
    """The Fourier transform of real numbers along an axis, cut or filled up with zeros to `n` elements.

    The result holds pairs, of the terms from 0 to `n // 2`: the others are their mirror images.  `norm` is
    that of `fft.fft`.

    relay> fft.rfft([1.0, 2.0, 3.0, 4.0])
    [[10.0, 0.0], [-2.0, 2.0], [-2.0, 0.0]]
    """

    takes_pairs = False
    samples = (sample("3x5 float32"), sample("8x2 float64", n=6, axis=0, norm="ortho"), sample("1 float32"))


@operator("fft.rfft2")
class RFFT2(TwoAxes):
    """The Fourier transform of real numbers along two axes, cut or filled up with zeros to sizes `s`.

    The result holds pairs, half of them along the last of `axes` as `fft.rfft` has them.

    relay> fft.rfft2([[1.0, 2.0], [0.0, 1.0]])
    [[[4.0, 0.0], [-2.0, 0.0]], [[2.0, 0.0], [0.0, 0.0]]]
    """

    takes_pairs = False
    samples = (sample("3x4 float32"), sample("3x4x2 float64", s=(4, 3), axes=(2, 0)))


@operator("fft.rfftn")
class RFFTN(SeveralAxes):
    """The Fourier transform of real numbers along `axes`, cut or filled up with zeros to sizes `s`.

    The result holds pairs, half of them along the last of `axes` as `fft.rfft` has them.

    relay> fft.rfftn([[1.0, 2.0], [0.0, 1.0]], axes=(0,))
    [[[1.0, 0.0], [3.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]]
    """

    takes_pairs = False
    samples = (sample("2x3x4 float32"), sample("3x4 float64", axes=(0,)))


@operator("fft.irfft")
class IRFFT(OneAxis):
    """The inverse of `fft.rfft`: real numbers from pairs, the terms from 0 to `n // 2`.

    Without `n` there is an even number of them.

    relay> fft.irfft([[10.0, 0.0], [-2.0, 2.0], [-2.0, 0.0]])
    [1.0, 2.0, 3.0, 4.0]
    """

    gives_pairs = False
    is_inverse = True
    samples = (sample("3x5x2 float32"), sample("3x4x2 float64", n=5, axis=0, norm="ortho"))


@operator("fft.irfft2")
class IRFFT2(TwoAxes):
    """The inverse of `fft.rfft2`: real numbers from pairs; `s` are the sizes of the result.

    relay> fft.irfft2([[[4.0, 0.0], [-2.0, 0.0]], [[2.0, 0.0], [0.0, 0.0]]])
    [[1.0, 2.0], [0.0, 1.0]]
    """

    gives_pairs = False
    is_inverse = True
    samples = (sample("3x4x2 float32"), sample("3x4x2 float64", s=(4, 3)))


@operator("fft.irfftn")
class IRFFTN(SeveralAxes):
    """The inverse of `fft.rfftn`: real numbers from pairs; `s` are the sizes of the result.

    relay> fft.irfftn([[3.0, 0.0], [-1.0, 0.0]], s=(2,))
    [1.0, 2.0]
    """

    gives_pairs = False
    is_inverse = True
    samples = (sample("2x3x4x2 float32"), sample("3x4x2 float64", s=(4, 3)))


SWAPPED: dict[Norm, Norm] = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
"""The norm of the transform in the other direction that is divided by as much."""


def conjugated(pairs: Expr, dtype: Any) -> Expr:
    """The complex conjugates of pairs."""
    return apply("multiply", pairs, constant([1, -1], dtype))


@operator("fft.hfft")
class HFFT(OneAxis):
    """The Fourier transform of complex numbers that mirror each other, of which pairs are the first half.

    Its terms are real: those of `fft.irfft` of the conjugates, but for what is divided.  Without `n` there is
    an even number of them.

    relay> fft.hfft([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    [8.0, 0.0, 0.0, -4.0]
    """

    gives_pairs = False
    samples = (sample("3x5x2 float32"), sample("3x4x2 float64", n=5, axis=0, norm="ortho"))

    def decompose(self, types: Any, data: Expr) -> Expr:
        other = replace(self, norm=SWAPPED[self.norm])
        return Transform.decompose(other, types, conjugated(data, types[0].dtype))


@operator("fft.ihfft")
class IHFFT(OneAxis):
    """The inverse of `fft.hfft`: pairs from real numbers, cut or filled up with zeros to `n` of them.

    relay> fft.ihfft([8.0, 0.0, 0.0, -4.0])
    [[1.0, -0.0], [2.0, 1.0], [3.0, -0.0]]
    """

    takes_pairs = False
    samples = (sample("3x5 float32"), sample("8x2 float64", n=6, axis=0, norm="forward"))

    def decompose(self, types: Any, data: Expr) -> Expr:
        other = replace(self, norm=SWAPPED[self.norm])
        return conjugated(Transform.decompose(other, types, data), types[0].dtype)
