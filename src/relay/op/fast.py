"""Functions for which machine code has a faster approximation of less than float32 accuracy."""

from typing import Any

from relay.op.base import sample
from relay.op.error_function import Erf
from relay.op.math import Exp
from relay.op.native import Scalars
from relay.op.registry import operator
from relay.op.trigonometry import Tanh

SAMPLES = (sample("3x5 float32"), sample("float64"), sample("4 float16"))


@operator("fast_exp")
class FastExp(Exp):
    """`exp`, in float32 to a relative error of 1e-6 where that is from 1.2e-38 to 2.2e38, its ends beyond.

    relay> fast_exp([0.0])
    [1.0]
    """

    element_cost = 8
    samples = SAMPLES

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("fast_exp", data)


@operator("fast_erf")
class FastErf(Erf):
    """`erf`, in float32 to a relative error of 5e-6.

    relay> fast_erf([0.0])
    [0.0]
    """

    element_cost = 8
    samples = SAMPLES

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("fast_erf", data)


@operator("fast_tanh")
class FastTanh(Tanh):
    """`tanh`, in float32 to a relative error of 5e-6.

    relay> fast_tanh([0.0])
    [0.0]
    """

    element_cost = 8
    samples = SAMPLES

    def native(self, b: Scalars, data: Any) -> Any:
        return b.function("fast_tanh", data)
