"""Activations: softmax and its kin, rectifiers."""

from collections.abc import Sequence
from math import log
from typing import Any

import ml_dtypes as _ml_dtypes
import numpy as _np

from relay.ir.dtype import dtype_name, to_numpy
from relay.ir.expr import Expr
from relay.ir.type import Dim, DType, TensorType, Type
from relay.op.axes import axis_of
from relay.op.base import FLOATING, NUMERIC, Array, Numpy, sample
from relay.op.batching import along_channels_of_rows, behind_rows, by, row_rank, shifted
from relay.op.composite import Composite
from relay.op.conversion import accumulator, accumulator_name
from relay.op.derivative import const_like, rank_of, tensor_type, times, total
from relay.op.family import Elementwise, family
from relay.op.kind import Batching, Derivative, Fusion, Precision, Wide
from relay.op.native import Loops, Scalars, View
from relay.op.nn.cotangent import reshaped_like
from relay.op.numeric import (
    SameType,
    along_channels,
    apply,
    computing_dtype,
    dims,
    narrow,
    narrowed,
    precise,
    scalar,
    sum_of,
    widened,
)
from relay.op.registry import operator
from relay.op.relation import Typing


@family
class AlongAxis(SameType, Composite):
    """A composite that normalises along one axis and keeps the type."""

    wide = Wide.EXPONENTIAL
    axis: int = -1
    batch = shifted
    dtypes = FLOATING
    derivative = Derivative.RULES

    def infer(self, t: Typing, data: Type) -> Type:
        axis_of(t, self.axis, len(t.shape(data)))
        return data

    def total(self, x: Expr) -> Expr:
        """The sum along the axis."""
        return apply("sum", x, axis=self.axis, keepdims=True)

    def away(self, np: Numpy, data: Array) -> Array:
        """The data less its maximum along the axis."""
        x = precise(np, data)
        return x - np.max(x, axis=self.axis, keepdims=True, initial=-np.inf)


def least_normal(dtype: DType) -> float:
    """Return the least normal number of a float dtype."""
    assert isinstance(dtype, str), "the dtype is known where composites are expanded"
    library: Any = _ml_dtypes
    return float(library.finfo(to_numpy(dtype)).smallest_normal)


def share_out(grown: Expr, total: Expr, dtype: DType) -> Expr:
    """Return `grown / total` in a dtype, 0 below its least normal number: others are slow to compute with."""
    wide = computing_dtype(dtype)
    share = apply("divide", grown, total)
    is_nothing = apply("less", share, scalar(least_normal(dtype), wide))
    return narrowed(apply("where", is_nothing, scalar(0, wide), share), dtype)


def share_out_values(np: Numpy, grown: Array, total: Array, dtype: Any) -> Array:
    """Return `share_out` of arrays."""
    share = grown / total
    return narrow(np.where(share < least_normal(dtype_name(dtype)), share.dtype.type(0), share), dtype)


@family
class _Softmax(AlongAxis):
    def exponential(self, x: Expr, dtype: DType) -> Expr:
        """Return `exp(x)` for `x` up to 0, in the dtype that is computed in."""
        return apply("exp", x)

    def decompose(self, types: Any, data: Expr) -> Expr:
        dtype = types[0].dtype
        x = widened(data, dtype)
        away = apply("subtract", x, apply("max", x, axis=self.axis, keepdims=True))
        grown = self.exponential(away, computing_dtype(dtype))
        return share_out(grown, self.total(grown), dtype)

    def reference(self, np: Numpy, data: Array) -> Array:
        grown = np.exp(self.away(np, data))
        return share_out_values(np, grown, sum_of(np, grown, self.axis, True), data.dtype)

    def vjp(self, g: Expr, y: Expr, data: Expr) -> tuple[Expr]:
        """`y * (g - sum(g * y))`: the Jacobian is symmetric."""
        dtype = tensor_type(y).dtype
        v, share = widened(g, dtype), widened(y, dtype)
        moved = apply("subtract", v, self.total(times(v, share)))
        return (narrowed(times(share, moved), dtype),)

    def jvp(self, dxs: Sequence[Expr], y: Expr, data: Expr) -> Expr:
        """The derivative rule applied to the tangent."""
        (found,) = self.vjp(dxs[0], y, data)
        return found


@operator("nn.softmax")
class Softmax(_Softmax):
    """`exp(x) / sum(exp(x))` along `axis`, computed from the maximum so that it does not overflow.

    Results below the least normal number of the dtype are 0.

    relay> nn.softmax([1.0, 1.0])
    [0.5, 0.5]
    """

    samples = (
        sample("3x4 float32"),
        sample("3x4x2 float32", axis=1),
        sample("3x0 float32"),
        sample("3x4 float16"),
    )


@operator("nn.fast_softmax")
class FastSoftmax(_Softmax):
    """`nn.softmax` with `fast_exp`; results below the least normal number of the dtype are 0.

    relay> nn.fast_softmax([1.0, 1.0])
    [0.5, 0.5]
    """

    samples = (sample("3x4 float32"),)

    def exponential(self, x: Expr, dtype: DType) -> Expr:
        # `fast_exp` is never 0.
        is_nothing = apply("less", x, scalar(log(least_normal(dtype)), dtype))
        return apply("where", is_nothing, scalar(0, dtype), apply("fast_exp", x))


@operator("nn.safe_softmax")
class SafeSoftmax(_Softmax):
    """`nn.softmax`, but 0 along an axis whose numbers are all `-inf`, where `nn.softmax` is NaN.

    relay> nn.safe_softmax([[0.0, 0.0], [-inf, -inf]])
    [[0.5, 0.5], [0.0, 0.0]]
    """

    samples = (
        sample("3x4 float32"),
        sample("3x4x2 float64", axis=1),
        sample("3x0 float32"),
        sample("3x4 bfloat16"),
        sample(_np.asarray([[-_np.inf, -_np.inf], [1, -_np.inf]], "float32")),
    )

    def decompose(self, types: Any, data: Expr) -> Expr:
        x, wide = widened(data, types[0].dtype), computing_dtype(types[0].dtype)
        most = apply("max", x, axis=self.axis, keepdims=True)
        most = apply("where", apply("equal", most, scalar(-_np.inf, wide)), scalar(0, wide), most)
        grown = apply("exp", apply("subtract", x, most))
        total = apply("maximum", self.total(grown), scalar(1, wide))
        return share_out(grown, total, types[0].dtype)

    def reference(self, np: Numpy, data: Array) -> Array:
        x = precise(np, data)
        most = np.max(x, axis=self.axis, keepdims=True, initial=-np.inf)
        grown = np.exp(x - np.where(most == -np.inf, x.dtype.type(0), most))
        total = np.maximum(sum_of(np, grown, self.axis, True), x.dtype.type(1))
        return share_out_values(np, grown, total, data.dtype)


@operator("nn.log_softmax")
class LogSoftmax(AlongAxis):
    """`log(softmax(x))` along `axis`: `x - max(x) - log(sum(exp(x - max(x))))`.

    relay> nn.log_softmax([1.0, 1.0])
    [-0.6931472, -0.6931472]
    """

    samples = (sample("3x4 float32"), sample("3x4x2 float32", axis=1), sample("3x0 float32"))

    def decompose(self, types: Any, data: Expr) -> Expr:
        x = widened(data, types[0].dtype)
        away = apply("subtract", x, apply("max", x, axis=self.axis, keepdims=True))
        total = self.total(apply("exp", away))
        return narrowed(apply("subtract", away, apply("log", total)), types[0].dtype)

    def reference(self, np: Numpy, data: Array) -> Array:
        away = self.away(np, data)
        return narrow(away - np.log(sum_of(np, np.exp(away), self.axis, True)), data.dtype)

    def share(self, y: Expr, data: Expr) -> Expr:
        """The softmax: of a narrow dtype not from the result, which is rounded to it."""
        dtype = tensor_type(y).dtype
        if computing_dtype(dtype) == dtype:
            return apply("exp", y)
        return apply("nn.softmax", widened(data, dtype), axis=self.axis)

    def vjp(self, g: Expr, y: Expr, data: Expr) -> tuple[Expr]:
        """`g - exp(y) * sum(g)`."""
        dtype = tensor_type(y).dtype
        v, share = widened(g, dtype), self.share(y, data)
        return (narrowed(apply("subtract", v, times(share, self.total(v))), dtype),)

    def jvp(self, dxs: Sequence[Expr], y: Expr, data: Expr) -> Expr:
        """`dx - sum(exp(y) * dx)`."""
        dtype = tensor_type(y).dtype
        v, share = widened(dxs[0], dtype), self.share(y, data)
        return narrowed(apply("subtract", v, self.total(times(share, v))), dtype)


@operator("nn.relu")
class Relu(Elementwise):
    """0 where `x < 0`, otherwise `x`, NaN and -0 included.

    relay> nn.relu([-1.0, 2.0])
    [0.0, 2.0]
    """

    precision = Precision.FOLLOW
    dtypes = NUMERIC
    derivative = Derivative.RULES
    samples = (sample("3x4 float32"), sample("float32"), sample("5 int8"), sample("0 float16"))

    def reference(self, np: Numpy, data: Array) -> Array:
        x = accumulator(data)
        return narrow(np.where(x < 0, x.dtype.type(0), x), data.dtype)

    def vjp(self, g: Expr, y: Expr, data: Expr) -> tuple[Expr]:
        """`g` where the result is positive; at 0 the derivative is 0."""
        return (where_positive(y, g, const_like(0, y)),)

    def jvp(self, dxs: Sequence[Expr], y: Expr, data: Expr) -> Expr:
        """The tangent where the result is positive."""
        return where_positive(y, dxs[0], const_like(0, y))

    def native(self, b: Scalars, data: Any) -> Any:
        return b.select(b.compare("lt", data, b.const(0, data)), b.const(0, data), data)


@operator("nn.leaky_relu")
class LeakyRelu(Elementwise):
    """`x` where `x > 0`, otherwise `alpha * x`.  Source: Maas, Hannun and Ng, 2013.

    relay> nn.leaky_relu([-1.0, 2.0], alpha=0.5)
    [-0.5, 2.0]
    """

    precision = Precision.STORED
    alpha: float = 0.01
    dtypes = FLOATING
    derivative = Derivative.PARTIALS
    samples = (sample("3x4 float32", alpha=0.1), sample("float64"), sample("5 bfloat16"))

    def reference(self, np: Numpy, data: Array) -> Array:
        x = accumulator(data)
        return narrow(np.where(x > 0, x, x.dtype.type(self.alpha) * x), data.dtype)

    def partials(self, y: Expr, data: Expr) -> tuple[Expr]:
        """1 where the data is positive, otherwise `alpha`."""
        return (where_positive(data, const_like(1, y), const_like(self.alpha, y)),)

    def native(self, b: Scalars, data: Any) -> Any:
        return _leaky(b, data, b.const(self.alpha, accumulator_name(data.dtype)))


@operator("nn.prelu")
class PRelu(SameType):
    """`x` where `x > 0`, otherwise `alpha * x`, with an `alpha` for each channel along `axis`.

    Source: He, Zhang, Ren and Sun, 2015.

    relay> nn.prelu([[-1.0, -1.0]], [0.5, 0.25])
    [[-0.5, -0.25]]
    """

    wide = Wide.ARITHMETIC
    precision = Precision.STORED
    axis: int = 1
    dtypes = FLOATING
    fusion = Fusion.BROADCAST
    derivative = Derivative.RULES
    samples = (sample("2x3x4 float32", "3 float32"), sample("2x3x4 float32", "4 float32", axis=-1))

    def infer(self, t: Typing, data: Type, alpha: Type) -> Type:
        shape = t.shape(data)
        axis = axis_of(t, self.axis, len(shape), of="`data`")
        t.equal(
            alpha, TensorType((shape[axis],), t.dtype(data)), why="`nn.prelu` has one slope for each channel"
        )
        return data

    def reference(self, np: Numpy, data: Array, alpha: Array) -> Array:
        x = accumulator(data)
        slope = accumulator(alpha).reshape((-1,) + (1,) * (x.ndim - 1 - self.axis % x.ndim))
        return narrow(np.where(x > 0, x, slope * x), data.dtype)

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, alpha: Expr) -> Expr:
        rank = row_rank(data, which[0])
        if which[1]:
            slope = along_channels_of_rows(alpha, self.axis, rank)
            return where_positive(data, data, apply("multiply", slope, data))
        return PRelu(axis=behind_rows(self.axis, rank))(data, alpha)

    def vjp(self, g: Expr, y: Expr, data: Expr, alpha: Expr) -> tuple[Expr, Expr]:
        """A slope of the channel's where the data is not positive, and what falls there is the slope's."""
        slope = along_channels(alpha, self.axis, rank_of(data))
        d_alpha = apply(
            "sum", where_positive(data, const_like(0, y), times(g, data)), axis=self.axis, exclude=True
        )
        channels = dims(tensor_type(data))[self.axis]
        return where_positive(data, g, times(g, slope)), reshaped_like(d_alpha, (channels,), alpha)

    def jvp(self, dxs: Sequence[Expr | None], y: Expr, data: Expr, alpha: Expr) -> Expr:
        """The tangent of the data times the slope, and of the slope times the data."""
        d_data, d_alpha = dxs
        rank = rank_of(data)
        terms: list[Expr] = []
        if d_data is not None:
            slope = along_channels(alpha, self.axis, rank)
            terms.append(where_positive(data, d_data, times(d_data, slope)))
        if d_alpha is not None:
            change = times(along_channels(d_alpha, self.axis, rank), data)
            terms.append(where_positive(data, const_like(0, y), change))
        found = total(terms)
        assert found is not None
        return found

    def element(self, b: Loops, index: Sequence[Any], data: View, alpha: View) -> Any:
        """An element of the result."""
        return _leaky(b, data.at(index), alpha.at([index[self.axis]]))

    def extent(self, b: Loops, data: View, alpha: View) -> Sequence[Any]:
        """The shape of the result is the operand's."""
        return data.sizes


def _leaky(b: Scalars, x: Any, slope: Any) -> Any:
    """`x` where it is positive, otherwise `slope * x`, rounded once."""
    wide = b.cast(x, accumulator_name(x.dtype))
    less = b.multiply(b.cast(slope, wide.dtype), wide)
    return b.select(b.compare("gt", wide, b.const(0, wide)), x, b.cast(less, x.dtype))


def where_positive(x: Expr, a: Expr, b: Expr) -> Expr:
    """`a` where `x > 0`, otherwise `b`."""
    return apply("where", apply("greater", x, const_like(0, x)), a, b)
