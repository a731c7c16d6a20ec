"""Unification of types, shapes, dimensions and dtypes.  Nothing here recurses."""

from collections.abc import Callable, Sequence
from typing import Any

from relay.ir.expr import Expr
from relay.ir.type import (
    ANY,
    HAS_INCOMPLETE,
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
from relay.typecheck import dims
from relay.typecheck.unknown import ERROR, Mismatch, Term, Unknown, has_unknown, head, inside, kind_of, zonk

Pair = tuple[Any, Any, bool]
"""Two terms to be made equal; the flag is `strict` of `Unifier.unify`."""


class Unifier:
    """Makes types equal.  `cause` is the expression on whose behalf; `queue` collects goals to try again."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self.cause: Expr | None = None
        self.level = 0
        self.queue: list[Any] = []
        self.rigid_level: dict[TypeVar, int] = {}
        self.classes: dict[TypeVar, frozenset[str]] = {}

    def fresh_of(self, kind: Kind) -> Unknown:
        """A new unknown at the present level."""
        return Unknown(kind, self.level)

    def unify(self, a: Any, b: Any, strict: bool = False) -> None:
        """Make `a` and `b` the same, or raise `Mismatch`.

        `?` agrees with any dimension on tensors and tuples of tensors; `strict` (inside data types, functions
        and references) it equals only itself.
        """
        if a is b:
            return
        stack: list[Pair] = [(a, b, strict)]
        seen: set[Pair] = set()
        while stack:
            a, b, strict = stack.pop()
            if type(a) is Unknown:
                a = head(a)
            if type(b) is Unknown:
                b = head(b)
            if a is b or a is ERROR or b is ERROR:
                continue
            if type(a) is Unknown:
                self.bind(a, b)
            elif type(b) is Unknown:
                self.bind(b, a)
            elif type(a) is TensorType and type(b) is TensorType:
                stack.append((a.dtype, b.dtype, strict))
                stack.append((a.shape, b.shape, strict))
            elif type(a) is not type(b) or type(a) not in _PARTS:
                self._same_leaf(a, b, strict)
            elif (a, b, strict) not in seen:  # a part that occurs often is looked at once
                seen.add((a, b, strict))
                stack += _PARTS[type(a)](a, b, strict)

    def _same_leaf(self, a: Any, b: Any, strict: bool) -> None:
        kind = kind_of(a)
        if kind is not kind_of(b):
            raise Mismatch("type-mismatch", a, b)
        if kind is Kind.Dim:
            self._same_dims(a, b, strict)
        elif a != b:
            raise Mismatch(_CODES.get(kind, "type-mismatch"), a, b)

    def _same_dims(self, a: Any, b: Any, strict: bool) -> None:
        if a is ANY or b is ANY:
            other = b if a is ANY else a
            if strict and not (isinstance(other, DimExpr | DimCall) and has_unknown(other)):
                raise Mismatch("shape-mismatch", a, b)
            return
        if isinstance(a, int) and isinstance(b, int):
            if a != b:
                raise Mismatch("shape-mismatch", a, b)
            return
        a, b = zonk(a), zonk(b)
        step = dims.solve(a, b)
        if step is dims.NEVER or (step is dims.OPEN and strict):
            raise Mismatch("shape-mismatch", a, b)
        if isinstance(step, dims.Solution):
            self.bind(step.unknown, step.value)
        elif step is dims.LATER:
            self.later(a, b, strict)

    def later(self, a: Any, b: Any, strict: bool) -> None:
        """Two dimensions whose equation does not determine an unknown yet."""

    def bind(self, v: Unknown, t: Any) -> None:
        """Let unbound `v` stand for `t`, which is another unknown or of `v`'s kind."""
        if type(t) is Unknown:
            if v.kind is not t.kind:
                raise Mismatch("kind-mismatch", v, t)
            if t.level > v.level:
                v, t = t, v
            if v.allowed is not None:
                self.restrict(t, v.allowed)
                t = head(t)
            if type(t) is Unknown:
                t.is_literal |= v.is_literal
        elif kind_of(t) is not v.kind:
            if t is not ERROR:
                raise Mismatch("kind-mismatch", v, t)
        elif type(t) is not str:
            self._adjust(v, t)
        if v.allowed is not None and type(t) is not Unknown:
            self.check_class(t, v.allowed, v.is_literal)
        v.bound = t
        v.why = self.cause
        if v.waiting:
            self.queue += v.waiting
            v.waiting = None

    def _adjust(self, v: Unknown, t: Term) -> None:
        """Occurs check; unknowns inside `t` come to live no deeper than `v`, type parameters must already."""
        level, seen = v.level, set[Type]()
        stack: list[Term] = list(t) if isinstance(t, tuple) else [t]
        while stack:
            u = stack.pop()
            if not isinstance(u, Type) or not u.flags & (HAS_INCOMPLETE | HAS_VAR) or u in seen:
                continue
            seen.add(u)
            if type(u) is Unknown and u.bound is None:
                if u is v:
                    raise Mismatch("infinite-type", v, t)
                u.level = min(u.level, level)
            elif type(u) is TypeVar:
                if self.rigid_level.get(u, 0) > level:
                    raise Mismatch("type-escape", v, u)
            else:
                stack += inside(u)

    # --- classes of dtypes ----------------------------------------------------------------------------

    def restrict(self, t: Any, allowed: frozenset[str]) -> None:
        """Demand that dtype `t` is one of `allowed`."""
        t = head(t)
        if type(t) is not Unknown:
            self.check_class(t, allowed)
            return
        both = allowed if t.allowed is None else t.allowed & allowed
        if not both:
            assert t.allowed is not None
            raise Mismatch("literal-kind" if t.is_literal else "dtype-not-supported", t.allowed, allowed)
        t.allowed = both
        if len(both) == 1 and not t.is_literal:
            self.bind(t, next(iter(both)))

    def check_class(self, t: Any, allowed: frozenset[str], is_literal: bool = False) -> None:
        """Demand that known dtype `t` is one of `allowed`; on a type parameter that is a constraint."""
        if isinstance(t, str):
            if t not in allowed:
                raise Mismatch("literal-kind" if is_literal else "dtype-not-supported", t, allowed)
        elif type(t) is TypeVar and not self.classes.get(t, _EVERYTHING) <= allowed:
            self.need_class(t, allowed)

    def need_class(self, t: TypeVar, allowed: frozenset[str]) -> None:
        """A type parameter that must be one of `allowed`, which nothing declares yet."""
        raise Mismatch("dtype-not-supported", t, allowed)


_EVERYTHING = frozenset({"*"})
_CODES = {Kind.BaseType: "dtype-mismatch", Kind.Shape: "shape-mismatch"}


def _zipped(xs: Sequence[Any], ys: Sequence[Any], strict: bool) -> list[Pair]:
    """Parts in pairs, the first on top of the stack."""
    return [(x, y, strict) for x, y in zip(xs[::-1], ys[::-1], strict=True) if x is not y]


def _dimensions(a: tuple[Any, ...], b: tuple[Any, ...], strict: bool) -> list[Pair]:
    if len(a) != len(b):
        raise Mismatch("rank-mismatch", a, b)
    return _zipped(a, b, strict)


def _tuple_parts(a: TupleType, b: TupleType, strict: bool) -> list[Pair]:
    if len(a.fields) != len(b.fields):
        raise Mismatch("type-mismatch", a, b)
    return _zipped(a.fields, b.fields, strict)


def _function_parts(a: FuncType, b: FuncType, strict: bool) -> list[Pair]:
    if a.type_params or b.type_params:
        if a != b:
            raise Mismatch("type-mismatch", a, b)
        return []
    if len(a.arg_types) != len(b.arg_types):
        raise Mismatch("arity", a, b)
    return [(a.ret_type, b.ret_type, True), *_zipped(a.arg_types, b.arg_types, True)]


def _contents(a: RefType, b: RefType, strict: bool) -> list[Pair]:
    return [(a.value, b.value, True)]


def _type_call_parts(a: TypeCall, b: TypeCall, strict: bool) -> list[Pair]:
    if len(a.args) != len(b.args) or (type(a.func) is type(b.func) is GlobalTypeVar and a.func is not b.func):
        raise Mismatch("type-mismatch", a, b)
    return [*_zipped(a.args, b.args, True), *_zipped((a.func,), (b.func,), True)]


_PARTS: dict[type, Callable[[Any, Any, bool], list[Pair]]] = {
    tuple: _dimensions,
    TupleType: _tuple_parts,
    FuncType: _function_parts,
    RefType: _contents,
    TypeCall: _type_call_parts,
}
