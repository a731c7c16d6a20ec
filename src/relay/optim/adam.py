"""Adaptive moments: Adam, AdamW, LAMB."""

from dataclasses import dataclass

from relay.ir.expr import Expr
from relay.ir.type import TensorType
from relay.op.numeric import apply
from relay.optim.parameters import Number, is_zero
from relay.optim.tensor_rule import Mask, Rate, Step, TensorRule


@dataclass(frozen=True)
class Adam(TensorRule):
    """See `adam`."""

    learning_rate: Rate
    beta1: Number
    beta2: Number
    epsilon: Number
    weight_decay: Number
    mask: Mask
    limited = (*TensorRule.limited, "beta1", "beta2", "epsilon")

    def slots(self, t: TensorType) -> tuple[TensorType, ...]:
        return (t, t)

    def moved(self, at: Step, p: Expr, g: Expr, *slots: Expr) -> tuple[Expr, tuple[Expr, ...]]:
        direction, kept = self.direction(at, g, *slots)
        return at.decayed(p) - at.rate * direction, kept

    def direction(self, at: Step, g: Expr, mean: Expr, square: Expr) -> tuple[Expr, tuple[Expr, ...]]:
        """The mean gradient over the root of its mean square, and both means."""
        one, b1, b2, eps = (at.const(x) for x in (1, self.beta1, self.beta2, self.epsilon))
        count = apply("cast", at.number, dtype=at.type.dtype)
        mean = b1 * mean + (one - b1) * g
        square = b2 * square + (one - b2) * g * g
        # What both biases divide by are numbers, so that a parameter takes one division, not three.
        unbiased_mean = mean * (one / (one - apply("power", b1, count)))
        unbiased_root = apply("sqrt", square) * (one / apply("sqrt", one - apply("power", b2, count)))
        return unbiased_mean / (unbiased_root + eps), (mean, square)


@dataclass(frozen=True)
class LAMB(Adam):
    """See `lamb`."""

    def moved(self, at: Step, p: Expr, g: Expr, *slots: Expr) -> tuple[Expr, tuple[Expr, ...]]:
        direction, kept = self.direction(at, g, *slots)
        if not is_zero(at.decay):
            direction = direction + at.const(at.decay) * p
        own, other = (apply("sqrt", apply("sum", x * x)) for x in (p, direction))
        zero, one = at.const(0), at.const(1)
        is_known = apply("logical_and", apply("greater", own, zero), apply("greater", other, zero))
        trust = apply("where", is_known, own / apply("where", is_known, other, one), one)
        return p - at.rate * trust * direction, kept


def adam(
    learning_rate: Rate = 1e-3,
    beta1: Number = 0.9,
    beta2: Number = 0.999,
    epsilon: Number = 1e-8,
    *,
    weight_decay: Number = 0.0,
    mask: Mask = True,
) -> Adam:
    """Steps of the mean gradient over the root of its mean square, both decaying and without their initial
    bias.

    `weight_decay` shrinks the parameters that `mask` has, beside the gradient (AdamW).
    Source: Kingma and Ba, 2015; Loshchilov and Hutter, 2019.
    """
    return Adam(learning_rate, beta1, beta2, epsilon, weight_decay, mask)


def adamw(
    learning_rate: Rate = 1e-3,
    beta1: Number = 0.9,
    beta2: Number = 0.999,
    epsilon: Number = 1e-8,
    *,
    weight_decay: Number = 0.01,
    mask: Mask = True,
) -> Adam:
    """`adam`, with a weight decay unless told otherwise.  Source: Loshchilov and Hutter, 2019."""
    return Adam(learning_rate, beta1, beta2, epsilon, weight_decay, mask)


def lamb(
    learning_rate: Rate = 1e-3,
    beta1: Number = 0.9,
    beta2: Number = 0.999,
    epsilon: Number = 1e-6,
    *,
    weight_decay: Number = 0.0,
    mask: Mask = True,
) -> LAMB:
    """`adam` whose steps, the weight decay included, are as long as the tensor times the rate: for large
    batches.

    Source: You et al., 2020.
    """
    return LAMB(learning_rate, beta1, beta2, epsilon, weight_decay, mask)
