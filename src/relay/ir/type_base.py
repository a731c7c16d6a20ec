"""What every type is: immutable, interned, and with flags that say what is inside."""

from collections.abc import Iterable
from enum import Enum
from itertools import count
from threading import RLock
from typing import Any as Value
from typing import Self, TypeVar
from weakref import WeakValueDictionary

from relay.ir import hooks

Made = TypeVar("Made", bound="Type")


class Kind(Enum):
    """What a type parameter stands for."""

    Type = "Type"
    Shape = "Shape"
    Dim = "Dim"
    ShapeVar = "Dim"  # noqa: PIE796  the name that people know for a single dimension
    BaseType = "BaseType"
    Constraint = "Constraint"
    AdtHandle = "AdtHandle"


HAS_INCOMPLETE = 1
HAS_VAR = 2
HAS_ANY = 4
HAS_BINDER = 8
HAS_OBJECT = 16
"""A function, a reference, a data type, or what may stand for one: values that are not tensors."""
HAS_ERROR = 32
"""What inference puts where a fault was."""
HAS_ALIAS = 64
"""A type that is written by an alias."""


class Type:
    """The base of all types.  Immutable; equal types are the same object (but see `FuncType`)."""

    __slots__ = ("__weakref__", "flags")
    flags: int
    kind: Kind = Kind.Type

    @property
    def children(self) -> tuple["Type", ...]:
        """The types directly inside, integers of shapes and names of dtypes left out."""
        return ()

    def rebuild(self, children: tuple["Type", ...], /) -> "Type":
        """A copy of the type with other children."""
        assert not children
        return self

    @property
    def is_closed(self) -> bool:
        """Whether no inference variable, type parameter or `?` occurs inside."""
        return not self.flags & (HAS_INCOMPLETE | HAS_VAR | HAS_ANY)

    @property
    def is_of_tensors(self) -> bool:
        """Whether values of this type are made of tensors and tuples alone."""
        return not self.flags & HAS_OBJECT

    def _repr_mimebundle_(self, **_: Value) -> dict[str, str]:
        return hooks.display(self)

    def same_as(self, other: object) -> bool:
        """Whether `other` is this very type."""
        return self is other

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


interned: WeakValueDictionary[tuple[object, ...], Type] = WeakValueDictionary()
"""The living types by what they say."""
_refs: dict[tuple[object, ...], Value] = interned.data  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
"""A plain look-up here takes half the time of `WeakValueDictionary.get`."""
_interning = RLock()
"""Held while a type is entered: two threads that make one type get one object.  To compare polymorphic
function types makes types, so a thread may enter a second one meanwhile."""
uids = count()
"""Numbers for what is its own identity, in the order of age."""
set_field = object.__setattr__
"""How a type sets a field of its own while it is made."""


def known(key: tuple[object, ...]) -> Type | None:
    """The living type of that key."""
    ref = _refs.get(key)
    return None if ref is None else ref()


def intern(key: tuple[object, ...], made: Made) -> Made:
    """Enter `made` under its key; the living type of that key where another thread was first."""
    with _interning:
        found = known(key)
        if found is None:
            interned[key] = made
            return made
    assert isinstance(found, type(made))
    return found


def flags_of(parts: Iterable[object]) -> int:
    """The flags of all types among `parts`."""
    found = 0
    for part in parts:
        if isinstance(part, Type):
            found |= part.flags
    return found
