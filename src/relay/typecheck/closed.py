"""Types without unknowns, as annotated programs have them: do they agree, does a constraint hold?"""

from collections.abc import Iterable, Sequence
from typing import Any

from relay.diagnostic import Report
from relay.ir.expr import Expr, Function
from relay.ir.module import IRModule
from relay.ir.subst import substitute_type
from relay.ir.type import HAS_BINDER, FuncType, RefType, TupleType, Type, TypeRelation
from relay.ir.walk import post_order
from relay.typecheck.goals import Givens, relation_goal
from relay.typecheck.literals import class_members
from relay.typecheck.messages import Fault
from relay.typecheck.schemes import constrained, declared_type
from relay.typecheck.solver import Solver
from relay.typecheck.unknown import Mismatch, Unknown, zonk


class Closed(Solver):
    """A solver for closed types.  Which dtypes a type parameter may be is not its business."""

    def __init__(self, givens: Givens = None) -> None:
        """`givens` are constraints that hold."""
        super().__init__(Report())
        self.givens = givens

    def check_class(self, t: Any, allowed: frozenset[str], is_literal: bool = False) -> None:
        """See `Unifier`."""
        if isinstance(t, str):
            super().check_class(t, allowed, is_literal)


def declared_constraints(modules: Iterable[IRModule]) -> Givens:
    """The constraints that the functions of modules declare; their type parameters say where they hold."""
    givens: Givens = None
    for mod in modules:
        for root in mod.functions.values():
            for e in post_order(root):
                t = declared_type(e) if isinstance(e, Function) and e.constraints else None
                for c in () if t is None else t.type_constraints:
                    if class_members(c.name, c.attrs) is None:
                        givens = _given(c, t, e, givens)
    return givens


def _given(c: TypeRelation, of: FuncType | None, e: Expr, outer: Givens) -> Givens:
    assert of is not None
    try:
        goal = relation_goal(c.name, constrained(c, of), c.attrs, e)
    except Fault:
        return outer
    goal.is_given = True
    return goal, outer


def agrees(wanted: Type, found: Type, *, strict: bool = False, is_branch: bool = False) -> bool:
    """Whether a value of type `found` can stand where `wanted` is required.

    What is open is left to run time.
    """
    if wanted == found:
        return True
    found = with_instances(found)
    if is_branch:
        wanted = with_instances(wanted)
    elif isinstance(wanted, FuncType) and wanted.type_params:
        wanted = FuncType(wanted.arg_types, wanted.ret_type)
    try:
        Closed().unify(wanted, found, strict)
        zonk(found)
    except Mismatch as m:
        return is_branch and m.code == "shape-mismatch"
    return True


def instance(t: FuncType) -> FuncType:
    """A polymorphic type with an unknown for each of its type parameters."""
    by: dict[Any, Any] = {p: Unknown(p.kind) for p in t.type_params}
    return FuncType([substitute_type(a, by) for a in t.arg_types], substitute_type(t.ret_type, by))


def applied(t: FuncType, args: Sequence[Type], givens: Givens) -> FuncType:
    """The instance of a polymorphic type that takes `args`, where a call does not say its type arguments.

    Raises `Mismatch` if there is none; unknowns are left where the arguments do not decide.
    """
    by: dict[Any, Any] = {p: Unknown(p.kind) for p in t.type_params}
    made = FuncType([substitute_type(a, by) for a in t.arg_types], substitute_type(t.ret_type, by))
    solver = Closed(givens)
    if len(made.arg_types) != len(args):
        raise Mismatch("arity", made, FuncType(args, made.ret_type))
    for p, a in zip(made.arg_types, args, strict=True):
        solver.unify(p, with_instances(a))
    for c in t.type_constraints:
        if class_members(c.name, c.attrs) is None:
            solver.post(relation_goal(c.name, constrained(substitute_type(c, by), made), c.attrs, None))
    solver.settle()
    solver.report.check()
    return zonk(made)


def with_instances(root: Type) -> Type:
    """`root` with each polymorphic function that it is, or has in tuples and references, as an instance."""
    done: list[Type] = []
    stack: list[tuple[Type, bool]] = [(root, False)]
    while stack:
        t, ready = stack.pop()
        if not t.flags & HAS_BINDER:
            done.append(t)
        elif ready:
            parts = tuple(done[len(done) - len(t.children) :])
            done[len(done) - len(parts) :] = [t.rebuild(parts)]
        elif isinstance(t, TupleType | RefType):
            stack.append((t, True))
            stack += [(c, False) for c in reversed(t.children)]
        else:
            done.append(instance(t) if isinstance(t, FuncType) and t.type_params else t)
    return done[0]
