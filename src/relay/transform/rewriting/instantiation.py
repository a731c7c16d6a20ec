"""The type arguments that make an instance of a polymorphic type."""

from typing import Any

from relay.ir.type import FuncType, RefType, TensorType, TupleType, Type, TypeCall, TypeVar
from relay.typecheck.instances import solved_args


def instance_args(scheme: FuncType, instance: Type) -> tuple[Any, ...] | None:
    """What to put in for the type parameters of `scheme` to get `instance`; None if that does not say it.

    Dimension expressions do not say what their parameters are, unless these stand alone elsewhere.  What no
    parameter or result says, constraints may.
    """
    wanted = set(scheme.type_params)
    found: dict[TypeVar, Any] = {}
    stack: list[tuple[Any, Any]] = [(FuncType(scheme.arg_types, scheme.ret_type), instance)]
    seen: set[tuple[int, int]] = set()
    while stack:
        s, t = stack.pop()
        if isinstance(s, TypeVar) and s in wanted:
            if found.setdefault(s, t) != t:
                return None
        elif s is not t and (id(s), id(t)) not in seen:
            seen.add((id(s), id(t)))
            stack += _parts(s, t)
    if len(found) == len(wanted):
        return tuple([found[p] for p in scheme.type_params])
    return solved_args(scheme, instance) if scheme.type_constraints else None


def _parts(s: Any, t: Any) -> list[tuple[Any, Any]]:
    """Parts that correspond."""
    match s, t:
        case TensorType(), TensorType():
            return [(s.shape, t.shape), (s.dtype, t.dtype)]
        case tuple(), tuple():
            several: Any = zip(s, t, strict=False)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            return list(several)
        case TupleType(), TupleType():
            return list(zip(s.fields, t.fields, strict=False))
        case RefType(), RefType():
            return [(s.value, t.value)]
        case TypeCall(), TypeCall():
            return list(zip(s.args, t.args, strict=False))
        case FuncType(), FuncType() if not s.type_params and not t.type_params:
            return [*zip(s.arg_types, t.arg_types, strict=False), (s.ret_type, t.ret_type)]
        case _:
            return []
