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


def bound_vars(root: Expr) -> list[Var]:
    """The variables that something under `root` binds, in the order of the text."""
    return [v for v in all_vars(root) if v in {b for e in post_order(root) for b in binders(e)}]


def all_vars(root: Expr) -> list[Var]:
    """Every variable under `root`, bound or mentioned, once, in the order of the text."""
    found: dict[Var, None] = {}
    seen: set[Expr] = set()
    stack: list[Expr] = [root]
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


def free_vars(root: Expr) -> list[Var]:
    """The variables that `root` mentions and nothing under it binds, in the order of first mention.

    Each variable object has one binding site, so that a variable bound anywhere inside is not free.
    """
    bound = {b for e in post_order(root) for b in binders(e)}
    return [v for v in all_vars(root) if v not in bound]


def constants(root: Expr) -> list[Constant]:
    """Every constant under `root`, once, children before parents."""
    return [e for e in post_order(root) if isinstance(e, Constant)]
