"""Gradient descent, with momentum."""

from dataclasses import dataclass

from relay.ir.expr import Expr, Tuple
from relay.ir.type import TupleType, Type
from relay.op.numeric import scalar
from relay.optim.rule import Rule
from relay.optim.tree import leaves, rebuilt, zeros


@dataclass(frozen=True)
class SGD(Rule):
    """See `sgd`."""

    learning_rate: float
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0

    def state_type(self, t: Type) -> Type:
        return t if self.momentum else TupleType(())

    def initial(self, t: Type, params: Expr) -> Expr:
        return zeros(t, params) if self.momentum else Tuple(())

    def updated(self, t: Type, params: Expr, grads: Expr, state: Expr) -> tuple[Expr, Expr]:
        now: list[Expr] = []
        velocity: list[Expr] = []
        trees = (params, grads, state) if self.momentum else (params, grads)
        for leaf, (p, g, *v) in leaves(t, *trees):
            rate, decay, mu = (
                scalar(x, leaf.dtype) for x in (self.learning_rate, self.weight_decay, self.momentum)
            )
            d = g + decay * p if self.weight_decay else g
            if v:
                faster = mu * v[0] + d
                velocity.append(faster)
                d = d + mu * faster if self.nesterov else faster
            now.append(p - rate * d)
        return rebuilt(t, now), rebuilt(t, velocity) if self.momentum else Tuple(())


def sgd(
    learning_rate: float, momentum: float = 0.0, *, nesterov: bool = False, weight_decay: float = 0.0
) -> Rule:
    """Stochastic gradient descent: `v = momentum * v + g`, `p = p - learning_rate * v`.

    `nesterov` looks ahead by one step of the momentum; `weight_decay` adds that much of the parameter to
    its gradient.  Source: Sutskever, Martens, Dahl and Hinton, 2013, in the form where the rate multiplies
    the velocity.
    """
    return SGD(learning_rate, momentum, nesterov, weight_decay)
