"""Normalisations by magnitude: of a vector, or of the nearest channels."""

from typing import Any

from relay.ir.expr import Expr
from relay.ir.type import Type
from relay.op.axes import axis_of
from relay.op.base import FLOATING, Array, Numpy, sample
from relay.op.batching import shifted
from relay.op.composite import Composite
from relay.op.conversion import accumulator
from relay.op.kind import Wide
from relay.op.nn.layout import SPATIAL
from relay.op.nn.norm import scale_of
from relay.op.nn.window import slide
from relay.op.numeric import (
    SameType,
    apply,
    axes_named,
    checked_axes,
    computing_dtype,
    dims,
    for_squares,
    in_dtype,
    narrow,
    narrowed,
    scalar,
    squaring_dtype,
    sum_of,
    widened,
)
from relay.op.registry import operator
from relay.op.relation import Typing


@operator("nn.l2_normalize")
class L2Normalize(SameType, Composite):
    """`x / sqrt(max(sum(x * x), eps))`, summed along `axis` (one, several, or None for all).

    relay> nn.l2_normalize([3.0, 4.0], eps=0.0)
    [0.6, 0.8]
    """

    wide = Wide.NORMALIZATION
    eps: float
    axis: int | tuple[int, ...] | None = None
    batch = shifted
    dtypes = FLOATING
    samples = (
        sample("3x4 float32", eps=1e-6, axis=1),
        sample("2x3x4 float32", eps=1e-6),
        sample("2x3x4 float64", eps=1e-6, axis=(1, 2)),
    )

    def infer(self, t: Typing, data: Type) -> Type:
        checked_axes(t, self.axis, len(t.shape(data)))
        return data

    def decompose(self, types: Any, data: Expr) -> Expr:
        dtype, axes = types[0].dtype, axes_named(self.axis, len(dims(types[0])))
        squaring, computing = squaring_dtype(dtype), computing_dtype(dtype)
        x = in_dtype(data, dtype, squaring)
        total = apply("sum", apply("multiply", x, x), axis=axes, keepdims=True)
        square = apply("maximum", total, scalar(self.eps, squaring))
        length, y = apply("sqrt", square), widened(data, dtype)
        if squaring != computing:
            scale = scale_of(square, squaring)
            length = in_dtype(apply("multiply", length, scale), squaring, computing)
            y = apply("multiply", y, in_dtype(scale, squaring, computing))
        return narrowed(apply("divide", y, length), dtype)

    def reference(self, np: Numpy, data: Array) -> Array:
        x = for_squares(data)
        total = sum_of(np, x * x, axes_named(self.axis, x.ndim), True)
        return narrow(x / np.sqrt(np.maximum(total, x.dtype.type(self.eps))), data.dtype)


@operator("nn.lrn")
class LRN(SameType, Composite):
    """`x / (bias + alpha / size * s) ** beta`, where `s` sums the squares of the `size` nearest along `axis`.

    Local response normalisation.  Of an even number, one more comes after an element than before it, as in
    ONNX.  Source: Krizhevsky, Sutskever and Hinton, 2012.

    relay> nn.lrn([[1.0, 2.0]], size=1, bias=1.0, alpha=0.0)
    [[1.0, 2.0]]
    """

    wide = Wide.NORMALIZATION
    size: int = 5
    axis: int = 1
    batch = shifted
    bias: float = 2.0
    alpha: float = 1e-05
    beta: float = 0.75
    dtypes = FLOATING
    samples = (
        sample("1x7x3x3 float32", size=3, alpha=0.5),
        sample("1x3x3x7 float32", axis=3),
        sample("1x7x3x3 float32", size=4, alpha=0.5),
        sample("6 float32", size=3, axis=0, alpha=0.5),
        sample("2x1x3x2x1x2 float64", size=3, axis=2, alpha=0.5),
    )

    def infer(self, t: Typing, data: Type) -> Type:
        axis_of(t, self.axis, len(t.shape(data)))
        if self.size < 1:
            t.fail("attribute-value", f"`nn.lrn` cannot have size={self.size}", hint="the size is positive")
        return data

    def decompose(self, types: Any, data: Expr) -> Expr:
        dtype, rank = types[0].dtype, len(dims(types[0]))
        wide = computing_dtype(dtype)
        x = widened(data, dtype)
        share = apply("multiply", self.means(apply("multiply", x, x), rank), scalar(self.alpha, wide))
        scale = apply("power", apply("add", share, scalar(self.bias, wide)), scalar(self.beta, wide))
        return narrowed(apply("divide", x, scale), dtype)

    def means(self, x: Expr, rank: int) -> Expr:
        """The sum of the `size` nearest along the axis, divided by `size`: means of padded windows.

        Pooling has one to three spatial axes and two others: further ones are merged, missing ones added.
        """
        axis, y, n = self.axis % rank, x, rank
        while n > 5:
            first = 0 if axis > 1 else axis + 1
            y = apply("reshape", y, newshape=(*(0,) * first, -3, -2))
            axis, n = axis - (first < axis), n - 1
        if n < 3:
            y, n = apply("expand_dims", y, axis=n, num_newaxis=3 - n), 3
        near, *others = SPATIAL[n - 2] + "NC"
        others.insert(axis, near)
        ones, zeros = (1,) * (n - 3), (0,) * (n - 3)
        pooled = apply(
            f"nn.avg_pool{n - 2}d", y, pool_size=(self.size, *ones),
            padding=((self.size - 1) // 2, *zeros, self.size // 2, *zeros),
            layout="".join(others), count_include_pad=True,
        )  # fmt: skip
        return pooled if n == rank else apply("reshape_like", pooled, x)

    def reference(self, np: Numpy, data: Array) -> Array:
        x, axis = accumulator(data), self.axis % data.ndim
        total = slide(np, x * x, axis, self.size, 1, 1, (self.size - 1) // 2, x.shape[axis], 0, np.add)
        scale = x.dtype.type(self.bias) + x.dtype.type(self.alpha / self.size) * total
        return narrow(x / scale ** x.dtype.type(self.beta), data.dtype)
