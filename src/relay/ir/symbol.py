"""What stands for something: type parameters, unknowns of inference, `?`, and dimensions made of these."""

from typing import Any as Operand

from relay.ir import hooks
from relay.ir.type_base import (
    HAS_ANY,
    HAS_INCOMPLETE,
    HAS_OBJECT,
    HAS_VAR,
    Kind,
    Type,
    flags_of,
    intern,
    known,
    set_field,
    uids,
)


class Dimension(Type):
    """What has dimension arithmetic: `n + 1`, `2 * n`, `n // 2` build dimension expressions.

    Beside expressions it is a number: `n * x` is an expression, and so are `n / 2` and `n ** 0.5`, which are
    float32.
    """

    __slots__ = ()

    def __add__(self, other: "Dim") -> "Dim":
        return _arithmetic("+", self, other)

    def __radd__(self, other: "Dim") -> "Dim":
        return _arithmetic("+", other, self)

    def __sub__(self, other: "Dim") -> "Dim":
        return _arithmetic("-", self, other)

    def __rsub__(self, other: "Dim") -> "Dim":
        return _arithmetic("-", other, self)

    def __mul__(self, other: "Dim") -> "Dim":
        return _arithmetic("*", self, other)

    def __rmul__(self, other: "Dim") -> "Dim":
        return _arithmetic("*", other, self)

    def __floordiv__(self, other: "Dim") -> "Dim":
        return _arithmetic("/", self, other)

    def __rfloordiv__(self, other: "Dim") -> "Dim":
        return _arithmetic("/", other, self)

    def __truediv__(self, other: Operand) -> Operand:
        return _float_arithmetic("divide", self, other)

    def __rtruediv__(self, other: Operand) -> Operand:
        return _float_arithmetic("divide", other, self)

    def __pow__(self, other: Operand) -> Operand:
        return _float_arithmetic("power", self, other)


def _float_arithmetic(name: str, *operands: Operand) -> Operand:
    """An operator on dimensions as numbers of float32."""
    return hooks.binary(
        name, *[hooks.dim_number(x, "float32") if isinstance(x, Dimension) else x for x in operands]
    )


def _arithmetic(op: str, a: Operand, b: Operand) -> "Dim":
    """`a op b`; what is not a dimension is left to the other side."""
    if isinstance(a, int | Dimension) and isinstance(b, int | Dimension):
        return hooks.dim_arithmetic(op, a, b)
    return NotImplemented


Dim = int | Dimension
"""A dimension: a number, or a type of kind `Dim` (`TypeVar`, `IncompleteType`, `DimExpr`, `Any`)."""
Shape = tuple[Dim, ...] | Type
"""The dimensions of a tensor, or a type of kind `Shape` (`TypeVar`, `IncompleteType`)."""
DType = str | Type
"""The name of a dtype, or a type of kind `BaseType`."""


class Any(Dimension):
    """`?`: an unknown dimension, without identity.  One object; `relay.Any()` returns it."""

    __slots__ = ()
    kind = Kind.Dim

    def __new__(cls) -> "Any":
        found = known((cls,))
        if found is None:
            made = super().__new__(cls)
            set_field(made, "flags", HAS_ANY)
            found = intern((cls,), made)
        assert isinstance(found, Any)
        return found


ANY = Any()
"""The dimension `?`, of which nothing is known before the program runs."""


class TypeVar(Dimension):
    """A type parameter of some kind; each object is one binding site."""

    __slots__ = ("kind", "name_hint", "uid")
    kind: Kind
    name_hint: str
    uid: int

    def __new__(cls, name: str, kind: Kind = Kind.Type) -> "TypeVar":
        self = super().__new__(cls)
        set_field(self, "name_hint", name)
        set_field(self, "kind", kind)
        set_field(self, "uid", next(uids))
        set_field(self, "flags", HAS_VAR | (HAS_OBJECT if kind is Kind.Type else 0))
        return self

    @property
    def name(self) -> str:
        """The name as written."""
        return self.name_hint


class IncompleteType(Dimension):
    """An unknown of some kind, for inference to solve.  `level` is the depth of the `let` it belongs to."""

    __slots__ = ("kind", "level", "uid")
    kind: Kind
    level: int
    uid: int

    def __new__(cls, kind: Kind = Kind.Type, level: int = 0) -> "IncompleteType":
        self = super().__new__(cls)
        set_field(self, "kind", kind)
        set_field(self, "level", level)
        set_field(self, "uid", next(uids))
        set_field(self, "flags", HAS_INCOMPLETE | (HAS_OBJECT if kind is Kind.Type else 0))
        return self


class DimExpr(Dimension):
    """A polynomial over dimensions, in normal form; made by `relay.ir.dim`, never directly.

    `terms` are `(monomial, coefficient)` with monomials as sorted tuples of atoms; `constant` is the rest.
    """

    __slots__ = ("constant", "terms")
    kind = Kind.Dim
    terms: tuple[tuple[tuple[Dimension, ...], int], ...]
    constant: int

    def __new__(cls, terms: tuple[tuple[tuple[Dimension, ...], int], ...], constant: int) -> "DimExpr":
        key = (cls, terms, constant)
        found = known(key)
        if found is None:
            found = super().__new__(cls)
            set_field(found, "terms", terms)
            set_field(found, "constant", constant)
            set_field(found, "flags", flags_of(atom for monomial, _ in terms for atom in monomial))
            found = intern(key, found)
        assert isinstance(found, DimExpr)
        return found

    @property
    def children(self) -> tuple[Type, ...]:
        return tuple(atom for monomial, _ in self.terms for atom in monomial)

    @property
    def linear(self) -> tuple[Dimension, int, int] | None:
        """`(n, a, b)` of `a * n + b`, which an atom `n` can be computed from; None for anything else."""
        if len(self.terms) != 1 or len(self.terms[0][0]) != 1:
            return None
        (((atom,), factor),) = self.terms
        return atom, factor, self.constant

    def rebuild(self, children: tuple[Dim, ...], /) -> Dim:  # pyright: ignore[reportIncompatibleMethodOverride]
        return hooks.dim_rebuild(self, children)


class DimCall(Dimension):
    """An atom of a dimension expression: `n / k` (floor division), `min`, `max` or `broadcast`."""

    __slots__ = ("args", "key", "op", "uid")
    kind = Kind.Dim
    op: str
    args: tuple[Dim, ...]
    uid: int
    key: tuple[tuple[int, str, int], ...]
    """Its place in the order of atoms; `relay.ir.dim` fills it in."""

    def __new__(cls, op: str, args: tuple[Dim, ...]) -> "DimCall":
        key = (cls, op, args)
        found = known(key)
        if found is None:
            found = super().__new__(cls)
            set_field(found, "op", op)
            set_field(found, "args", args)
            set_field(found, "uid", next(uids))
            set_field(found, "key", ())
            set_field(found, "flags", flags_of(args))
            found = intern(key, found)
        assert isinstance(found, DimCall)
        return found

    @property
    def children(self) -> tuple[Type, ...]:
        return tuple(a for a in self.args if isinstance(a, Type))

    def rebuild(self, children: tuple[Dim, ...], /) -> Dim:  # pyright: ignore[reportIncompatibleMethodOverride]
        return hooks.dim_rebuild(self, children)
