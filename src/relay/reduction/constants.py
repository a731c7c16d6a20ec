"""The smallest value of a type, as an expression."""

from typing import Any

import numpy as np

from relay.ir.build import const
from relay.ir.expr import Call, Constructor, Expr, Function, RefCreate, Tuple, Var
from relay.ir.module import IRModule
from relay.ir.subst import substitute_type
from relay.ir.type import FuncType, RefType, TensorType, TupleType, TypeCall
from relay.op.registry import instance

MAX_DEPTH = 8
"""How deep values of types nest that are made."""


def constant_of(t: Any, mod: IRModule, depth: int = 0) -> Expr | None:
    """An expression of a type with little in it; None where none is known."""
    if depth > MAX_DEPTH:
        return None
    match t:
        case TensorType():
            return _tensor(t)
        case TupleType():
            return _all([constant_of(f, mod, depth + 1) for f in t.fields])
        case RefType():
            value = constant_of(t.value, mod, depth + 1)
            return None if value is None else RefCreate(value)
        case FuncType() if not t.type_params:
            body = constant_of(t.ret_type, mod, depth + 1)
            params = [Var(f"_{i}", a, span=None) for i, a in enumerate(t.arg_types)]
            return None if body is None else Function(params, body)
        case TypeCall():
            return _instance(t, mod, depth)
        case _:
            return None


def _all(parts: list[Expr | None]) -> Expr | None:
    known = [p for p in parts if p is not None]
    return Tuple(known) if len(known) == len(parts) else None


def _tensor(t: TensorType) -> Expr | None:
    if not isinstance(t.dtype, str) or not isinstance(t.shape, tuple):
        return None
    if not all(isinstance(n, int) for n in t.shape):
        return None
    if t.dtype == "string":
        return const("") if not t.shape else None
    if not t.shape:
        return const(np.zeros((), t.dtype)) if t.dtype in np.sctypeDict else const(0, t.dtype)
    return instance("zeros", {"shape": t.shape, "dtype": t.dtype})()


def _instance(t: TypeCall, mod: IRModule, depth: int) -> Expr | None:
    data = mod.type_definitions.get(t.func)  # pyright: ignore[reportArgumentType]
    if data is None or len(data.type_vars) != len(t.args):
        return None
    by = dict(zip(data.type_vars, t.args, strict=True))

    def size(c: Constructor) -> int:
        return len(c.inputs)

    for c in sorted(data.constructors, key=size):
        fields = [constant_of(substitute_type(i, by), mod, depth + 2) for i in c.inputs]
        known = [f for f in fields if f is not None]
        if len(known) == len(fields):
            return Call(c, known)
    return None
