"""Patterns over expressions: what a part of a program may look like, and how patterns combine.

>>> conv = is_op("nn.conv2d")(wildcard(), is_constant())
>>> act = is_op("nn.relu")(conv) | is_op("sigmoid")(conv)
>>> act.match(expr)
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from relay.ir.equal import structural_equal
from relay.ir.expr import Call, Expr, as_expr
from relay.ir.type import TensorType, Type
from relay.op.registry import get
from relay.pattern.matcher import Matcher, Task, has_attributes, match
from relay.pattern.partition import partition

LEVELS_IN_REPR = 5
"""How many levels of a pattern its `repr` shows."""


class DFPattern(ABC):
    """The base of patterns.  Used twice in a pattern, an object matches the same node both times."""

    is_wildcard: ClassVar[bool] = False

    def __call__(self, *args: "DFPattern | None") -> "CallPattern":
        """A call whose callee is this, with these arguments; of any arguments for a single None."""
        return CallPattern(self, None if args == (None,) else [as_pattern(a) for a in args])

    def __or__(self, other: "DFPattern") -> "AltPattern":
        return AltPattern(self, as_pattern(other))

    def __add__(self, other: Any) -> "CallPattern":
        return is_op("add")(self, as_pattern(other))

    def __radd__(self, other: Any) -> "CallPattern":
        return is_op("add")(as_pattern(other), self)

    def __sub__(self, other: Any) -> "CallPattern":
        return is_op("subtract")(self, as_pattern(other))

    def __rsub__(self, other: Any) -> "CallPattern":
        return is_op("subtract")(as_pattern(other), self)

    def __mul__(self, other: Any) -> "CallPattern":
        return is_op("multiply")(self, as_pattern(other))

    def __rmul__(self, other: Any) -> "CallPattern":
        return is_op("multiply")(as_pattern(other), self)

    def __truediv__(self, other: Any) -> "CallPattern":
        return is_op("divide")(self, as_pattern(other))

    def __rtruediv__(self, other: Any) -> "CallPattern":
        return is_op("divide")(as_pattern(other), self)

    def has_attr(self, attrs: Mapping[str, Any]) -> "AttrPattern":
        """The pattern, if it matches a call or function with these attributes (or an operator with this
        `TOpPattern`).
        """
        return AttrPattern(self, attrs)

    def has_type(self, ttype: Type) -> "TypePattern":
        """The pattern, if the match has that type."""
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: str) -> "DataTypePattern":
        """The pattern, if the match is a tensor of that dtype."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[Any]) -> "ShapePattern":
        """The pattern, if the match is a tensor of that shape."""
        return ShapePattern(self, shape)

    def optional(self, option: Callable[["DFPattern"], "DFPattern"]) -> "DFPattern":
        """The pattern, or `option` applied to it: `conv.optional(lambda x: is_op("nn.relu")(x))`."""
        return self | option(self)

    def dominates(self, parent: "DFPattern", path: "DFPattern | None" = None) -> "DominatorPattern":
        """The pattern below `parent`, if all paths between them match `path` and lead only to this."""
        return DominatorPattern(parent, wildcard() if path is None else path, self)

    def match(self, expr: Expr) -> bool:
        """Whether `expr` as a whole looks like this."""
        return match(self, expr)

    def partition(
        self,
        expr: Expr,
        attrs: Mapping[str, Any] | None = None,
        check: Callable[[Expr], bool] = lambda _: True,
    ) -> Expr:
        """`expr` with each match of this as a call of a function of its own; see `partition`."""
        return partition(self, expr, attrs, check)

    @property
    def children(self) -> "tuple[DFPattern, ...]":
        """The patterns directly inside."""
        return ()

    @property
    def redirection(self) -> "DFPattern | None":
        """What a wildcard is redirected to."""
        return None

    def __repr__(self) -> str:
        return _described(self, LEVELS_IN_REPR)

    def describe(self, inner: Sequence[str]) -> str:
        """The pattern as it is built, given its children as they are."""
        return f"{type(self).__name__}({', '.join(inner)})"

    def interior(self, node_map: "NodeMap") -> Iterable[Expr]:
        """The nodes that belong to a match of this even where a wildcard matched them."""
        return ()

    @abstractmethod
    def attempt(self, matcher: Matcher, e: Expr) -> Task | bool:
        """Whether the node `e` itself has this form."""


class ExprPattern(DFPattern):
    """Exactly this expression, up to renaming."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def describe(self, inner: Sequence[str]) -> str:
        return f"is_expr({self.expr!r})"

    def attempt(self, matcher: Matcher, e: Expr) -> Task | bool:
        return e is self.expr or (type(e) is type(self.expr) and structural_equal(e, self.expr))


class WildcardPattern(DFPattern):
    """Anything; or what it is redirected to, so that patterns can be recursive."""

    is_wildcard = True

    def __init__(self) -> None:
        self.pattern: DFPattern | None = None

    def redirect_to(self, pat: DFPattern) -> None:
        """Match what `pat` matches, which may contain this."""
        self.pattern = pat

    @property
    def redirection(self) -> DFPattern | None:
        return self.pattern

    def describe(self, inner: Sequence[str]) -> str:
        return "wildcard()"

    def attempt(self, matcher: Matcher, e: Expr) -> Task | bool:
        return True if self.pattern is None else matcher.visit(self.pattern, e)


class OpPattern(DFPattern):
    """The operator of that name."""

    def __init__(self, name: str) -> None:
        self.op = get(name)

    def describe(self, inner: Sequence[str]) -> str:
        return f'is_op("{self.op.name}")'

    def attempt(self, matcher: Matcher, e: Expr) -> Task | bool:
        return e is self.op


class CallPattern(DFPattern):
    """A call; of any number of arguments if `args` is None."""

    def __init__(self, op: DFPattern, args: Sequence[DFPattern] | None) -> None:
        self.op = op
        self.args = None if args is None else tuple(args)

    @property
    def children(self) -> tuple[DFPattern, ...]:
        return (self.op, *(self.args or ()))

    def describe(self, inner: Sequence[str]) -> str:
        return f"{inner[0]}({'None' if self.args is None else ', '.join(inner[1:])})"

    def attempt(self, matcher: Matcher, e: Expr) -> Task | bool:
        return isinstance(e, Call) and matcher.call(self, e)


class AltPattern(DFPattern):
    """Either; the left one first."""

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self.left = left
        self.right = right

    @property
    def children(self) -> tuple[DFPattern, ...]:
        return (self.left, self.right)

    def describe(self, inner: Sequence[str]) -> str:
        return f"({' | '.join(inner)})"

    def attempt(self, matcher: Matcher, e: Expr) -> Task | bool:
        return matcher.either((self.left, self.right), e)


class Restricted(DFPattern):
    """A pattern with a condition on the node."""

    def __init__(self, pattern: DFPattern) -> None:
        self.pattern = pattern

    @property
    def children(self) -> tuple[DFPattern, ...]:
        return (self.pattern,)

    @abstractmethod
    def accepts(self, e: Expr) -> bool:
        """Whether a node meets the condition."""

    def attempt(self, matcher: Matcher, e: Expr) -> Task | bool:
        return self.accepts(e) and matcher.visit(self.pattern, e)


class AttrPattern(Restricted):
    """What has these attributes."""

    def __init__(self, pattern: DFPattern, attrs: Mapping[str, Any]) -> None:
        super().__init__(pattern)
        self.attrs = dict(attrs)

    def describe(self, inner: Sequence[str]) -> str:
        return f"{inner[0]}.has_attr({self.attrs})"

    def accepts(self, e: Expr) -> bool:
        return has_attributes(self.attrs, e)


class TypePattern(Restricted):
    """What has that type."""

    def __init__(self, pattern: DFPattern, ttype: Type) -> None:
        super().__init__(pattern)
        self.type = ttype

    def describe(self, inner: Sequence[str]) -> str:
        return f"{inner[0]}.has_type({self.type})"

    def accepts(self, e: Expr) -> bool:
        return e.checked_type == self.type


class DataTypePattern(Restricted):
    """A tensor of that dtype."""

    def __init__(self, pattern: DFPattern, dtype: str) -> None:
        super().__init__(pattern)
        self.dtype = dtype

    def describe(self, inner: Sequence[str]) -> str:
        return f'{inner[0]}.has_dtype("{self.dtype}")'

    def accepts(self, e: Expr) -> bool:
        t = e.checked_type
        return isinstance(t, TensorType) and t.dtype == self.dtype


class ShapePattern(Restricted):
    """A tensor of that shape."""

    def __init__(self, pattern: DFPattern, shape: Sequence[Any]) -> None:
        super().__init__(pattern)
        self.shape = tuple(shape)

    def describe(self, inner: Sequence[str]) -> str:
        return f"{inner[0]}.has_shape({self.shape})"

    def accepts(self, e: Expr) -> bool:
        t = e.checked_type
        return isinstance(t, TensorType) and t.shape == self.shape


class DominatorPattern(DFPattern):
    """`child`, all of whose paths lead up to `parent` by nodes that match `path` and that no other uses."""

    def __init__(self, parent: DFPattern, path: DFPattern, child: DFPattern) -> None:
        self.parent = parent
        self.path = path
        self.child = child

    @property
    def children(self) -> tuple[DFPattern, ...]:
        return (self.parent, self.path, self.child)

    def interior(self, node_map: "NodeMap") -> Iterable[Expr]:
        return (*node_map[self.parent], *node_map.get(self.path, ()))

    def describe(self, inner: Sequence[str]) -> str:
        return f"dominates({', '.join(inner)})"

    def attempt(self, matcher: Matcher, e: Expr) -> Task | bool:
        return matcher.dominated(self, e)


def _described(p: DFPattern, levels: int) -> str:
    return p.describe([_described(c, levels - 1) for c in p.children]) if levels else "…"


def as_pattern(x: Any) -> DFPattern:
    """A pattern as it is; an expression or a number as itself; None as a wildcard."""
    if isinstance(x, DFPattern):
        return x
    return wildcard() if x is None else is_expr(as_expr(x))


def is_expr(expr: Expr) -> ExprPattern:
    """Exactly this expression, up to renaming."""
    return ExprPattern(expr)


def is_op(op_name: str) -> OpPattern:
    """The operator of that name, to be called: `is_op("add")(a, b)`.  Raises `unknown-operator`."""
    return OpPattern(op_name)


def wildcard() -> WildcardPattern:
    """Anything."""
    return WildcardPattern()


def has_type(ttype: Type, pattern: DFPattern | None = None) -> TypePattern:
    """What has that type."""
    return TypePattern(as_pattern(pattern), ttype)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """A tensor of that dtype."""
    return DataTypePattern(as_pattern(pattern), dtype)


def has_shape(shape: Sequence[Any], pattern: DFPattern | None = None) -> ShapePattern:
    """A tensor of that shape."""
    return ShapePattern(as_pattern(pattern), shape)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """What has these attributes."""
    return AttrPattern(as_pattern(pattern), attrs)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """`child` below `parent`, with only `path` between them."""
    return DominatorPattern(parent, path, child)


NodeMap = dict[DFPattern, list[Expr]]
"""What each pattern object matched."""
