"""Fourier transforms of real and imaginary parts that are tensors of their own."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from relay.ir.dim import floor_divide
from relay.ir.expr import Expr, TupleGetItem
from relay.ir.type import Dim, TensorType, TupleType, Type
from relay.op.attribute import Size, is_dimension
from relay.op.axes import attribute_fault, axis_of
from relay.op.base import FLOATING, Array, Numpy, Operator, sample
from relay.op.batching import shifted
from relay.op.family import family
from relay.op.fourier.butterfly import Pair
from relay.op.fourier.open_length import transform as run_transform
from relay.op.fourier.passes import Places, Read, Transforms, Write
from relay.op.fourier.real import from_half, to_half
from relay.op.kind import Derivative
from relay.op.native import Index, Loops, Output, View
from relay.op.numeric import apply, computing_dtype, narrow
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.reshape import with_type_of

Norm = Literal["backward", "ortho", "forward"]
OPPOSITE: dict[str, Norm] = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""What divides a transform there and back as a norm divides one back and there."""


@family
class Fourier(Operator):
    """A Fourier transform along an axis; it is divided by its length, by the root of it, or not at all."""

    axis: int = -1
    norm: Norm = "backward"
    batch = shifted
    dtypes = FLOATING
    derivative = Derivative.TRANSPOSE

    def size_along(self, t: Typing, data: Type) -> tuple[int, Dim]:
        """The axis, from the front, and its size, which is not 0."""
        shape = t.shape(data)
        if not shape:
            t.fail("rank-mismatch", "a scalar has no axis to transform along")
        axis = axis_of(t, self.axis, len(shape))
        t.require(1, "<=", shape[axis], "a transform is of one element or more")
        return axis, shape[axis]

    def scaled(self, b: Loops, dtype: str, n: Index, is_inverse: bool) -> Callable[[Any], Any]:
        """A function that divides a number as the norm says."""
        if self.norm != "ortho" and (self.norm == "backward") is not is_inverse:
            return lambda x: x
        by = b.const(1 / n, dtype) if isinstance(n, int) else None
        if by is None:
            by = b.divide(b.const(1, dtype), b.as_number(n, dtype))
        if self.norm == "ortho":
            by = b.const(n**-0.5, dtype) if isinstance(n, int) else b.function("sqrt", by)
        return lambda x: b.multiply(x, by)


@operator("dft")
class DFT(Fourier):
    """The discrete Fourier transform along an axis, of numbers given as real and imaginary parts.

    The result is a pair too.  `norm` says which transform is divided by the length: the inverse
    (`"backward"`), the other (`"forward"`), or each by its root (`"ortho"`).  `fft.fft` takes both parts
    in one tensor.

    relay> dft([1.0, 2.0], [0.0, 0.0])
    ([3.0, -1.0], [0.0, 0.0])
    """

    inverse: bool = False
    axis: int = -1
    norm: Norm = "backward"
    results = 2
    samples = (
        sample("2x5 float32", "2x5 float32"),
        sample("72 float64", "72 float64", inverse=True),
        sample("2x1x8 float32", "2x1x8 float32"),
        sample("3x17x2 float64", "3x17x2 float64", axis=1, norm="ortho"),
    )

    def infer(self, t: Typing, re_data: Type, im_data: Type) -> Type:
        self.size_along(t, re_data)
        t.equal(im_data, re_data, why="real and imaginary parts have one type")
        return TupleType([re_data, re_data])

    def reference(self, np: Numpy, re_data: Array, im_data: Array) -> tuple[Array, Array]:
        run = np.fft.ifft if self.inverse else np.fft.fft
        return parts(run(joined(re_data, im_data), axis=self.axis, norm=self.norm), re_data.dtype)

    def transpose(self, g: Any, re_data: Expr, im_data: Expr) -> tuple[Expr, ...]:
        found = apply("dft", *g, inverse=not self.inverse, axis=self.axis, norm=OPPOSITE[self.norm])
        return TupleGetItem(found, 0), TupleGetItem(found, 1)

    def compute(self, b: Loops, out: Sequence[Output], re_data: View, im_data: View) -> None:
        """Write the result."""
        lines = lines_of(b, re_data, self.axis)
        n = re_data.sizes[self.axis]
        divided = self.scaled(b, lines.dtype, n, self.inverse)
        run_transform(
            lines,
            n,
            1 if self.inverse else -1,
            pair_reader(b, re_data, im_data),
            pair_writer(b, divided, out),
        )


@operator("rdft")
class RDFT(Fourier):
    """The discrete Fourier transform of real numbers along an axis, as real and imaginary parts: the terms
    from 0 to `n // 2`, whose mirror images the others are.

    With `doubled`, the terms that have a mirror image count for it too.

    relay> rdft([1.0, 2.0, 3.0, 4.0])
    ([10.0, -2.0, -2.0], [0.0, 2.0, 0.0])
    """

    doubled: bool = False
    results = 2
    samples = (
        sample("2x5 float32"),
        sample("2x8x3 float64", axis=1, norm="ortho"),
        sample("6 float64", doubled=True),
        sample("1 float32"),
    )

    def infer(self, t: Typing, data: Type) -> Type:
        axis, n = self.size_along(t, data)
        shape = list(t.shape(data))
        shape[axis] = floor_divide(n, 2) + 1
        found = TensorType(tuple(shape), t.dtype(data))
        return TupleType([found, found])

    def reference(self, np: Numpy, data: Array) -> tuple[Array, Array]:
        y = np.fft.rfft(data.astype("float64"), axis=self.axis, norm=self.norm)
        return parts(
            y * term_weights(np, data.shape[self.axis], self.axis, data.ndim, self.doubled, 2), data.dtype
        )

    def transpose(self, g: Any, data: Expr) -> tuple[Expr, ...]:
        norm = OPPOSITE[self.norm]
        return (apply("irdft", *g, data, axis=self.axis, norm=norm, halved=not self.doubled),)

    def compute(self, b: Loops, out: Sequence[Output], data: View) -> None:
        """Write the result."""
        lines = lines_of(b, data, self.axis)
        n = data.sizes[self.axis]
        divided = self.scaled(b, lines.dtype, n, False)
        write = pair_writer(b, divided, out)
        to_half(lines, n, lambda i: b.cast(data.at(i), lines.dtype), write, 2 if self.doubled else 1)


@operator("irdft")
class IRDFT(Fourier):
    """The inverse of `rdft`: the real numbers whose transform has these terms, from 0 to `n // 2`.

    `n` is `length`, or that of a tensor `like` the result, or even if there is neither.  The imaginary
    part of a term that is its own mirror image does not count.  With `halved`, each term counts once, and
    not for its mirror image too.

    relay> irdft([10.0, -2.0, -2.0], [0.0, 2.0, 0.0])
    [1.0, 2.0, 3.0, 4.0]
    """

    length: Size | None = None
    axis: int = -1
    norm: Norm = "backward"
    halved: bool = False
    carried = ("like",)
    samples = (
        sample("2x3 float32", "2x3 float32", length=5),
        sample("2x5x3 float64", "2x5x3 float64", "2x8x3 float64", axis=1, norm="ortho"),
        sample("4 float64", "4 float64", halved=True),
        sample("1 float32", "1 float32", length=1),
    )

    def infer(self, t: Typing, re_data: Type, im_data: Type, like: Type | None = None) -> Type:
        axis, terms = self.size_along(t, re_data)
        t.equal(im_data, re_data, why="real and imaginary parts have one type")
        shape = list(t.shape(re_data))
        if like is not None:
            shape[axis] = t.shape(like, len(shape), "the tensor like the result")[axis]
        elif self.length is None:
            shape[axis] = 2 * (terms - 1)
        elif not is_dimension(self.length) and self.length < 1:
            attribute_fault(t, "length", self.length, "a transform is of one element or more")
        else:
            shape[axis] = self.length
        t.require(1, "<=", shape[axis], "a transform is of one element or more")
        t.equal(terms, floor_divide(shape[axis], 2) + 1, why="half of the terms are given, and the first")
        found = TensorType(tuple(shape), t.dtype(re_data))
        if like is not None:
            t.equal(like, found, why="the result is like it")
        return found

    def reference(self, np: Numpy, re_data: Array, im_data: Array, like: Array | None = None) -> Array:
        n = self.length if like is None else like.shape[self.axis]
        n = 2 * (re_data.shape[self.axis] - 1) if n is None else n
        x = joined(re_data, im_data) * term_weights(np, n, self.axis, re_data.ndim, self.halved, 0.5)
        return narrow(np.fft.irfft(x, n, axis=self.axis, norm=self.norm), re_data.dtype)

    def transpose(self, g: Expr, re_data: Expr, im_data: Expr, like: Expr | None = None) -> tuple[Any, ...]:
        found = apply("rdft", g, axis=self.axis, norm=OPPOSITE[self.norm], doubled=not self.halved)
        cotangents = [with_type_of(TupleGetItem(found, k), re_data) for k in (0, 1)]
        return tuple(cotangents) if like is None else (*cotangents, None)

    def extent(self, b: Loops, re_data: View, im_data: View, like: View | None = None) -> Sequence[Index]:
        """The shape of the result."""
        sizes = list(re_data.sizes)
        n = self.length if like is None else like.sizes[self.axis]
        sizes[self.axis] = b.times(b.minus(sizes[self.axis], 1), 2) if n is None else n
        return sizes

    def compute(self, b: Loops, out: Output, re_data: View, im_data: View, like: View | None = None) -> None:
        """Write the result."""
        lines = lines_of(b, re_data, self.axis)
        n = out.sizes[self.axis]
        divided = self.scaled(b, lines.dtype, n, True)
        read = pair_reader(b, re_data, im_data)
        inner = 0.5 if self.halved else 1
        from_half(lines, n, read, lambda i, x: out.put(i, b.cast(divided(x), out.dtype)), inner)


# --- real and imaginary parts ---


def joined(real: Array, imaginary: Array) -> Array:
    """Complex numbers of float64."""
    return real.astype("float64") + 1j * imaginary.astype("float64")


def parts(x: Array, dtype: Any) -> tuple[Array, Array]:
    """Real and imaginary parts, in a dtype."""
    return narrow(x.real, dtype), narrow(x.imag, dtype)


def term_weights(np: Numpy, n: int, axis: int, rank: int, is_weighted: bool, inner: float) -> Array:
    """What terms from 0 to `n // 2` are multiplied by: those with mirror images by `inner`, if at all."""
    k = np.arange(n // 2 + 1)
    found = np.where((k == 0) | (2 * k == n) | (not is_weighted), 1.0, inner)
    return found.reshape([-1 if a == axis % rank else 1 for a in range(rank)])


def lines_of(b: Loops, data: View, axis: int) -> Transforms:
    """The transforms of an operand, of narrow floats in float32."""
    return Transforms(b, str(computing_dtype(data.dtype)), data.sizes, axis)


def pair_reader(b: Loops, real: View, imaginary: View) -> Read:
    """A function that reads a complex number."""
    wide = str(computing_dtype(real.dtype))
    return lambda index: (b.cast(real.at(index), wide), b.cast(imaginary.at(index), wide))


def pair_writer(b: Loops, divided: Callable[[Any], Any], out: Sequence[Output]) -> Write:
    """A function that writes a complex number, once it is divided."""

    def write(index: Places, x: Pair) -> None:
        for y, part in zip(out, x, strict=True):
            y.put(index, b.cast(divided(part), y.dtype))

    return write
