"""The types that nodes are to have where they stand: which instance of a polymorphic function is meant."""

from collections.abc import Sequence

from relay.ir.expr import (
    Call,
    Expr,
    Function,
    Grad,
    If,
    Let,
    LetRec,
    Match,
    Op,
    RefCreate,
    RefWrite,
    Tuple,
)
from relay.ir.subst import substitute_type
from relay.ir.type import FuncType, RefType, TupleType, Type
from relay.ir.walk import post_order
from relay.typecheck.types import Types

Wanted = Sequence[Type | None]
"""For each child the type that it is to have; None where its own type is as good as any."""


def wanted_of_children(e: Expr, t: Type | None, types: Types) -> Wanted:
    """The types that the children of `e` are to have so that `e` has type `t`."""
    match e:
        case Call(op=Op()):
            return (None,) * len(e.children)
        case Call():
            return (None, *parameter_types(e, types))
        case Function():
            return (e.ret_type,)
        case Let():
            return (e.var.type_annotation, t)
        case LetRec():
            return (*[v.type_annotation for v in e.vars], t)
        case If():
            return (None, t, t)
        case Match():
            return (None, *[t for _ in e.clauses])
        case Tuple() if isinstance(t, TupleType):
            return t.fields
        case RefCreate() if isinstance(t, RefType):
            return (t.value,)
        case RefWrite():
            held = types(e.ref)
            return (None, held.value if isinstance(held, RefType) else None)
        case Grad() if isinstance(t, FuncType):
            return (source_type(e, t),)
        case _:
            return (None,) * len(e.children)


def parameter_types(e: Call, types: Types) -> Wanted:
    """The types of the parameters of what is called, with the type arguments put in."""
    t = types(e.op)
    if not isinstance(t, FuncType):
        return (None,) * len(e.args)
    by = dict(zip(t.type_params, e.written_type_args, strict=False))
    return [substitute_type(p, by) for p in t.arg_types]


def source_type(e: Grad, t: FuncType) -> FuncType | None:
    """The type of the function whose derivative is of type `t`."""
    params = t.arg_types
    if e.kind == "jvp" and isinstance(params[0], TupleType):
        params = params[0].fields
    return FuncType(params, t.ret_type.fields[0]) if isinstance(t.ret_type, TupleType) else None


def wanted_types(root: Expr, t: Type | None, types: Types) -> dict[tuple[Expr, int], Type]:
    """For each child of a node under `root`, by node and position, the type that it is to have, if known.

    A node that several places share is to have the type that the first of them says.
    """
    wanted: dict[Expr, Type | None] = {root: t}
    found: dict[tuple[Expr, int], Type] = {}
    for e in reversed(list(post_order(root))):
        for i, (c, u) in enumerate(zip(e.children, wanted_of_children(e, wanted.get(e), types), strict=True)):
            if u is not None:
                found[e, i] = u
                wanted.setdefault(c, u)
    return found
