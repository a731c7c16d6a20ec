"""What every node is: immutable, placed in a source, equal by identity; and what every expression answers.

The kinds of expressions are in `relay.ir.leaf`, `relay.ir.call` and `relay.ir.control`; their union is `Expr`
in `relay.ir.expr`, which passes all of them on.
"""

from collections.abc import Callable, Iterable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Self, TypeVar, dataclass_transform

from relay.diagnostic import Span, caller_span
from relay.ir import hooks
from relay.ir.traced import Traced, untraced
from relay.ir.type_base import Type

if TYPE_CHECKING:
    from relay.ir.expr import Call, Expr

C = TypeVar("C", bound=type)
T = TypeVar("T")
set_field = object.__setattr__
"""How a node sets a field of its own while it is made."""
PARAMETER = "parameter"
"""In the metadata of a field: the parameter that it keeps, where that has another name."""


def listed(given: Iterable[T] | None, /) -> tuple[T, ...]:
    """Several things as a node keeps them, however they are given."""
    return () if given is None else tuple(given)


def several(*, converter: Callable[[Any], Any], default: Any = MISSING) -> Any:
    """A field that holds several things: `several(converter=listed)` lets type checkers accept lists."""
    return field(default=default)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field, several))
def node(cls: C) -> C:
    """Make a class a node: a frozen dataclass with slots, equal by identity."""
    make: Any = dataclass(frozen=True, slots=True, eq=False, repr=False)
    made = make(cls)
    made.__setattr__ = made.__delattr__ = _refused
    return made


def _refused(self: "Node", name: str, *_: Any) -> None:
    known = f"`relay.replace(e, {name}=…)` makes a node that differs"
    hint = known if hasattr(self, name) else "a dict can hold what is known of nodes"
    raise FrozenInstanceError(f"nodes are immutable: cannot set `{name}` of a {type(self).__name__}; {hint}")


@cache
def _parameters(cls: type) -> tuple[tuple[str, str], ...]:
    """What a class of nodes is made from: each parameter with the field that keeps it."""
    return tuple([(f.metadata.get(PARAMETER, f.name), f.name) for f in fields(cls)])


def replace(e: Any, **changes: Any) -> Any:
    """A copy of node `e` with some fields changed; the span comes along."""
    values = {parameter: getattr(e, name) for parameter, name in _parameters(e.__class__)}
    values.update(changes)
    return e.__class__(**values)


@cache
def _expr_fields(cls: type) -> tuple[str, ...]:
    """The fields that hold expressions."""
    return tuple([f.name for f in fields(cls) if "Expr" in str(f.type)])


def place(e: "Node") -> None:
    """Give a node that Python code has just made the place of that code; traced values become expressions."""
    set_field(e, "span", caller_span())
    for name in _expr_fields(e.__class__):
        value = getattr(e, name)
        if value.__class__ is tuple:
            for v in value:
                if isinstance(v, Traced):
                    set_field(e, name, untraced(value))
                    break
        elif isinstance(value, Traced):
            set_field(e, name, value.expr)


def keep_listed(e: "Node", *names: str) -> None:
    """Make tuples of these fields of a node that is just made, and give it its place."""
    for name in names:
        given = getattr(e, name)
        if type(given) is not tuple:
            set_field(e, name, listed(given))
    if e.span is None:
        place(e)


@node
class Node:
    """What has a place in a source: expressions, patterns, clauses, items of a module."""

    span: Span | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.span is None:
            place(self)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return hooks.pickle_node(self)

    def same_as(self, other: object) -> bool:
        """Whether `other` is this very node."""
        return self is other

    def __repr__(self) -> str:
        return f"<{self.summary()}{'' if self.span is None else f' {self.span}'}>"

    def summary(self) -> str:
        """A few words for `repr`: the class, and the name or size if there is one."""
        return type(self).__name__

    def __str__(self) -> str:
        """The text format, without the data of constants where that is long; `astext()` has all."""
        return hooks.expr_text(self, show_meta_data="short")


@node
class RelayExpr(Node):
    """The base of all expressions; arithmetic on them builds calls of the registered operators."""

    __array_ufunc__ = None  # `array * e` is `e.__rmul__(array)`, not an array of expressions

    @property
    def children(self) -> tuple["Expr", ...]:
        """The expressions directly inside, in evaluation order."""
        return ()

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        """A copy of the node with other children and the same span."""
        assert not children
        return self  # pyright: ignore[reportReturnType]

    @property
    def checked_type(self) -> Type:
        """The type, as inference found it; a `RelayError` if it cannot be known."""
        return hooks.checked_type(self)

    @property
    def _checked_type_(self) -> Type | None:
        """The type by look-up alone; None before inference."""
        found = hooks.annotated_types((self,))
        return found[0] if found else None

    def astext(self, **options: Any) -> str:
        """The text format; options as for `relay.astext`."""
        return hooks.expr_text(self, **options)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return hooks.display(self)

    def __call__(self, *args: Any, **attrs: Any) -> "Call":
        return hooks.call(self, args, attrs)

    def astype(self, dtype: str) -> "Expr":
        """The value cast to another dtype."""
        return hooks.binary("cast", self, dtype)

    def __add__(self, other: Any) -> "Expr":
        return hooks.binary("add", self, other)

    def __radd__(self, other: Any) -> "Expr":
        return hooks.binary("add", other, self)

    def __sub__(self, other: Any) -> "Expr":
        return hooks.binary("subtract", self, other)

    def __rsub__(self, other: Any) -> "Expr":
        return hooks.binary("subtract", other, self)

    def __mul__(self, other: Any) -> "Expr":
        return hooks.binary("multiply", self, other)

    def __rmul__(self, other: Any) -> "Expr":
        return hooks.binary("multiply", other, self)

    def __truediv__(self, other: Any) -> "Expr":
        return hooks.binary("divide", self, other)

    def __rtruediv__(self, other: Any) -> "Expr":
        return hooks.binary("divide", other, self)

    def __floordiv__(self, other: Any) -> "Expr":
        return hooks.binary("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> "Expr":
        return hooks.binary("floor_divide", other, self)

    def __mod__(self, other: Any) -> "Expr":
        return hooks.binary("mod", self, other)

    def __rmod__(self, other: Any) -> "Expr":
        return hooks.binary("mod", other, self)

    def __pow__(self, other: Any) -> "Expr":
        return hooks.binary("power", self, other)

    def __rpow__(self, other: Any) -> "Expr":
        return hooks.binary("power", other, self)

    def __matmul__(self, other: Any) -> "Expr":
        return hooks.binary("nn.matmul", self, other)

    def __rmatmul__(self, other: Any) -> "Expr":
        return hooks.binary("nn.matmul", other, self)

    def __neg__(self) -> "Expr":
        return hooks.binary("negative", self)

    def __lt__(self, other: Any) -> "Expr":
        return hooks.binary("less", self, other)

    def __le__(self, other: Any) -> "Expr":
        return hooks.binary("less_equal", self, other)

    def __gt__(self, other: Any) -> "Expr":
        return hooks.binary("greater", self, other)

    def __ge__(self, other: Any) -> "Expr":
        return hooks.binary("greater_equal", self, other)

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value before it runs; use relay.If(…) or relay.where(…)")

    def __iter__(self) -> Any:
        raise TypeError(f"{self!r} cannot be iterated; project its fields with e[0], e[1], …")

    def __getitem__(self, index: int) -> "Expr":
        return hooks.project(self, index)


@node
class Pattern(Node):
    """The base of patterns (the cases are in `relay.ir.pattern`)."""

    @property
    def children(self) -> tuple["Pattern", ...]:
        """The patterns directly inside."""
        return ()
