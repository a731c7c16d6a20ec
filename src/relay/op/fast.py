"""Functions for which a backend may take a faster approximation of less than float32 accuracy."""

from typing import Any

from relay.ir.expr import Expr
from relay.ir.type import Type
from relay.op.base import FLOATING, operator, sample
from relay.op.composite import Composite
from relay.op.numeric import SameType, apply
from relay.op.relation import Typing


class Fast(SameType, Composite):
    """A function of one number, which is the exact one until a backend knows better."""

    dtypes = FLOATING
    samples = (sample("3x5 float32"), sample("float64"), sample("4 float16"))

    def infer(self, t: Typing, data: Type) -> Type:
        return t.tensor(data)

    def decompose(self, types: Any, data: Expr) -> Expr:
        return apply(self.name.removeprefix("fast_"), data)


@operator("fast_exp")
class FastExp(Fast):
    """`exp`, for which a backend may take a faster approximation.

    relay> fast_exp([0.0])
    [1.0]
    """


@operator("fast_erf")
class FastErf(Fast):
    """`erf`, for which a backend may take a faster approximation.

    relay> fast_erf([0.0])
    [0.0]
    """


@operator("fast_tanh")
class FastTanh(Fast):
    """`tanh`, for which a backend may take a faster approximation.

    relay> fast_tanh([0.0])
    [0.0]
    """
