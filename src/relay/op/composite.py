"""Operators that are defined by other operators."""

from functools import lru_cache
from typing import Any

import numpy

from relay.ir.expr import Call, Constant, Expr, Op, Tuple, TupleGetItem, Var
from relay.ir.type import TupleType, Type
from relay.ir.walk import post_order
from relay.op.arrays import array_type
from relay.op.base import Numpy, Operator
from relay.op.kind import Derivative
from relay.op.relation import Typing


class Composite(Operator):
    """Defined by `decompose(types, *xs) -> Expr` in other operators, from which every other rule follows."""

    derivative = Derivative.DECOMPOSITION

    def decompose(self, *args: Any, **_: Any) -> Expr:
        """The expression this stands for: `decompose(self, types, *xs)`.

        `types` are the operands' types, `xs` the operands (None if left out).
        """
        raise AssertionError(f"{self.name} has no decomposition")

    def infer(self, t: Typing, *types: Any, **_: Any) -> Type:
        params = [Var(f"x{i}", span=None) for i in range(len(types))]
        operands = [as_operand(p, a) for p, a in zip(params, types, strict=True)]
        body = self.decompose([t.resolve(a) for a in types], *operands)
        found: dict[Expr, Type] = dict(zip(params, types, strict=True))
        for e in post_order(body):
            match e:
                case Tuple():
                    found[e] = TupleType([found[f] for f in e.fields])
                case TupleGetItem():
                    found[e] = t.fields(found[e.tuple_value])[e.index]
                case Call(Operator() as op, args):
                    found[e] = t.fresh("type")
                    op.relate(t, [found[a] for a in args], found[e])
                case Var() | Op():
                    pass
                case _:
                    found[e] = e.checked_type
        return found[body]

    def reference(self, np: Numpy, *xs: Any, **_: Any) -> Any:
        params, body = _decomposition(self, tuple([array_type(x) for x in xs]))
        return evaluate_dataflow(body, dict(zip(params, xs, strict=True)), np)


def as_operand(x: Any, t: Type) -> Any:
    """An operand as `decompose` sees it: a tuple as a Python tuple of its projections."""
    return tuple([TupleGetItem(x, i) for i in range(len(t.fields))]) if isinstance(t, TupleType) else x


@lru_cache(maxsize=4096)
def _decomposition(op: Composite, types: tuple[Type, ...]) -> tuple[list[Expr], Expr]:
    params: list[Expr] = [Var(f"x{i}", t, span=None) for i, t in enumerate(types)]
    return params, op.decompose(list(types), *[as_operand(p, t) for p, t in zip(params, types, strict=True)])


def evaluate_dataflow(root: Expr, env: dict[Expr, Any], np: Numpy) -> Any:
    """The value of an expression of operator calls, tuples and constants; `env` has the values of its
    leaves.
    """
    values = dict(env)
    for e in post_order(root):
        match e:
            case Constant():
                values[e] = e.value[()]
            case Tuple():
                values[e] = tuple([values[f] for f in e.fields])
            case TupleGetItem():
                values[e] = values[e.tuple_value][e.index]
            case Call(Operator() as op, args):
                operands = [values[a] for a in args]
                values[e] = op.reference(np, *operands) if np is numpy else np.operator(op, *operands)
            case _:
                assert e in values or isinstance(e, Op), f"{e!r} in a decomposition"
    return values[root]
