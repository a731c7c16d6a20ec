"""Reductions: they combine the elements along some axes.

`axis` is an axis, a tuple of axes, or None for all; `exclude` names the axes to keep instead; `keepdims`
keeps reduced axes with size 1.  NaN propagates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy

from relay.diagnostic import Span
from relay.ir.dtype import dtype_name, to_numpy
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.ir.type import Dim, DType, TensorType, Type
from relay.op.arithmetic import greater, lesser
from relay.op.base import BOOLEAN, NUMERIC, Array, Numpy, Operator, sample
from relay.op.batching import all_stretched, behind_rows, by, row_rank
from relay.op.composite import Composite
from relay.op.conversion import accumulator, accumulator_name
from relay.op.derivative import broadcast_like, rank_of, tensor_type, times
from relay.op.family import Reduction, family
from relay.op.kind import Batching, Derivative, Wide
from relay.op.native import Scalars
from relay.op.numeric import (
    Axis,
    apply,
    axes_named,
    checked_axes,
    computing_dtype,
    for_squares,
    greatest_value,
    in_dtype,
    least_value,
    narrow,
    squaring_dtype,
    sum_of,
)
from relay.op.registry import instance, operator
from relay.op.relation import Typing


@family
class Along(Operator):
    """What all reductions share: the axes, and the shape that is left."""

    wide = Wide.SUM
    axis: Axis = None
    keepdims: bool = False
    exclude: bool = False

    def axes(self, rank: int) -> tuple[int, ...]:
        """The axes that are reduced."""
        return axes_named(self.axis, rank, self.exclude)

    def result(self, t: Typing, x: Type, dtype: DType) -> TensorType:
        """The type of the result; all axes of a tensor of unknown rank can be reduced too."""
        if self.axis is None and not self.keepdims and not self.exclude:
            t.tensor(x)
            return TensorType((), dtype)
        shape = t.shape(x)
        axes = checked_axes(t, self.axis, len(shape), self.exclude)
        if self.keepdims:
            return TensorType([1 if i in axes else d for i, d in enumerate(shape)], dtype)
        return TensorType([d for i, d in enumerate(shape) if i not in axes], dtype)

    def infer(self, t: Typing, x: Type) -> Type:
        return self.result(t, x, t.dtype(x))

    def kept(self, y: Expr, x: Expr) -> Expr:
        """A result, or a cotangent of it, in a shape that broadcasts with the operand `x`."""
        rank = rank_of(x)
        axes = self.axes(rank)
        if self.keepdims or axes == tuple(range(len(axes))):
            return y
        for first, count in runs(axes):
            y = apply("expand_dims", y, axis=first, num_newaxis=count)
        return y

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], *xs: Expr) -> Expr:
        rank = row_rank(xs[0], which[0])
        axes = behind_rows(self.axes(rank), rank)
        return replace(self, axis=axes, exclude=False)(*all_stretched(n, which, xs))


def runs(axes: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending axes as runs of neighbours: the first of each, and how many there are."""
    found: list[tuple[int, int]] = []
    for a in axes:
        if found and sum(found[-1]) == a:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((a, 1))
    return found


@family
class Weighing(Along):
    """A reduction whose derivative is a sum of the operand's tangent with weights."""

    derivative = Derivative.RULES

    def weights(self, y: Expr, data: Expr) -> Expr:
        """The derivative of the result by each element, in the shape of the operand."""
        raise AssertionError(f"{self.name} has no weights")

    def vjp(self, g: Expr, y: Expr, data: Expr) -> tuple[Expr, ...]:
        return (times(self.kept(g, data), self.weights(y, data)),)

    def jvp(self, dxs: Sequence[Any], y: Expr, data: Expr) -> Expr:
        return self.summed(times(dxs[0], self.weights(y, data)))

    def summed(self, x: Expr) -> Expr:
        """The sum of an operand along the axes."""
        return apply("sum", x, axis=self.axis, keepdims=self.keepdims, exclude=self.exclude)


@family
class AxisReduction(Along, Reduction):
    """A primitive reduction along axes, of the operand's dtype."""


@family
class OfBooleans(Along):
    """A reduction that is another one where the elements are booleans."""

    of_booleans: ClassVar[str]
    dtypes = NUMERIC
    is_resolved = True
    settled_dtypes = NUMERIC

    def check_dtype(self, t: Typing, operand: Type) -> None:
        """Booleans will do where they are known."""
        if t.dtype(operand) != "bool":
            super().check_dtype(t, operand)

    def resolved(
        self, types: Sequence[Type], args: Sequence[Expr], mod: IRModule, span: Span | None
    ) -> Expr | None:
        """The reduction of booleans."""
        known = types[0]
        if not isinstance(known, TensorType) or known.dtype != "bool":
            return None
        return instance(self.of_booleans, self.attributes())(*args)


@family
class Accumulating(Operator):
    """A sum or a product: booleans are counted as int64, other integers keep their dtype and may wrap.

    With `keep_dtype`, as in TVM, that of booleans is a boolean: whether any, or all, are true.
    """

    keep_dtype: bool = False
    dtypes = NUMERIC
    tvm_attributes: ClassVar[Mapping[str, Any]] = {"keep_dtype": True}
    is_resolved = True

    def check_dtype(self, t: Typing, operand: Type) -> None:
        """Booleans will do where they are known."""
        if t.dtype(operand) != "bool":
            super().check_dtype(t, operand)

    def accumulated(self, dtype: DType) -> DType:
        """Return the dtype of the result on operands of a dtype."""
        return "int64" if dtype == "bool" and not self.keep_dtype else dtype

    def integers(self, data: Array) -> Array:
        """Return the operand of a reference, booleans as the integers that they are counted as."""
        return data.astype(self.accumulated(dtype_name(data.dtype))) if data.dtype == bool else data

    def resolved(
        self, types: Sequence[Type], args: Sequence[Expr], mod: IRModule, span: Span | None
    ) -> Expr | None:
        """Return the call on the integers that booleans are, or without a `keep_dtype` that says nothing."""
        dtype = types[0].dtype if isinstance(types[0], TensorType) else None
        plain = replace(self, keep_dtype=False)
        if dtype == "bool":
            total = plain(apply("cast", args[0], dtype="int64"))
            return apply("cast", total, dtype="bool") if self.accumulated(dtype) == "bool" else total
        return plain(*args) if self.keep_dtype and isinstance(dtype, str) else None


@family
class Extreme(OfBooleans, Weighing, Reduction):
    """The greatest or the least; equal ones share the derivative evenly, as in PyTorch."""

    def weights(self, y: Expr, data: Expr) -> Expr:
        chosen = apply("cast_like", apply("equal", data, self.kept(y, data)), data)
        return apply("divide", chosen, self.kept(self.summed(chosen), data))


@family
class AxisComposite(Along, Composite):
    """A reduction that is made of others."""


@family
class AxisAccumulation(Accumulating, Along):
    """A sum or a product along axes."""

    of_booleans: ClassVar[str]
    """The reduction of booleans that keeps their dtype."""

    def infer(self, t: Typing, x: Type) -> Type:
        return self.result(t, x, self.accumulated(t.dtype(x)))

    def resolved(
        self, types: Sequence[Type], args: Sequence[Expr], mod: IRModule, span: Span | None
    ) -> Expr | None:
        known = types[0]
        if self.keep_dtype and isinstance(known, TensorType) and known.dtype == "bool":
            attrs = {name: v for name, v in self.attributes().items() if name != "keep_dtype"}
            return instance(self.of_booleans, attrs)(*args)
        return super().resolved(types, args, mod, span)


@operator("sum")
class Sum(AxisAccumulation, AxisReduction):
    """The sum of the elements along `axis`; 0 where there are none.  Narrow floats accumulate in float32.

    The sum of booleans counts those that are true, as int64; with `keep_dtype`, as in TVM, it is `any`.
    Other integers keep their dtype and wrap: cast narrow ones first, `sum(cast(x, int64))`.

    relay> sum([[1.0, 2.0], [3.0, 4.0]], axis=0)
    [4.0, 6.0]
    relay> sum([True, False, True])
    2
    """

    of_booleans = "any"
    adds_up = True
    derivative = Derivative.TRANSPOSE
    samples = (
        sample("3x4 float32", axis=1),
        sample("3x4 bool", axis=1),
        sample("2x3x4 float32", axis=(0, 2), keepdims=True),
        sample("float32"),
        sample("0x3 int32", axis=0),
        sample("3x4 float16", axis=-1, exclude=True),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        data = self.integers(data)
        x = accumulator(data)
        return narrow(sum_of(np, x, self.axes(x.ndim), self.keepdims), data.dtype)

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        return (broadcast_like(self.kept(g, data), data),)

    def start(self, b: Scalars, dtype: str) -> list[Any]:
        return [b.const(0, accumulator_name(dtype))]

    def combine(self, b: Scalars, totals: Sequence[Any], x: Any) -> list[Any]:
        return [b.add(totals[0], b.cast(x, totals[0].dtype))]

    def finish(self, b: Scalars, totals: Sequence[Any], dtype: str) -> Any:
        return b.cast(totals[0], dtype)


@operator("prod")
class Prod(AxisAccumulation, Weighing, Reduction):
    """The product of the elements along `axis`; 1 where there are none.  Factors of float32
    and of narrower floats are multiplied in float64.

    The product of booleans is 1 if all are true, else 0, as int64; with `keep_dtype`, as in TVM, it is `all`.
    Other integers keep their dtype and wrap: cast narrow ones first, `prod(cast(x, int64))`.

    relay> prod([[1.0, 2.0], [3.0, 4.0]], axis=1)
    [2.0, 12.0]
    """

    of_booleans = "all"
    samples = (
        sample("3x4 float32", axis=1),
        sample("3x4 bool", axis=1),
        sample("2x3 int32"),
        sample("0x3 float32", axis=0),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        data = self.integers(data)
        x = for_squares(accumulator(data))
        return narrow(np.prod(x, axis=self.axes(x.ndim), keepdims=self.keepdims, dtype=x.dtype), data.dtype)

    def weights(self, y: Expr, data: Expr) -> Expr:
        # The products of the elements before and after each one: exact where some of them are 0.
        found: Expr | None = None
        axes, dtype = self.axes(rank_of(data)), tensor_type(data).dtype
        wide = squaring_dtype(computing_dtype(dtype))
        data = in_dtype(data, dtype, wide)
        for axis in axes:
            others = times(_before(data, axis), _flipped(_before(_flipped(data, axis), axis), axis))
            found = others if found is None else times(found, others)
            data = apply("prod", data, axis=axis, keepdims=True)
        return in_dtype(apply("ones_like", data) if found is None else found, wide, dtype)

    def start(self, b: Scalars, dtype: str) -> list[Any]:
        return [b.const(1, str(squaring_dtype(accumulator_name(dtype))))]

    def combine(self, b: Scalars, totals: Sequence[Any], x: Any) -> list[Any]:
        return [b.multiply(totals[0], b.cast(x, totals[0].dtype))]

    def finish(self, b: Scalars, totals: Sequence[Any], dtype: str) -> Any:
        return b.cast(totals[0], dtype)


def _before(x: Expr, axis: int) -> Expr:
    return apply("cumprod", x, axis=axis, exclusive=True)


def _flipped(x: Expr, axis: int) -> Expr:
    return apply("reverse", x, axis=axis)


@operator("max")
class Max(Extreme):
    """The greatest element along `axis`; NaN if there is one, the least value of the dtype if there
    are none.

    relay> max([[1.0, 5.0], [3.0, 4.0]], axis=1)
    [5.0, 4.0]
    """

    more_means = "the greater of two is `maximum(a, b)`"
    of_booleans = "any"
    samples = (
        sample("3x4 bool", axis=1),
        sample("3x4 float32", axis=1),
        sample("2x3x4 int32", axis=(1, 2)),
        sample("3x0 float32", axis=1),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        x = accumulator(data)
        found = np.max(x, axis=self.axes(x.ndim), keepdims=self.keepdims, initial=least_value(np, x.dtype))
        return narrow(found, data.dtype)

    def start(self, b: Scalars, dtype: str) -> list[Any]:
        return [b.const(least_value(numpy, to_numpy(accumulator_name(dtype))), accumulator_name(dtype))]

    def combine(self, b: Scalars, totals: Sequence[Any], x: Any) -> list[Any]:
        return [greater(b, b.cast(x, totals[0].dtype), totals[0])]

    def finish(self, b: Scalars, totals: Sequence[Any], dtype: str) -> Any:
        return b.cast(totals[0], dtype)


@operator("min")
class Min(Extreme):
    """The least element along `axis`; NaN if there is one, the greatest value of the dtype if there
    are none.

    relay> min([[1.0, 5.0], [3.0, 4.0]], axis=1)
    [1.0, 3.0]
    """

    more_means = "the lesser of two is `minimum(a, b)`"
    of_booleans = "all"
    samples = (
        sample("3x4 bool", axis=1),
        sample("3x4 float32", axis=1),
        sample("2x3x4 uint8", axis=(0, 1), keepdims=True),
        sample("3x0 float32", axis=1),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        x = accumulator(data)
        found = np.min(x, axis=self.axes(x.ndim), keepdims=self.keepdims, initial=greatest_value(np, x.dtype))
        return narrow(found, data.dtype)

    def start(self, b: Scalars, dtype: str) -> list[Any]:
        return [b.const(greatest_value(numpy, to_numpy(accumulator_name(dtype))), accumulator_name(dtype))]

    def combine(self, b: Scalars, totals: Sequence[Any], x: Any) -> list[Any]:
        return [lesser(b, b.cast(x, totals[0].dtype), totals[0])]

    def finish(self, b: Scalars, totals: Sequence[Any], dtype: str) -> Any:
        return b.cast(totals[0], dtype)


@operator("all")
class All(AxisReduction):
    """Whether every element along `axis` is true; true where there are none.

    relay> all([[True, False], [True, True]], axis=1)
    [False, True]
    """

    more_means = "of two conditions it is `a && b`, of two tensors `logical_and(a, b)`"
    dtypes = BOOLEAN
    derivative = Derivative.ZERO
    samples = (sample("3x4 bool", axis=1), sample("0 bool"))

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.all(data, axis=self.axes(data.ndim), keepdims=self.keepdims)

    def start(self, b: Scalars, dtype: str) -> list[Any]:
        return [b.const(True, dtype)]

    def combine(self, b: Scalars, totals: Sequence[Any], x: Any) -> list[Any]:
        return [b.bits("and", totals[0], x)]

    def finish(self, b: Scalars, totals: Sequence[Any], dtype: str) -> Any:
        return totals[0]


@operator("any")
class AnyOf(AxisReduction):
    """Whether some element along `axis` is true; false where there are none.

    relay> any([[True, False], [False, False]], axis=1)
    [True, False]
    """

    more_means = "of two conditions it is `a || b`, of two tensors `logical_or(a, b)`"
    dtypes = BOOLEAN
    derivative = Derivative.ZERO
    samples = (sample("3x4 bool", axis=1), sample("0 bool"))

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.any(data, axis=self.axes(data.ndim), keepdims=self.keepdims)

    def start(self, b: Scalars, dtype: str) -> list[Any]:
        return [b.const(False, dtype)]

    def combine(self, b: Scalars, totals: Sequence[Any], x: Any) -> list[Any]:
        return [b.bits("or", totals[0], x)]

    def finish(self, b: Scalars, totals: Sequence[Any], dtype: str) -> Any:
        return totals[0]
