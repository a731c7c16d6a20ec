"""Running sums and products along an axis."""

from dataclasses import dataclass
from typing import Any

from relay.ir.dim import product
from relay.ir.type import TensorType, Type
from relay.op.axes import axis_of
from relay.op.base import NUMERIC, Array, Derivative, DTypeName, Numpy, Operator, operator, sample
from relay.op.conversion import accumulator
from relay.op.numeric import narrow
from relay.op.relation import Typing


@dataclass(frozen=True)
class Scan(Operator):
    """Combines each element with all before it; without `axis`, over the elements in row-major order.

    `exclusive` leaves the element itself out, so that the first is the neutral one.
    """

    axis: int | None = None
    dtype: DTypeName | None = None
    exclusive: bool | None = None
    dtypes = NUMERIC

    def infer(self, t: Typing, data: Type) -> Type:
        shape = t.shape(data)
        if self.axis is None:
            shape = (product(shape),)
        else:
            axis_of(t, self.axis, len(shape))
        return TensorType(shape, t.dtype(data) if self.dtype is None else self.dtype)

    def scan(self, np: Numpy, data: Array, run: Any, neutral: int) -> Array:
        """`run` (a cumulative function) over `data`, shifted by one place if this is exclusive."""
        wanted = data.dtype if self.dtype is None else self.dtype
        x = accumulator(narrow(data, wanted))
        axis = 0 if self.axis is None else self.axis % data.ndim
        if self.axis is None:
            x = x.reshape(-1)
        if self.exclusive and x.shape[axis]:
            first = np.full_like(np.take(x, np.arange(1), axis=axis), neutral)
            x = np.concatenate([first, np.take(x, np.arange(x.shape[axis] - 1), axis=axis)], axis=axis)
        return narrow(run(x, axis=axis, dtype=x.dtype), wanted)


@operator("cumsum")
class CumSum(Scan):
    """The sum of each element and those before it along `axis`, in `dtype` (the operand's if None).

    relay> cumsum([1, 2, 3], exclusive=True)
    [0, 1, 3]
    """

    derivative = Derivative.TRANSPOSE
    samples = (
        sample("3x4 float32", axis=1),
        sample("2x3 int32"),
        sample("0x3 float32", axis=0),
        sample("3x4 float32", axis=0, exclusive=True),
        sample("5 int8", axis=0, dtype="int32"),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        return self.scan(np, data, np.cumsum, 0)


@operator("cumprod")
class CumProd(Scan):
    """The product of each element and those before it along `axis`, in `dtype` (the operand's if None).

    relay> cumprod([1, 2, 3])
    [1, 2, 6]
    """

    derivative = Derivative.RULES
    samples = (
        sample("3x4 float32", axis=1),
        sample("2x3 int32"),
        sample("3x4 float32", axis=0, exclusive=True),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        return self.scan(np, data, np.cumprod, 1)
