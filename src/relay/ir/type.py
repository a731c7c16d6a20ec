"""Types: interned, so that equality is identity and costs nothing at any depth.

Every type knows by `flags` whether an inference variable, a type parameter, a `?` or a binder is somewhere
inside it, so that most questions about closed types are answered without a walk.

The base is in `type_base`; what stands for something, and the dimensions made of it, in `symbol`.  The rest
of the package imports all of them from here.
"""

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any as Value

from relay.ir import hooks
from relay.ir.dtype import dtype_name
from relay.ir.symbol import ANY, Any, Dim, DimCall, Dimension, DimExpr, DType, IncompleteType, Shape, TypeVar
from relay.ir.type_base import (
    HAS_ANY,
    HAS_BINDER,
    HAS_INCOMPLETE,
    HAS_OBJECT,
    HAS_VAR,
    Kind,
    Type,
    flags_of,
    intern,
    known,
    set_field,
)

__all__ = [
    "ANY", "BOOL", "HAS_ANY", "HAS_BINDER", "HAS_INCOMPLETE", "HAS_VAR", "UNIT", "Any", "DType", "Dim",
    "DimCall", "DimExpr", "Dimension", "FuncType", "GlobalTypeVar", "IncompleteType", "Kind", "RefType",
    "Shape", "TensorType", "TupleType", "Type", "TypeCall", "TypeKind", "TypeRelation", "TypeVar",
    "scalar_type",
]  # fmt: skip

TypeKind = Kind


class TensorType(Type):
    """A tensor of a shape and a dtype; rank 0 is a scalar."""

    __slots__ = ("dtype", "shape")
    shape: Shape
    dtype: DType

    def __new__(cls, shape: Sequence[Dim] | Type, dtype: DType = "float32") -> "TensorType":
        if not isinstance(shape, (Type, tuple)):
            shape = tuple(shape)
        found = known((cls, shape, dtype))
        if found is None:
            key = (cls, _checked_shape(shape), _checked_dtype(dtype))
            found = known(key) or cls._made(key)  # an alias, or NumPy's integers, may name a known type
        assert isinstance(found, TensorType)
        return found

    @classmethod
    def _made(cls, key: tuple[type, Shape, DType]) -> "TensorType":
        _, shape, dtype = key
        made = super().__new__(cls)
        set_field(made, "shape", shape)
        set_field(made, "dtype", dtype)
        set_field(made, "flags", flags_of((*(shape if isinstance(shape, tuple) else (shape,)), dtype)))
        return intern(key, made)

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


def _checked_shape(shape: tuple[Value, ...] | Type) -> Shape:
    return shape if isinstance(shape, Type) else tuple([_checked_dim(d) for d in shape])


def _checked_dim(d: Value) -> Dim:
    if isinstance(d, Dimension):
        return d
    try:
        size = operator.index(d)
    except TypeError:
        size = -1
    if size < 0:
        raise ValueError(f"a dimension is a non-negative integer or symbolic, not {d!r}")
    return size


def _checked_dtype(dtype: Value) -> DType:
    return dtype if isinstance(dtype, Type) else str(dtype_name(dtype))  # an attribute has a class of its own


class TupleType(Type):
    """A product of a fixed number of types."""

    __slots__ = ("fields",)
    fields: tuple[Type, ...]

    def __new__(cls, fields: Sequence[Type]) -> "TupleType":
        fields = tuple(fields)
        key = (cls, fields)
        found = known(key)
        if found is None:
            found = super().__new__(cls)
            set_field(found, "fields", fields)
            set_field(found, "flags", flags_of(fields))
            found = intern(key, found)
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
        found = known(key)
        if found is None:
            found = super().__new__(cls)
            set_field(found, "value", value)
            set_field(found, "flags", value.flags | HAS_OBJECT)
            found = intern(key, found)
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
        found = known(key)
        if found is None:
            found = super().__new__(cls)
            set_field(found, "name_hint", name)
            set_field(found, "flags", HAS_OBJECT)
            found = intern(key, found)
        assert isinstance(found, GlobalTypeVar)
        return found

    def __call__(self, *args: Any) -> "TypeCall":
        """The data type applied to arguments: `vec(elem)`."""
        return TypeCall(self, args)

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
        args = tuple([_frozen(a) for a in args])
        key = (cls, func, args)
        found = known(key)
        if found is None:
            found = super().__new__(cls)
            set_field(found, "func", func)
            set_field(found, "args", args)
            set_field(found, "flags", func.flags | flags_of(spread(args)) | HAS_OBJECT)
            found = intern(key, found)
        assert isinstance(found, TypeCall)
        return found

    @property
    def children(self) -> tuple[Type, ...]:
        return (self.func, *[a for a in spread(self.args) if isinstance(a, Type)])

    def rebuild(self, children: tuple[Value, ...], /) -> Type:
        func, *rest = children
        return TypeCall(func, unspread(self.args, rest))


class TypeRelation(Type):
    """A constraint: relation `name` holds between `args`.

    `args` is None for the form `where R`, which relates all parameters of the function and its result.
    `attrs` are the attributes of the operator whose relation it is, with tuples for lists.
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
        pairs = tuple([(k, _hashable(v)) for k, v in pairs])
        key = (cls, name, args, pairs)
        found = known(key)
        if found is None:
            found = super().__new__(cls)
            set_field(found, "name", name)
            set_field(found, "args", args)
            set_field(found, "attrs", pairs)
            set_field(found, "flags", flags_of(spread(args or ())))
            found = intern(key, found)
        assert isinstance(found, TypeRelation)
        return found

    @property
    def children(self) -> tuple[Type, ...]:
        return tuple([a for a in spread(self.args or ()) if isinstance(a, Type)])

    def rebuild(self, children: tuple[Value, ...], /) -> Type:
        args = None if self.args is None else unspread(self.args, list(children))
        return TypeRelation(self.name, args, self.attrs)


def _frozen(arg: Value) -> Value:
    """A shape given as a list as a tuple."""
    return tuple(arg) if isinstance(arg, list) else arg  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _hashable(attr: Value) -> Value:
    """An attribute with tuples for lists, because constraints are compared."""
    return tuple([_hashable(a) for a in attr]) if isinstance(attr, list | tuple) else attr  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def spread(args: Iterable[Value]) -> list[Value]:
    """`args` with shapes (tuples of dimensions) flattened."""
    flat: list[Value] = []
    for a in args:
        if isinstance(a, tuple):
            flat += a
        else:
            flat.append(a)
    return flat


def unspread(args: tuple[Value, ...], types: list[Value]) -> tuple[Value, ...]:
    """The inverse of `spread`, with the types replaced in order."""
    replaced = iter(types)

    def one(a: Value) -> Value:
        return next(replaced) if isinstance(a, Type) else a

    def several(dims: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple([one(d) for d in dims])

    return tuple([one(a) if not isinstance(a, tuple) else several(a) for a in args])  # pyright: ignore[reportUnknownArgumentType]


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
        found = known(key)
        if found is None:
            found = super().__new__(cls)
            for name, part in zip(
                ("arg_types", "ret_type", "type_params", "type_constraints"), parts, strict=True
            ):
                set_field(found, name, part)
            inner = (*parts[0], parts[1], *parts[3])
            binder = HAS_BINDER if parts[2] else 0
            set_field(found, "flags", flags_of(inner) | binder | HAS_OBJECT)
            set_field(found, "_canonical", None)
            found = intern(key, found)
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
            set_field(self, "_canonical", hooks.canonical_func_type(self))
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
"""The type of conditions: a scalar of the dtype bool."""
UNIT = TupleType(())
"""The type of the empty tuple."""
