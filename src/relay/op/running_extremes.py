"""Running maxima and minima along an axis, with the places where they are."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy

from relay.ir.dtype import is_float, to_numpy
from relay.ir.expr import Expr
from relay.ir.type import TensorType, TupleType, Type
from relay.op.attribute import DTypeName
from relay.op.axes import axis_of
from relay.op.base import ORDERED, Array, Numpy, Operator, sample
from relay.op.batching import shifted
from relay.op.conversion import accumulator, accumulator_name
from relay.op.derivative import zeros_like
from relay.op.family import family
from relay.op.kind import Derivative
from relay.op.native import Index, Loops, Output, View
from relay.op.numeric import apply, greatest_value, least_value, narrow
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.scan import scan_axis


@family
class RunningExtreme(Operator):
    """The extreme of each element and those before it, and where it is: the last place of several."""

    axis: int = -1
    dtype: DTypeName = "int32"  # pyright: ignore[reportAssignmentType]
    results = 2
    dtypes = ORDERED
    batch = shifted
    derivative = Derivative.RULES
    kind: ClassVar[str]
    """How an element compares with the extreme before it that takes its place."""

    def infer(self, t: Typing, data: Type) -> Type:
        shape = t.shape(data)
        axis_of(t, self.axis, len(shape))
        return TupleType([data, TensorType(shape, self.dtype)])

    def running(self, np: Numpy, data: Array, accumulate: Any) -> tuple[Array, Array]:
        """The extremes by a cumulative function, and their places."""
        x, axis = accumulator(data), self.axis % data.ndim
        extremes = accumulate(x, axis=axis)
        sizes = [-1 if a == axis else 1 for a in range(data.ndim)]
        places = np.broadcast_to(np.arange(data.shape[axis]).reshape(sizes), data.shape)
        is_new = (x == extremes) | (x != x)
        found = np.maximum.accumulate(np.where(is_new, places, 0), axis=axis)
        return narrow(extremes, data.dtype), narrow(found, self.dtype)

    def vjp(self, g: Sequence[Any], y: Sequence[Expr], data: Expr) -> tuple[Expr, ...]:
        zeros = zeros_like(data)
        return (apply("scatter_elements", zeros, y[1], g[0], axis=self.axis, reduction="add"),)

    def jvp(self, dxs: Sequence[Any], y: Sequence[Expr], data: Expr) -> tuple[Any, ...]:
        return apply("gather", dxs[0], self.axis, y[1]), None

    def compute(self, b: Loops, out: Sequence[Output], data: View) -> None:
        """Write extremes and places."""
        wide, axis = accumulator_name(data.dtype), self.axis % len(data.sizes)
        worst = (least_value if self.kind == "ge" else greatest_value)(numpy, to_numpy(wide))

        def step(index: Sequence[Index], totals: Sequence[Any]) -> Sequence[Any]:
            best, place = totals
            x = b.cast(data.at(index), wide)
            is_new = b.compare(self.kind, x, best)
            if is_float(wide):
                is_new = b.bits("or", is_new, b.compare("ne", x, x))
            best = b.select(is_new, x, best)
            place = b.select(is_new, b.as_number(index[axis], "int64"), place)
            out[0].put(index, b.cast(best, out[0].dtype))
            out[1].put(index, b.cast(place, out[1].dtype))
            return [best, place]

        scan_axis(b, out[0], axis, [b.const(worst, wide), b.const(0, "int64")], step)


@operator("cummax")
class CumMax(RunningExtreme):
    """The greatest of each element and those before it along `axis`, and where it is, the last of several.

    NaN counts as greater than every number.

    relay> cummax([1, 3, 2, 3])
    ([1, 3, 3, 3], [0, 1, 1, 3])
    """

    kind = "ge"
    samples = (
        sample("3x4 float32", axis=1),
        sample("4x2 int8", axis=0, dtype="int64"),
        sample("0x3 bfloat16", axis=0),
    )

    def reference(self, np: Numpy, data: Array) -> tuple[Array, Array]:
        return self.running(np, data, np.maximum.accumulate)


@operator("cummin")
class CumMin(RunningExtreme):
    """The least of each element and those before it along `axis`, and where it is, the last of several.

    NaN counts as less than every number.

    relay> cummin([2, 3, 1, 1])
    ([2, 2, 1, 1], [0, 0, 2, 3])
    """

    kind = "le"
    samples = (sample("3x4 float64", axis=0), sample("5 uint8", dtype="int64"), sample("3x0 float32"))

    def reference(self, np: Numpy, data: Array) -> tuple[Array, Array]:
        return self.running(np, data, np.minimum.accumulate)
