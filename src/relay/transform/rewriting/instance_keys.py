"""What tells the copies of a polymorphic function apart: the type arguments that are put in.

Sizes that are parameters are not: one copy takes them all.
"""

from collections.abc import Collection
from functools import cache
from typing import Any, cast

from relay.analysis.kinds import free_type_vars
from relay.ir.subst import substitute_type
from relay.ir.type import (
    ANY,
    HAS_VAR,
    Dim,
    FuncType,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)

KEEP = object()
"""In the place of a type argument that is not put in."""
Key = tuple[Any, ...]
_OF_VALUES = (TensorType, TupleType, FuncType, RefType, TypeCall)
"""Types of values, which may have sizes in them, unlike parameters and sizes themselves."""


@cache
def size_place(number: int) -> TypeVar:
    """In the place of a size in what is put in: which of those that the copy takes it is."""
    return TypeVar(f"d{number}", Kind.Dim)


def is_closed_type(arg: Any, scope: Collection[TypeVar] = ()) -> bool:
    """Return whether a type argument can be put in as it is: its parameters are all in `scope`, that of the
    function, and it is not an unknown size.

    A type of a value may have an unknown size: the copy then knows that type and no more.
    """
    if isinstance(arg, tuple):
        return all(is_closed_type(d, scope) for d in cast("tuple[Dim, ...]", arg))
    if not isinstance(arg, Type):
        return True
    return arg is not ANY and (not arg.flags & HAS_VAR or all(v in scope for v in free_type_vars(arg)))


def without_sizes(arg: Any, sizes: dict[Dim, TypeVar]) -> Any:
    """A shape or a type of values with places for sizes that are parameters; `KEEP` for anything else.

    A copy knows how many axes there are and of what a value is made, and takes the sizes.
    """

    def place(d: Dim) -> TypeVar:
        return sizes.setdefault(d, size_place(len(sizes)))

    if isinstance(arg, tuple):
        dims = cast("tuple[Dim, ...]", arg)
        return tuple([place(d) if isinstance(d, Type) and d is not ANY else d for d in dims])
    free = free_type_vars(arg) if isinstance(arg, _OF_VALUES) else ()
    if not free or any(v.kind is not Kind.Dim for v in free):
        return KEEP
    return substitute_type(arg, {v: place(v) for v in free})


def with_sizes(arg: Any, sizes: dict[TypeVar, TypeVar], scope: Collection[TypeVar] = ()) -> Any:
    """Return a type argument of a key with new parameters for sizes; those in `scope` stay."""
    parts = cast("tuple[Dim, ...]", arg) if isinstance(arg, tuple) else (arg,)
    for v in [v for part in parts if isinstance(part, Type) for v in free_type_vars(part)]:
        if v not in sizes and v not in scope:
            sizes[v] = TypeVar(v.name_hint, Kind.Dim)
    return substitute_type(arg, sizes)
