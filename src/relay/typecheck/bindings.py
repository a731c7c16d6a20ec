"""The typing of `let` and `let rec`."""

from typing import Any

from relay.ir.expr import Call, Constructor, Expr, Function, GlobalVar, Grad, Let, LetRec, Op, Var, VMap
from relay.ir.type import HAS_ANY, FuncType, TypeVar
from relay.typecheck.functions import group
from relay.typecheck.generalize import Signature, generalise
from relay.typecheck.goals import Goal, relation_goal
from relay.typecheck.inference import Inference, Rule, rule
from relay.typecheck.leaves import operator_value
from relay.typecheck.literals import class_members
from relay.typecheck.messages import show
from relay.typecheck.places import result_place
from relay.typecheck.schemes import constrained, demand, instance_of, instantiate
from relay.typecheck.unknown import ERROR

_BINDINGS = (Let, LetRec)
"""Made once: `Let | LetRec` in a loop would be made anew for each binding."""


@rule(Let, LetRec)
def let(inf: Inference, first: Let | LetRec, want: Any) -> Rule:
    """A chain of bindings, in a flat loop."""
    e: Expr = first
    while isinstance(e, _BINDINGS) and (e is first or not inf.homes or e not in inf.homes):
        if isinstance(e, LetRec):
            yield from _let_rec(inf, e)
        else:
            var, value = e.var, e.value
            inf.here = e
            written = var.type_annotation
            k = type(value)
            t = inf.quick(value) if k is Call else None
            if t is None:
                if k is Function and value not in inf.types and value not in inf.homes:
                    (t,) = yield from group(inf, (var,), (value,))
                    inf.types[value] = t
                elif k is Var or k is GlobalVar or k is Constructor:
                    t = inf.raw(value)
                elif k is Grad or k is VMap:
                    inf.raw_wanted.add(value)
                    t = yield value
                    if value in inf.batched_rows:
                        inf.raw_wanted.discard(value)
                elif k is Op:
                    t = _operator(inf, var, value)  # pyright: ignore[reportArgumentType]
                else:
                    t = inf.quick(value) if k is not Call else None
                    if t is None:
                        inf.want = written if written is not None and written.flags & HAS_ANY else None
                        t = yield value
            if written is None:
                inf.vars[var] = t
            elif written is t:
                inf.vars[var] = t
                inf.kinds_seen.add(t)
            else:
                annotated(inf, var, t, value)
        e = e.body
    t = inf.quick(e)
    if t is None:
        inf.want = want
        t = yield e
    return t


def _let_rec(inf: Inference, e: LetRec) -> Rule:
    """Mutually recursive functions."""
    if all(isinstance(v, Function) for v in e.values):
        types = yield from group(inf, e.vars, e.values)
        for v, fn, t in zip(e.vars, e.values, types, strict=True):
            inf.types[fn] = inf.vars[v] = t
            if v.type_annotation is not None and v.type_annotation != t:
                annotated(inf, v, t, fn)
        return
    inf.vars.update(dict.fromkeys(e.vars, ERROR))
    bad = next(v for v in e.values if not isinstance(v, Function))
    message = "only functions can be recursive"
    inf.diagnose("recursive-value", message, bad, hint="write `fn() { … }` around it")


def _operator(inf: Inference, var: Var, op: Op) -> Any:
    """`let %f = add`: the most general type of the operator."""
    marks = len(inf.pending), len(inf.literals)
    inf.level += 1
    t = operator_value(inf, op)
    inf.level -= 1
    if t is ERROR:
        return t
    sig = inf.signatures[var] = Signature(op, t, False)
    return generalise(inf, [sig], marks)[0]


def annotated(inf: Inference, var: Var, t: Any, value: Expr) -> None:
    """A binding whose type is written: the value's type has to agree."""
    written = var.type_annotation
    assert written is not None
    wanted = inf.vars[var] = inf.annotation(written, var, polymorphic=True)
    if isinstance(wanted, FuncType) and wanted.type_params:
        if t != wanted:
            subsume(inf, wanted, t, value)
        return
    if type(t) is FuncType and t.type_params:
        t = instance_of(inf, t, value)
    what = "the ascription" if var.name == "_" else f"`%{var.name}`"
    operands = (value,) if isinstance(value, Var) else value.children[:4]
    inf.agree(wanted, t, result_place(value, var), what, operands=operands)


def subsume(inf: Inference, wanted: FuncType, t: Any, value: Expr) -> None:
    """Demand that a value is at least as general as a polymorphic annotation."""
    saved, mark = inf.givens, len(inf.pending)
    inf.level += 1
    rigid = _rigid(inf, wanted, value)
    made, constraints = t, []
    if type(t) is FuncType and t.type_params:
        made, constraints, _ = instantiate(inf, t, value)
    if inf.agree(rigid, made, value, "the value is less general than its annotation"):
        demand(inf, constraints, made, value)
    inf.level -= 1
    inf.givens = saved
    for goal in inf.pending[mark:]:
        if not goal.done:
            _undeclared(inf, goal, value)
    del inf.pending[mark:]


def _rigid(inf: Inference, wanted: FuncType, value: Expr) -> FuncType:
    """A polymorphic annotation with its type parameters as they are, its constraints assumed."""
    for p in wanted.type_params:
        inf.rigid_level.setdefault(p, inf.level)
    rigid = FuncType(wanted.arg_types, wanted.ret_type)
    for c in wanted.type_constraints:
        types = constrained(c, rigid)
        members = class_members(c.name, c.attrs)
        if members is not None and type(types[0]) is TypeVar:
            inf.classes[types[0]] = members
        else:
            goal = relation_goal(c.name, types, c.attrs, value)
            goal.is_given = True
            inf.givens = (goal, inf.givens)
    return rigid


def _undeclared(inf: Inference, goal: Goal, value: Expr) -> None:
    """A value needs a constraint that its annotation does not declare."""
    goal.done = True
    message = f"the value needs `{goal.name}`, which its annotation does not declare"
    inf.diagnose("missing-constraint", message, value, hint=f"add `where {show(goal.constraint())}`")
