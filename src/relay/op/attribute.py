"""Values of attributes, as the annotations of an operator's fields want them."""

import typing
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from types import EllipsisType, NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, cast, get_args, get_origin, get_type_hints

import numpy

from relay.diagnostic import fail
from relay.ir.dtype import dtype_name, known_name
from relay.ir.expr import Constant
from relay.ir.type import HAS_ANY, HAS_INCOMPLETE, Dimension, Kind

DEEPEST_ATTRIBUTE = 100


def freeze(value: Any, depth: int = 0) -> Any:
    """Lists as tuples, all the way down (`attribute-type` beyond a depth that no operator has a use for)."""
    if not isinstance(value, list | tuple):
        return value
    if depth == DEEPEST_ATTRIBUTE:
        fail("attribute-type", f"the value of an attribute nests deeper than {DEEPEST_ATTRIBUTE}")
    return tuple([freeze(v, depth + 1) for v in cast("Sequence[Any]", value)])


class DTypeName(str):
    """Annotation of an attribute that names a dtype."""

    __slots__ = ()


Size: TypeAlias = Annotated[int, "size"]
"""Annotation of an attribute that is a size: an integer, or until inference has seen it a dimension."""
Sizes: TypeAlias = Size | tuple[Size, ...]
"""One size, or several."""


def mentions_size(hint: Any) -> bool:
    """Whether the annotation of an attribute says that sizes may stand in it."""
    return hint == Size or any(mentions_size(a) for a in get_args(hint))


@cache
def attribute_types(cls: type[Any]) -> dict[str, Any]:
    """The attributes of an operator class with the types they are annotated with."""
    hints = get_type_hints(cls, include_extras=True)
    return {f.name: hints[f.name] for f in fields(cls)}


@cache
def size_attributes(cls: type[Any]) -> tuple[str, ...]:
    """The attributes of an operator class that are sizes, or hold some."""
    return tuple([name for name, hint in attribute_types(cls).items() if mentions_size(hint)])


def attribute_parts(value: Any) -> list[Any]:
    """The parts of an attribute that are not tuples."""
    if not isinstance(value, tuple):
        return [value]
    return [part for v in cast("tuple[Any, ...]", value) for part in attribute_parts(v)]


def is_dimension(value: Any) -> bool:
    """Whether a value is a symbolic dimension: neither a number nor unknown."""
    return (
        isinstance(value, Dimension)
        and value.kind is Kind.Dim
        and not value.flags & (HAS_ANY | HAS_INCOMPLETE)
    )


def is_size(value: Any) -> bool:
    """Whether a value is an integer or a dimension."""
    return isinstance(value, int) or is_dimension(value)


def conform(value: Any, hint: Any, op: str, name: str, meant: str = "") -> Any:
    """An attribute value as its annotation wants it (`attribute-type` if it cannot be).

    `meant` is a hint where the value is a float, which may be an operand in the place of an attribute.
    """
    found = _conform(freeze(value), hint)
    if found is None:
        wanted = meant if meant and isinstance(value, float) else f"it is {_spell(hint)}"
        fail("attribute-type", f"attribute `{name}` of `{op}` cannot be {value!r}", hint=wanted)
    return found[0]


def _conform(value: Any, hint: Any) -> tuple[Any] | None:
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return (value,)
    if isinstance(value, Constant) and value.is_scalar:
        value = value.value.item()
    if hint == Size:
        return (value,) if is_dimension(value) else _conform(value, int)
    if origin in (typing.Union, UnionType):
        if value == "" and {DTypeName, NoneType} <= set(args):  # how version 0.0.5 writes None
            return (None,)
        return next((r for r in (_conform(value, h) for h in args) if r is not None), None)
    if origin is Literal:
        return (value,) if value in args else None
    if origin is tuple:
        if args in ((int, Ellipsis), (Size, Ellipsis)) and (isinstance(value, int) or is_dimension(value)):
            value = (value,)
        if not isinstance(value, tuple):
            return None
        items = cast("tuple[Any, ...]", value)
        if len(args) == 2 and isinstance(args[1], EllipsisType):
            wanted = (args[0],) * len(items)
        elif len(args) != len(items):
            return None
        else:
            wanted = args
        parts = [_conform(v, h) for v, h in zip(items, wanted, strict=True)]
        return None if None in parts else (tuple([p[0] for p in parts if p is not None]),)
    if hint is None or hint is NoneType:
        return (None,) if value is None else None
    if hint is DTypeName:
        if isinstance(value, numpy.dtype | type):
            value = dtype_name(cast(Any, value))
        known = known_name(value) if isinstance(value, str) else None
        return None if known is None else (known,)
    if hint is bool:
        if isinstance(value, int | numpy.bool_) and value in (0, 1):
            return (bool(cast(Any, value)),)
        return None
    if hint is int:
        if isinstance(value, bool) or not isinstance(value, int | numpy.integer):
            return None
        return (int(value),)  # pyright: ignore[reportUnknownArgumentType]
    if hint is float:
        number = isinstance(value, int | float | numpy.number) and not isinstance(value, bool)
        return (float(value),) if number else None  # pyright: ignore[reportArgumentType]
    return (value,) if isinstance(value, hint) else None


def _spell(hint: Any) -> str:
    if hint is DTypeName:
        return "a dtype such as float32"
    if hint == Size:
        return "a size"
    origin, args = get_origin(hint), get_args(hint)
    if origin in (typing.Union, UnionType):
        return " or ".join(_spell(a) for a in args)
    if origin is Literal:
        return "one of " + ", ".join(repr(a) for a in args)
    if origin is tuple:
        inner = ", ".join("…" if isinstance(a, EllipsisType) else _spell(a) for a in args)
        return f"({inner})"
    if hint in (None, NoneType):
        return "None"
    names = {"int": "an integer", "float": "a number", "bool": "True or False", "str": "a string"}
    return names.get(hint.__name__, str(hint.__name__))
