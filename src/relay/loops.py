"""Loops, as the recursive functions that they are."""

from collections.abc import Callable, Sequence

from relay.ir.expr import Expr, Function, If, Let, Tuple, Var
from relay.ir.type import Type


def while_loop(
    cond: Callable[..., Expr],
    loop_vars: Sequence[Var | Expr],
    loop_bodies: Callable[..., Sequence[Expr]],
) -> Expr:
    """A function of the loop's variables that runs `loop_bodies` while `cond` holds, and returns them all.

    Name and type of each variable come from `loop_vars`: a variable, or an expression of that type.
    """
    names = [v.name_hint if isinstance(v, Var) else f"arg{i}" for i, v in enumerate(loop_vars)]
    inside = [Var(name, _type_of(v)) for name, v in zip(names, loop_vars, strict=True)]
    loop = Var("while_loop")
    again = loop(*loop_bodies(*inside))
    body = If(cond(*inside), again, Tuple(tuple(inside)))
    return Let(loop, Function(tuple(inside), body), loop)


def _type_of(v: Var | Expr) -> Type | None:
    return v.type_annotation if isinstance(v, Var) else v.checked_type
