"""Dead code: remove bindings that nobody reads."""

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet

from relay.analysis.uses import use_counts
from relay.ir.expr import Expr, Function, GlobalVar, Let, LetRec, RefCreate, RefWrite, Var
from relay.ir.module import IRModule
from relay.ir.scope import scopes
from relay.ir.walk import post_order
from relay.transform.passes.graph_form import without_lets
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF, BASIC_BLOCKS
from relay.transform.rewriting.function_depth import FunctionDepth
from relay.transform.rewriting.purity import Purity
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.types import Types

MayGo = Callable[[Expr], bool]


@module_pass(
    "dead_code", keeps=(ANF, BASIC_BLOCKS), unless="inline_once", public="DeadCodeElimination"
)  # fmt: skip
def dead_code(mod: IRModule, *, inline_once: bool = False, ignore_impurity: bool = False) -> IRModule:
    """Remove each `let` whose variable does not reach the result and whose value has no effect.

    Writes to a reference that is never read are removed as well.  A `let` that keeps a shared node out of a
    function, where it would run at every call, stays.  `ignore_impurity` also removes values that read or
    write references.  `inline_once` substitutes variables that are used once, unless the value touches a
    reference or would be evaluated more often.

    >>> show(dead_code, "def @main(%z: int32) { let %x = 1; let %r = ref(%z); ref_write(%r, 2); %z }")
    def @main(%z: int32) -> int32 {
      %z
    }
    """
    may_go: MayGo = (lambda e: True) if ignore_impurity else Purity(mod).may_go
    out = with_definitions(mod, {v: without_dead_lets(e, may_go) for v, e in mod.functions.items()})
    return with_single_uses_inlined(out) if inline_once else out


def with_single_uses_inlined(mod: IRModule) -> IRModule:
    """`mod` with values in the place of the variables that are used once."""
    types, purity = Types(mod), Purity(mod)
    new: dict[GlobalVar, Expr] = {}
    for v, e in mod.functions.items():
        uses = use_counts(e)
        new[v] = without_lets(e, types, purity, lambda let, uses=uses: uses[let.var] == 1)
    return with_definitions(mod, new)


def without_dead_lets(root: Expr, may_go: MayGo) -> Expr:
    """A definition without the bindings that it does not need."""
    if not any(type(e) is Let or type(e) is LetRec for e in post_order(root)):
        return root
    live = Liveness(root, may_go).live
    new = rebuilt(root, live)
    pins = sinking_lets(root, new, live) if new[root] is not root else ()
    return rebuilt(root, Liveness(root, may_go, pins).live)[root] if pins else new[root]


class Liveness:
    """Which `let`-bound variables are needed: they reach the result, or what must happen."""

    def __init__(self, root: Expr, may_go: MayGo, pinned: Iterable[Let] = ()) -> None:
        """Goes through what is needed, from the result on."""
        self.live: set[Expr] = set()
        self.may_go = may_go
        self.values: dict[Expr, Expr] = {}
        """Values that are needed if their variable is."""
        self.cells: set[Expr] = set()
        """Variables bound to new references."""
        self.writes: dict[Expr, list[Let]] = {}
        """Writes that are needed if their reference is read, or given to somebody who may read it."""
        self.observed: set[Expr] = set()
        self.pending: list[Expr] = [root]
        for let in pinned:
            self.keep(let)
        seen: set[Expr] = set()
        while self.pending:
            e = self.pending.pop()
            if type(e) is Var:
                self.observe(e)
            elif e not in seen:
                seen.add(e)
                self.visit(e)

    def visit(self, e: Expr) -> None:
        """Note what `e` needs."""
        if type(e) is Let:
            self.pending.append(e.body)
            if type(e.value) is RefCreate:
                self.cells.add(e.var)
            if e.var in self.live:
                self.keep(e)
            elif type(e.value) is RefWrite and e.value.ref in self.cells and self.may_go(e.value.value):
                if e.value.ref in self.observed:
                    self.keep(e)
                else:
                    self.writes.setdefault(e.value.ref, []).append(e)
                    self.values[e.var] = e.value
            elif self.may_go(e.value):
                self.values[e.var] = e.value
            else:
                self.keep(e)
        elif type(e) is LetRec:
            self.pending.append(e.body)
            for v, f in zip(e.vars, e.values, strict=True):
                self.values[v] = f
                if v in self.live:
                    self.need(v)
        elif type(e) is RefWrite and type(e.ref) is Var:
            self.need(e.ref)
            self.pending.append(e.value)
        else:
            self.pending += e.children

    def keep(self, let: Let) -> None:
        """The value of a `let` is needed."""
        self.live.add(let.var)
        self.values.pop(let.var, None)
        self.pending.append(let.value)

    def need(self, v: Expr) -> None:
        """A variable is needed."""
        self.live.add(v)
        if v in self.values:
            self.pending.append(self.values.pop(v))

    def observe(self, v: Expr) -> None:
        """A variable is needed, and if it is a reference, so is what it holds."""
        self.need(v)
        if v not in self.observed:
            self.observed.add(v)
            for let in self.writes.pop(v, ()):
                self.keep(let)


def rebuilt(root: Expr, live: AbstractSet[Expr]) -> dict[Expr, Expr]:
    """For each node that is needed, what becomes of it."""
    new: dict[Expr, Expr] = {}
    stack: list[tuple[Expr, tuple[Expr, ...] | None]] = [(root, None)]
    while stack:
        e, parts = stack.pop()
        if e in new:
            continue
        if parts is None:
            parts = needed(e, live)
            stack.append((e, parts))
            stack += [(c, None) for c in reversed(parts) if c not in new]
        else:
            new[e] = without_dead(e, tuple([new[c] for c in parts]), live)
    return new


def needed(e: Expr, live: AbstractSet[Expr]) -> tuple[Expr, ...]:
    """The children of `e` that are needed."""
    if type(e) is Let and e.var not in live:
        return (e.body,)
    if type(e) is LetRec:
        return (*[f for v, f in zip(e.vars, e.values, strict=True) if v in live], e.body)
    return e.children


def without_dead(e: Expr, parts: tuple[Expr, ...], live: AbstractSet[Expr]) -> Expr:
    """`e` around what is needed of it."""
    if type(e) is Let and e.var not in live:
        return parts[0]
    if parts == e.children:
        return e
    if type(e) is not LetRec:
        return e.rebuild(parts)
    names = tuple([v for v in e.vars if v in live])
    *values, body = parts
    if len(names) > 1:
        return LetRec(names, tuple(values), body, span=e.span)
    return Let(names[0], values[0], body, span=e.span) if names else body


def sinking_lets(root: Expr, new: dict[Expr, Expr], live: AbstractSet[Expr]) -> list[Let]:
    """The dropped `let`s without which a node that is needed would be evaluated inside of a function."""
    if not any(type(e) is Function and e is not root for e in new):
        return []
    found: list[Let] = []
    before, after = FunctionDepth(scopes(root)), FunctionDepth(scopes(new[root]))
    seen: set[Expr] = set()
    for let in [e for e in new if type(e) is Let and e.var not in live]:
        pending = [let.value]
        while pending:
            e = pending.pop()
            if e in new:
                if e.children and after(new[e]) > before(e):
                    found.append(let)
            elif e not in seen:
                seen.add(e)
                pending += e.children
    return found
