"""Who uses what: parents of nodes, counts, live variables."""

from collections import Counter
from collections.abc import Set as AbstractSet

from relay.ir.expr import Expr, Function, Let, Var
from relay.ir.vars import binders
from relay.ir.walk import post_order


def users(root: Expr) -> dict[Expr, list[Expr]]:
    """For each node under `root`, the nodes directly around it, once for each place."""
    found: dict[Expr, list[Expr]] = {}
    for e in post_order(root):
        found.setdefault(e, [])
        for child in e.children:
            found[child].append(e)
    return found


def use_counts(root: Expr) -> Counter[Expr]:
    """For each node under `root`, in how many places it is used; binding a variable is not a use."""
    counts: Counter[Expr] = Counter()
    for e in post_order(root):
        counts.update(e.children)
    return counts


def live_vars(root: Expr) -> AbstractSet[Var]:
    """The bound variables under `root` whose value may reach its result, through other live variables.

    A `let` whose variable is not live binds something that nobody reads.
    """
    values = {e.var: e.value for e in post_order(root) if isinstance(e, Let)}
    live: set[Var] = set()
    pending: list[Expr] = [root]
    seen: set[Expr] = set()
    while pending:
        e = pending.pop()
        if e in seen:
            continue
        seen.add(e)
        if isinstance(e, Var):
            live.add(e)
            if e in values:
                pending.append(values[e])
        elif isinstance(e, Let):
            pending.append(e.body)
        else:
            pending += e.children
    return live & {v for e in post_order(root) for v in binders(e)}


def recursive_lets(root: Expr) -> list[Let]:
    """The `let`s under `root` whose function mentions their own variable, in the order of the text."""
    found: dict[Let, None] = {}
    inside: dict[Var, Let] = {}
    seen: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        e, leave = stack.pop()
        if leave:
            assert isinstance(e, Let)
            del inside[e.var]
        elif isinstance(e, Var):
            if e in inside:
                found.setdefault(inside[e])
        elif e not in seen:
            seen.add(e)
            if isinstance(e, Let) and isinstance(e.value, Function):
                inside[e.var] = e
                stack += [(e.body, False), (e, True), (e.value, False)]
            else:
                stack += [(c, False) for c in reversed(e.children)]
    return list(found)
