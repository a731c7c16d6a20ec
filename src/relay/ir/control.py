"""Binding, branching, references and derivatives."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from relay.ir import hooks
from relay.ir.axes import Axes
from relay.ir.call import NO_ATTRS
from relay.ir.leaf import Var
from relay.ir.node import (
    Node,
    Pattern,
    RelayExpr,
    keep_listed,
    listed,
    node,
    place,
    replace,
    set_field,
    several,
)
from relay.ir.traced import Traced
from relay.ir.type import Type, TypeRelation, TypeVar

if TYPE_CHECKING:
    from relay.ir.expr import Expr


@node
class Function(RelayExpr):
    """`fn<type_params>(params) -> ret_type where constraints { body }`; attributes are metadata."""

    params: tuple[Var, ...] = several(converter=listed)
    body: "Expr"
    ret_type: Type | None = None
    type_params: tuple[TypeVar, ...] = several(converter=listed, default=())
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    constraints: tuple[TypeRelation, ...] = several(converter=listed, default=())

    def __post_init__(self) -> None:
        for name in ("params", "type_params", "constraints"):
            given = getattr(self, name)
            if type(given) is not tuple:
                set_field(self, name, listed(given))
        if self.attrs is None:  # pyright: ignore[reportUnnecessaryComparison]
            set_field(self, "attrs", NO_ATTRS)
        if self.span is None:
            place(self)

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.body,)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        (body,) = children
        return replace(self, body=body)

    def with_attr(self, name: str | Mapping[str, Any], value: Any = None) -> "Function":
        """A copy with one attribute (or a mapping of them) set."""
        more = {name: value} if isinstance(name, str) else dict(name)
        return replace(self, attrs={**self.attrs, **more})

    def without_attr(self, name: str) -> "Function":
        """A copy without that attribute."""
        return replace(self, attrs={k: v for k, v in self.attrs.items() if k != name})

    def summary(self) -> str:
        """The number of parameters."""
        return f"Function/{len(self.params)}"


@node
class Let(RelayExpr):
    """`let var = value; body`.  `var` is in scope in `body`, and in `value` when that is a function."""

    var: Var
    value: "Expr"
    body: "Expr"

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.value, self.body)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        value, body = children
        return Let(self.var, value, body, span=self.span)

    def summary(self) -> str:
        """The variable."""
        return f"Let %{self.var.name_hint}"


@node
class LetRec(RelayExpr):
    """`let rec v1 = f1 and v2 = f2; body`: mutually recursive functions; all see all.

    Raises `ValueError` if there are not as many names as functions.
    """

    vars: tuple[Var, ...] = several(converter=listed)
    values: tuple["Expr", ...] = several(converter=listed)
    body: "Expr"

    def __post_init__(self) -> None:
        keep_listed(self, "vars", "values")
        if len(self.vars) != len(self.values):
            raise ValueError(f"{len(self.vars)} names for {len(self.values)} functions")

    @property
    def children(self) -> tuple["Expr", ...]:
        return (*self.values, self.body)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        *values, body = children
        return LetRec(self.vars, tuple(values), body, span=self.span)


@node
class If(RelayExpr):
    """`if (cond) { true_branch } else { false_branch }`; the condition is a scalar bool."""

    cond: "Expr"
    true_branch: "Expr"
    false_branch: "Expr"

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.cond, self.true_branch, self.false_branch)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        cond, yes, no = children
        return If(cond, yes, no, span=self.span)


@node
class Clause(Node):
    """One case of a match: `lhs => rhs`, or `lhs if (guard) => rhs`.

    A value that matches and fails the guard, a scalar bool, goes on to the next clause.  Inference takes
    guards out, as `relay.ir.pattern` says of some patterns.
    """

    lhs: Pattern
    rhs: "Expr"
    guard: "Expr | None" = None

    @property
    def parts(self) -> tuple["Expr", ...]:
        """The expressions of the clause, in the order of their evaluation."""
        return (self.rhs,) if self.guard is None else (self.guard, self.rhs)

    def rebuild(self, lhs: Pattern, parts: "Sequence[Expr]", /) -> "Clause":
        """The clause with another pattern and other expressions."""
        return Clause(lhs, parts[-1], None if self.guard is None else parts[0], span=self.span)


@node
class Match(RelayExpr):
    """`match (data) { clauses }`; the first clause that matches is taken.

    Where `complete` is False (`match?`), that none matches is an error at run time, else of the type check.
    """

    data: "Expr"
    clauses: tuple[Clause, ...] = several(converter=listed)
    complete: bool = True

    def __post_init__(self) -> None:
        if type(self.clauses) is not tuple:
            set_field(self, "clauses", tuple(self.clauses))
        if self.span is None:
            place(self)

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.data, *[e for c in self.clauses for e in c.parts])

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        clauses: list[Clause] = []
        at = 1
        for c in self.clauses:
            end = at + len(c.parts)
            clauses.append(c.rebuild(c.lhs, children[at:end]))
            at = end
        return Match(children[0], tuple(clauses), self.complete, span=self.span)

    def summary(self) -> str:
        """The number of clauses."""
        return f"Match/{len(self.clauses)}"


@node
class RefCreate(RelayExpr):
    """`ref(value)`: a new mutable cell."""

    value: "Expr"

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.value,)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        (value,) = children
        return RefCreate(value, span=self.span)


@node
class RefRead(RelayExpr):
    """`ref_read(ref)`: what the cell holds now."""

    ref: "Expr"

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.ref,)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        (ref,) = children
        return RefRead(ref, span=self.span)


@node
class RefWrite(RelayExpr):
    """`ref_write(ref, value)`: store, and return the empty tuple."""

    ref: "Expr"
    value: "Expr"

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.ref, self.value)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        ref, value = children
        return RefWrite(ref, value, span=self.span)


GradKind = Literal["grad", "vjp", "jvp"]


@node
class Grad(RelayExpr):
    """`grad(f)`, `vjp(f)`, `jvp(f)`: a derivative of a function that is known at compile time."""

    kind: GradKind
    function: "Expr"

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.function,)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        (function,) = children
        return Grad(self.kind, function, span=self.span)

    def __call__(self, *args: Any, **attrs: Any) -> Any:
        """On numbers and arrays, their value; on expressions, a call."""
        if not args or attrs or any(map(_is_staged, args)):
            return hooks.call(self, args, attrs)
        return hooks.apply(self, args)

    def summary(self) -> str:
        """The kind."""
        return f"Grad {self.kind}"


@node
class VMap(RelayExpr):
    """`vmap(f, in_axes=…, out_axes=…)`: a function of one example, known at compile time, as one of many.

    `in_axes` says along which axis the rows of the arguments lie, for all of them or for each; None shares
    an argument among the rows.  `out_axes` says where those of the result do.
    """

    function: "Expr"
    in_axes: Axes = 0
    out_axes: Axes = 0

    kind: ClassVar[str] = "vmap"
    """What it is called in text, as derivatives have it."""

    @property
    def children(self) -> tuple["Expr", ...]:
        return (self.function,)

    def rebuild(self, children: tuple["Expr", ...], /) -> "Expr":
        (function,) = children
        return VMap(function, self.in_axes, self.out_axes, span=self.span)

    @property
    def changed_axes(self) -> dict[str, Axes]:
        """The axes that are not 0, by name: what the text shows."""
        axes = {"in_axes": self.in_axes, "out_axes": self.out_axes}
        return {name: a for name, a in axes.items() if a != 0}

    def __call__(self, *args: Any, **attrs: Any) -> Any:
        """On numbers and arrays, their value; on expressions, a call."""
        if not args or attrs or any(map(_is_staged, args)):
            return hooks.call(self, args, attrs)
        return hooks.apply(self, args)


def _is_staged(x: Any) -> bool:
    """Whether an argument is an expression, or has one inside."""
    if isinstance(x, list | tuple):
        return any(map(_is_staged, x))  # pyright: ignore[reportUnknownArgumentType]
    return isinstance(x, RelayExpr | Traced)


@node
class TempExpr(RelayExpr):
    """The base for nodes that a pass puts in for its own use and takes out again."""

    def realize(self) -> "Expr":
        """The expression this stands for."""
        raise TypeError(f"{type(self).__name__} must say what it stands for")
