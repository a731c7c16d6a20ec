"""Goals: relations between types that are to hold, and what may happen when one is tried."""

import inspect
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from relay.diagnostic import did_you_mean
from relay.ir.dtype import DTYPES
from relay.ir.expr import Expr
from relay.ir.type import TensorType, TypeRelation, TypeVar
from relay.op.base import Operator
from relay.op.composite import Composite
from relay.op.registry import instance as operator_instance
from relay.op.registry import registry
from relay.op.relation import relations
from relay.typecheck.literals import class_named
from relay.typecheck.messages import Fault
from relay.typecheck.unknown import Unknown, head, zonk

if TYPE_CHECKING:
    from relay.typecheck.solver import Solver

Givens = tuple[Any, ...] | None
"""Constraints that a function declares, innermost first: `(given, outer givens)`."""
BROADCASTS = frozenset({"Broadcast", "BroadcastCompare"})
_ALL = frozenset(DTYPES)


class Wait(Exception):  # noqa: N818
    """A goal needs to know these unknowns first."""

    def __init__(self, *on: Unknown) -> None:
        super().__init__(*on)
        self.on = on


class Stuck(Exception):  # noqa: N818
    """A goal asks for the inside of a type parameter: only a declared constraint can help."""


class Silenced(Exception):  # noqa: N818
    """A goal met an ill-typed expression, which has been reported."""


class Goal:
    """A relation between `types` (the result last) that is to hold for `call`."""

    __slots__ = (
        "attrs",
        "call",
        "done",
        "entailed",
        "givens",
        "is_given",
        "level",
        "name",
        "parked",
        "types",
    )
    optional = False
    outputs = 1

    def __init__(self, name: str, types: tuple[Any, ...], attrs: Any, call: Expr | None) -> None:
        self.name, self.types, self.attrs, self.call = name, types, attrs, call
        self.done = self.entailed = self.is_given = False
        self.givens: Givens = None
        self.level = 0
        self.parked: set[Unknown] | None = None

    def run(self, t: "Solver") -> None:
        """Do what can be done; raises `Wait` or `Stuck` where something is not known."""
        try:
            relations[self.name](t, *self.types, **dict(self.attrs))
        except Wait as wait:
            if self.name not in BROADCASTS:
                raise
            t.scalars(self.types, wait)

    def constraint(self) -> TypeRelation:
        """The goal as a constraint of a scheme."""
        return TypeRelation(self.name, tuple([zonk(t) for t in self.types]), self.attrs)

    @property
    def what(self) -> str:
        """What it is called in a message."""
        return self.name

    @property
    def unsolved(self) -> Fault | None:
        """The error if its function is generalised while it is open; None if it may be a constraint."""
        return None


class OperatorGoal(Goal):
    """The type relation of an operator."""

    __slots__ = ("op",)

    def __init__(self, op: Operator, types: tuple[Any, ...], call: Expr | None) -> None:
        name = op.relation_name
        attrs = () if name in relations else tuple(sorted(op.changed_attributes().items()))
        super().__init__(name, types, attrs, call)
        self.op = op

    def run(self, t: "Solver") -> None:
        args = self.types[:-1]
        if isinstance(self.op, Composite) and type(self.op).infer is Composite.infer:
            for a in args:
                t.know(a)
        try:
            self.op.relate(t, args, self.types[-1])
        except (Wait, Stuck) as wait:
            if self.name in relations:
                self._bound_dtypes(t)
            if self.name not in BROADCASTS or isinstance(wait, Stuck):
                raise
            t.scalars(self.types, wait)

    def _bound_dtypes(self, t: "Solver") -> None:
        """A family's relation does not say which dtypes its operator is for: demand that separately."""
        for a in self.types[:-1]:
            if type(head(a)) is TensorType:
                self.op.check_dtype(t, a)

    @property
    def what(self) -> str:
        return self.op.spelled

    @property
    def unsolved(self) -> Fault | None:
        if not self.op.dimensions():
            return None
        return Fault(
            "ambiguous-type",
            f"cannot infer the types of this use of `{self.op.name}`",
            hint="annotate the operands: an attribute that holds a dimension needs their ranks",
        )


class DeferredGoal(Goal):
    """Something to look at again when unknowns are bound; dropped if they never are."""

    __slots__ = ("rule",)
    optional = True
    outputs = 0

    def __init__(self, rule: "Callable[[Solver], None]", types: tuple[Any, ...], call: Expr | None) -> None:
        super().__init__("", types, (), call)
        self.rule = rule

    def run(self, t: "Solver") -> None:
        self.rule(t)


class ClassGoal(Goal):
    """A type parameter of kind `BaseType` that is to be one of some dtypes."""

    __slots__ = ("allowed",)
    outputs = 0

    def __init__(self, var: TypeVar, allowed: frozenset[str], call: Expr | None) -> None:
        name, attrs = class_named(allowed)
        super().__init__(name, (var,), attrs, call)
        self.allowed = allowed

    def run(self, t: "Solver") -> None:
        (var,) = self.types
        if not t.classes.get(var, _ALL) <= self.allowed:
            raise Stuck


@cache
def relation_arity(rule: Callable[..., None]) -> int | None:
    """How many types a relation is between; None for any number."""
    params = list(inspect.signature(rule).parameters.values())[1:]
    if any(p.kind is p.VAR_POSITIONAL for p in params):
        return None
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in params)


def relation_goal(name: str, types: tuple[Any, ...], attrs: Any, call: Expr | None) -> Goal:
    """The goal that a relation named in a `where` clause stands for (`unknown-relation`, `arity`)."""
    if name in relations:
        wanted = relation_arity(relations[name])
        if wanted is not None and len(types) != wanted:
            raise Fault(
                "arity",
                f"the relation `{name}` is between {wanted} types, found {len(types)}",
                hint="without arguments it relates all parameters and the result",
            )
        return Goal(name, types, attrs, call)
    if name in registry:
        op = operator_instance(name, dict(attrs))
        count = len(types) - 1
        if not (len(op.operands) - op.optional <= count and (op.variadic or count <= len(op.operands))):
            raise Fault(
                "arity",
                f"the relation `{name}` is between {len(op.operands)} operands and a result, "
                f"found {len(types)} types",
            )
        return OperatorGoal(op, types, call)
    raise Fault(
        "unknown-relation",
        f"there is no relation `{name}`",
        hint=did_you_mean(name, [*relations, *registry])
        or f"some relations are {', '.join(list(relations)[:6])}; every operator's name is one",
    )
