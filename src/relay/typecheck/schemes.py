"""Instances of polymorphic types: unknowns for their type parameters, and their constraints as goals."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from relay.diagnostic import RelayError, counted
from relay.ir.alias import expanded
from relay.ir.expr import Expr, Function
from relay.ir.subst import substitute_type
from relay.ir.type import FuncType, IncompleteType, Kind, TensorType, Type, TypeRelation, TypeVar
from relay.typecheck.goals import Goal, relation_goal
from relay.typecheck.kinds import name_of
from relay.typecheck.literals import class_members
from relay.typecheck.messages import Fault, allowed, show
from relay.typecheck.unknown import ERROR, Mismatch, Unknown, has_unknown, kind_of, zonk

if TYPE_CHECKING:
    from relay.typecheck.inference import Inference

WITHOUT_DEFAULT = frozenset({Kind.AdtHandle, Kind.Constraint})
"""The kinds of which no member stands for what nothing decides."""
Instance = tuple[FuncType, list[TypeRelation], tuple[Any, ...]]
"""An instance of a scheme, its constraints, and its type arguments."""


def declared_type(fn: Function) -> FuncType | None:
    """The type of a function as it is written, if that is complete."""
    if fn.ret_type is None or has_unknown(fn.ret_type):
        return None
    params: list[Type] = []
    for p in fn.params:
        t = p.type_annotation
        if t is None or has_unknown(t):
            return None
        params.append(expanded(t))
    return FuncType(params, expanded(fn.ret_type), fn.type_params, fn.constraints)


def instance_of(inf: "Inference", t: FuncType, e: Expr | None) -> FuncType:
    """A polymorphic type used as a value: an instance, whose constraints are to hold."""
    made, constraints, _ = instantiate(inf, t, e)
    demand(inf, constraints, made, e)
    return made


def instantiate(inf: "Inference", t: FuncType, e: Expr | None, explicit: tuple[Any, ...] = ()) -> Instance:
    """An instance of a scheme, by type arguments as written where there are some."""
    if explicit and len(explicit) != len(t.type_params):
        given, wanted = counted(len(explicit), "type argument"), counted(len(t.type_params), "type parameter")
        inf.diagnose("type-args", f"{given} for {wanted}", e, hint=f"the type is {show(t)}")
        explicit = ()
    by: dict[Any, Any] = {}
    for i, p in enumerate(t.type_params):
        by[p] = _type_argument(inf, explicit[i], p, e) if explicit else Unknown(p.kind, inf.level)
        if p.kind in WITHOUT_DEFAULT and not explicit:
            inf.required.append((by[p], p, e))
    made = FuncType([substitute_type(a, by) for a in t.arg_types], substitute_type(t.ret_type, by))
    if explicit and any(p.kind is Kind.AdtHandle for p in t.type_params):
        inf.annotation(made, e)  # a data type that was named may take other arguments
    return made, [substitute_type(c, by) for c in t.type_constraints], tuple(by.values())


def _type_argument(inf: "Inference", t: Any, p: TypeVar, e: Expr | None) -> Any:
    """A type argument as written, if it is of the parameter's kind."""
    if p.kind is Kind.BaseType and isinstance(t, TensorType) and t.shape == ():
        t = t.dtype
    if kind_of(t) is not p.kind:
        message = f"type argument `{show(t)}` is {name_of(kind_of(t))}, but `{p.name}` is {name_of(p.kind)}"
        inf.diagnose("kind-mismatch", message, e)
        return ERROR
    if p.kind is Kind.Type:
        return inf.annotation(t, e)
    return inf.fresh_of(p.kind) if type(t) is IncompleteType else t


def demand(inf: "Inference", constraints: Iterable[TypeRelation], of: FuncType, e: Expr | None) -> None:
    """Post the constraints of an instantiated type."""
    for c in constraints:
        post(inf, c, of, e)
    if inf.queue:
        inf.settle()


def post(inf: "Inference", c: TypeRelation, of: FuncType, e: Expr | None) -> Goal | None:
    """One constraint as a goal; a class is remembered on the unknown itself."""
    types = constrained(c, of)
    members = class_members(c.name, c.attrs)
    inf.cause = e
    try:
        if members is not None and len(types) == 1 and kind_of(types[0]) is Kind.BaseType:
            inf.restrict(types[0], members)
            return None
        goal = relation_goal(c.name, types, c.attrs, e)
    except Mismatch as m:
        message = f"this use needs `{c.name}<{show(types[0])}>`, which does not hold"
        if m.code == "literal-kind":
            message = inf.describe(m, zonk(types[0]), zonk(types[0])).message
        inf.diagnose("constraint-not-met", message, e, hint="" if members is None else allowed(members))
    except Fault as f:
        inf.diagnose(f.code, f.message, e, hint=f.hint)
    except RelayError as error:
        for d in error.diagnostics:
            inf.diagnose(d.code, d.message, e, hint=d.hint)
    else:
        inf.post(goal)
        return goal
    return None


def constrained(c: TypeRelation, of: FuncType) -> tuple[Any, ...]:
    """What a constraint relates: without arguments, the parameters and the result of its function."""
    return (*of.arg_types, of.ret_type) if c.args is None else c.args
