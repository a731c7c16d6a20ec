"""Whether every variable is used inside the scope of its one binder."""

from relay.diagnostic import Report
from relay.ir.expr import Expr, Function, Let, LetRec, Match, Var
from relay.ir.pattern import pattern_vars

Step = Expr | tuple[bool, tuple[Var, ...]]
"""A node to look at, or variables whose scope begins (True) or ends."""


def check_scopes(root: Expr, bound: set[Var], report: Report) -> None:
    """Report variables that are used out of scope or bound twice; `bound` were bound before."""
    scope: set[Var] = set()
    seen: set[Expr] = set()
    stack: list[Step] = [root]
    while stack:
        step = stack.pop()
        if isinstance(step, tuple):
            begins, several = step
            if begins:
                _bind(several, bound, report)
                scope.update(several)
            else:
                scope.difference_update(several)
        elif isinstance(step, Var):
            if step not in scope:
                hint = "bind it with `let`, or make it a parameter"
                report.error("unknown-variable", f"`%{step.name}` is not in scope here", step.span, hint=hint)
                scope.add(step)
        elif step not in seen:
            seen.add(step)
            stack += reversed(_steps(step))


def _bind(several: tuple[Var, ...], bound: set[Var], report: Report) -> None:
    for v in several:
        if v in bound:
            message = f"the variable object `%{v.name}` is bound in two places"
            hint = "each `Var` object is one binding site: make a second one"
            report.error("duplicate-binder", message, v.span, hint=hint)
        bound.add(v)


def _steps(e: Expr) -> list[Step]:
    """The children of a node in order, with the scopes that open and close around them."""
    match e:
        case Function():
            return [(True, e.params), e.body, (False, e.params)]
        case Let():
            one = (e.var,)
            if isinstance(e.value, Function):
                return [(True, one), e.value, e.body, (False, one)]
            return [e.value, (True, one), e.body, (False, one)]
        case LetRec():
            return [(True, e.vars), *e.values, e.body, (False, e.vars)]
        case Match():
            steps: list[Step] = [e.data]
            for c in e.clauses:
                vs = tuple(pattern_vars(c.lhs))
                steps += [(True, vs), *c.parts, (False, vs)]
            return steps
        case _:
            return list(e.children)
