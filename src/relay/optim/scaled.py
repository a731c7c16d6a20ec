"""Gradients of a scaled loss: for mixed precision, where small gradients would be zeros in float16."""

from dataclasses import dataclass
from functools import reduce

from relay.ir.expr import Expr, If, Tuple, TupleGetItem
from relay.ir.type import TupleType, Type, scalar_type
from relay.op.numeric import apply, scalar
from relay.optim.parameters import Number, check_numbers, number
from relay.optim.rule import Rule
from relay.optim.tree import leaves, rebuilt


@dataclass(frozen=True)
class Scaled(Rule):
    """See `scaled`."""

    rule: Rule
    scale: Number
    growth: Number
    backoff: Number
    every: Number

    def state_type(self, t: Type) -> Type:
        return TupleType((scalar_type("float32"), scalar_type("int32"), self.rule.state_type(t)))

    def initial(self, t: Type, params: Expr) -> Expr:
        return Tuple((number(self.scale, "float32"), scalar(0, "int32"), self.rule.initial(t, params)))

    def gradient_scale(self, state: Expr) -> Expr:
        return TupleGetItem(state, 0)

    def updated(self, t: Type, params: Expr, grads: Expr, state: Expr) -> tuple[Expr, Expr]:
        scale, steps, inner = (TupleGetItem(state, i) for i in range(3))
        every_finite = [apply("all", apply("isfinite", g)) for _, (g,) in leaves(t, grads)]
        is_finite = reduce(lambda a, b: apply("logical_and", a, b), every_finite, scalar(True, "bool"))
        share = scalar(1, "float32") / scale
        unscaled = [g * apply("cast", share, dtype=leaf.dtype) for leaf, (g,) in leaves(t, grads)]
        now, then = self.rule.updated(t, params, rebuilt(t, unscaled), inner)
        taken = Tuple((now, Tuple((*self._grown(scale, steps + scalar(1, "int32")), then))))
        smaller = scale * number(self.backoff, "float32")
        skipped = Tuple((params, Tuple((smaller, scalar(0, "int32"), inner))))
        both = If(is_finite, taken, skipped)
        return TupleGetItem(both, 0), TupleGetItem(both, 1)

    def _grown(self, scale: Expr, steps: Expr) -> tuple[Expr, Expr]:
        """The scale and the number of steps since it changed, after a step that was taken."""
        larger = scale * number(self.growth, "float32")
        larger = apply("where", apply("isfinite", larger), larger, scale)
        is_due = apply("equal", steps, number(self.every, "int32"))
        return apply("where", is_due, larger, scale), apply("where", is_due, scalar(0, "int32"), steps)


def scaled(
    rule: Rule, scale: Number = 65536.0, *, growth: Number = 2.0, backoff: Number = 0.5, every: Number = 2000
) -> Rule:
    """`rule`, for gradients of the loss times `state[0]`: it divides them by that again.

    Where one of them is infinite or NaN, the step is skipped (parameters and the state of `rule` stay) and
    the scale is multiplied by `backoff`; after `every` steps without such it is multiplied by `growth`.

    The state is the scale (float32), the number of steps since it changed (int32), and the state of `rule`.
    It goes around other rules, so that those clip and average what is unscaled.
    Source: Micikevicius et al., 2018.
    """
    check_numbers(scale=scale, growth=growth, backoff=backoff, every=every)
    return Scaled(rule, scale, growth, backoff, every)
