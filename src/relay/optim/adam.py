"""Adaptive moments."""

from dataclasses import dataclass

from relay.ir.expr import Expr, Tuple, TupleGetItem
from relay.ir.type import TupleType, Type, scalar_type
from relay.op.numeric import apply, scalar
from relay.optim.rule import Rule
from relay.optim.tree import leaves, rebuilt, zeros


@dataclass(frozen=True)
class Adam(Rule):
    """See `adam`."""

    learning_rate: float
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float

    def state_type(self, t: Type) -> Type:
        return TupleType((scalar_type("float32"), t, t))

    def initial(self, t: Type, params: Expr) -> Expr:
        nothing = zeros(t, params)
        return Tuple((scalar(0, "float32"), nothing, nothing))

    def updated(self, t: Type, params: Expr, grads: Expr, state: Expr) -> tuple[Expr, Expr]:
        steps, mean, square = (TupleGetItem(state, i) for i in range(3))
        steps = steps + scalar(1, "float32")
        now: list[Expr] = []
        means: list[Expr] = []
        squares: list[Expr] = []
        for leaf, (p, g, m, v) in leaves(t, params, grads, mean, square):
            one, rate, b1, b2, eps, decay = (
                scalar(x, leaf.dtype)
                for x in (1, self.learning_rate, self.beta1, self.beta2, self.epsilon, self.weight_decay)
            )
            count = apply("cast", steps, dtype=leaf.dtype)
            m = b1 * m + (one - b1) * g
            v = b2 * v + (one - b2) * g * g
            unbiased_m = m / (one - apply("power", b1, count))
            unbiased_v = v / (one - apply("power", b2, count))
            kept = p - rate * decay * p if self.weight_decay else p
            now.append(kept - rate * unbiased_m / (apply("sqrt", unbiased_v) + eps))
            means.append(m)
            squares.append(v)
        return rebuilt(t, now), Tuple((steps, rebuilt(t, means), rebuilt(t, squares)))


def adam(
    learning_rate: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    *,
    weight_decay: float = 0.0,
) -> Rule:
    """Steps of the mean gradient over the root of its mean square, both decaying and without their initial
    bias.

    The state is the number of steps (float32) and the two means.  `weight_decay` shrinks the parameters
    beside the gradient (AdamW).  Source: Kingma and Ba, 2015; Loshchilov and Hutter, 2019.
    """
    return Adam(learning_rate, beta1, beta2, epsilon, weight_decay)
