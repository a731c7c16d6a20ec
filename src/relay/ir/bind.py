"""Replacing free variables by expressions."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relay.diagnostic import fail
from relay.ir.expr import (
    Expr,
    Function,
    Let,
    LetRec,
    Match,
    Pattern,
    RelayExpr,
    Var,
    constant,
    replace,
)
from relay.ir.vars import binders, free_vars
from relay.ir.walk import post_order, renamed_pattern


def substitute(root: Expr, by: Mapping[Var, Expr]) -> Expr:
    """`root` with each free variable that `by` has replaced by its expression; sharing and spans stay.

    Nothing is captured: where a variable that is free in an inserted expression is bound inside `root`, the
    binder in `root` gets a new variable of the same name.
    """
    nodes = list(post_order(root))
    bound = {b for e in nodes for b in binders(e)}
    wanted = {v: e for v, e in by.items() if v not in bound}
    inserted = {v for e in wanted.values() for v in free_vars(e)} & bound if bound else ()
    renamed: dict[Var, Var] = {v: Var(v.name_hint, v.type_annotation, span=v.span) for v in inserted}
    return _renamed(nodes, {**wanted, **renamed}, renamed)


def renew(root: Expr) -> Expr:
    """A copy of `root` that binds new variables, so that both may be in one program."""
    nodes = list(post_order(root))
    renamed = {v: Var(v.name_hint, v.type_annotation, span=v.span) for e in nodes for v in binders(e)}
    return _renamed(nodes, {**renamed}, renamed)


def _renamed(nodes: Sequence[Expr], new: dict[Expr, Expr], renamed: Mapping[Var, Var]) -> Expr:
    """The last of `nodes` (in post-order) with those that `new` has replaced, and binders `renamed`."""
    for e in nodes:
        if e not in new:
            children = e.children
            changed = tuple([new[c] for c in children])
            kept = e if changed == children else e.rebuild(changed)
            new[e] = _rebind(kept, renamed) if renamed else kept
    return new[nodes[-1]]


def _rebind(e: Expr, renamed: Mapping[Var, Var]) -> Expr:
    """`e` with the variables that it binds itself renamed."""
    if not any(v in renamed for v in binders(e)):
        return e
    match e:
        case Let():
            return Let(renamed[e.var], e.value, e.body, span=e.span)
        case LetRec():
            return LetRec(tuple([renamed.get(v, v) for v in e.vars]), e.values, e.body, span=e.span)
        case Function():
            return replace(e, params=tuple([renamed.get(p, p) for p in e.params]))
        case Match():
            clauses = tuple([c.rebuild(_rebind_pattern(c.lhs, renamed), c.parts) for c in e.clauses])
            return Match(e.data, clauses, e.complete, span=e.span)
        case _:
            raise AssertionError(f"{e!r} binds nothing")


def _rebind_pattern(pattern: Pattern, renamed: Mapping[Var, Var]) -> Pattern:
    return renamed_pattern(pattern, lambda v: renamed.get(v, v))


def bind(expr: Expr, binds: Mapping[Var, Expr]) -> Expr:
    """`expr` with variables replaced by expressions.

    A function loses the parameters that are bound, and what the inserted expressions leave free becomes
    parameters of it, after the others.
    """
    if not isinstance(expr, Function) or not any(p in binds for p in expr.params):
        return substitute(expr, binds)
    kept = tuple([p for p in expr.params if p not in binds])
    inner = substitute(replace(expr, params=kept), binds)
    before = set(free_vars(expr))
    assert isinstance(inner, Function)
    more = [v for v in free_vars(inner) if v not in before]
    return replace(inner, params=(*inner.params, *more))


def bind_params_by_name(func: Function, params: Mapping[str, Any]) -> Function:
    """`func` with the parameters of these names replaced by constants; names it does not have are ignored.

    Raises `duplicate-parameter` where two parameters have a name that is bound.
    """
    by_name: dict[str, Var] = {}
    for p in func.params:
        if p.name_hint in params and p.name_hint in by_name:
            fail(
                "duplicate-parameter",
                f"two parameters are named `%{p.name_hint}`",
                p.span,
                hint="bind them by variable, with `relay.bind`",
            )
        by_name[p.name_hint] = p
    binds = {by_name[name]: as_constant(value) for name, value in params.items() if name in by_name}
    bound = bind(func, binds)
    assert isinstance(bound, Function)
    return bound


def as_constant(value: Any) -> Expr:
    """A constant as it is; an array as one."""
    return value if isinstance(value, RelayExpr) else constant(np.asarray(value))  # pyright: ignore[reportReturnType]
