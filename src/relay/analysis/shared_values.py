"""Which variables stand for one value through a whole call of the program, such as weights that are passed
down a recursion.

A parameter is such a variable if all calls pass it the same one: a parameter of an entry function, or a part
of it.  Variables are joined with what they may stand for, and a parameter of a function that is passed as a
value may stand for anything.
"""

from collections.abc import Collection, Hashable, Iterator
from typing import Any

from relay.ir.expr import (
    Call,
    Clause,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Let,
    LetRec,
    Match,
    Op,
    TupleGetItem,
    Var,
)
from relay.ir.module import IRModule
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar
from relay.ir.walk import post_order

VARYING = "varying"
"""What a variable stands for that may be another value each time."""
Source = tuple[Any, tuple[Hashable, ...]]
"""A variable or a value, and which part of it."""


class SharedValues:
    """What each variable of a module stands for: one value, by a key for it, or values that vary."""

    def __init__(self, mod: IRModule, entries: Collection[GlobalVar]) -> None:
        """`mod` is in A-normal form; `entries` are called once, from outside."""
        self.mod = mod
        self.known: dict[Var, Hashable] = {}
        self.readers: dict[Var, list[tuple[Var, tuple[Hashable, ...]]]] = {}
        self.changed: list[Var] = []
        self.once = set(entries)
        called = {x for e in mod.functions.values() for x in post_order(e) if isinstance(x, GlobalVar)}
        self.bound = dict(self._bindings())
        escaped = self._escaped()
        for v, e in mod.functions.items():
            if isinstance(e, Function):
                for p in e.params:
                    if v in self.once:
                        self._join(p, p)
                    elif v not in called:
                        self._join(p, VARYING)
        for f in escaped:
            for p in f.params:
                self._join(p, VARYING)
        for v, e in mod.functions.items():
            self._read(e, is_once=v in self.once and v not in called)
        self._propagate()

    def key(self, v: Expr) -> Hashable | None:
        """What a variable stands for; None where that varies."""
        if not isinstance(v, Var):
            return v
        found = self.known.get(v, VARYING)
        return None if found is VARYING else found

    def _bindings(self) -> Iterator[tuple[Var, Expr]]:
        for definition in self.mod.functions.values():
            for e in post_order(definition):
                if isinstance(e, Let):
                    yield e.var, e.value
                elif isinstance(e, LetRec):
                    yield from zip(e.vars, e.values, strict=True)

    def _callee(self, e: Expr) -> Function | None:
        """The function that a callee is, if that is known."""
        found = self.mod.functions.get(e) if isinstance(e, GlobalVar) else self.bound.get(e, e)  # pyright: ignore[reportUnknownVariableType, reportCallIssue, reportArgumentType]
        return found if isinstance(found, Function) else None

    def _escaped(self) -> set[Function]:
        """The functions that are used as values."""
        found: set[Function] = set()
        for definition in self.mod.functions.values():
            for e in post_order(definition):
                parts = e.args if isinstance(e, Call) else e.children
                if isinstance(e, Let | LetRec):
                    parts = [x for x in parts if not isinstance(x, Function)]
                found.update([f for x in parts if (f := self._callee(x)) is not None])
        return found

    def _read(self, definition: Expr, *, is_once: bool) -> None:
        """Note what the variables of a definition may stand for."""
        inside: set[Expr] = set()
        for f in post_order(definition):
            if isinstance(f, Function) and f is not definition:
                for _ in post_order(f.body, inside):
                    pass
        for e in post_order(definition):
            match e:
                case Let(var, value) if not isinstance(value, Function):
                    self._bind(var, value, is_once and e not in inside)
                case Match(data, clauses):
                    for c in clauses:
                        self._bind_pattern(c, data)
                case _:
                    pass
            if isinstance(e, Call) and not isinstance(e.op, Op):
                f = self._callee(e.op)
                for p, a in zip(() if f is None else f.params, e.args, strict=False):
                    self._flow(p, a, ())

    def _bind(self, var: Var, value: Expr, is_once: bool) -> None:
        match value:
            case Var() | Constant() | GlobalVar():
                self._flow(var, value, ())
            case TupleGetItem(whole, index):
                self._flow(var, whole, (index,))
            case Call(op=GlobalVar() as v, args=()):
                self._join(var, v)
            case _:
                self._join(var, var if is_once else VARYING)

    def _bind_pattern(self, clause: Clause, data: Expr) -> None:
        """The variables of a pattern stand for parts of what is matched."""
        stack: list[tuple[Any, tuple[Hashable, ...]]] = [(clause.lhs, ())]
        while stack:
            p, path = stack.pop()
            match p:
                case PatternVar(var):
                    self._flow(var, data, path)
                case PatternTuple(patterns):
                    stack += [(q, (*path, i)) for i, q in enumerate(patterns)]
                case PatternConstructor(c, patterns):
                    stack += [(q, (*path, (c.name_hint, i))) for i, q in enumerate(patterns)]
                case _:
                    pass

    def _flow(self, to: Var, source: Expr, path: tuple[Hashable, ...]) -> None:
        """A variable may stand for a part of what another expression is."""
        if isinstance(source, Var):
            self.readers.setdefault(source, []).append((to, path))
            if source in self.known:
                self._join(to, part_of(self.known[source], path))
        else:
            self._join(to, part_of(source, path))

    def _join(self, v: Var, key: Hashable) -> None:
        """A variable may stand for this, too."""
        before = self.known.get(v)
        if before is None:
            self.known[v] = key
        elif before is VARYING or before == key:
            return
        else:
            self.known[v] = VARYING
        self.changed.append(v)

    def _propagate(self) -> None:
        while self.changed:
            v = self.changed.pop()
            for to, path in self.readers.get(v, ()):
                self._join(to, part_of(self.known[v], path))


def part_of(key: Hashable, path: tuple[Hashable, ...]) -> Hashable:
    """The key of a part."""
    return key if key is VARYING or not path else (key, path)
