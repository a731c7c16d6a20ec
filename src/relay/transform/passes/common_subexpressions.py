"""Common subexpressions: what has been computed is not computed again."""

from collections.abc import Callable
from typing import Any

from relay.analysis.effects import Effect
from relay.analysis.normal_form import ATOMS
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Let,
    LetRec,
    Op,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.module import IRModule
from relay.ir.same import constant_hash, same_constant
from relay.ir.scope import OPENING, Scope, opened, places
from relay.transform.rewriting.anf_conversion import is_opaque
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.purity import Purity
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.query import Types

Skip = Callable[[Expr], bool]


@module_pass("eliminate_common_subexpr", keeps=(ANF,), opt_level=3, public="EliminateCommonSubexpr")
def eliminate_common_subexpr(mod: IRModule, *, fskip: Skip | None = None) -> IRModule:
    """Compute equal calls, tuples and projections once, where the first is evaluated whenever the others are.

    This holds in the scope of the first one and in the scopes nested in it; nothing moves out of a branch
    or a function, or into a fused function.  Expressions that read, write or create references stay, and so
    does each for which `fskip` returns true.

    >>> show(eliminate_common_subexpr, "def @main(%x: float32) { let %a = tanh(%x); tanh(%x) + %a }")
    def @main(%x: float32) -> float32 {
      let %a: float32 = tanh(%x);
      %a + %a
    }
    """
    types, purity = Types(mod), Purity(mod)
    return with_definitions(
        mod, {v: _Merger(e, types, purity, fskip).run(e) for v, e in mod.functions.items()}
    )


class _Entry:
    """Something that has been computed: in which scope, and what it is known by."""

    __slots__ = ("known_by", "scope")

    def __init__(self, scope: Scope, known_by: Expr) -> None:
        self.scope = scope
        self.known_by = known_by


class _Merger:
    """One pass over a definition, in the order of evaluation."""

    def __init__(self, root: Expr, types: Types, purity: Purity, fskip: Skip | None) -> None:
        self.types = types
        self.purity = purity
        self.fskip = fskip
        self.places = places(root)
        self.new: dict[Expr, Expr] = {}
        self.entries: dict[Any, _Entry] = {}
        """By what is computed; of several entries the outermost."""
        self.entry_of: dict[Expr, _Entry] = {}
        self.constants: dict[Any, Constant] = {}
        self.open: set[Scope] = {self.places.where[root]}
        """The scopes around what is being looked at."""
        self.stack: list[tuple[Callable[[Any, bool], None], Any, bool]] = []
        """A stack of the work left, the next item on top."""

    def run(self, root: Expr) -> Expr:
        """The definition with equal parts merged."""
        stack = self.stack
        stack.append((self.enter, root, True))
        while stack:
            step, e, in_block = stack.pop()
            step(e, in_block)
        return self.new.get(root, root)

    def enter(self, e: Expr, in_block: bool) -> None:
        """Go through `e`; `in_block` says whether it is what a function, branch or clause evaluates."""
        if e in self.new or type(e) in ATOMS or is_opaque(e):
            return
        stack = self.stack
        stack.append((self.leave, e, in_block))
        if type(e) is Let:
            stack.append((self.enter, e.body, in_block))
            stack.append((self.bind, e, in_block))
            stack.append((self.enter, e.value, False))
        elif type(e) is LetRec:
            stack.append((self.enter, e.body, in_block))
            stack += [(self.enter, f, False) for f in reversed(e.values)]
        elif type(e) in OPENING:
            self.enter_scopes(e)
        else:
            stack += [(self.enter, c, False) for c in reversed(e.children) if type(c) not in ATOMS]

    def enter_scopes(self, e: Expr) -> None:
        """Go through the parts of a node that opens scopes."""
        inner = iter(self.places.inner[e])
        steps: list[tuple[Callable[[Any, bool], None], Any, bool]] = []
        for child, is_scope in opened(e):
            scope = next(inner) if is_scope else None
            steps += [(self.begin, scope, False)] if is_scope else []
            steps.append((self.enter, child, is_scope))
            steps += [(self.end, scope, False)] if is_scope else []
        self.stack += reversed(steps)

    def begin(self, scope: Scope, _: bool) -> None:
        """A scope begins."""
        self.open.add(scope)

    def end(self, scope: Scope, _: bool) -> None:
        """A scope ends; it is not entered again."""
        self.open.discard(scope)

    def bind(self, e: Let, in_block: bool) -> None:
        """A value has been computed: from now on it is known by its variable."""
        value = self.known(e.value)
        if type(value) in ATOMS:
            if type(value) is Var and value.type_annotation == e.var.type_annotation:
                self.new[e.var] = value
        elif in_block and e.value not in self.places.shared:
            entry = self.entry_of.get(value)
            if entry is not None and entry.known_by is value:
                entry.known_by = e.var

    def known(self, e: Expr) -> Expr:
        """What a node has become."""
        return self.new.get(e, e)

    def leave(self, e: Expr, in_block: bool) -> None:
        """The parts of `e` have been gone through."""
        before = e.children
        children = tuple([self.new.get(c, c) for c in before])
        if type(e) is Let and e.var in self.new:
            self.new[e] = children[1]
            return
        kept = e if children == before else e.rebuild(children)
        key = self.key(e, kept, children) if type(e) in MERGED else None
        self.new[e] = (
            kept if key is None or (self.fskip is not None and self.fskip(e)) else self.merged(key, e, kept)
        )

    def merged(self, key: Any, e: Expr, kept: Expr) -> Expr:
        """What has been computed already, if it has."""
        home = self.places.where[e]
        entry = self.entries.get(key)
        if entry is not None and entry.scope in self.open and entry.scope.depth <= home.depth:
            if self.types(entry.known_by) == self.types(e):
                return entry.known_by
            return kept
        self.entries[key] = self.entry_of[kept] = _Entry(home, kept)
        return kept

    def key(self, e: Expr, kept: Expr, children: tuple[Expr, ...]) -> Any:
        """What `kept` computes, to compare; None if it is not the same each time."""
        parts = tuple([self.constant(c) if type(c) is Constant else c for c in children])
        match kept:
            case Tuple():
                return ("tuple", *parts)
            case TupleGetItem(index=index):
                return (index, *parts)
            case Call(op=Op()):
                if kept.attrs.impure or not is_hashable(kept.attrs):
                    return None
                if kept.attrs.commutative:
                    parts = tuple(sorted(parts, key=id))
                return (kept.attrs, *parts)
            case Call(op=op):
                is_pure = type(op) is Constructor or self.purity.of_call(e.children[0]) is Effect.NONE
                return ("call", kept.written_type_args, *parts) if is_pure else None
            case _:
                return None

    def constant(self, c: Constant) -> Constant:
        """The first constant of the same value and type."""
        key = (constant_hash(c), c.type)
        known = self.constants.setdefault(key, c)
        return known if known is c or same_constant(known, c) else c


MERGED = frozenset({Tuple, TupleGetItem, Call})


def is_hashable(op: Any) -> bool:
    """Whether an operator has attributes to look up by."""
    try:
        hash(op)
    except TypeError:
        return False
    return True
