"""The typing of tuples, references and derivatives."""

from typing import Any

from relay.diagnostic import counted
from relay.ir.expr import Expr, Grad, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem, VMap
from relay.ir.type import HAS_ANY, UNIT, FuncType, Kind, RefType, TupleType, TypeVar
from relay.typecheck.goals import DeferredGoal, Goal
from relay.typecheck.grads import GradGoal, grad_type
from relay.typecheck.inference import Inference, Rule, rule
from relay.typecheck.messages import Fault, show
from relay.typecheck.places import place
from relay.typecheck.schemes import demand, instantiate
from relay.typecheck.unknown import ERROR, Unknown, head
from relay.typecheck.vmaps import VMapGoal, is_known, polymorphic_vmap_type


@rule(Tuple)
def tuple_(inf: Inference, e: Tuple, want: Any) -> Rule:
    """A tuple."""
    want = head(want)
    wanted = want.fields if type(want) is TupleType and len(want.fields) == len(e.fields) else ()
    types: list[Any] = []
    for i, f in enumerate(e.fields):
        t = inf.quick(f)
        if t is None:
            inf.want = wanted[i] if wanted and wanted[i].flags & HAS_ANY else None
            t = yield f
        types.append(t)
    return TupleType(types)


@rule(TupleGetItem)
def projection(inf: Inference, e: TupleGetItem, want: Any) -> Rule:
    """A field of a tuple, which may not be known yet."""
    t = inf.quick(e.tuple_value)
    t = head((yield e.tuple_value) if t is None else t)
    if type(t) is TupleType:
        return t.fields[e.index] if 0 <= e.index < len(t.fields) else _no_field(inf, e, t)
    if type(t) is Unknown or type(t) is TypeVar:
        out = inf.fresh_of(Kind.Type)
        inf.post(Goal("Field", (t, out), (("index", e.index),), e))
        inf.settle()
        return head(out)
    if t is not ERROR:
        message = f"cannot take field {e.index} of {show(t)}, which is not a tuple"
        inf.diagnose("expected-tuple", message, e, operands=(e.tuple_value,))
    return ERROR


def _no_field(inf: Inference, e: TupleGetItem, t: TupleType) -> Any:
    """Report a field that a tuple does not have."""
    n = len(t.fields)
    inf.diagnose(
        "projection-out-of-range",
        f"field {e.index} is out of range for a tuple of {counted(n, 'field')}",
        e,
        label=f"the tuple is {show(t)}",
        operands=(e.tuple_value,),
        hint=f"fields are numbered from 0; the last is .{n - 1}" if n else "it has no fields",
    )
    return ERROR


@rule(RefCreate)
def ref_create(inf: Inference, e: RefCreate, want: Any) -> Rule:
    """A new reference."""
    t = inf.quick(e.value)
    return RefType((yield e.value) if t is None else t)


@rule(RefRead)
def ref_read(inf: Inference, e: RefRead, want: Any) -> Rule:
    """What a reference holds."""
    t = inf.quick(e.ref)
    return _held(inf, (yield e.ref) if t is None else t, e.ref, e)


@rule(RefWrite)
def ref_write(inf: Inference, e: RefWrite, want: Any) -> Rule:
    """Storing gives the empty tuple."""
    t = inf.quick(e.ref)
    inside = _held(inf, (yield e.ref) if t is None else t, e.ref, e)
    t = inf.quick(e.value)
    if t is None:
        t = yield e.value
    what, operands = "what is written into the reference", (e.ref, e.value)
    inf.agree(inside, t, place(e.value, e), what, strict=True, operands=operands)
    return UNIT


def _held(inf: Inference, t: Any, ref: Expr, at: Expr) -> Any:
    """The type inside a reference type."""
    t = head(t)
    if type(t) is RefType:
        return t.value
    if type(t) is Unknown:
        inside = inf.fresh_of(Kind.Type)
        return inside if inf.agree(t, RefType(inside), at, "", operands=(ref,)) else ERROR
    if t is not ERROR:
        message, hint = f"expected a reference, found {show(t)}", "make one with `ref(…)`"
        inf.diagnose("expected-ref", message, place(ref, at), operands=(ref,), hint=hint)
    return ERROR


@rule(Grad)
def grad(inf: Inference, e: Grad, want: Any) -> Rule:
    """A derivative of a function; one of a polymorphic function is polymorphic too."""
    t = inf.raw(e.function)
    if t is None:
        inf.raw_wanted.add(e.function)
        t = inf.types.get(e.function)
    if t is None:
        t = yield e.function
    out = inf.fresh_of(Kind.Type)
    goal = GradGoal(e, t, out)
    if type(t) is FuncType and t.type_params:
        inf.post(DeferredGoal(lambda s: goal.check_params(s, t), (), e))
        return grad_type(e.kind, t)
    inf.post(goal)
    inf.settle()
    return head(out)


@rule(VMap)
def vmap(inf: Inference, e: VMap, want: Any) -> Rule:
    """A batched function: for any number of rows where all is known of the function, else for one number."""
    t = inf.raw(e.function)
    if t is None:
        inf.raw_wanted.add(e.function)
        t = inf.types.get(e.function)
    if t is None:
        t = yield e.function
    t = head(t)
    if type(t) is FuncType and is_known(t):
        try:
            return polymorphic_vmap_type(e, t)
        except Fault as fault:
            inf.diagnose(fault.code, fault.message, e, hint=fault.hint)
            return ERROR
    if type(t) is FuncType and t.type_params:
        t, constraints, inf.batched_instances[e] = instantiate(inf, t, e)
        demand(inf, constraints, t, e)
    rows = inf.fresh_of(Kind.Dim)
    out = inf.fresh_of(Kind.Type)
    inf.batched_rows[e] = (rows, t)
    inf.post(VMapGoal(e, t, rows, out))
    inf.settle()
    return head(out)
