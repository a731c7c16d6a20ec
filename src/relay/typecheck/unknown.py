"""Unknowns of inference, and walks over types that have them inside.  Nothing here recurses.

An `Unknown` holds what it is bound to, so that the substitution lives in the types themselves.  Types without
unknowns are interned, so two of them are compared by one `is`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from relay.ir.expr import Expr
from relay.ir.type import (
    HAS_INCOMPLETE,
    HAS_VAR,
    Dimension,
    FuncType,
    IncompleteType,
    Kind,
    Type,
    TypeVar,
)
from relay.ir.type_base import HAS_ERROR

Term: TypeAlias = Type | tuple[Any, ...] | int | str
"""What an unknown may stand for: a type, shape, dimension or dtype; and several of them as a tuple."""


class Unknown(IncompleteType):
    """An unknown of some kind.

    `bound` is what it stands for (None while nothing is known), `level` the depth of generalisable bindings
    it belongs to, `allowed` the dtypes it may become, `waiting` the goals to try again when it is bound,
    `why` the expression that bound it.
    """

    __slots__ = ("allowed", "bound", "is_literal", "waiting", "why")
    __setattr__ = object.__setattr__  # pyright: ignore[reportAssignmentType]
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
        object.__setattr__(self, "flags", HAS_ERROR)
        return self

    def __str__(self) -> str:
        return "_"


ERROR = ErrorType()


class Mismatch(Exception):  # noqa: N818
    """Two types that cannot be the same.

    `a` and `b` are the innermost parts that differ; a class of dtypes may be one of them.
    """

    def __init__(self, code: str, a: Term | frozenset[str], b: Term | frozenset[str]) -> None:
        super().__init__(code, a, b)
        self.code, self.a, self.b = code, a, b


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


def has_unknown(t: Term) -> bool:
    """Whether an inference variable, bound or not, occurs in a type, shape, dimension or dtype."""
    if isinstance(t, Type):
        return bool(t.flags & HAS_INCOMPLETE)
    return isinstance(t, tuple) and any(isinstance(d, Type) and d.flags & HAS_INCOMPLETE for d in t)


def zonk(
    root: Term | None,
    rename: Mapping[Any, Any] | None = None,
    cache: dict[Any, Any] | None = None,
    close: Callable[[Unknown], Any] | None = None,
) -> Any:
    """`root` with every bound unknown replaced by what it stands for, and type parameters renamed.

    `cache` keeps the results of several calls; it is valid while nothing gets bound.  `close` says what an
    unbound unknown becomes, for good.
    """
    if type(root) is tuple:
        return tuple([zonk(d, rename, cache, close) for d in root])
    mask = HAS_INCOMPLETE | HAS_VAR if rename else HAS_INCOMPLETE
    if not isinstance(root, Type) or not root.flags & mask:
        return root
    done: dict[Any, Any] = {} if cache is None else cache
    if root in done:
        return done[root]
    stack: list[Type] = [root]
    while stack:
        t = stack[-1]
        if t in done:
            stack.pop()
            continue
        if close is not None and type(t) is Unknown and t.bound is None:
            t.bound = close(t)
        children = inside(t)
        missing = [c for c in children if isinstance(c, Type) and c.flags & mask and c not in done]
        if missing:
            stack += missing
            continue
        stack.pop()
        done[t] = _rebuilt(t, [done.get(c, c) if isinstance(c, Type) else c for c in children], rename)
    return done[root]


def inside(t: Type) -> tuple[Term, ...]:
    """What is directly inside a type: of an unknown what it is bound to, if anything."""
    if type(t) is Unknown:
        bound: Term = head(t)
        if bound is t:
            return ()
        return bound if isinstance(bound, tuple) else (bound,)
    return t.children


def _rebuilt(t: Type, children: list[Any], rename: Mapping[Any, Any] | None) -> Any:
    if type(t) is Unknown:
        if t.bound is None:
            return t
        return tuple(children) if type(head(t)) is tuple else children[0]
    if type(t) is TypeVar:
        return rename.get(t, t) if rename else t
    if type(t) is FuncType and t.type_params and rename:
        n = len(t.arg_types)
        params = tuple([rename.get(p, p) for p in t.type_params])
        return FuncType(children[:n], children[n], params, children[n + 1 :])
    new = tuple(children)
    return t if new == t.children else t.rebuild(new)


def unknowns(root: Term) -> dict[Unknown, None]:
    """The unbound unknowns of a type (or shape, …), in the order of first occurrence."""
    return {t: None for t in _leaves(root, HAS_INCOMPLETE) if type(t) is Unknown and t.bound is None}


def variables(root: Term) -> dict[TypeVar, None]:
    """The type parameters of a type after zonking, in the order of first occurrence."""
    return {t: None for t in _leaves(root, HAS_VAR | HAS_INCOMPLETE) if type(t) is TypeVar}


def _leaves(root: Term, mask: int) -> Iterator[Type]:
    """What has one of the flags `mask` and nothing inside, unbound unknowns and type parameters above all."""
    stack: list[Term] = list(reversed(root)) if type(root) is tuple else [root]
    seen: set[Type] = set()
    while stack:
        t = stack.pop()
        if not isinstance(t, Type) or not t.flags & mask or t in seen:
            continue
        seen.add(t)
        parts = inside(t)
        if parts:
            stack += reversed(parts)
        else:
            yield t


def kind_of(t: Term) -> Kind:
    """The kind of a type, shape, dimension or dtype."""
    if isinstance(t, Type):
        return t.kind
    return Kind.Shape if type(t) is tuple else Kind.BaseType if isinstance(t, str) else Kind.Dim
