"""The sizes of tensors as tensors."""

from collections.abc import Sequence
from typing import Any

import numpy

from relay.ir.dtype import to_numpy
from relay.ir.type import TensorType, Type
from relay.op.attribute import DTypeName
from relay.op.base import Array, Numpy, Operator, sample
from relay.op.kind import Derivative
from relay.op.native import Index, Loops, View
from relay.op.registry import operator
from relay.op.relation import Typing


@operator("shape_of")
class ShapeOf(Operator):
    """The shape of the operand as a tensor of rank 1.

    relay> shape_of([[1, 2, 3], [4, 5, 6]])
    [2, 3]
    """

    derivative = Derivative.ZERO
    carried = ("data",)
    samples = (sample("2x3 float32"), sample("int4"), sample("0x3 bool", dtype="int64"))

    dtype: DTypeName = DTypeName("int32")

    def infer(self, t: Typing, x: Type) -> Type:
        return TensorType((len(t.shape(x)),), self.dtype)

    def reference(self, np: Numpy, data: Array) -> Array:
        return numpy.asarray(data.shape, to_numpy(self.dtype))

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """The size of that axis."""
        found: Index = 0
        for i, d in enumerate(data.sizes):
            found = b.choose(b.is_same(index[0], i), d, found)
        return b.as_number(found, self.dtype)


@operator("ndarray_size")
class NdarraySize(Operator):
    """The number of elements of the operand, a scalar.

    relay> ndarray_size([[1, 2, 3], [4, 5, 6]])
    6
    """

    derivative = Derivative.ZERO
    carried = ("data",)
    samples = (sample("2x3 float32"), sample("int4"), sample("0x3 bool", dtype="int64"))

    dtype: DTypeName = DTypeName("int32")

    def infer(self, t: Typing, x: Type) -> Type:
        t.tensor(x)
        return TensorType((), self.dtype)

    def reference(self, np: Numpy, data: Array) -> Array:
        return numpy.asarray(data.size, to_numpy(self.dtype))

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """The product of the sizes."""
        return b.as_number(b.count(data.sizes), self.dtype)
