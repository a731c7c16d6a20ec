"""Structural equality of types, shapes, dimensions and dtypes."""

from typing import Any

from relay.ir.alias import expanded
from relay.ir.mismatch import DifferError, Trail, show
from relay.ir.same import same_value
from relay.ir.subst import map_type
from relay.ir.type import (
    HAS_INCOMPLETE,
    HAS_VAR,
    DimCall,
    DimExpr,
    FuncType,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    TypeVar,
)

OPEN_TYPE = HAS_VAR | HAS_INCOMPLETE
"""The flags of types that may be equal without being the same object."""


class TypeComparison:
    """One comparison, as far as it is about types: which type parameter stands for which."""

    def __init__(self, map_free_vars: bool, tolerance: float = 0.0) -> None:
        self.map_free = map_free_vars
        self.tolerance = tolerance
        self.type_vars: dict[Type, Type] = {}
        self.type_vars_back: dict[Type, Type] = {}
        self.equal_types: set[tuple[Any, Any]] = set()

    def bind_type_params(
        self, a: Any, b: Any, ps: tuple[TypeVar, ...], qs: tuple[TypeVar, ...], at: Trail
    ) -> None:
        """From here on each of `ps` stands for its partner in `qs`."""
        if [p.kind for p in ps] != [q.kind for q in qs]:
            raise DifferError(a, b, (at, ".type_params"), "different type parameters")
        for p, q in zip(ps, qs, strict=True):
            self.type_vars[p] = q
            self.type_vars_back[q] = p

    def values(self, xs: tuple[Any, ...], ys: tuple[Any, ...], at: Trail) -> None:
        """Compare type arguments, constraints or fields one by one."""
        if len(xs) != len(ys):
            raise DifferError(xs, ys, at, f"{len(xs)} and {len(ys)} of them")
        for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
            if x is not y or not isinstance(x, int | str):
                self.types(x, y, (at, f"[{i}]"))

    def types(self, a: Any, b: Any, at: Trail) -> None:
        """Compare two types, shapes, dimensions or dtypes; an alias is what it stands for."""
        a, b = expanded(a), expanded(b)
        if a is b and not (isinstance(a, Type) and a.flags & OPEN_TYPE):
            return
        if not self._same_type(a, b):
            raise DifferError(a, b, at, f"types {show(a)} and {show(b)}")

    def _same_type(self, a: Any, b: Any) -> bool:
        pending, done = [(a, b)], self.equal_types
        while pending:
            pair = x, y = pending.pop()
            if not isinstance(x, Type):
                if x.__class__ is not y.__class__:
                    return False
                if isinstance(x, tuple):
                    if len(x) != len(y):  # pyright: ignore[reportUnknownArgumentType]
                        return False
                    pending += zip(x, y, strict=True)  # pyright: ignore[reportUnknownArgumentType]
                elif x != y:
                    return False
                continue
            if not isinstance(y, Type):
                return False
            if not (x.flags | y.flags) & OPEN_TYPE:
                if x is not y and x != y:
                    return False
                continue
            if isinstance(x, TypeVar):
                if not self._same_type_var(x, y):
                    return False
                continue
            if type(x) is not type(y):
                return False
            if isinstance(x, IncompleteType):
                if x.kind is not y.kind:
                    return False
                continue
            if pair in done:
                continue
            done.add(pair)
            parts = _compared_parts(self, x, y)
            if parts is None:
                return False
            pending += reversed(parts)
        return True

    def _same_type_var(self, x: TypeVar, y: Type) -> bool:
        if x in self.type_vars or y in self.type_vars_back:
            return self.type_vars.get(x) is y and self.type_vars_back.get(y) is x
        if x is y:
            return True
        if not self.map_free or not isinstance(y, TypeVar) or x.kind is not y.kind:
            return False
        self.type_vars[x], self.type_vars_back[y] = y, x
        return True

    def same_dimension(self, x: Any, y: Any) -> bool:
        """Whether `x` is `y` once its parameters are replaced; the order of their terms may differ."""
        if self.map_free:
            mine, theirs = _leaves(x), _leaves(y)
            if len(mine) == len(theirs):
                for p, q in zip(mine, theirs, strict=True):
                    if isinstance(p, TypeVar) and p not in self.type_vars:
                        self._same_type_var(p, q)
        return map_type(x, lambda leaf: self.type_vars.get(leaf, leaf), HAS_VAR) is y


def _leaves(t: Type) -> list[Type]:
    found: dict[Type, None] = {}
    stack = [t]
    while stack:
        u = stack.pop()
        if u.children:
            stack += reversed(u.children)
        else:
            found.setdefault(u)
    return list(found)


def _compared_parts(state: TypeComparison, x: Any, y: Any) -> list[tuple[Any, Any]] | None:
    """What must be equal for two types of one class to be equal, or None where they differ."""
    match x:
        case TensorType():
            return [(x.shape, y.shape), (x.dtype, y.dtype)]
        case TupleType():
            return [(x.fields, y.fields)]
        case RefType():
            return [(x.value, y.value)]
        case TypeCall():
            return [(x.func, y.func), (x.args, y.args)]
        case TypeRelation():
            return (
                [(x.args or None, y.args or None)]
                if x.name == y.name and same_value(x.attrs, y.attrs)
                else None
            )
        case FuncType():
            if [p.kind for p in x.type_params] != [q.kind for q in y.type_params]:
                return None
            x, y = x.canonical, y.canonical
            return [
                (x.arg_types, y.arg_types),
                (x.ret_type, y.ret_type),
                (x.type_constraints, y.type_constraints),
            ]
        case DimExpr() | DimCall():
            return [] if state.same_dimension(x, y) else None
        case _:
            return [] if x is y else None
