"""Calls of operators that recur, as groups: the code of groups that are alike is made once."""

from collections import Counter
from collections.abc import Hashable, Iterator

from relay.backend.native.representation import is_scalar
from relay.ir.expr import Call, Expr, Function, GlobalVar, Let, Op, Var, replace
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import TupleType, Type
from relay.ir.walk import post_order, rewrite
from relay.transform.definitions import with_definitions


def recurring_apart(mod: IRModule) -> IRModule:
    """A module in A-normal form in which operators that are called in several places alike, and fuse with
    nothing, are groups; those of known sizes that make tensors.
    """
    own = {v: e for v, e in mod.functions.items() if isinstance(e, Function) and not e.attrs.get("Primitive")}
    counts = Counter([kind(e) for fn in own.values() for e in lone(fn)])
    if max(counts.values(), default=0) < 2:
        return mod
    supply = GlobalVarSupply(mod)
    new: dict[GlobalVar, Expr] = {}

    def rule(e: Expr) -> Expr | None:
        if not isinstance(e, Let) or not is_lone(e) or counts[kind(e)] < 2:
            return None
        assert isinstance(e.value, Call)
        v = supply.fresh_global("fused")
        new[v] = group(e)
        return replace(e, value=replace(e.value, op=v, attrs=None, type_args=()))

    for v, fn in own.items():
        new[v] = rewrite(fn, rule)
    return with_definitions(mod, new)


def lone(fn: Function) -> Iterator[Let]:
    """The bindings of such calls."""
    return (e for e in post_order(fn) if isinstance(e, Let) and is_lone(e))


def is_lone(e: Let) -> bool:
    """Whether an operator takes variables to new tensors, all of known sizes."""
    call = e.value
    if not isinstance(call, Call) or not isinstance(call.op, Op) or call.attrs.impure or not call.args:
        return False
    types = [e.var.type_annotation, *[a.type_annotation for a in call.args if isinstance(a, Var)]]
    return (
        len(types) > len(call.args)
        and all(t is not None and t.is_closed for t in types)
        and not any(is_scalar(t) for t in fields(types[0]))
    )


def fields(t: Type | None) -> tuple[Type | None, ...]:
    """The types of the tensors of a result."""
    return t.fields if isinstance(t, TupleType) else (t,)


def kind(e: Let) -> Hashable:
    """What tells such calls apart; `repr` tells 0.0 from -0.0, and True from 1."""
    assert isinstance(e.value, Call)
    types = [a.type_annotation for a in e.value.args if isinstance(a, Var)]
    return e.value.attrs, repr(e.value.attrs), e.value.type_args, tuple(types), e.var.type_annotation


def group(e: Let) -> Function:
    """The operator as a function of its operands."""
    call = e.value
    assert isinstance(call, Call)
    params = [Var(f"p{i}", a.type_annotation) for i, a in enumerate(call.args) if isinstance(a, Var)]
    body = replace(call, args=tuple(params))
    return Function(tuple(params), body, e.var.type_annotation, attrs={"Primitive": 1}, span=call.span)
