"""Gradient descent, with momentum."""

from dataclasses import dataclass

from relay.ir.expr import Expr
from relay.ir.type import TensorType
from relay.optim.parameters import Number, is_zero
from relay.optim.tensor_rule import Mask, Rate, Step, TensorRule


@dataclass(frozen=True)
class SGD(TensorRule):
    """See `sgd`."""

    learning_rate: Rate
    momentum: Number
    nesterov: bool
    weight_decay: Number
    mask: Mask
    limited = (*TensorRule.limited, "momentum")

    def slots(self, t: TensorType) -> tuple[TensorType, ...]:
        return () if is_zero(self.momentum) else (t,)

    def moved(self, at: Step, p: Expr, g: Expr, *slots: Expr) -> tuple[Expr, tuple[Expr, ...]]:
        d = g if is_zero(at.decay) else g + at.const(at.decay) * p
        if not slots:
            return p - at.rate * d, ()
        mu = at.const(self.momentum)
        velocity = mu * slots[0] + d
        return p - at.rate * (d + mu * velocity if self.nesterov else velocity), (velocity,)


def sgd(
    learning_rate: Rate,
    momentum: Number = 0.0,
    *,
    nesterov: bool = False,
    weight_decay: Number = 0.0,
    mask: Mask = True,
) -> SGD:
    """Stochastic gradient descent: `v = momentum * v + g`, `p = p - learning_rate * v`.

    `nesterov` looks ahead by one step of the momentum; `weight_decay` adds that much of the parameter to
    its gradient, where `mask` has it.  Source: Sutskever, Martens, Dahl and Hinton, 2013, in the form where
    the rate multiplies the velocity.
    """
    return SGD(learning_rate, momentum, nesterov, weight_decay, mask)
