"""The typing of functions: their signature, their body, and functions that are bound together."""

from collections.abc import Generator, Sequence
from typing import Any

from relay.ir.alias import expanded
from relay.ir.expr import Expr, Function, GlobalVar, Var
from relay.ir.type import HAS_ANY, FuncType, Kind, TypeVar
from relay.typecheck.generalize import Signature, generalise
from relay.typecheck.goals import relation_goal
from relay.typecheck.inference import Inference, Rule, rule
from relay.typecheck.kinds import check_relation
from relay.typecheck.literals import class_members
from relay.typecheck.messages import Fault
from relay.typecheck.places import result_place
from relay.typecheck.schemes import constrained
from relay.typecheck.unknown import has_unknown, head, variables


@rule(Function)
def function(inf: Inference, fn: Function, want: Any) -> Rule:
    """A function that is not bound to a name: monomorphic unless it declares type parameters."""
    if fn.type_params:
        return (yield from group(inf, (fn,), (fn,)))[0]
    sig = inf.signatures[fn] = signature(inf, fn)
    return (yield from _body(inf, sig, is_scheme=False))


def group(inf: Inference, binders: Sequence[Any], values: Sequence[Expr]) -> Generator[Expr, Any, list[Any]]:
    """Functions bound together: infer them, then generalise.  Returns their types."""
    marks = len(inf.pending), len(inf.literals)
    inf.level += 1
    signatures: list[Signature] = []
    for b, fn in zip(binders, values, strict=True):
        assert isinstance(fn, Function)
        sig = inf.signatures[fn] = signature(inf, fn)
        signatures.append(sig)
        if b is not fn:
            _declare(inf, b, sig)
    for sig in signatures:
        yield from _body(inf, sig, is_scheme=True)
    inf.level -= 1
    types = generalise(inf, signatures, marks)
    for b in binders:
        inf.monomorphic.pop(b, None)
    return types


def signature(inf: Inference, fn: Function) -> Signature:
    """Bind the parameters of a function to their types; what is not written is unknown."""
    for p in fn.type_params:
        inf.rigid_level[p] = inf.level
        inf.classes.pop(p, None)
    params: list[Any] = []
    is_annotated = fn.ret_type is not None and not has_unknown(fn.ret_type)
    for p in fn.params:
        written = p.type_annotation
        is_annotated = is_annotated and written is not None and not has_unknown(written)
        t = inf.vars[p] = inf.fresh_of(Kind.Type) if written is None else inf.annotation(written, p)
        params.append(t)
    result = inf.fresh_of(Kind.Type) if fn.ret_type is None else inf.annotation(fn.ret_type, fn)
    return Signature(fn, FuncType(params, result), is_annotated)


def _declare(inf: Inference, binder: Var | GlobalVar, sig: Signature) -> None:
    """What a function is inside its own group: its declared type if that is complete, else monomorphic."""
    written = expanded(binder.type_annotation) if isinstance(binder, Var) else None
    if isinstance(written, FuncType) and not has_unknown(written):
        t: Any = inf.annotation(written, binder, polymorphic=True)
    elif sig.is_annotated:
        t = sig.declared
    else:
        t = sig.mono
        inf.monomorphic[binder] = sig
    if isinstance(binder, Var):
        inf.vars[binder] = t
    else:
        inf.group[binder] = t


def _body(inf: Inference, sig: Signature, *, is_scheme: bool) -> Rule:
    """Check the body of a function against its signature, under the constraints it declares."""
    fn, mono = sig.function, sig.mono
    assert isinstance(fn, Function)
    saved = inf.givens
    if fn.constraints:
        _assume(inf, fn, mono, is_scheme)
    inf.scope_level[fn, 0] = inf.level
    result = mono.ret_type
    t = inf.quick(fn.body)
    if t is None:
        inf.want = result if result.flags & HAS_ANY else None
        t = yield fn.body
    inf.settle()
    if fn.ret_type is None and not is_scheme:  # nothing can have mentioned the unknown result
        sig.mono = FuncType(mono.arg_types, t)
    else:
        what = "the result" if fn.ret_type is not None else "the result of the recursion"
        inf.agree(result, t, result_place(fn.body, fn), what, operands=(fn.body,))
    inf.givens = saved
    return sig.mono


def _assume(inf: Inference, fn: Function, mono: FuncType, is_scheme: bool) -> None:
    """Take the constraints that a function declares as given in its body."""
    for c in fn.constraints:
        check_relation(c, lambda code, message, hint: inf.diagnose(code, message, fn, hint=hint))
        types = constrained(c, mono)
        members = class_members(c.name, c.attrs)
        if members is not None and len(types) == 1:
            t = head(types[0])
            if type(t) is TypeVar:
                inf.classes[t] = members & inf.classes.get(t, members)
                continue
        try:
            goal = relation_goal(c.name, types, c.attrs, fn)
        except Fault as f:
            if f.code != "unknown-relation":
                inf.diagnose(f.code, f.message, fn, hint=f.hint)
            continue
        goal.is_given = is_scheme
        if is_scheme:
            inf.givens = (goal, inf.givens)
        if has_unknown(types) or not variables(types):
            inf.post(goal)
            inf.settle()
