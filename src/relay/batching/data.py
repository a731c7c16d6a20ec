"""Values of data types: built and taken apart where they are batched."""

from collections.abc import Sequence
from typing import Any

from relay.autodiff.values import Block
from relay.batching.context import Context
from relay.batching.values import Packed, Shared, Value, pattern_of
from relay.ir.expr import Call, Constructor, Var
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar, PatternWildcard, pattern_nodes
from relay.ir.type import FuncType, RefType, TupleType, Type, TypeCall
from relay.ir.walk import type_post_order


def constructed(
    this: Context, c: Constructor, args: Sequence[Value], t: Type, e: Call, name: str, b: Block
) -> Value:
    """A value of a data type: shared if all in it is."""
    assert isinstance(t, TypeCall)
    wanted = [f for k, fields in this.types.fields(t) if k is c or k == c for f in fields]
    patterns = [pattern_of(a) for a in args]
    parts = [f for _, fields in this.types.fields(t) for f in fields]
    has_state = any(isinstance(p, FuncType | RefType) for f in parts for p in type_post_order(f))
    if (
        not has_state
        and not this.types.is_open(t)
        and all(p == this.least(f) for p, f in zip(patterns, wanted, strict=True))
    ):
        made = Call(
            c,
            tuple([this.atom(a, this.least(f), b) for a, f in zip(args, wanted, strict=True)]),
            None,
            e.written_type_args,
        )
        return Shared(b.bind(made, t, name), t)
    full = [this.coerced(a, this.full(f), b) for a, f in zip(args, wanted, strict=True)]
    packed = [this.atom(a, this.full(f), b) for a, f in zip(full, wanted, strict=True)]
    whole = this.types.batched(t, this.rows)
    assert isinstance(whole, TypeCall)
    made = Call(this.types.constructor(c), tuple(packed), None, whole.args)
    return Packed(b.bind(made, whole, name), t)


def batched_pattern(this: Context, root: Any, t: Type, is_shared: bool, b: Block) -> Any:
    """A pattern on a source value of type `t` as one on the batched value."""
    of: dict[Any, Type] = {root: t}
    new: dict[Any, Any] = {}
    nodes = list(pattern_nodes(root))
    for p in nodes:
        match p:
            case PatternTuple(patterns):
                whole = of[p]
                assert isinstance(whole, TupleType)
                of.update(zip(patterns, whole.fields, strict=True))
            case PatternConstructor(c, patterns):
                whole = of[p]
                assert isinstance(whole, TypeCall)
                found = [fields for k, fields in this.types.fields(whole) if k == c]
                of.update(zip(patterns, found[0], strict=True))
            case _:
                pass
    for p in reversed(nodes):
        match p:
            case PatternTuple(patterns):
                new[p] = PatternTuple(tuple([new[q] for q in patterns]), span=p.span)
            case PatternConstructor(c, patterns):
                made = c if is_shared or this.types.is_inert(of[p]) else this.types.constructor(c)
                new[p] = PatternConstructor(made, tuple([new[q] for q in patterns]), span=p.span)
            case PatternVar(var):
                u = of[p]
                pattern = this.least(u) if is_shared else this.full(u)
                new[p] = PatternVar(
                    Var(var.name_hint, this.type_at(pattern, u, this.rows), span=var.span), span=p.span
                )
            case _:
                new[p] = PatternWildcard(span=p.span)
    for p in nodes:
        if isinstance(p, PatternVar):
            u = of[p]
            this.env[p.var] = this.open(new[p].var, this.least(u) if is_shared else this.full(u), u, b)
    return new[root]
