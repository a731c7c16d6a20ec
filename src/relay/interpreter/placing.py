"""Which shared nodes must be evaluated before the construct in whose inside they are first used.

`relay.ir.scope.scopes` says which scope evaluates a node; this says when, for those whose first use, in the
order of evaluation, lies deeper than that.
"""

from dataclasses import dataclass, field

from relay.ir.expr import Constant, Constructor, Expr, Function, GlobalVar, Let, Op, Var
from relay.ir.scope import Scope, opened, scopes

LEAVES = (Var, GlobalVar, Constant, Op, Constructor)


@dataclass(slots=True)
class Plan:
    """What lowering needs to know of a definition beforehand."""

    before: dict[Expr, list[Expr]] = field(default_factory=dict[Expr, list[Expr]])
    """For each construct that opens scopes, the nodes to evaluate just before, in order of first use."""
    names: dict[Expr, Var] = field(default_factory=dict[Expr, Var])
    """The variable a `let` binds each function to."""
    mentioned: set[Expr] = field(default_factory=set[Expr])
    """Every variable that is used."""


def plan(root: Expr) -> Plan:
    """The order of evaluation of what `root` shares, found in one walk."""
    where = scopes(root)
    found = Plan()
    seen: set[Expr] = {root}
    stack: list[tuple[Expr, Expr]] = [(root, root)]
    while stack:
        e, user = stack.pop()
        if isinstance(e, LEAVES):
            if isinstance(e, Var):
                found.mentioned.add(e)
            continue
        if e in seen and e is not root:
            continue
        seen.add(e)
        if isinstance(e, Let) and isinstance(e.value, Function):
            found.names.setdefault(e.value, e.var)
        if e is not root:
            owner = _construct(e, user, where)
            if owner is not None:
                found.before.setdefault(owner, []).append(e)
        stack += [(c, e) for c in reversed(e.children)]
    return found


def _construct(e: Expr, user: Expr, where: dict[Expr, Scope]) -> Expr | None:
    """The construct before which `e`, first used by `user`, is evaluated; None if it is where it is used."""
    use, home = where[user], where[e]
    if use is home:
        inside = next(inside for c, inside in opened(user) if c is e)
        return user if inside else None
    if use.depth <= home.depth:
        return None
    while use.parent is not home:
        use = use.jump if use.jump.depth > home.depth else _parent(use)
    return use.owner


def _parent(s: Scope) -> Scope:
    assert s.parent is not None
    return s.parent
