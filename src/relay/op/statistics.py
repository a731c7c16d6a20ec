"""Means, variances and logarithms of sums: reductions that are made of others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, ClassVar, NoReturn

from relay.diagnostic import Span
from relay.ir.dtype import INTEGERS, dtype_name, is_float, summed_dtype
from relay.ir.expr import Expr, Tuple
from relay.ir.module import IRModule
from relay.ir.type import TensorType, TupleType, Type
from relay.op.base import FLOATING, NUMERIC, Array, Numpy, sample
from relay.op.derivative import tensor_type, times
from relay.op.family import family
from relay.op.kind import Derivative
from relay.op.numeric import (
    apply,
    checked_axes,
    computing_dtype,
    count,
    dims,
    for_squares,
    in_dtype,
    least_value,
    narrow,
    narrowed,
    precise,
    scalar,
    squaring_dtype,
    sum_of,
    widened,
)
from relay.op.reduce import AxisComposite, Weighing
from relay.op.registry import operator
from relay.op.relation import Typing


@operator("mean")
class Mean(AxisComposite):
    """The mean of the elements along `axis`: their sum divided by their number.

    Integers are cast first, `mean(cast(x, float32))`; with `keep_dtype`, as in TVM, their mean is rounded
    towards 0.

    relay> mean([[1.0, 2.0], [3.0, 6.0]], axis=1)
    [1.5, 4.5]
    """

    keep_dtype: bool = False
    dtypes = NUMERIC
    tvm_attributes: ClassVar[Mapping[str, Any]] = {"keep_dtype": True}
    is_resolved = True
    samples = (
        sample("3x4 float32", axis=1),
        sample("2x3x4 float32", axis=(0, 2), keepdims=True),
        sample("3x4 float16"),
        sample("5 int32", keep_dtype=True),
    )

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        super().relate(t, args, out)
        if self.keep_dtype:
            return
        if t.dtype(args[0]) in INTEGERS:
            self.ask_for_cast(t, f"`{self.name}` of {t.dtype(args[0])} would not be exact")
        t.decided_dtype_in(args[0], FLOATING)

    def check_dtype(self, t: Typing, operand: Type) -> None:
        """Refuse booleans with the advice for integers, which are refused too unless their dtype is kept."""
        if not self.keep_dtype and t.dtype(operand) == "bool":
            self.ask_for_cast(t, f"`{self.name}` does not work on bool")
        super().check_dtype(t, operand)

    def ask_for_cast(self, t: Typing, message: str) -> NoReturn:
        """Refuse an operand that a cast to a floating dtype would let through."""
        t.fail("dtype-not-supported", message, hint=f"cast first: `{self.name}(cast(x, float32))`")

    def resolved(
        self, types: Sequence[Type], args: Sequence[Expr], mod: IRModule, span: Span | None
    ) -> Expr | None:
        """Return the call without a `keep_dtype` that says nothing."""
        dtype = types[0].dtype if isinstance(types[0], TensorType) else None
        return replace(self, keep_dtype=False)(*args) if self.keep_dtype and dtype in FLOATING else None

    def decompose(self, types: Any, data: Expr) -> Expr:
        dtype, axes = types[0].dtype, self.axes(len(dims(types[0])))
        if dtype in INTEGERS:
            wide = summed_dtype(dtype)
            x = apply("cast", data, dtype=wide)
            total = apply("sum", x, axis=axes, keepdims=self.keepdims)
            return apply("cast", apply("divide", total, count(x, types[0], axes, wide)), dtype=dtype)
        x = widened(data, dtype)
        total = apply("sum", x, axis=axes, keepdims=self.keepdims)
        return narrowed(apply("divide", total, count(x, types[0], axes, computing_dtype(dtype))), dtype)

    def reference(self, np: Numpy, data: Array) -> Array:
        if not is_float(dtype_name(data.dtype)):
            return super().reference(np, data)
        return narrow(
            np.mean(precise(np, data), axis=self.axes(data.ndim), keepdims=self.keepdims), data.dtype
        )


@operator("variance")
class Variance(AxisComposite):
    """The mean of the squared distances from the mean along `axis`; `unbiased` divides by one less than
    the number.

    The mean may be given, with reduced axes of size 1.  Squares of float32 are computed in float64.

    relay> variance([[1.0, 2.0], [3.0, 7.0]], axis=1)
    [0.25, 4.0]
    """

    unbiased: bool = False
    dtypes = FLOATING
    builder_order = ("data", "axis", "keepdims", "exclude", "unbiased", "with_mean")
    samples = (
        sample("3x4 float32", axis=1),
        sample("2x3x4 float32", axis=(0, 2), keepdims=True),
        sample("3x4 float64", axis=1, unbiased=True),
        sample("3x4 float16"),
    )

    def infer(self, t: Typing, x: Type, mean: Type | None = None) -> Type:
        if mean is not None:
            t.equal(t.dtype(mean), t.dtype(x), why="the mean has the dtype of the data")
            shape = t.shape(x)
            axes = checked_axes(t, self.axis, len(shape), self.exclude)
            t.equal(
                mean,
                TensorType([1 if i in axes else d for i, d in enumerate(shape)], t.dtype(x)),
                why="the mean keeps reduced axes with size 1",
            )
        return self.result(t, x, t.dtype(x))

    def decompose(self, types: Any, data: Expr, with_mean: Expr | None = None) -> Expr:
        dtype = types[0].dtype
        wide = squaring_dtype(dtype)
        mean = None if with_mean is None else in_dtype(with_mean, dtype, wide)
        return in_dtype(self.widely(types[0], in_dtype(data, dtype, wide), mean), wide, dtype)

    def widely(self, t: Any, x: Expr, mean: Expr | None = None) -> Expr:
        """Return the variance, not rounded to the operand's dtype, of an operand of type `t` as squares are
        computed.
        """
        wide, axes = squaring_dtype(t.dtype), self.axes(len(dims(t)))
        is_own = mean is None
        mean = apply("mean", x, axis=axes, keepdims=True) if mean is None else mean
        away = apply("subtract", x, mean)
        if (
            is_own and wide == t.dtype
        ):  # the mean is rounded as the operand is: what it lacks is taken off too
            away = apply("subtract", away, apply("mean", away, axis=axes, keepdims=True))
        total = apply("sum", apply("multiply", away, away), axis=axes, keepdims=self.keepdims)
        n = count(x, t, axes, wide)
        divisor = apply("subtract", n, scalar(1, wide)) if self.unbiased else n
        return apply("divide", total, divisor)

    def reference(self, np: Numpy, data: Array, with_mean: Array | None = None) -> Array:
        return narrow(self.wide_value(np, for_squares(data), with_mean), data.dtype)

    def wide_value(self, np: Numpy, x: Array, with_mean: Array | None = None) -> Array:
        """Return the variance of an array in its dtype."""
        axes = self.axes(x.ndim)
        n = prod([x.shape[a] for a in axes])
        if with_mean is not None:
            away = x - with_mean.astype(x.dtype)
        else:
            away = x - mean_of(np, x, axes)
            away = away - mean_of(np, away, axes)
        total = sum_of(np, away * away, axes, self.keepdims)
        return np.divide(total, x.dtype.type(n - self.unbiased))


def mean_of(np: Numpy, x: Array, axes: tuple[int, ...]) -> Array:
    """Return the mean of an array along axes, which are kept."""
    n = prod([x.shape[a] for a in axes])
    return np.divide(sum_of(np, x, axes, True), x.dtype.type(n))


@family
class _Spread(AxisComposite):
    """Statistics that are made of the mean and the variance."""

    unbiased: bool = False
    dtypes = FLOATING

    def variance(self, data: Expr, **changes: Any) -> Expr:
        """The variance with the attributes of this."""
        attrs: dict[str, Any] = {"axis": self.axis, "keepdims": self.keepdims, "exclude": self.exclude}
        return apply("variance", data, **{**attrs, "unbiased": self.unbiased, **changes})

    def deviation(self, data: Expr) -> Expr:
        """The standard deviation with the attributes of this."""
        attrs: dict[str, Any] = {"axis": self.axis, "keepdims": self.keepdims, "exclude": self.exclude}
        return apply("std", data, **attrs, unbiased=self.unbiased)

    def mean(self, data: Expr) -> Expr:
        """The mean with the attributes of this."""
        return apply("mean", data, axis=self.axis, keepdims=self.keepdims, exclude=self.exclude)


@operator("std")
class Std(Weighing, _Spread):
    """The standard deviation along `axis`: the square root of `variance`.

    relay> std([[1.0, 2.0], [3.0, 7.0]], axis=1)
    [0.5, 2.0]
    """

    derivative = Derivative.RULES
    samples = (sample("3x4 float32", axis=1), sample("3x4 float32", unbiased=True))

    def as_variance(self) -> Variance:
        """Return the variance with the attributes of this."""
        return Variance(axis=self.axis, keepdims=self.keepdims, exclude=self.exclude, unbiased=self.unbiased)

    def decompose(self, types: Any, data: Expr) -> Expr:
        dtype = types[0].dtype
        wide = squaring_dtype(dtype)
        variance = self.as_variance().widely(types[0], in_dtype(data, dtype, wide))
        return in_dtype(apply("sqrt", variance), wide, dtype)

    def reference(self, np: Numpy, data: Array) -> Array:
        return narrow(np.sqrt(self.as_variance().wide_value(np, for_squares(data))), data.dtype)

    def weights(self, y: Expr, data: Expr) -> Expr:
        # The distance from the mean by `n * y`; 0 where all elements are equal, as in PyTorch.
        t = tensor_type(data)
        wide, rank = squaring_dtype(t.dtype), len(dims(t))
        x = in_dtype(data, t.dtype, wide)
        away = apply("subtract", x, apply("mean", x, axis=self.axis, keepdims=True, exclude=self.exclude))
        n = count(x, t, self.axes(rank), wide)
        n = apply("subtract", n, scalar(1, wide)) if self.unbiased else n
        spread_out = self.kept(in_dtype(y, t.dtype, wide), data)
        flat = apply("equal", spread_out, scalar(0, wide))
        found = apply("where", flat, scalar(0, wide), apply("divide", away, times(n, spread_out)))
        return in_dtype(found, wide, t.dtype)


@operator("mean_variance")
class MeanVariance(_Spread):
    """The pair of `mean` and `variance` along `axis`.

    relay> mean_variance([1.0, 3.0])
    (2.0, 1.0)
    """

    results = 2
    samples = (sample("3x4 float32", axis=1),)

    def infer(self, t: Typing, x: Type) -> Type:
        return TupleType([self.result(t, x, t.dtype(x))] * 2)

    def decompose(self, types: Any, data: Expr) -> Expr:
        return Tuple((self.mean(data), self.variance(data)))


@operator("mean_std")
class MeanStd(_Spread):
    """The pair of `mean` and `std` along `axis`.

    relay> mean_std([1.0, 5.0])
    (3.0, 2.0)
    """

    results = 2
    samples = (sample("3x4 float32", axis=1),)

    def infer(self, t: Typing, x: Type) -> Type:
        return TupleType([self.result(t, x, t.dtype(x))] * 2)

    def decompose(self, types: Any, data: Expr) -> Expr:
        return Tuple((self.mean(data), self.deviation(data)))


@operator("logsumexp")
class LogSumExp(Weighing, AxisComposite):
    """`log(sum(exp(x)))` along `axis`, computed from the maximum so that it does not overflow.

    relay> logsumexp([0.0, 0.0])
    0.6931472
    """

    dtypes = FLOATING
    derivative = Derivative.RULES
    builder_order = ("data", "axis", "keepdims", "exclude")
    samples = (
        sample("3x4 float32", axis=1),
        sample("3x4 float32", keepdims=True),
        sample("2x3 float64", axis=0),
    )

    def decompose(self, types: Any, data: Expr) -> Expr:
        dtype, axes = types[0].dtype, self.axes(len(dims(types[0])))
        x = widened(data, dtype)
        top = apply("max", x, axis=axes, keepdims=True)
        finite = apply("where", apply("isfinite", top), top, apply("zeros_like", top))
        total = apply("sum", apply("exp", apply("subtract", x, finite)), axis=axes, keepdims=self.keepdims)
        if not self.keepdims:
            finite = apply("squeeze", finite, axis=axes) if axes else finite
        return narrowed(apply("add", apply("log", total), finite), dtype)

    def reference(self, np: Numpy, data: Array) -> Array:
        x, axes = precise(np, data), self.axes(data.ndim)
        top = np.max(x, axis=axes, keepdims=True, initial=least_value(np, x.dtype))
        finite = np.where(np.isfinite(top), top, np.zeros_like(top))
        total = np.log(sum_of(np, np.exp(x - finite), axes, True)) + finite
        return narrow(total if self.keepdims else np.squeeze(total, axis=axes), data.dtype)[()]

    def weights(self, y: Expr, data: Expr) -> Expr:
        # The softmax, from the maximum: the result may be rounded by more than the logarithm of the sum.
        dtype = tensor_type(data).dtype
        x, attrs = widened(data, dtype), {"axis": self.axis, "keepdims": True, "exclude": self.exclude}
        top = apply("max", x, **attrs)
        zero, one = (scalar(n, computing_dtype(dtype)) for n in (0, 1))
        finite = apply("where", apply("isfinite", top), top, zero)
        grown = apply("exp", apply("subtract", x, finite))
        total = apply("sum", grown, **attrs)
        total = apply("where", apply("equal", total, zero), one, total)
        return narrowed(apply("divide", grown, total), dtype)
