"""Generalisation: what is unknown about a bound function, and nobody outside shares, becomes type parameters.

An unknown is generalised by binding it to a fresh `TypeVar`; goals that still wait and reach the signature
become constraints of the scheme.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from relay.ir.expr import Expr, Function
from relay.ir.type import FuncType, Kind, TypeRelation, TypeVar
from relay.typecheck.determined import determine_results
from relay.typecheck.goals import ClassGoal, Goal
from relay.typecheck.literals import class_named, default
from relay.typecheck.messages import show
from relay.typecheck.records import decide_fields
from relay.typecheck.unknown import Unknown, head, unknowns, variables, zonk

if TYPE_CHECKING:
    from relay.typecheck.inference import Inference

MOST_CONSTRAINTS = 64
PLACEHOLDER = {
    Kind.Type: "a",
    Kind.Shape: "s",
    Kind.Dim: "n",
    Kind.BaseType: "bt",
    Kind.Constraint: "r",
    Kind.AdtHandle: "h",
}


@dataclass(slots=True, eq=False)
class Signature:
    """A function (or an operator as a value) whose type is being found.

    `added` are the type parameters that generalisation gives it, `needs` the constraints; `others` the type
    parameters that all functions of its group are given, its own among them.
    """

    function: Expr
    mono: FuncType
    is_annotated: bool
    added: tuple[TypeVar, ...] = ()
    needs: tuple[TypeRelation, ...] = ()
    others: tuple[TypeVar, ...] = ()
    final: dict[TypeVar, Any] = field(default_factory=dict[TypeVar, Any])

    @property
    def type_params(self) -> tuple[TypeVar, ...]:
        """The type parameters it declares."""
        return self.function.type_params if isinstance(self.function, Function) else ()

    @property
    def constraints(self) -> tuple[TypeRelation, ...]:
        """The constraints it declares."""
        return self.function.constraints if isinstance(self.function, Function) else ()

    @property
    def declared(self) -> FuncType:
        """Its type as written, where that is complete."""
        return FuncType(self.mono.arg_types, self.mono.ret_type, self.type_params, self.constraints)

    @property
    def scheme(self) -> FuncType:
        """Its type with everything that was found."""
        return FuncType(
            [zonk(a) for a in self.mono.arg_types],
            zonk(self.mono.ret_type),
            (*self.type_params, *self.added),
            (*self.constraints, *self.needs),
        )


def generalise(inf: "Inference", signatures: Sequence[Signature], marks: tuple[int, int]) -> list[Any]:
    """The schemes of functions bound together, given where their goals and literals begin."""
    inf.settle()
    decide_fields(inf, marks[0])
    level = inf.level
    if len(inf.literals) > marks[1]:
        default_literals(inf, signatures, marks[1])
    own = _own_goals(inf, marks[0])
    determine_results(inf, own)
    for sig in signatures:
        _quantify(inf, sig, own, level)
    if len(signatures) > 1:
        together = tuple(dict.fromkeys([p for sig in signatures for p in sig.added]))
        for sig in signatures:
            sig.others = together
    leftovers(inf, own)
    return [sig.scheme for sig in signatures]


def default_literals(inf: "Inference", signatures: Sequence[Signature], mark: int) -> None:
    """A literal's dtype is generalised only if it is that of a parameter; otherwise it is decided now."""
    mine = inf.literals[mark:]
    del inf.literals[mark:]
    while mine:
        params = unknowns(tuple([a for sig in signatures for a in sig.mono.arg_types]))
        later: list[Any] = []
        by_unknown: dict[Unknown, list[Any]] = {}
        for c, v in mine:
            v = head(v)
            if type(v) is not Unknown:
                continue
            if v.level <= inf.level:
                inf.literals.append((c, v))
            elif v in params:
                later.append((c, v))
            else:
                by_unknown.setdefault(v, []).append(c)
        if not by_unknown:
            return
        for v, literals in by_unknown.items():
            if v.bound is None:
                inf.cause = literals[0]
                inf.bind(v, default(v.allowed, literals))
        inf.settle()
        mine = later


def _own_goals(inf: "Inference", mark: int) -> list[Goal]:
    """The goals of this group that still wait and nobody outside can help; others go back to `pending`."""
    mine = [g for g in inf.pending[mark:] if not g.done]
    del inf.pending[mark:]
    if not mine:
        return mine
    mine = _merged(inf, mine)
    level, own = inf.level, list[Goal]()
    _lower_determined(inf, mine)
    for g in mine:
        if _mentions_level(inf, g.types):
            own.append(g)
        else:
            g.level = min(g.level, level)
            inf.pending.append(g)
    return own


def _lower_determined(inf: "Inference", goals: list[Goal]) -> None:
    """What follows from the types of outer variables (relations are functions) is no more general."""
    again = True
    while again:
        again = False
        for g in goals:
            if g.outputs and not g.is_given and not _mentions_level(inf, g.types[:-1]):
                for v in unknowns(g.types[-1]):
                    again = again or v.level > inf.level
                    v.level = min(v.level, inf.level)


def _mentions_level(inf: "Inference", types: tuple[Any, ...]) -> bool:
    """Whether types mention something of the functions that are being generalised."""
    level = inf.level
    return any(v.level > level for v in unknowns(types)) or any(
        inf.rigid_level.get(p, 0) > level for p in variables(types)
    )


def _merged(inf: "Inference", goals: list[Goal]) -> list[Goal]:
    """Relations are functional: of goals with the same inputs one is enough, and their results are equal."""
    for _ in range(8):
        known: dict[Any, Goal] = {}
        merged = False
        for g in goals:
            if g.done or not g.outputs:
                continue
            key = (g.name, g.attrs, tuple([zonk(t) for t in g.types[:-1]]))
            try:
                first = known.setdefault(key, g)
            except TypeError:
                continue
            if first is not g:
                if first.is_given != g.is_given and g.is_given:
                    first, g = g, first
                    known[key] = first
                g.done = merged = True
                inf.cause = g.call
                inf.agree(
                    first.types[-1], g.types[-1], inf.roots[0] if g.call is None else g.call, "the result"
                )
        goals = [g for g in goals if not g.done]
        if not merged:
            break
    return goals


def _quantify(inf: "Inference", sig: Signature, own: list[Goal], level: int) -> None:
    """Find the type parameters and constraints of one function."""
    order: dict[Any, None] = {
        v: None for v in unknowns((*sig.mono.arg_types, sig.mono.ret_type)) if v.level > level
    }
    added = [p for p in variables((*sig.mono.arg_types, sig.mono.ret_type)) if _is_placeholder(inf, p, level)]
    for p in added:
        order.setdefault(p)
    for p in sig.type_params:
        order.setdefault(p)
    reached = _reach(inf, order, own, level) if own else []
    names = set(sig.type_params)
    needs: list[TypeRelation] = []
    is_faulty = inf.failed
    for g in reached:
        g.done = True
        if g.is_given:
            continue
        if g.unsolved is not None:
            inf.fault(g.unsolved, g)
            continue
        needs.append(g.constraint())
        if sig.is_annotated and not is_faulty:
            _missing(inf, sig, g)
    new: list[TypeVar] = []
    for v in order:
        if type(v) is Unknown and v.bound is None:
            new.append(_bind_placeholder(inf, v, level))
        elif type(v) is TypeVar and v not in names:
            new.append(v)
    classes = [TypeRelation(*_class_relation(inf, p)) for p in new if p in inf.classes]
    sig.added = tuple(new)
    sig.needs = (*classes, *[zonk(c) for c in needs])
    if len(sig.needs) + len(sig.constraints) > MOST_CONSTRAINTS:
        inf.diagnose(
            "too-many-constraints",
            f"the most general type has {len(sig.needs)} constraints, and the limit is {MOST_CONSTRAINTS}",
            sig.function,
            hint="annotate the parameters, so that shapes and dtypes are known",
        )
        sig.needs = sig.needs[:MOST_CONSTRAINTS]


def _class_relation(inf: "Inference", p: TypeVar) -> tuple[str, tuple[Any, ...], Any]:
    name, attrs = class_named(inf.classes[p])
    return name, (p,), attrs


def _is_placeholder(inf: "Inference", p: TypeVar, level: int) -> bool:
    """Whether a type parameter was made for another function of this group."""
    return p in inf.placeholders and inf.rigid_level.get(p, 0) > level


def _bind_placeholder(inf: "Inference", v: Unknown, level: int) -> TypeVar:
    p = TypeVar(PLACEHOLDER[v.kind], v.kind)
    inf.placeholders.add(p)
    inf.rigid_level[p] = level + 1
    if v.allowed is not None:
        inf.classes[p] = v.allowed
    v.bound, v.waiting = p, None
    return p


def _reach(inf: "Inference", order: dict[Any, None], own: list[Goal], level: int) -> list[Goal]:
    """The goals that share an unknown with the signature, directly or through each other; extends `order`."""
    by: dict[Any, list[Goal]] = {}
    inside: dict[Goal, list[Any]] = {}
    for g in own:
        parts = [v for v in unknowns(g.types) if v.level > level]
        parts += [p for p in variables(g.types) if inf.rigid_level.get(p, 0) > level]
        inside[g] = parts
        for v in parts:
            by.setdefault(v, []).append(g)
    found: set[Goal] = set()
    stack = list(order)
    while stack:
        for g in by.get(stack.pop(), ()):
            if g not in found:
                found.add(g)
                stack += inside[g]
    reached = [g for g in own if g in found]
    for g in reached:
        for v in inside[g]:
            if type(v) is Unknown or v in inf.placeholders:
                order.setdefault(v)
    return reached


def _missing(inf: "Inference", sig: Signature, g: Goal) -> None:
    """A fully annotated function has to declare what it needs."""
    if isinstance(g, ClassGoal):
        text = show(g.constraint())
        inf.diagnose(
            "missing-constraint",
            f"this needs `{text}`, which the signature does not declare",
            g.call,
            hint=f"add `where {text}`, or give the dtype",
        )
        return
    inf.diagnose(
        "missing-constraint",
        f"this needs the relation `{g.name}`, which the signature does not declare",
        g.call,
        hint=f"add a `where {g.name}(…)` clause, or leave the result type out",
    )


def leftovers(inf: "Inference", own: list[Goal]) -> None:
    """Goals about nothing in the signature: dtypes get their default, the rest is ambiguous."""
    left = [g for g in own if not g.done]
    if not left:
        return
    for g in left:
        for v in unknowns(g.types):
            if v.kind is Kind.BaseType and v.bound is None:
                inf.bind(v, default(v.allowed, []))
    inf.settle()
    for g in left:
        if not g.done:
            ambiguous(inf, g)


def ambiguous(inf: "Inference", g: Goal) -> None:
    """Nothing decides the types of a goal."""
    g.done = True
    if inf.failed or g.call is None:
        return
    if g.unsolved is not None:
        inf.fault(g.unsolved, g)
        return
    inf.diagnose(
        "ambiguous-type",
        f"cannot infer the types of this use of `{g.what}`",
        g.call,
        label=f"known so far: {', '.join([show(t) for t in g.types[:-1]])}",
        hint="annotate the operands",
    )
