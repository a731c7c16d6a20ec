"""Rules around another rule: clipped and accumulated gradients, averaged weights."""

from dataclasses import dataclass
from functools import reduce

from relay.ir.expr import Expr, If, Tuple, TupleGetItem
from relay.ir.type import TupleType, Type, scalar_type
from relay.op.numeric import apply, scalar
from relay.optim.parameters import Number, check_numbers, number
from relay.optim.rule import Rule
from relay.optim.tree import leaves, rebuilt, zeros


def global_norm(t: Type, tree: Expr) -> Expr:
    """The length of all tensors of a tree as one vector: float64 if any of them is, else float32."""
    dtype = _norm_dtype(t)
    wide = [apply("cast", x, dtype=dtype) for _, (x,) in leaves(t, tree)]
    squares = [apply("sum", x * x) for x in wide]
    return apply("sqrt", reduce(lambda a, b: a + b, squares, scalar(0, dtype)))


def _norm_dtype(t: Type) -> str:
    return "float64" if any(leaf.dtype == "float64" for leaf, _ in leaves(t)) else "float32"


@dataclass(frozen=True)
class Clipped(Rule):
    """See `clipped`."""

    rule: Rule
    greatest_norm: Number

    def state_type(self, t: Type) -> Type:
        return self.rule.state_type(t)

    def initial(self, t: Type, params: Expr) -> Expr:
        return self.rule.initial(t, params)

    def updated(self, t: Type, params: Expr, grads: Expr, state: Expr) -> tuple[Expr, Expr]:
        dtype = _norm_dtype(t)
        share = number(self.greatest_norm, dtype) / (global_norm(t, grads) + scalar(1e-6, dtype))
        share = apply("minimum", share, scalar(1, dtype))
        shorter = [g * apply("cast", share, dtype=leaf.dtype) for leaf, (g,) in leaves(t, grads)]
        return self.rule.updated(t, params, rebuilt(t, shorter), state)


def clipped(rule: Rule, greatest_norm: Number) -> Rule:
    """`rule`, with gradients that are shortened to `greatest_norm`, all tensors as one vector, where they are
    longer.  Source: Pascanu, Mikolov and Bengio, 2013.
    """
    check_numbers(greatest_norm=greatest_norm)
    return Clipped(rule, greatest_norm)


@dataclass(frozen=True)
class Accumulated(Rule):
    """See `accumulated`."""

    rule: Rule
    every: Number

    def state_type(self, t: Type) -> Type:
        return TupleType((scalar_type("int32"), t, self.rule.state_type(t)))

    def initial(self, t: Type, params: Expr) -> Expr:
        return Tuple((scalar(0, "int32"), zeros(t, params), self.rule.initial(t, params)))

    def updated(self, t: Type, params: Expr, grads: Expr, state: Expr) -> tuple[Expr, Expr]:
        count, sums, inner = (TupleGetItem(state, i) for i in range(3))
        count = count + scalar(1, "int32")
        sums = rebuilt(t, [a + g for _, (a, g) in leaves(t, sums, grads)])
        means = rebuilt(t, [a / number(self.every, leaf.dtype) for leaf, (a,) in leaves(t, sums)])
        now, then = self.rule.updated(t, params, means, inner)
        begun = Tuple((scalar(0, "int32"), zeros(t, params), then))
        waiting = Tuple((count, sums, inner))
        is_due = apply("equal", count, number(self.every, "int32"))
        both = If(is_due, Tuple((now, begun)), Tuple((params, waiting)))
        return TupleGetItem(both, 0), TupleGetItem(both, 1)


def accumulated(rule: Rule, every: Number) -> Rule:
    """`rule`, which takes a step down the mean of `every` gradients, and leaves the parameters as they are in
    between.

    The state is the number of gradients since the last step (int32), their sum, and the state of `rule`.
    """
    check_numbers(every=every)
    return Accumulated(rule, every)


@dataclass(frozen=True)
class Averaged(Rule):
    """See `averaged`."""

    rule: Rule
    decay: Number

    def state_type(self, t: Type) -> Type:
        return TupleType((self.rule.state_type(t), t))

    def initial(self, t: Type, params: Expr) -> Expr:
        return Tuple((self.rule.initial(t, params), params))

    def updated(self, t: Type, params: Expr, grads: Expr, state: Expr) -> tuple[Expr, Expr]:
        now, then = self.rule.updated(t, params, grads, TupleGetItem(state, 0))
        found: list[Expr] = []
        for leaf, (average, p) in leaves(t, TupleGetItem(state, 1), now):
            kept, new = number(self.decay, leaf.dtype), number(1 - self.decay, leaf.dtype)
            found.append(kept * average + new * p)
        return now, Tuple((then, rebuilt(t, found)))


def averaged(rule: Rule, decay: Number = 0.999) -> Rule:
    """`rule`, and an average of the parameters in which older ones fade by `decay` in each step.

    The state is that of `rule` and the average, `state[1]`, which begins with the first parameters.
    Source: Polyak and Juditsky, 1992, with weights that fade.
    """
    check_numbers(decay=decay)
    return Averaged(rule, decay)
