"""Reductions: they combine the elements along some axes.

`axis` is an axis, a tuple of axes, or None for all; `exclude` names the axes to keep instead;
`keepdims` keeps
reduced axes with size 1.  NaN propagates, and among equals the first is taken.
"""

from dataclasses import dataclass
from typing import Any

from relay.ir.type import DType, TensorType, Type
from relay.op.base import BOOLEAN, NUMERIC, Array, Derivative, Numpy, Operator, Reduction, operator, sample
from relay.op.composite import Composite
from relay.op.conversion import accumulator
from relay.op.numeric import (
    Axis,
    axes_named,
    checked_axes,
    greatest_value,
    least_value,
    narrow,
)
from relay.op.relation import Typing


@dataclass(frozen=True)
class Along(Operator):
    """What all reductions share: the axes, and the shape that is left."""

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


@dataclass(frozen=True)
class AxisReduction(Along, Reduction):
    """A primitive reduction along axes, of the operand's base type."""


@dataclass(frozen=True)
class AxisComposite(Along, Composite):
    """A reduction that is made of others."""


@operator("sum")
class Sum(AxisReduction):
    """The sum of the elements along `axis`; 0 where there are none.  Narrow floats accumulate in float32.

    relay> sum([[1.0, 2.0], [3.0, 4.0]], axis=0)
    [4.0, 6.0]
    """

    dtypes = NUMERIC
    derivative = Derivative.TRANSPOSE
    samples = (
        sample("3x4 float32", axis=1),
        sample("2x3x4 float32", axis=(0, 2), keepdims=True),
        sample("float32"),
        sample("0x3 int32", axis=0),
        sample("3x4 float16", axis=-1, exclude=True),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        x = accumulator(data)
        return narrow(np.sum(x, axis=self.axes(x.ndim), keepdims=self.keepdims, dtype=x.dtype), data.dtype)


@operator("prod")
class Prod(AxisReduction):
    """The product of the elements along `axis`; 1 where there are none.

    relay> prod([[1.0, 2.0], [3.0, 4.0]], axis=1)
    [2.0, 12.0]
    """

    dtypes = NUMERIC
    derivative = Derivative.RULES
    samples = (sample("3x4 float32", axis=1), sample("2x3 int32"), sample("0x3 float32", axis=0))

    def reference(self, np: Numpy, data: Array) -> Array:
        x = accumulator(data)
        return narrow(np.prod(x, axis=self.axes(x.ndim), keepdims=self.keepdims, dtype=x.dtype), data.dtype)


@operator("max")
class Max(AxisReduction):
    """The greatest element along `axis`; NaN if there is one, the least value of the base type if there
    are none.

    relay> max([[1.0, 5.0], [3.0, 4.0]], axis=1)
    [5.0, 4.0]
    """

    dtypes = NUMERIC
    derivative = Derivative.RULES
    samples = (
        sample("3x4 float32", axis=1),
        sample("2x3x4 int32", axis=(1, 2)),
        sample("3x0 float32", axis=1),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        x = accumulator(data)
        found = np.max(x, axis=self.axes(x.ndim), keepdims=self.keepdims, initial=least_value(np, x.dtype))
        return narrow(found, data.dtype)


@operator("min")
class Min(AxisReduction):
    """The least element along `axis`; NaN if there is one, the greatest value of the base type if there
    are none.

    relay> min([[1.0, 5.0], [3.0, 4.0]], axis=1)
    [1.0, 3.0]
    """

    dtypes = NUMERIC
    derivative = Derivative.RULES
    samples = (
        sample("3x4 float32", axis=1),
        sample("2x3x4 uint8", axis=(0, 1), keepdims=True),
        sample("3x0 float32", axis=1),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        x = accumulator(data)
        found = np.min(x, axis=self.axes(x.ndim), keepdims=self.keepdims, initial=greatest_value(np, x.dtype))
        return narrow(found, data.dtype)


@operator("all")
class All(AxisReduction):
    """Whether every element along `axis` is true; true where there are none.

    relay> all([[True, False], [True, True]], axis=1)
    [False, True]
    """

    dtypes = BOOLEAN
    derivative = Derivative.ZERO
    samples = (sample("3x4 bool", axis=1), sample("0 bool"))

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.all(data, axis=self.axes(data.ndim), keepdims=self.keepdims)


@operator("any")
class AnyOf(AxisReduction):
    """Whether some element along `axis` is true; false where there are none.

    relay> any([[True, False], [False, False]], axis=1)
    [True, False]
    """

    dtypes = BOOLEAN
    derivative = Derivative.ZERO
    samples = (sample("3x4 bool", axis=1), sample("0 bool"))

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.any(data, axis=self.axes(data.ndim), keepdims=self.keepdims)


@dataclass(frozen=True)
class _ArgReduction(AxisReduction):
    """Where the extreme element is: the first, or the last with `select_last_index`; int32."""

    select_last_index: bool = False

    def infer(self, t: Typing, x: Type) -> Type:
        shape = t.shape(x)
        for a in checked_axes(t, self.axis, len(shape), self.exclude):
            t.require(0, "<", shape[a], f"`{self.name}` needs an element to choose")
        return self.result(t, x, "int32")

    def index(self, np: Numpy, data: Array, pick: Any) -> Array:
        """The index among the reduced axes, taken as one axis in row-major order."""
        axes = self.axes(data.ndim)
        kept = tuple(i for i in range(data.ndim) if i not in axes)
        flat = np.transpose(accumulator(data), (*kept, *axes)).reshape(*[data.shape[i] for i in kept], -1)
        if self.select_last_index:
            found = flat.shape[-1] - 1 - pick(flat[..., ::-1], axis=-1)
        else:
            found = pick(flat, axis=-1)
        shape = [1 if i in axes else d for i, d in enumerate(data.shape)] if self.keepdims else found.shape
        return found.reshape(shape).astype("int32")[()]


@operator("argmax")
class ArgMax(_ArgReduction):
    """The index of the greatest element along `axis` (of the first NaN, if there is one), as int32.

    Over several axes it is the index into them in row-major order.

    relay> argmax([[1.0, 5.0, 5.0], [3.0, 2.0, 1.0]], axis=1)
    [1, 0]
    """

    dtypes = NUMERIC
    derivative = Derivative.ZERO
    samples = (
        sample("3x4 float32", axis=1),
        sample("3x4 int32", axis=1, select_last_index=True),
        sample("2x3x4 float32"),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        return self.index(np, data, np.argmax)


@operator("argmin")
class ArgMin(_ArgReduction):
    """The index of the least element along `axis` (of the first NaN, if there is one), as int32.

    Over several axes it is the index into them in row-major order.

    relay> argmin([[1.0, 5.0, 1.0], [3.0, 2.0, 1.0]], axis=1)
    [0, 2]
    """

    dtypes = NUMERIC
    derivative = Derivative.ZERO
    samples = (sample("3x4 float32", axis=1), sample("3x4 int32", axis=(0, 1), keepdims=True))

    def reference(self, np: Numpy, data: Array) -> Array:
        return self.index(np, data, np.argmin)
