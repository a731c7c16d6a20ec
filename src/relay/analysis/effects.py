"""What evaluating an expression does besides giving a value: references made, read and written."""

from collections.abc import Iterable
from enum import IntFlag
from typing import Any

from relay.ir.expr import (
    Call,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Let,
    LetRec,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Var,
)
from relay.ir.module import IRModule
from relay.ir.walk import post_order


class Effect(IntFlag):
    """What may happen.

    A pass may drop what only creates; nothing else that is not `NONE` may go, move or double.
    """

    NONE = 0
    CREATE = 1
    READ = 2
    WRITE = 4
    UNKNOWN = 8
    """A function that is not known here is called."""


_ALL = [Effect(bits) for bits in range(16)]
"""Each combination, to look up: sums of flags are slow."""
_EVERYTHING = len(_ALL) - 1
_IMPURE = Effect.UNKNOWN.value
_OWN: dict[Any, int] = {
    RefCreate: Effect.CREATE.value,
    RefRead: Effect.READ.value,
    RefWrite: Effect.WRITE.value,
}
"""What nodes do themselves."""


class Effects:
    """The effects of the expressions of a module, remembered.

    A function has no effect until it is called.  A callee that is known (a function, a definition, a variable
    bound to a function) has the effects of its body; any other callee has all, unless nothing in the module
    and the expressions asked about touches a reference.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        """Goes through the definitions once."""
        self.mod = mod or IRModule()
        self._bound: dict[Expr, Expr] = {}
        self._seen: set[Expr] = set()
        self._users: dict[Expr, list[Expr]] = {}
        """For each node, the nodes that do what it does."""
        self._found: dict[Expr, int] = {}
        """What nodes do, where that is anything."""
        self._has_references = False
        self._cover(self.mod.functions.values())

    def of(self, e: Expr) -> Effect:
        """What evaluating `e` may do."""
        if e not in self._seen:
            self._cover((e,))
        return _ALL[self._found.get(e, 0)]

    def of_call(self, callee: Expr) -> Effect:
        """What calling `callee` may do, once it is evaluated."""
        if callee not in self._seen:
            self._cover((callee,))
        body = self._body(callee)
        if body is None:
            return _ALL[_EVERYTHING if self._has_references else 0]
        return Effect.NONE if body is callee else self.of(body)

    def is_pure(self, e: Expr) -> bool:
        """Whether evaluating `e` has no effect."""
        return self.of(e) is Effect.NONE

    def _cover(self, roots: Iterable[Expr]) -> None:
        """Take in what has not been seen before."""
        new = [e for root in roots for e in post_order(root, self._seen)]
        for e in new:
            if type(e) is Let:
                self._bound[e.var] = e.value
            elif type(e) is LetRec:
                self._bound.update(zip(e.vars, e.values, strict=True))
        if not self._has_references:
            if not any(map(_own, new)):
                return
            self._has_references = True  # what unknown callees do, and what they were asked about, is new
            new = list(self._seen)
        self._connect(new)

    def _connect(self, new: Iterable[Expr]) -> None:
        """Find what these nodes do: themselves, and what those do that they evaluate and call."""
        users, found = self._users, self._found
        for e in new:
            if type(e) is Function:
                continue
            bits = _own(e)
            for child in e.children:
                users.setdefault(child, []).append(e)
                bits |= found.get(child, 0)
            if type(e) is Call and type(e.op) is not Op:
                body = self._body(e.op)
                if body is None:
                    bits |= _EVERYTHING
                elif body is not e.op:
                    users.setdefault(body, []).append(e)
                    bits |= found.get(body, 0)
            if bits:
                self._add(e, bits)

    def _add(self, e: Expr, bits: int) -> None:
        """A node does these things, and so do all that do what it does."""
        pending = [(e, bits)]
        found, users = self._found, self._users
        while pending:
            e, bits = pending.pop()
            known = found.get(e, 0)
            if bits & ~known:
                found[e] = known | bits
                pending += [(user, bits) for user in users.get(e, ())]

    def _body(self, callee: Expr) -> Expr | None:
        """What runs when `callee` is called; itself if that does nothing, None if it is not known."""
        seen: set[Expr] = set()
        while callee not in seen:
            seen.add(callee)
            match callee:
                case Function():
                    return callee.body
                case Op() | Constructor():
                    return callee
                case Let() | LetRec():
                    callee = callee.body
                case GlobalVar() if callee in self.mod.functions:
                    callee = self.mod.functions[callee]
                case Var() if callee in self._bound:
                    callee = self._bound[callee]
                case _:
                    return None
        return None


def _own(e: Expr) -> int:
    """What a node itself does, as the bits of an `Effect`."""
    if type(e) is Call:
        return _IMPURE if type(e.op) is Op and e.attrs.impure else 0
    return _OWN.get(type(e), 0)


def effect_of(e: Expr, mod: IRModule | None = None) -> Effect:
    """What evaluating `e` may do; for many questions about one module, keep an `Effects(mod)`."""
    return Effects(mod).of(e)


def is_pure(e: Expr, mod: IRModule | None = None) -> bool:
    """Whether evaluating `e` makes, reads and writes no reference."""
    return effect_of(e, mod) is Effect.NONE
