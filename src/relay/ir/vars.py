"""Which variables and type parameters a program mentions, binds, and leaves free."""

from collections.abc import Callable
from typing import Any

from relay.ir.expect import expect_expr
from relay.ir.expr import Constant, Expr, Function, Let, LetRec, Match, Var
from relay.ir.pattern import pattern_vars
from relay.ir.walk import post_order


def binders(e: Expr) -> tuple[Var, ...]:
    """The variables that this node itself binds."""
    find = _BINDERS.get(type(e))
    return () if find is None else find(e)


_BINDERS: dict[type, Callable[[Any], tuple[Var, ...]]] = {
    Let: lambda e: (e.var,),
    LetRec: lambda e: e.vars,
    Function: lambda e: e.params,
    Match: lambda e: tuple([v for c in e.clauses for v in pattern_vars(c.lhs)]),
}


def bound_vars(expr: Expr) -> list[Var]:
    """The variables that something under `expr` binds, in the order of the text."""
    bound = _bound(expr)
    return [v for v in all_vars(expr) if v in bound]


def _bound(expr: Expr) -> set[Var]:
    return {v for e in post_order(expr) if type(e) in _BINDERS for v in binders(e)}


def all_vars(expr: Expr) -> list[Var]:
    """Every variable under `expr`, bound or mentioned, once, in the order of the text."""
    found: dict[Var, None] = {}
    seen: set[Expr] = set()
    stack: list[Expr] = [expect_expr(expr)]
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        if type(e) is Var:
            found.setdefault(e)
        elif type(e) in _BINDERS:
            for v in binders(e):
                found.setdefault(v)
        stack += e.children[::-1]
    return list(found)


def free_vars(expr: Expr) -> list[Var]:
    """The variables that `expr` mentions and nothing under it binds, in the order of first mention.

    Each variable object has one binding site, so that a variable bound anywhere inside is not free.
    """
    mentioned: dict[Expr, None] = {}
    bound: set[Var] = set()
    seen: set[Expr] = set()
    stack: list[Expr] = [expect_expr(expr)]
    while stack:
        e = stack.pop()
        if type(e) is Var:
            mentioned[e] = None
        elif e not in seen:
            seen.add(e)
            if type(e) in _BINDERS:
                bound.update(binders(e))
            stack += e.children[::-1]
    return [v for v in mentioned if v not in bound]  # pyright: ignore[reportReturnType]


def constants(expr: Expr) -> list[Constant]:
    """Every constant under `expr`, once, children before parents."""
    return [e for e in post_order(expr) if isinstance(e, Constant)]
