"""Which variables and type parameters a program mentions, binds, and leaves free."""

from relay.ir.expr import Constant, Expr, Function, Let, LetRec, Match, Var
from relay.ir.pattern import pattern_vars
from relay.ir.walk import post_order


def binders(e: Expr) -> tuple[Var, ...]:
    """The variables that this node itself binds."""
    match e:
        case Let(var=var):
            return (var,)
        case LetRec(vars=several):
            return several
        case Function(params=params):
            return params
        case Match(clauses=clauses):
            return tuple([v for c in clauses for v in pattern_vars(c.lhs)])
        case _:
            return ()


def bound_vars(expr: Expr) -> list[Var]:
    """The variables that something under `expr` binds, in the order of the text."""
    bound = _bound(expr)
    return [v for v in all_vars(expr) if v in bound]


def _bound(expr: Expr) -> set[Var]:
    return {v for e in post_order(expr) for v in binders(e)}


def all_vars(expr: Expr) -> list[Var]:
    """Every variable under `expr`, bound or mentioned, once, in the order of the text."""
    found: dict[Var, None] = {}
    seen: set[Expr] = set()
    stack: list[Expr] = [expr]
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        if isinstance(e, Var):
            found.setdefault(e)
        for v in binders(e):
            found.setdefault(v)
        stack += reversed(e.children)
    return list(found)


def free_vars(expr: Expr) -> list[Var]:
    """The variables that `expr` mentions and nothing under it binds, in the order of first mention.

    Each variable object has one binding site, so that a variable bound anywhere inside is not free.
    """
    bound = _bound(expr)
    return [v for v in all_vars(expr) if v not in bound]


def constants(expr: Expr) -> list[Constant]:
    """Every constant under `expr`, once, children before parents."""
    return [e for e in post_order(expr) if isinstance(e, Constant)]
