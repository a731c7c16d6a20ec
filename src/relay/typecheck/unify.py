"""Unification of types, shapes, dimensions and base types.  Nothing here recurses.

An `Unknown` holds what it is bound to, so that the substitution lives in the types themselves.  Types without
unknowns are interned, so two of them are compared by one `is`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from relay.diagnostic import Span
from relay.ir import dim as arithmetic
from relay.ir.expr import Expr
from relay.ir.type import (
    ANY,
    HAS_ANY,
    HAS_INCOMPLETE,
    HAS_VAR,
    DimCall,
    Dimension,
    DimExpr,
    FuncType,
    IncompleteType,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from relay.typecheck import dims

HAS_ERROR = 16
_set = object.__setattr__


class Unknown(IncompleteType):
    """An unknown of some kind.

    `bound` is what it stands for (None while nothing is known), `level` the depth of generalisable bindings it
    belongs to, `allowed` the base types it may become, `waiting` the goals to try again when it is bound, `why`
    the expression that bound it.
    """

    __slots__ = ("allowed", "bound", "is_literal", "waiting", "why")
    __setattr__ = object.__setattr__
    bound: Any
    allowed: frozenset[str] | None
    waiting: list[Any] | None
    why: Expr | None
    is_literal: bool

    def __new__(cls, kind: Kind = Kind.Type, level: int = 0) -> "Unknown":
        self = super().__new__(cls, kind, level)
        assert isinstance(self, Unknown)
        self.bound = self.allowed = self.waiting = self.why = None
        self.is_literal = False
        return self


class ErrorType(Dimension):
    """The type of an ill-typed expression: it agrees with everything, so that one fault is reported once."""

    __slots__ = ()
    kind = Kind.Type

    def __new__(cls) -> "ErrorType":
        self = super().__new__(cls)
        _set(self, "flags", HAS_ERROR)
        return self

    def __str__(self) -> str:
        return "_"


ERROR = ErrorType()


class Mismatch(Exception):  # noqa: N818
    """Two types that cannot be the same.  `a` and `b` are the innermost parts that differ."""

    def __init__(self, code: str, a: Any, b: Any, label: str = "", hint: str = "") -> None:
        super().__init__(code, a, b)
        self.code, self.a, self.b, self.label, self.hint = code, a, b, label, hint


def head(t: Any) -> Any:
    """What `t` stands for at its outermost constructor."""
    while type(t) is Unknown:
        bound = t.bound
        if bound is None:
            return t
        if type(bound) is Unknown and bound.bound is not None:
            t.bound = bound.bound  # halve the path
        t = t.bound
    return t


def has_unknown(t: Any) -> bool:
    """Whether an inference variable occurs in a type, shape, dimension or base type as written (bound or not)."""
    if isinstance(t, Type):
        return bool(t.flags & HAS_INCOMPLETE)
    return isinstance(t, tuple) and any(isinstance(d, Type) and d.flags & HAS_INCOMPLETE for d in t)


def zonk(
    root: Any,
    rename: Mapping[Any, Any] | None = None,
    cache: dict[Any, Any] | None = None,
    close: Callable[[Unknown], Any] | None = None,
) -> Any:
    """`root` with every bound unknown replaced by what it stands for, and type parameters renamed.

    `cache` keeps the results of several calls; it is valid while nothing gets bound.  `close` says what an
    unbound unknown becomes, for good.
    """
    if isinstance(root, tuple):
        return tuple([zonk(d, rename, cache, close) for d in root])
    mask = HAS_INCOMPLETE | HAS_VAR if rename else HAS_INCOMPLETE
    if not isinstance(root, Type) or not root.flags & mask:
        return root
    done: dict[Any, Any] = {} if cache is None else cache
    if root in done:
        return done[root]
    stack: list[Any] = [root]
    while stack:
        t = stack[-1]
        if t in done:
            stack.pop()
            continue
        if close is not None and type(t) is Unknown and t.bound is None:
            t.bound = close(t)
        children = _inside(t)
        missing = [c for c in children if isinstance(c, Type) and c.flags & mask and c not in done]
        if missing:
            stack += missing
            continue
        stack.pop()
        done[t] = _rebuilt(t, [done.get(c, c) if isinstance(c, Type) else c for c in children], rename)
    return done[root]


def _inside(t: Type) -> tuple[Any, ...]:
    if type(t) is Unknown:
        bound = t.bound
        if bound is None:
            return ()
        return bound if isinstance(bound, tuple) else (bound,)
    return t.children


def _rebuilt(t: Type, children: list[Any], rename: Mapping[Any, Any] | None) -> Any:
    if type(t) is Unknown:
        if t.bound is None:
            return t
        return tuple(children) if isinstance(t.bound, tuple) else children[0]
    if type(t) is TypeVar:
        return rename.get(t, t) if rename else t
    if type(t) is FuncType and t.type_params and rename:
        n = len(t.arg_types)
        params = tuple([rename.get(p, p) for p in t.type_params])
        return FuncType(children[:n], children[n], params, children[n + 1 :])
    old = t.children
    if len(old) == len(children) and all(a is b for a, b in zip(old, children, strict=True)):
        return t
    return t.rebuild(tuple(children))


def unknowns(root: Any, found: dict[Unknown, None] | None = None) -> dict[Unknown, None]:
    """The unbound unknowns of a type (or shape, …), in the order of first occurrence."""
    result: dict[Unknown, None] = {} if found is None else found
    stack: list[Any] = list(reversed(root)) if isinstance(root, tuple) else [root]
    seen: set[Any] = set()
    while stack:
        t = stack.pop()
        if not isinstance(t, Type) or not t.flags & HAS_INCOMPLETE or t in seen:
            continue
        seen.add(t)
        if type(t) is Unknown and t.bound is None:
            result.setdefault(t)
        else:
            stack += reversed(_inside(t))
    return result


def variables(root: Any) -> dict[TypeVar, None]:
    """The type parameters of a type after zonking, in the order of first occurrence."""
    result: dict[TypeVar, None] = {}
    stack: list[Any] = list(reversed(root)) if isinstance(root, tuple) else [root]
    seen: set[Any] = set()
    while stack:
        t = stack.pop()
        if not isinstance(t, Type) or not t.flags & (HAS_VAR | HAS_INCOMPLETE) or t in seen:
            continue
        seen.add(t)
        if type(t) is TypeVar:
            result.setdefault(t)
        else:
            stack += reversed(_inside(t))
    return result


def kind_of(t: Any) -> Kind:
    """The kind of a type, shape, dimension or base type."""
    if isinstance(t, Type):
        return t.kind
    return Kind.Shape if isinstance(t, tuple) else Kind.BaseType if isinstance(t, str) else Kind.Dim


class Unifier:
    """Makes types equal.  `cause` is the expression on whose behalf; `queue` collects goals to try again."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self.cause: Expr | None = None
        self.span: Span | None = None
        self.level = 0
        self.queue: list[Any] = []
        self.rigid_level: dict[TypeVar, int] = {}
        self.classes: dict[TypeVar, frozenset[str]] = {}

    def fresh_of(self, kind: Kind) -> Unknown:
        """A new unknown at the present level."""
        return Unknown(kind, self.level)

    def unify(self, a: Any, b: Any, strict: bool = False) -> None:
        """Make `a` and `b` the same, or raise `Mismatch`.

        `?` agrees with any dimension on tensors and tuples of tensors; `strict` (inside data types, functions and
        references) it equals only itself.
        """
        if a is b:
            return
        stack: list[tuple[Any, Any, bool]] = [(a, b, strict)]
        while stack:
            a, b, strict = stack.pop()
            if type(a) is Unknown:
                a = head(a)
            if type(b) is Unknown:
                b = head(b)
            if a is b:
                continue
            if type(a) is Unknown:
                self.bind(a, b)
            elif type(b) is Unknown:
                self.bind(b, a)
            else:
                self._same_head(a, b, strict, stack)

    def _same_head(self, a: Any, b: Any, strict: bool, stack: list[tuple[Any, Any, bool]]) -> None:
        ka = type(a)
        if a is ERROR or b is ERROR:
            return
        if ka is type(b):
            if ka is TensorType:
                stack.append((a.dtype, b.dtype, strict))
                stack.append((a.shape, b.shape, strict))
                return
            if ka is tuple:
                if len(a) != len(b):
                    raise Mismatch("rank-mismatch", a, b)
                stack.extend([(x, y, strict) for x, y in zip(a[::-1], b[::-1], strict=True) if x is not y])
                return
            if ka is TupleType:
                if len(a.fields) != len(b.fields):
                    raise Mismatch("type-mismatch", a, b)
                stack.extend(
                    [
                        (x, y, strict)
                        for x, y in zip(a.fields[::-1], b.fields[::-1], strict=True)
                        if x is not y
                    ]
                )
                return
            if ka is FuncType:
                self._same_functions(a, b, stack)
                return
            if ka is RefType:
                stack.append((a.value, b.value, True))
                return
            if ka is TypeCall:
                if a.func is not b.func or len(a.args) != len(b.args):
                    raise Mismatch("type-mismatch", a, b)
                stack.extend(
                    [(x, y, True) for x, y in zip(a.args[::-1], b.args[::-1], strict=True) if x is not y]
                )
                return
        if kind_of(a) is Kind.Dim and kind_of(b) is Kind.Dim:
            self._same_dims(a, b, strict)
        elif a != b:
            codes = {Kind.BaseType: "dtype-mismatch", Kind.Shape: "shape-mismatch"}
            raise Mismatch(
                codes.get(kind_of(a), "type-mismatch") if kind_of(a) is kind_of(b) else "type-mismatch", a, b
            )

    def _same_functions(self, a: FuncType, b: FuncType, stack: list[tuple[Any, Any, bool]]) -> None:
        if a.type_params or b.type_params:
            if a != b:
                raise Mismatch("type-mismatch", a, b)
        elif len(a.arg_types) != len(b.arg_types):
            raise Mismatch("arity", a, b)
        else:
            stack.append((a.ret_type, b.ret_type, True))
            stack.extend(
                [
                    (x, y, True)
                    for x, y in zip(a.arg_types[::-1], b.arg_types[::-1], strict=True)
                    if x is not y
                ]
            )

    def _same_dims(self, a: Any, b: Any, strict: bool) -> None:
        if a is ANY or b is ANY:
            other = b if a is ANY else a
            if isinstance(other, DimExpr | DimCall) and has_unknown(other):
                return
            if strict:
                raise Mismatch("shape-mismatch", a, b)
            return
        if isinstance(a, int) and isinstance(b, int):
            if a != b:
                raise Mismatch("shape-mismatch", a, b)
            return
        a, b = zonk(a), zonk(b)
        step = dims.solve(a, b)
        if step is dims.EQUAL:
            return
        if step is dims.NEVER or (step is dims.OPEN and strict):
            raise Mismatch("shape-mismatch", a, b)
        if isinstance(step, tuple):
            self.bind(*step)
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
        elif isinstance(t, Type):
            if t.flags & (HAS_INCOMPLETE | HAS_VAR):
                self._adjust(v, t)
        elif isinstance(t, tuple):
            for d in t:
                if isinstance(d, Type) and d.flags & (HAS_INCOMPLETE | HAS_VAR):
                    self._adjust(v, d)
        if v.allowed is not None and not isinstance(t, Unknown):
            self.check_class(t, v.allowed, v.is_literal)
        v.bound = t
        v.why = self.cause
        if v.waiting:
            self.queue += v.waiting
            v.waiting = None

    def _adjust(self, v: Unknown, t: Any) -> None:
        """Occurs check; unknowns inside `t` come to live no deeper than `v`, type parameters must already."""
        stack, seen, level = [t], set[Any](), v.level
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
                stack += _inside(u)

    def restrict(self, t: Any, allowed: frozenset[str]) -> None:
        """Demand that base type `t` is one of `allowed`."""
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
        """Demand that known base type `t` is one of `allowed`; on a type parameter that is a constraint."""
        if isinstance(t, str):
            if t not in allowed:
                raise Mismatch("literal-kind" if is_literal else "dtype-not-supported", t, allowed)
        elif type(t) is TypeVar and not self.classes.get(t, _EVERYTHING) <= allowed:
            self.need_class(t, allowed)

    def need_class(self, t: TypeVar, allowed: frozenset[str]) -> None:
        """A type parameter that must be one of `allowed`, which nothing declares yet."""
        raise Mismatch("dtype-not-supported", t, allowed)

    def is_lenient(self, t: Any) -> bool:
        """Whether a `?` occurs in a type, so that it is worth handing down to branches."""
        return isinstance(t, Type) and bool(t.flags & HAS_ANY)

    def join(self, a: Any, b: Any) -> Any:
        """The type of a value that is of type `a` or of type `b`: dimensions that may differ become `?`.

        Raises `Mismatch` where they certainly differ.
        """
        a, b = head(a), head(b)
        if a is b:
            return a
        done: dict[tuple[Any, Any], Any] = {}
        stack = [(a, b)]
        while stack:
            a, b = stack[-1]
            if type(a) is TupleType and type(b) is TupleType and len(a.fields) == len(b.fields):
                pairs = [(head(x), head(y)) for x, y in zip(a.fields, b.fields, strict=True)]
                missing = [p for p in pairs if p not in done]
                if missing:
                    stack += reversed(missing)
                    continue
                done[a, b] = TupleType([done[p] for p in pairs])
            else:
                done[a, b] = self._join_leaf(a, b)
            stack.pop()
        return done[a, b]

    def _join_leaf(self, a: Any, b: Any) -> Any:
        if type(a) is not TensorType or type(b) is not TensorType:
            self.unify(a, b)
            return b if a is ERROR else a
        self.unify(a.dtype, b.dtype)
        sa, sb = head(a.shape), head(b.shape)
        if not isinstance(sa, tuple) or not isinstance(sb, tuple) or len(sa) != len(sb):
            self.unify(sa, sb)
            return a
        return TensorType([self._join_dim(x, y) for x, y in zip(sa, sb, strict=True)], a.dtype)

    def _join_dim(self, x: Any, y: Any) -> Any:
        x, y = zonk(x), zonk(y)
        if x == y or x is ANY or y is ANY:
            return x if x == y else ANY
        if has_unknown(x) or has_unknown(y):
            self.unify(x, y)
            return zonk(x)
        if arithmetic.is_never(x, y):
            raise Mismatch("shape-mismatch", x, y)
        return ANY


_EVERYTHING = frozenset({"*"})
