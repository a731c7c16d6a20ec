"""Weights in the form that calls read them in: parameters are replaced, and so are their values."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from relay.ir.expr import Call, Expr, Function, Var, replace
from relay.ir.type import TensorType
from relay.ir.walk import post_order

Values = dict[str, Any]
"""Values of parameters, by their names."""


def second_operand(e: Call) -> Expr | None:
    """Where most calls have their weight."""
    return e.args[1] if len(e.args) > 1 else None


def with_stored_weights(
    func: Function,
    params: Mapping[str, Any],
    stored: Callable[[Call, Any], Mapping[str, Any] | None],
    read: Callable[[Call, Sequence[Var]], Expr],
    weight_of: Callable[[Call], Expr | None] = second_operand,
) -> tuple[Function, Values]:
    """A function and the values of its parameters, where calls read their weights as they are stored.

    `weight_of(call)` is the parameter that is its weight.  `stored(call, value)` says how the value of that
    is stored, as arrays by the ends of the names of the parameters that hold them, or None if it stays;
    `read(call, variables)` is the call on these.  A parameter that nothing reads any more is left out.
    """
    values = {name: np.asarray(x) for name, x in params.items()}
    own = {p: values[p.name_hint] for p in func.params if p.name_hint in values}
    new: dict[Expr, Expr] = {}
    made: dict[Var, list[Var]] = {}
    for e in post_order(func.body):
        children = tuple([new[c] for c in e.children])
        new[e] = e if children == e.children else e.rebuild(children)
        if not isinstance(e, Call):
            continue
        weight = weight_of(e)
        arrays = stored(e, own[weight]) if isinstance(weight, Var) and weight in own else None
        if arrays is None:
            continue
        assert isinstance(weight, Var)
        if weight not in made:
            names = {f"{weight.name_hint}.{end}": np.ascontiguousarray(x) for end, x in arrays.items()}
            values.update(names)
            made[weight] = [Var(n, TensorType(x.shape, str(x.dtype))) for n, x in names.items()]
        new[e] = read(replace(e, args=children[1:]), made[weight])
    body = new[func.body]
    used = set(post_order(body))
    gone = {p for p in made if p not in used}
    several = [v for p in func.params for v in [*made.get(p, ()), *([] if p in gone else [p])]]
    for p in gone:
        del values[p.name_hint]
    return replace(func, params=tuple(several), body=body, ret_type=None), values
