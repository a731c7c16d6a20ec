"""The typing of calls."""

from typing import Any

from relay.diagnostic import counted, name_of_local
from relay.ir.expr import Call, Constructor, Expr, GlobalVar, Op, Var, VMap
from relay.ir.type import HAS_ANY, FuncType, Kind, TypeRelation, TypeVar
from relay.typecheck.inference import Inference, Rule, rule
from relay.typecheck.leaves import operator_call
from relay.typecheck.messages import show
from relay.typecheck.places import place
from relay.typecheck.schemes import demand, instantiate
from relay.typecheck.unknown import ERROR, Unknown, has_unknown, head

_ROWS = "`in_axes` says where the rows of each argument lie; None in it shares one"


@rule(Call)
def call(inf: Inference, e: Call, want: Any) -> Rule:
    """A call of an operator or of anything else."""
    callee = e.op
    if type(callee) is Op:
        types: list[Any] = []
        for a in e.args:
            t = inf.quick(a)
            types.append((yield a) if t is None else t)
        return operator_call(inf, e, tuple(types))
    t = inf.raw(callee)
    if t is None:
        t = inf.types.get(callee)
    if t is None:
        inf.raw_wanted.add(callee)
        t = yield callee
    t, constraints = _instance(inf, e, head(t))
    params = _parameters(inf, e, t)
    found: list[Any] = []
    for i, a in enumerate(e.args):
        p = None if params is None else head(params[i])
        ta = inf.quick(a)
        if ta is None:
            inf.want = p if p is not None and p.flags & HAS_ANY else None
            ta = yield a
        found.append(ta)
        if p is not None and p is not ta:
            shape_hint = _ROWS if type(callee) is VMap else ""
            what = _argument(callee, i)
            inf.agree(p, ta, place(a, e), what, shape_hint=shape_hint, operands=(callee, a))
    if type(t) is not FuncType:
        return _unknown_callee(inf, t, found, e)
    if params is None:
        return ERROR if has_unknown(t.ret_type) else t.ret_type
    if constraints:
        demand(inf, constraints, t, e)
    return head(t.ret_type)


def _instance(inf: Inference, e: Call, t: Any) -> tuple[Any, list[TypeRelation]]:
    """The callee's type for this call, with its constraints."""
    callee = e.op
    if inf.monomorphic and isinstance(callee, Var | GlobalVar) and callee in inf.monomorphic:
        inf.mono_calls[e] = inf.monomorphic[callee]
    if callee in inf.batched_rows:
        rows = inf.batched_rows[callee][0]  # pyright: ignore[reportArgumentType]
        if len(e.written_type_args) == 1:
            inf.unify(rows, e.written_type_args[0])
        inf.type_args[e] = (rows,)
        return t, []
    if type(t) is FuncType and t.type_params:
        made, constraints, inf.type_args[e] = instantiate(inf, t, e, e.written_type_args)
        return made, constraints
    if e.written_type_args and t is not ERROR:
        if callee in inf.monomorphic:
            message = f"{called(callee)} is not polymorphic inside its own definition"
            hint = "annotate its parameters and result in full"
        else:
            message = f"{called(callee)} is not polymorphic, so it takes no type arguments"
            hint = f"its type is {show(t)}"
        inf.diagnose("type-args", message, e, hint=hint)
    return t, []


def _parameters(inf: Inference, e: Call, t: Any) -> tuple[Any, ...] | None:
    """The types of the parameters; None where they are not known, or not as many as the arguments."""
    if type(t) is not FuncType:
        return None
    if len(t.arg_types) == len(e.args):
        return t.arg_types
    message = f"{called(e.op)} takes {counted(len(t.arg_types), 'argument')}, found {len(e.args)}"
    inf.diagnose("arity", message, e, hint=f"its type is {show(t)}")
    return None


def _argument(callee: Expr, i: int) -> str:
    """An argument in a sentence: of a record a field."""
    if type(callee) is Constructor and callee.field_names:
        return f"the field `{callee.field_names[i]}` of `{callee.name}`"
    return f"argument {i + 1} of {called(callee)}"


def _unknown_callee(inf: Inference, t: Any, found: list[Any], e: Call) -> Any:
    """The type of a call of something that is not known to be a function."""
    if t is ERROR:
        for argument in found:
            inf.silence(argument)
        return ERROR
    if type(t) is Unknown:
        out = inf.fresh_of(Kind.Type)
        inf.agree(t, FuncType(found, out), e, f"the call of {called(e.op)}", operands=(e.op,))
        return out
    hint = "apply it fully, or declare the type as a function" if type(t) is TypeVar else ""
    message = f"{called(e.op)} is called, but it is {show(t)}"
    inf.diagnose("expected-function", message, e, hint=hint, operands=(e.op,))
    return ERROR


def called(e: Expr) -> str:
    """A callee in a sentence."""
    match e:
        case Var():
            return f"`{name_of_local(e.name, e.span)}`"
        case GlobalVar():
            return f"`@{e.name}`"
        case Op() | Constructor():
            return f"`{e.name}`"
        case Call():
            return "the result of the call"
        case VMap():
            return "the `vmap`"
        case _:
            return "the function"
