"""Which definitions a definition is about, and which of its nodes several places share."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Let,
    LetRec,
    Op,
    Var,
)

K = TypeVar("K")
_CLOSED = frozenset({Var, Op, Constructor})


@dataclass(frozen=True, slots=True)
class Scan:
    """What one walk over a definition sees."""

    globals: tuple[GlobalVar, ...]
    shared: frozenset[Expr]
    has_inner_schemes: bool
    """Whether a function inside is bound, so that its type may be generalised."""


def scan(root: Expr) -> Scan:
    """Walk a definition once."""
    seen: set[Expr] = set()
    shared: set[Expr] = set()
    found: dict[GlobalVar, None] = {}
    has_inner = False
    stack: list[Expr] = [root]
    while stack:
        e = stack.pop()
        if type(e) in _CLOSED:
            continue
        if type(e) is GlobalVar:
            found.setdefault(e)
        elif e in seen:
            shared.add(e)
        else:
            seen.add(e)
            if type(e) is Call:
                if type(e.op) is not Op:
                    stack.append(e.op)
                stack += [a for a in e.args if type(a) is not Var]
            elif type(e) is Let:
                has_inner = has_inner or type(e.value) in (Function, Op)
                stack += (e.body, e.value)
            elif type(e) is not Constant:
                if type(e) is LetRec or (type(e) is Function and e.type_params and e is not root):
                    has_inner = True
                stack += reversed(e.children)
    return Scan(tuple(found), frozenset(shared), has_inner)


def components(roots: Iterable[K], edges: Callable[[K], Iterable[K]]) -> list[list[K]]:
    """The strongly connected components reachable from `roots`, each after those it points to.

    After Tarjan, "Depth-first search and linear graph algorithms", 1972.
    """
    index: dict[K, int] = {}
    low: dict[K, int] = {}
    on_path: dict[K, None] = {}
    result: list[list[K]] = []
    for root in roots:
        if root in index:
            continue
        work = [(root, iter(edges(root)))]
        index[root] = low[root] = len(index)
        on_path[root] = None
        while work:
            v, rest = work[-1]
            for w in rest:
                if w not in index:
                    index[w] = low[w] = len(index)
                    on_path[w] = None
                    work.append((w, iter(edges(w))))
                    break
                if w in on_path:
                    low[v] = min(low[v], index[w])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[v])
                if low[v] == index[v]:
                    group: list[K] = []
                    while True:
                        w, _ = on_path.popitem()
                        group.append(w)
                        if w == v:
                            break
                    result.append(group[::-1])
    return result
