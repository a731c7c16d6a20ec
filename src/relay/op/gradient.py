"""What differentiation takes for constant."""

from typing import Any

from relay.op.base import Array, Numpy, sample
from relay.op.family import Elementwise
from relay.op.kind import Derivative
from relay.op.native import Scalars
from relay.op.registry import operator


@operator("stop_gradient")
class StopGradient(Elementwise):
    """The operand itself, whose derivative is taken to be zero.

    relay> stop_gradient([1.0, 2.0])
    [1.0, 2.0]
    """

    computes = False
    derivative = Derivative.ZERO
    samples = (sample("2x3 float32"), sample("bool"), sample("0 int32"))

    def reference(self, np: Numpy, data: Array) -> Array:
        return data

    def native(self, b: Scalars, x: Any) -> Any:
        """The number itself."""
        return x
