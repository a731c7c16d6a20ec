"""Kinds: each type parameter stands where its kind belongs, and data types get the arguments they declare."""

from collections.abc import Callable
from typing import Any

from relay.diagnostic import did_you_mean
from relay.ir.module import IRModule
from relay.ir.type import (
    DimCall,
    DimExpr,
    FuncType,
    GlobalTypeVar,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
)
from relay.typecheck.unknown import kind_of

Complain = Callable[[str, str, str], None]
"""`(code, message, hint)`."""

_NAMES = {
    Kind.Type: "a type",
    Kind.Shape: "a shape",
    Kind.Dim: "a dimension",
    Kind.BaseType: "a dtype",
    Kind.Constraint: "a constraint",
    Kind.AdtHandle: "the bare name of a data type",
}


def name_of(kind: Kind) -> str:
    """A kind in a sentence."""
    return _NAMES[kind]


def check_kinds(
    root: Type, mod: IRModule, complain: Complain, seen: set[Any], *, may_be_polymorphic: bool
) -> None:
    """Report what is ill-kinded in a type: `kind-mismatch`, `type-arity`, `unknown-type`, `higher-rank`."""
    stack: list[tuple[Any, Kind]] = [(root, Kind.Type)]
    if isinstance(root, FuncType) and root.type_params and may_be_polymorphic:
        stack = _parts(root)
    while stack:
        t, kind = stack.pop()
        found = kind_of(t)
        if found is not kind:
            complain(
                "kind-mismatch",
                f"`{t}` is {name_of(found)}, but {name_of(kind)} belongs here",
                _kind_hint(t, kind),
            )
            continue
        if not isinstance(t, Type) or t in seen:
            continue
        seen.add(t)
        if isinstance(t, FuncType) and t.type_params:
            complain(
                "higher-rank",
                f"the polymorphic type `{t}` stands inside another type",
                "only a `let` or a `def` is polymorphic; "
                "make its type parameters those of the whole function",
            )
        elif isinstance(t, TypeCall):
            stack += _kinds_of_arguments(t, mod, complain)
        else:
            stack += _parts(t)


def _kind_hint(t: Any, kind: Kind) -> str:
    if isinstance(t, GlobalTypeVar):
        return f"apply it: `{t.name}[…]`"
    return f"declare it as `{t}: {kind.name}`" if isinstance(t, Type) and not t.children else ""


def _parts(t: Type) -> list[tuple[Any, Kind]]:
    """The parts directly inside a type, each with the kind that belongs there."""
    match t:
        case TensorType(shape=shape, dtype=dtype):
            dims = [(d, Kind.Dim) for d in shape] if isinstance(shape, tuple) else [(shape, Kind.Shape)]
            return [*dims, (dtype, Kind.BaseType)]
        case TupleType(fields=fields):
            return [(f, Kind.Type) for f in fields]
        case FuncType():
            return [(a, Kind.Type) for a in (*t.arg_types, t.ret_type)]
        case RefType(value=value):
            return [(value, Kind.Type)]
        case DimExpr() | DimCall():
            return [(d, Kind.Dim) for d in t.children]
        case _:
            return []


def _kinds_of_arguments(t: TypeCall, mod: IRModule, complain: Complain) -> list[tuple[Any, Kind]]:
    if t.func.kind is Kind.AdtHandle and not isinstance(t.func, GlobalTypeVar):
        return [
            (a, kind_of(a)) for a in t.args
        ]  # which kinds it takes is not known before it is instantiated
    if not isinstance(t.func, GlobalTypeVar):
        complain("kind-mismatch", f"`{t.func}` is not a data type, so it takes no arguments", "")
        return []
    data = mod.type_definitions.get(t.func)
    if data is None:
        names = [v.name for v in mod.type_definitions]
        complain("unknown-type", f"there is no type `{t.func.name}`", did_you_mean(t.func.name, names))
        return []
    if len(t.args) != len(data.type_vars):
        complain(
            "type-arity",
            f"`{t.func.name}` takes {len(data.type_vars)} type arguments, found {len(t.args)}",
            f"it is declared as `{t.func.name}[{', '.join([v.name for v in data.type_vars])}]`"
            if data.type_vars
            else f"write `{t.func.name}`",
        )
        return []
    return [(a, v.kind) for a, v in zip(t.args, data.type_vars, strict=True)]


def check_relation(c: TypeRelation, complain: Complain) -> None:
    """Report a constraint whose relation nobody registered."""
    from relay.op.registry import alias_of, registry
    from relay.op.relation import relations

    if c.name not in relations and c.name not in registry and c.name not in alias_of:
        known = [*relations, *registry]
        complain(
            "unknown-relation",
            f"there is no relation `{c.name}`",
            did_you_mean(c.name, known)
            or f"the relations are {', '.join(list(relations)[:8])}, … and the name of every operator",
        )
