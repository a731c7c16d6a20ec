"""Types: interned, so that equality is identity and costs nothing at any depth.

Every type knows by `flags` whether an inference variable, a type parameter, a `?` or a binder is somewhere
inside it, so that most questions about closed types are answered without a walk.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from itertools import count
from typing import Any as Value
from typing import Self
from weakref import WeakValueDictionary

from relay.ir import hooks
from relay.ir.dtype import dtype_name


class Kind(Enum):
    """What a type parameter stands for."""

    Type = "Type"
    Shape = "Shape"
    Dim = "Dim"
    ShapeVar = "Dim"
    BaseType = "BaseType"
    Constraint = "Constraint"
    AdtHandle = "AdtHandle"


TypeKind = Kind

HAS_INCOMPLETE = 1
HAS_VAR = 2
HAS_ANY = 4
HAS_BINDER = 8


class Type:
    """The base of all types.  Immutable; equal types are the same object (but see `FuncType`)."""

    __slots__ = ("__weakref__", "flags")
    flags: int
    kind: Kind = Kind.Type

    @property
    def children(self) -> tuple["Type", ...]:
        """The types directly inside, integers of shapes and names of base types left out."""
        return ()

    def rebuild(self, children: tuple["Type", ...], /) -> "Type":
        """The same type around other children."""
        assert not children
        return self

    @property
    def is_closed(self) -> bool:
        """Whether no inference variable, type parameter or `?` occurs inside."""
        return not self.flags & (HAS_INCOMPLETE | HAS_VAR | HAS_ANY)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"types are immutable: cannot set {name}")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Value, ...]:
        return hooks.pickle_type(self)

    def __str__(self) -> str:
        return hooks.type_text(self)

    def __repr__(self) -> str:
        return hooks.type_repr(self)


_interned: WeakValueDictionary[tuple[object, ...], Type] = WeakValueDictionary()
_refs = _interned.data  # a plain look-up here takes half the time of `WeakValueDictionary.get`
_uids = count()
_set = object.__setattr__


def _known(key: tuple[object, ...]) -> Type | None:
    """The living type of that key."""
    ref = _refs.get(key)
    return None if ref is None else ref()


def _flags(parts: Iterable[object]) -> int:
    found = 0
    for part in parts:
        if isinstance(part, Type):
            found |= part.flags
    return found


class Dimension(Type):
    """What has dimension arithmetic: `n + 1`, `2 * n`, `n // 2` build dimension expressions."""

    __slots__ = ()

    def __add__(self, other: "Dim") -> "Dim":
        return hooks.dim_arithmetic("+", self, other)

    def __radd__(self, other: "Dim") -> "Dim":
        return hooks.dim_arithmetic("+", other, self)

    def __sub__(self, other: "Dim") -> "Dim":
        return hooks.dim_arithmetic("-", self, other)

    def __rsub__(self, other: "Dim") -> "Dim":
        return hooks.dim_arithmetic("-", other, self)

    def __mul__(self, other: "Dim") -> "Dim":
        return hooks.dim_arithmetic("*", self, other)

    def __rmul__(self, other: "Dim") -> "Dim":
        return hooks.dim_arithmetic("*", other, self)

    def __floordiv__(self, other: "Dim") -> "Dim":
        return hooks.dim_arithmetic("/", self, other)

    def __rfloordiv__(self, other: "Dim") -> "Dim":
        return hooks.dim_arithmetic("/", other, self)


Dim = int | Dimension
"""A dimension: a number, or a type of kind `Dim` (`TypeVar`, `IncompleteType`, `DimExpr`, `Any`)."""
Shape = tuple[Dim, ...] | Type
"""The dimensions of a tensor, or a type of kind `Shape` (`TypeVar`, `IncompleteType`)."""
DType = str | Type
"""The name of a base type, or a type of kind `BaseType`."""


class Any(Dimension):
    """`?`: an unknown dimension, without identity.  One object; `relay.Any()` returns it."""

    __slots__ = ()
    kind = Kind.Dim

    def __new__(cls) -> "Any":
        found = _known((cls,))
        if found is None:
            found = _interned[(cls,)] = super().__new__(cls)
            _set(found, "flags", HAS_ANY)
        assert isinstance(found, Any)
        return found


ANY = Any()


class TypeVar(Dimension):
    """A type parameter of some kind; each object is one binding site."""

    __slots__ = ("kind", "name_hint", "uid")
    kind: Kind
    name_hint: str
    uid: int

    def __new__(cls, name: str, kind: Kind = Kind.Type) -> "TypeVar":
        self = super().__new__(cls)
        _set(self, "name_hint", name)
        _set(self, "kind", kind)
        _set(self, "uid", next(_uids))
        _set(self, "flags", HAS_VAR)
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
        _set(self, "kind", kind)
        _set(self, "level", level)
        _set(self, "uid", next(_uids))
        _set(self, "flags", HAS_INCOMPLETE)
        return self


class DimExpr(Dimension):
    """A polynomial over dimensions, in normal form; made by `relay.ir.dim`, never directly.

    `terms` are `(monomial, coefficient)` with monomials as sorted tuples of atoms; `constant` is the rest.
    """

    __slots__ = ("constant", "terms")
    kind = Kind.Dim
    terms: tuple[tuple[tuple[Type, ...], int], ...]
    constant: int

    def __new__(cls, terms: tuple[tuple[tuple[Type, ...], int], ...], constant: int) -> "DimExpr":
        key = (cls, terms, constant)
        found = _known(key)
        if found is None:
            found = super().__new__(cls)
            _set(found, "terms", terms)
            _set(found, "constant", constant)
            _set(found, "flags", _flags(atom for monomial, _ in terms for atom in monomial))
            _interned[key] = found
        assert isinstance(found, DimExpr)
        return found

    @property
    def children(self) -> tuple[Type, ...]:
        return tuple(atom for monomial, _ in self.terms for atom in monomial)

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
        found = _known(key)
        if found is None:
            found = super().__new__(cls)
            _set(found, "op", op)
            _set(found, "args", args)
            _set(found, "uid", next(_uids))
            _set(found, "key", ())
            _set(found, "flags", _flags(args))
            _interned[key] = found
        assert isinstance(found, DimCall)
        return found

    @property
    def children(self) -> tuple[Type, ...]:
        return tuple(a for a in self.args if isinstance(a, Type))

    def rebuild(self, children: tuple[Dim, ...], /) -> Dim:  # pyright: ignore[reportIncompatibleMethodOverride]
        return hooks.dim_rebuild(self, children)


class TensorType(Type):
    """A tensor of a shape and a base type; rank 0 is a scalar."""

    __slots__ = ("dtype", "shape")
    shape: Shape
    dtype: DType

    def __new__(cls, shape: Sequence[Dim] | Type, dtype: DType = "float32") -> "TensorType":
        if not isinstance(shape, Type) and type(shape) is not tuple:
            shape = tuple(shape)
        found = _known((cls, shape, dtype))
        if found is None:
            shape, dtype = _checked_shape(shape), _checked_dtype(dtype)
            found = _known((cls, shape, dtype))  # an alias, or NumPy's integers, named a known type
        if found is None:
            found = super().__new__(cls)
            _set(found, "shape", shape)
            _set(found, "dtype", dtype)
            _set(found, "flags", _flags((*shape, dtype) if isinstance(shape, tuple) else (shape, dtype)))
            _interned[(cls, shape, dtype)] = found
        return found  # pyright: ignore[reportReturnType]

    @property
    def children(self) -> tuple[Type, ...]:
        parts = self.shape if isinstance(self.shape, tuple) else (self.shape,)
        return tuple(p for p in (*parts, self.dtype) if isinstance(p, Type))

    def rebuild(self, children: tuple[Value, ...], /) -> Type:
        replaced = iter(children)
        if isinstance(self.shape, tuple):
            shape: Shape = tuple([next(replaced) if isinstance(d, Type) else d for d in self.shape])
        else:
            shape = next(replaced)
        return TensorType(shape, next(replaced) if isinstance(self.dtype, Type) else self.dtype)

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The shape as integers; `ValueError` if a dimension is not static."""
        if isinstance(self.shape, tuple) and all(isinstance(d, int) for d in self.shape):
            return tuple([d for d in self.shape if isinstance(d, int)])
        raise ValueError(f"{self} has no concrete shape")


def _checked_shape(shape: Value) -> Shape:
    if isinstance(shape, Type):
        return shape
    dims: list[Dim] = []
    for d in shape:
        if isinstance(d, Type):
            dims.append(d)
        else:
            if int(d) != d or d < 0:
                raise ValueError(f"a dimension is a non-negative integer or symbolic, not {d!r}")
            dims.append(int(d))
    return tuple(dims)


def _checked_dtype(dtype: Value) -> DType:
    return dtype if isinstance(dtype, Type) else dtype_name(dtype)


class TupleType(Type):
    """A product of a fixed number of types."""

    __slots__ = ("fields",)
    fields: tuple[Type, ...]

    def __new__(cls, fields: Sequence[Type]) -> "TupleType":
        fields = tuple(fields)
        key = (cls, fields)
        found = _known(key)
        if found is None:
            found = super().__new__(cls)
            _set(found, "fields", fields)
            _set(found, "flags", _flags(fields))
            _interned[key] = found
        assert isinstance(found, TupleType)
        return found

    @property
    def children(self) -> tuple[Type, ...]:
        return self.fields

    def rebuild(self, children: tuple[Type, ...], /) -> Type:
        return TupleType(children)


class RefType(Type):
    """A mutable cell that holds a value of a type."""

    __slots__ = ("value",)
    value: Type

    def __new__(cls, value: Type) -> "RefType":
        key = (cls, value)
        found = _known(key)
        if found is None:
            found = super().__new__(cls)
            _set(found, "value", value)
            _set(found, "flags", value.flags)
            _interned[key] = found
        assert isinstance(found, RefType)
        return found

    @property
    def children(self) -> tuple[Type, ...]:
        return (self.value,)

    def rebuild(self, children: tuple[Type, ...], /) -> Type:
        (value,) = children
        return RefType(value)


class GlobalTypeVar(Type):
    """The name of an algebraic data type."""

    __slots__ = ("name_hint",)
    name_hint: str
    kind = Kind.AdtHandle

    def __new__(cls, name: str, kind: Kind = Kind.AdtHandle) -> "GlobalTypeVar":
        key = (cls, name)
        found = _known(key)
        if found is None:
            found = super().__new__(cls)
            _set(found, "name_hint", name)
            _set(found, "flags", 0)
            _interned[key] = found
        assert isinstance(found, GlobalTypeVar)
        return found

    @property
    def name(self) -> str:
        """The name as written."""
        return self.name_hint


class TypeCall(Type):
    """A data type applied to arguments of the kinds it declares: `List[int32]`, `Vec[3, float32]`.

    A data type without parameters is `TypeCall(name, ())`; arguments of kind `Dim` may be integers, of kind
    `Shape` tuples, of kind `BaseType` names.
    """

    __slots__ = ("args", "func")
    func: Type
    args: tuple[Value, ...]

    def __new__(cls, func: Type, args: Sequence[Value] = ()) -> "TypeCall":
        args = tuple([tuple(a) if isinstance(a, list) else a for a in args])
        key = (cls, func, args)
        found = _known(key)
        if found is None:
            found = super().__new__(cls)
            _set(found, "func", func)
            _set(found, "args", args)
            _set(found, "flags", func.flags | _flags(_spread(args)))
            _interned[key] = found
        assert isinstance(found, TypeCall)
        return found

    @property
    def children(self) -> tuple[Type, ...]:
        return (self.func, *[a for a in _spread(self.args) if isinstance(a, Type)])

    def rebuild(self, children: tuple[Value, ...], /) -> Type:
        func, *rest = children
        return TypeCall(func, _unspread(self.args, rest))


class TypeRelation(Type):
    """A constraint: relation `name` holds between `args`.

    `args` is None for the form `where R`, which relates all parameters of the function and its result.
    `attrs` are the attributes of the operator whose relation it is.
    """

    __slots__ = ("args", "attrs", "name")
    name: str
    args: tuple[Value, ...] | None
    attrs: tuple[tuple[str, Value], ...]
    kind = Kind.Constraint

    def __new__(
        cls, name: str, args: Sequence[Value] | None = None, attrs: Mapping[str, Value] | Sequence[Value] = ()
    ) -> "TypeRelation":
        args = None if args is None else tuple(args)
        pairs = tuple(sorted(attrs.items())) if isinstance(attrs, Mapping) else tuple(attrs)
        key = (cls, name, args, pairs)
        found = _known(key)
        if found is None:
            found = super().__new__(cls)
            _set(found, "name", name)
            _set(found, "args", args)
            _set(found, "attrs", pairs)
            _set(found, "flags", _flags(_spread(args or ())))
            _interned[key] = found
        assert isinstance(found, TypeRelation)
        return found

    @property
    def children(self) -> tuple[Type, ...]:
        return tuple([a for a in _spread(self.args or ()) if isinstance(a, Type)])

    def rebuild(self, children: tuple[Value, ...], /) -> Type:
        args = None if self.args is None else _unspread(self.args, list(children))
        return TypeRelation(self.name, args, self.attrs)


def _spread(args: Iterable[Value]) -> list[Value]:
    """`args` with shapes (tuples of dimensions) flattened."""
    flat: list[Value] = []
    for a in args:
        if isinstance(a, tuple):
            flat += a
        else:
            flat.append(a)
    return flat


def _unspread(args: tuple[Value, ...], types: list[Value]) -> tuple[Value, ...]:
    """The inverse of `_spread`, with the types replaced in order."""
    replaced = iter(types)

    def one(a: Value) -> Value:
        return next(replaced) if isinstance(a, Type) else a

    return tuple([tuple([one(d) for d in a]) if isinstance(a, tuple) else one(a) for a in args])


class FuncType(Type):
    """The type of a function, polymorphic where `type_params` is not empty; equal up to their names.

    Without type parameters it is interned like every other type.  With them, each object keeps its own
    parameters, and `==` and `hash` go by the canonical form.
    """

    __slots__ = ("_canonical", "arg_types", "height", "ret_type", "type_constraints", "type_params")
    arg_types: tuple[Type, ...]
    ret_type: Type
    type_params: tuple[TypeVar, ...]
    type_constraints: tuple[TypeRelation, ...]
    height: int
    _canonical: "FuncType | None"

    def __new__(
        cls,
        arg_types: Sequence[Type],
        ret_type: Type,
        type_params: Sequence[TypeVar] | None = (),
        type_constraints: Sequence[TypeRelation] | None = (),
    ) -> "FuncType":
        parts = (tuple(arg_types), ret_type, tuple(type_params or ()), tuple(type_constraints or ()))
        key = (cls, *parts)
        found = _known(key)
        if found is None:
            found = super().__new__(cls)
            for name, part in zip(
                ("arg_types", "ret_type", "type_params", "type_constraints"), parts, strict=True
            ):
                _set(found, name, part)
            inner = (*parts[0], parts[1], *parts[3])
            binder = HAS_BINDER if parts[2] else 0
            _set(found, "flags", _flags(inner) | binder)
            _set(found, "_canonical", None)
            _interned[key] = found
        assert isinstance(found, FuncType)
        return found

    @property
    def children(self) -> tuple[Type, ...]:
        return (*self.arg_types, self.ret_type, *self.type_constraints)

    def rebuild(self, children: tuple[Type, ...], /) -> Type:
        n = len(self.arg_types)
        constraints = tuple([c for c in children[n + 1 :] if isinstance(c, TypeRelation)])
        return FuncType(children[:n], children[n], self.type_params, constraints)

    @property
    def canonical(self) -> "FuncType":
        """Itself, or the form whose parameters are named by depth and position."""
        if not self.type_params:
            return self
        if self._canonical is None:
            _set(self, "_canonical", hooks.canonical_func_type(self))
        assert self._canonical is not None
        return self._canonical

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, FuncType) or not self.type_params or not other.type_params:
            return False
        return self.canonical is other.canonical

    def __hash__(self) -> int:
        return hash((FuncType, len(self.type_params))) if self.type_params else id(self) >> 4


def scalar_type(dtype: str) -> TensorType:
    """The type of a rank-0 tensor."""
    return TensorType((), dtype)


BOOL = scalar_type("bool")
UNIT = TupleType(())
