"""The type of a value that is one of two: of the branches of an `if`, of the clauses of a `match`.

Dimensions that may differ become `?`.
"""

from collections.abc import Callable
from typing import Any

from relay.ir import dim as arithmetic
from relay.ir.type import ANY, Dim, FuncType, Shape, TensorType, TupleType, Type
from relay.typecheck.unify import Unifier
from relay.typecheck.unknown import ERROR, Mismatch, has_unknown, head, zonk


def join(solver: Unifier, a: Any, b: Any) -> Any:
    """The type of a value that is of type `a` or of type `b`.

    Raises `Mismatch` where they certainly differ.
    """
    return _join(a, b, lambda x, y: _unified(solver, x, y))


def join_closed(a: Type, b: Type) -> Type:
    """The join of types that have been checked to agree; an instance takes precedence over its scheme."""
    return _join(a, b, _either)


def _join(a: Any, b: Any, leaf: Callable[[Any, Any], Any]) -> Any:
    """Go through tuples; `leaf` says what else two types come to."""
    root = head(a), head(b)
    done: dict[tuple[Any, Any], Any] = {}
    stack = [root]
    while stack:
        pair = a, b = stack[-1]
        if a is b:
            done[pair] = a
        elif type(a) is TupleType and type(b) is TupleType and len(a.fields) == len(b.fields):
            pairs = [(head(x), head(y)) for x, y in zip(a.fields, b.fields, strict=True)]
            missing = [p for p in pairs if p not in done]
            if missing:
                stack += reversed(missing)
                continue
            done[pair] = TupleType([done[p] for p in pairs])
        else:
            done[pair] = leaf(a, b)
        stack.pop()
    return done[root]


def _unified(solver: Unifier, a: Any, b: Any) -> Any:
    if type(a) is not TensorType or type(b) is not TensorType:
        solver.unify(a, b)
        return b if a is ERROR else a
    solver.unify(a.dtype, b.dtype)
    xs, ys = _dims(a), _dims(b)
    if xs is None or ys is None or len(xs) != len(ys):
        solver.unify(a.shape, b.shape)
        return a
    return TensorType([_one_size(solver, x, y) for x, y in zip(xs, ys, strict=True)], a.dtype)


def _dims(t: TensorType) -> tuple[Dim, ...] | None:
    shape: Shape = head(t.shape)
    return shape if isinstance(shape, tuple) else None


def _one_size(solver: Unifier, x: Dim, y: Dim) -> Dim:
    x, y = zonk(x), zonk(y)
    if x == y or x is ANY or y is ANY:
        return x if x == y else ANY
    if has_unknown(x) or has_unknown(y):
        solver.unify(x, y)
        return zonk(x)
    if arithmetic.is_never(x, y):
        raise Mismatch("shape-mismatch", x, y)
    return ANY


def _either(a: Type, b: Type) -> Type:
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        xs, ys = _dims(a), _dims(b)
        if xs is not None and ys is not None and len(xs) == len(ys):
            return TensorType([x if x == y else ANY for x, y in zip(xs, ys, strict=True)], a.dtype)
    return b if isinstance(a, FuncType) and a.type_params else a
