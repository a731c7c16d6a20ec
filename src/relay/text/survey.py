"""What the printer must know of a definition before it writes a line of it."""

from typing import Any

from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.scope import Scope, scopes
from relay.ir.vars import binders
from relay.ir.walk import post_order

LEAVES = frozenset({Var, GlobalVar, Op, Constructor, Constant})
_NO_BINDER = frozenset({Call, Tuple, TupleGetItem, If})


class Survey:
    """Which nodes are shared and where they are evaluated; which variables are bound and which are free."""

    __slots__ = ("bound", "distinct_names", "found_repeated", "mentioned", "root", "shared", "where")

    def __init__(self, root: Any) -> None:
        """Looks at every node under `root` once."""
        bound: dict[Var, None] = {}
        mentioned: set[Var] = set()
        seen: set[Any] = set()
        shared: set[Any] = set()
        has_scopes = False
        stack: list[Any] = [root]
        while stack:
            e: Any = stack.pop()
            kind = e.__class__
            if kind is Let:
                bound[e.var] = None
                children = (e.value, e.body)
            elif kind is Call:
                children = e.args if type(e.op) in LEAVES and type(e.op) is not Var else (e.op, *e.args)
            else:
                children = e.children
                if kind not in _NO_BINDER:
                    bound.update(dict.fromkeys(binders(e)))
                has_scopes = has_scopes or kind is If or kind is Match or (kind is Function and e is not root)
            c: Any
            for c in children:
                inner = c.__class__
                if inner in LEAVES:
                    if inner is Var:
                        mentioned.add(c)
                elif c in seen:
                    if inner is not Tuple or c.fields:
                        shared.add(c)
                else:
                    seen.add(c)
                    stack.append(c)
        if type(root) is Var:
            mentioned.add(root)
        self.root = root
        self.found_repeated: set[Var] | None = None
        self.bound = bound
        self.mentioned = mentioned
        self.shared = shared
        self.where: dict[Any, Scope] | None = scopes(root) if has_scopes and shared else None
        self.distinct_names = len({v.name_hint for v in bound}) == len(bound)

    def has_free(self) -> bool:
        """Whether some variable is free."""
        return not self.mentioned <= self.bound.keys()

    @property
    def repeated(self) -> set[Var]:
        """The variables that are mentioned more than once."""
        if self.found_repeated is None:
            once: set[Var] = set()
            self.found_repeated = set()
            for e in post_order(self.root):
                for c in e.children:
                    if type(c) is Var:
                        (self.found_repeated if c in once else once).add(c)
        return self.found_repeated
