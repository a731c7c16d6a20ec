"""Where a shared node is evaluated: in the innermost scope that covers all its uses.

The scopes of a program are its function bodies, branches and clauses; they form a tree.  `let` opens none: it
only orders.  Within its scope a node is evaluated at its first use, or, if that lies in a nested scope, just
before the construct that opens it (after an `if` condition or a `match` scrutinee).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from relay.ir.ancestry import Descendant
from relay.ir.ancestry import common as common
from relay.ir.expr import Expr, Function, If, Match
from relay.ir.walk import post_order

OPENING = (Function, If, Match)
"""What opens scopes."""


class Scope(Descendant):
    """A function body, branch or clause, opened by part `index` of node `owner`; the root has no owner."""

    __slots__ = ("index", "owner")

    def __init__(self, parent: "Scope | None", owner: Expr | None, index: int) -> None:
        """A scope directly inside `parent`."""
        Descendant.__init__(self, parent)
        self.owner = owner
        self.index = index


def opened(e: Expr) -> Iterator[tuple[Expr, bool]]:
    """The children of `e`, each with whether it is a scope of its own."""
    for child, i in numbered(e):
        yield child, i is not None


def numbered(e: Expr) -> Iterator[tuple[Expr, int | None]]:
    """The children of `e`, each with the number of the scope that it is in, or None for that around `e`.

    The guard of a clause is in one scope with the rest of it.
    """
    match e:
        case Function():
            yield e.body, 0
        case If(cond, yes, no):
            yield cond, None
            yield yes, 1
            yield no, 2
        case Match():
            yield e.data, None
            for i, clause in enumerate(e.clauses):
                for part in clause.parts:
                    yield part, i + 1
        case _:
            for child in e.children:
                yield child, None


@dataclass(frozen=True, slots=True)
class Places:
    """Where the nodes of a program are evaluated."""

    where: dict[Expr, Scope]
    """For each node, the scope that evaluates it."""
    inner: dict[Expr, list[Scope]]
    """For each function, `if` and `match`, the scopes that it opens, in order."""
    shared: set[Expr]
    """The nodes that are used in more than one place."""
    order: list[Expr]
    """Every node, users before what they use."""


def places(root: Expr) -> Places:
    """Where each node under `root` is evaluated.  Takes O(nodes x log depth)."""
    where: dict[Expr, Scope] = {root: Scope(None, None, 0)}
    inner: dict[Expr, list[Scope]] = {}
    shared: set[Expr] = set()
    order = list(post_order(root))
    order.reverse()
    for e in order:
        here = where[e]
        if type(e) in OPENING:
            within: dict[int | None, Scope] = {None: here}
            for child, i in numbered(e):
                use = within.get(i)
                if use is None:
                    use = within[i] = Scope(here, e, 0 if i is None else i)
                _use(child, use, where, shared)
            del within[None]
            inner[e] = list(within.values())
        else:
            for child in e.children:
                if child in where:
                    _use(child, here, where, shared)
                else:
                    where[child] = here
    return Places(where, inner, shared, order)


def _use(child: Expr, use: Scope, where: dict[Expr, Scope], shared: set[Expr]) -> None:
    """Note that a scope uses a node."""
    known = where.get(child)
    if known is None:
        where[child] = use
    else:
        shared.add(child)
        if known is not use:
            where[child] = common(known, use)


def scopes(root: Expr) -> dict[Expr, Scope]:
    """For each node under `root`, the scope that evaluates it."""
    return places(root).where
