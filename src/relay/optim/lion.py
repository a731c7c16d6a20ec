"""Steps of one size in the direction of the sign."""

from dataclasses import dataclass

from relay.ir.expr import Expr
from relay.ir.type import TensorType
from relay.op.numeric import apply
from relay.optim.parameters import Number
from relay.optim.tensor_rule import Mask, Rate, Step, TensorRule


@dataclass(frozen=True)
class Lion(TensorRule):
    """See `lion`."""

    learning_rate: Rate
    beta1: Number
    beta2: Number
    weight_decay: Number
    mask: Mask
    limited = (*TensorRule.limited, "beta1", "beta2")

    def slots(self, t: TensorType) -> tuple[TensorType, ...]:
        return (t,)

    def moved(self, at: Step, p: Expr, g: Expr, *slots: Expr) -> tuple[Expr, tuple[Expr, ...]]:
        (mean,) = slots
        one, b1, b2 = (at.const(x) for x in (1, self.beta1, self.beta2))
        direction = apply("sign", b1 * mean + (one - b1) * g)
        return at.decayed(p) - at.rate * direction, (b2 * mean + (one - b2) * g,)


def lion(
    learning_rate: Rate = 1e-4,
    beta1: Number = 0.9,
    beta2: Number = 0.99,
    *,
    weight_decay: Number = 0.0,
    mask: Mask = True,
) -> Lion:
    """Steps of the sign of a mean gradient; `weight_decay` shrinks the parameters that `mask` has beside it.

    Its rate is a third to a tenth of Adam's.  Source: Chen et al., 2023.
    """
    return Lion(learning_rate, beta1, beta2, weight_decay, mask)
