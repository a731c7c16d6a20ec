"""What evaluating an expression does besides giving a value: references made, read and written."""

from enum import IntFlag

from relay.analysis.call_graph import CallGraph
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


class Effects:
    """The effects of the expressions of a module, remembered.

    A function has no effect until it is called.  A callee that is known (a function, a definition, a variable
    bound to a function) has the effects of its body; any other callee has all, unless nothing in the module
    and the expression asked about touches a reference.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self.mod = mod or IRModule()
        self._bodies: dict[Expr, Effect] = {}
        self._known: dict[Expr, Effect] = {}
        self._bound: dict[Var, Expr] = {}
        self._has_references = any(_touches(e) for f in self.mod.functions.values() for e in post_order(f))
        self._cover_definitions()

    def of(self, e: Expr) -> Effect:
        """What evaluating `e` may do."""
        self._cover(e)
        return self._known[e]

    def of_call(self, callee: Expr) -> Effect:
        """What calling `callee` may do, once it is evaluated."""
        self._cover(callee)
        return self._when_called(callee)

    def is_pure(self, e: Expr) -> bool:
        """Whether evaluating `e` has no effect."""
        return self.of(e) is Effect.NONE

    def _cover_definitions(self) -> None:
        """Callees first; within a group that calls itself, add what is found until nothing is."""
        for group in CallGraph(self.mod).components():
            self._bodies.update(dict.fromkeys(group, Effect.NONE))
            before: list[Effect] | None = None
            while before != (now := [self._bodies[v] for v in group]):
                before = now
                for v in group:
                    self._cover(self.mod[v], anew=True)
                    self._bodies[v] = self._when_called(self.mod[v])

    def _cover(self, root: Expr, anew: bool = False) -> None:
        if root in self._known and not anew:
            return
        nodes = list(post_order(root))
        for e in nodes:
            match e:
                case Let(var, value, _):
                    self._bound[var] = value
                case LetRec():
                    self._bound.update(zip(e.vars, e.values, strict=True))
                case _:
                    pass
        if not self._has_references and any(_touches(e) for e in nodes):
            self._has_references = True  # what unknown callees do in the definitions is another answer now
            self._cover_definitions()
        before: list[Effect] | None = None
        loops = any(isinstance(e, LetRec | Let) for e in nodes)
        while True:  # effects only grow, so that recursive local functions come to rest
            for e in nodes:
                self._known[e] = self._at(e)
            after = [self._known[e] for e in nodes]
            if not loops or after == before:
                return
            before = after

    def _at(self, e: Expr) -> Effect:
        if isinstance(e, Function):
            self._bodies[e] = self._known[e.body]
            return Effect.NONE
        found = Effect.NONE
        for child in e.children:
            found |= self._known[child]
        match e:
            case RefCreate():
                found |= Effect.CREATE
            case RefRead():
                found |= Effect.READ
            case RefWrite():
                found |= Effect.WRITE
            case Call():
                found |= Effect.UNKNOWN if _is_impure(e) else self._when_called(e.op)
            case _:
                pass
        return found

    def _when_called(self, callee: Expr) -> Effect:
        seen: set[Expr] = set()
        while callee not in seen:
            seen.add(callee)
            match callee:
                case Op() | Constructor():
                    return Effect.NONE
                case Function() | GlobalVar() if callee in self._bodies:
                    return self._bodies[callee]
                case Function():
                    return Effect.NONE  # not reached yet: a local function that calls itself
                case Var() if callee in self._bound:
                    callee = self._bound[callee]
                case Let() | LetRec():
                    callee = callee.body
                case _:
                    break
        everything = Effect.CREATE | Effect.READ | Effect.WRITE | Effect.UNKNOWN
        return everything if self._has_references else Effect.NONE


def _touches(e: Expr) -> bool:
    return isinstance(e, RefCreate | RefRead | RefWrite) or (isinstance(e, Call) and _is_impure(e))


def _is_impure(e: Call) -> bool:
    return isinstance(e.op, Op) and e.attrs.impure


def effect_of(e: Expr, mod: IRModule | None = None) -> Effect:
    """What evaluating `e` may do; for many questions about one module, keep an `Effects(mod)`."""
    return Effects(mod).of(e)


def is_pure(e: Expr, mod: IRModule | None = None) -> bool:
    """Whether evaluating `e` makes, reads and writes no reference."""
    return effect_of(e, mod) is Effect.NONE
