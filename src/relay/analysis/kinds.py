"""Kinds of types, and the type parameters that programs and types mention and bind."""

from collections.abc import Iterable, Iterator
from typing import Any

from relay.diagnostic import fail
from relay.ir.expr import Call, Constant, Expr, Function, Op, RelayExpr, Var
from relay.ir.module import IRModule, TypeData
from relay.ir.type import (
    HAS_VAR,
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
    TypeVar,
)
from relay.ir.vars import binders
from relay.ir.walk import post_order, type_post_order

Part = Expr | Type | TypeData


def check_kind(t: Type | TypeData, mod: IRModule | None = None, checked: set[Type] | None = None) -> Kind:
    """The kind of a type, after checking that every part of it has the kind that its place needs.

    With a module, data types are looked up and their arguments counted.  Types in `checked`, which grows,
    were looked at before.  Raises `kind-mismatch`,
    `type-arity`, `unknown-type`.
    """
    if isinstance(t, TypeData):
        for field in [f for c in t.constructors for f in c.inputs]:
            _expect(Kind.Type, check_kind(field, mod, checked), field, f"a field of {t.header.name_hint}")
        return Kind.AdtHandle
    for part in type_post_order(t, checked):
        _check_parts(part, mod)
    return t.kind


def _check_parts(t: Type, mod: IRModule | None) -> None:
    match t:
        case TensorType(shape=shape, dtype=dtype):
            _need(shape, Kind.Shape, "the shape of a tensor")
            _need(dtype, Kind.BaseType, "the dtype of a tensor")
        case TupleType():
            _need_each(t.fields, Kind.Type, "a field of a tuple")
        case RefType():
            _need(t.value, Kind.Type, "what a reference holds")
        case FuncType():
            _need_each((*t.arg_types, t.ret_type), Kind.Type, "a parameter or result of a function")
            _need_each(t.type_constraints, Kind.Constraint, "a constraint")
        case DimExpr() | DimCall():
            _need_each(t.children, Kind.Dim, "a part of a dimension")
        case TypeCall():
            _check_type_call(t, mod)
        case _:
            pass


def _check_type_call(t: TypeCall, mod: IRModule | None) -> None:
    _need(t.func, Kind.AdtHandle, "what is applied to type arguments")
    if mod is None or not isinstance(t.func, GlobalTypeVar):
        return
    data = mod.type_definitions[mod.get_global_type_var(t.func.name_hint)]
    if len(data.type_vars) != len(t.args):
        wanted = f"`{t.func.name_hint}` takes {len(data.type_vars)} type arguments, not {len(t.args)}"
        fail("type-arity", wanted, data.span)
    for p, a in zip(data.type_vars, t.args, strict=True):
        _need(a, p.kind, f"parameter `{p.name_hint}` of `{t.func.name_hint}`")


def _need_each(parts: Iterable[Type], kind: Kind, what: str) -> None:
    for p in parts:
        _need(p, kind, what)


def _need(part: Any, kind: Kind, what: str) -> None:
    """Integers are dimensions, tuples shapes, and names dtypes; every other part says its kind."""
    if isinstance(part, Type):
        _expect(kind, part.kind, part, what)
    elif isinstance(part, tuple):
        _expect(kind, Kind.Shape, part, what)
        for d in part:  # pyright: ignore[reportUnknownVariableType]
            _need(d, Kind.Dim, "a dimension")
    else:
        _expect(kind, Kind.BaseType if isinstance(part, str) else Kind.Dim, part, what)


def _expect(wanted: Kind, found: Kind, part: Any, what: str) -> None:
    if wanted is not found:
        fail("kind-mismatch", f"{what} has kind {wanted.value}, but `{part}` has kind {found.value}")


def all_type_vars(expr: Part, mod: IRModule | None = None) -> list[TypeVar]:
    """Every type parameter that a program or type mentions or binds, in the order of first occurrence."""
    return list(dict.fromkeys(v for v, _ in _occurrences(expr)))


def bound_type_vars(expr: Part, mod: IRModule | None = None) -> list[TypeVar]:
    """The type parameters that something inside binds."""
    return list(dict.fromkeys(v for v, binds in _occurrences(expr) if binds))


def free_type_vars(expr: Part, mod: IRModule | None = None) -> list[TypeVar]:
    """The type parameters that are mentioned and that nothing inside binds."""
    bound = set(bound_type_vars(expr))
    return [v for v in all_type_vars(expr) if v not in bound]


def _occurrences(part: Part) -> Iterator[tuple[TypeVar, bool]]:
    """Each type parameter that occurs, with whether it is bound there."""
    seen: set[int] = set()
    if isinstance(part, Type):
        yield from _in_type(part, seen)
    elif isinstance(part, TypeData):
        yield from ((v, True) for v in part.type_vars)
        for field in [f for c in part.constructors for f in c.inputs]:
            yield from _in_type(field, seen)
    else:
        assert isinstance(part, RelayExpr)
        for e in reversed(list(post_order(part))):
            if isinstance(e, Function):
                yield from ((v, True) for v in e.type_params)
            for t in annotations(e):
                yield from _in_type(t, seen)


def _in_type(t: Type, seen: set[int]) -> Iterator[tuple[TypeVar, bool]]:
    """Outside in, so that parameters come where they are bound; parts without any are passed over.

    `seen` goes by identity: polymorphic function types that are equal have type parameters of their own.
    """
    stack = [t]
    while stack:
        u = stack.pop()
        if id(u) in seen or not (u.flags & HAS_VAR or isinstance(u, FuncType)):
            continue
        seen.add(id(u))
        if isinstance(u, TypeVar):
            yield u, False
        elif isinstance(u, FuncType):
            yield from ((v, True) for v in u.type_params)
        stack += reversed(u.children)


def annotations(e: Expr) -> list[Type]:
    """The types that are written at this node itself, dimensions and shapes among type arguments included."""
    found: list[Type | None] = [v.type_annotation for v in binders(e)]
    match e:
        case Var():
            found = [e.type_annotation]
        case Constant():
            found = [e.type]
        case Function():
            found += [e.ret_type, *e.constraints]
        case Call():
            for a in e.written_type_args:
                found += a if isinstance(a, tuple) else [a]
            if type(e.op) is Op:
                found += e.attrs.dimensions()
        case _:
            pass
    return [t for t in found if isinstance(t, Type)]
