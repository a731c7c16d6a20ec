"""The value of a dimension."""

from collections.abc import Sequence
from typing import Any

import numpy

from relay.ir import hooks
from relay.ir.type import TensorType, Type
from relay.op.attribute import Size, is_dimension
from relay.op.base import Array, Numpy, Operator, sample
from relay.op.kind import Derivative
from relay.op.native import Loops
from relay.op.registry import builders, operator
from relay.op.relation import Typing


@operator("dim_value")
class DimValue(Operator):
    """The value of a dimension, a scalar of int64: what the name of a dimension is in an expression.

    relay> dim_value(dim=3)
    3
    """

    derivative = Derivative.ZERO
    computes = False
    samples = (sample(dim=3),)

    dim: Size

    def infer(self, t: Typing) -> Type:
        return TensorType((), "int64")

    def reference(self, np: Numpy) -> Array:
        return numpy.int64(self.dim)

    def element(self, b: Loops, index: Sequence[Any]) -> Any:
        """The value itself."""
        return b.const(self.dim, "int64")


def dim_number(d: Any, dtype: str) -> Any:
    """The value of a dimension, a scalar of some dtype; what is none stays as it is."""
    if not is_dimension(d):
        return d
    value = builders["dim_value"](d)
    return value if dtype == "int64" else builders["cast"](value, dtype=dtype)


hooks.dim_number = dim_number
