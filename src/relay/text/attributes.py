"""Attribute values and attribute lists as text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, cast, get_args

import numpy as np

from relay.diagnostic import fail
from relay.ir.dtype import DTYPES, dtype_name
from relay.ir.type import Dimension, Type
from relay.op.attribute import DTypeName, attribute_types
from relay.op.base import Operator
from relay.text import names
from relay.text.literals import LONGEST_ATTRIBUTE


def float_text(value: float) -> str:
    """A float so that it reads back as that float, with a point or an exponent."""
    if value != value:
        return "nanf64"
    if value in (float("inf"), float("-inf")):
        return "inff64" if value > 0 else "-inff64"
    text = repr(value).replace("e+", "e")
    return text if "." in text or "e" in text else f"{text}.0"


def value_text(value: Any, dimension_text: Callable[[Dimension], str] | None = None) -> str:
    """An attribute value: number, string, bool, None, list, tuple, dict, dtype, nested at will.

    `dimension_text` writes the dimensions among them.  Raises `attribute-not-printable`.
    """
    kind = value.__class__
    if kind is str:
        return names.quote(value)
    if kind is bool or value is None:
        return str(value)
    if kind is float:
        return float_text(value)
    out: list[str] = []
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if type(item) is _Text:
            out.append(item)
        elif isinstance(item, Mapping):
            stack += reversed(_dict_pieces(cast("Mapping[Any, Any]", item)))
        elif isinstance(item, tuple | list):
            stack += reversed(_list_pieces(cast("Sequence[Any]", item)))
        elif isinstance(item, Dimension) and dimension_text is not None:
            out.append(dimension_text(item))
        else:
            out.append(_scalar(item))
    return "".join(out)


def _dict_pieces(items: Mapping[Any, Any]) -> list[Any]:
    pieces: list[Any] = [_Text("{")]
    for i, (key, inner) in enumerate(items.items()):
        pieces += [_Text((", " if i else "") + f"{_key(key)}: "), inner]
    return [*pieces, _Text("}")]


def _list_pieces(items: Sequence[Any]) -> list[Any]:
    pieces: list[Any] = [_Text("[" if isinstance(items, list) else "(")]
    for i, inner in enumerate(items):
        pieces += [_Text(", "), inner] if i else [inner]
    return [*pieces, _Text("]" if isinstance(items, list) else ",)" if len(items) == 1 else ")")]


class _Text(str):
    """A piece that is text already."""

    __slots__ = ()


def _key(key: Any) -> str:
    return names.quote(key) if isinstance(key, str) else _scalar(key)


def _scalar(value: Any) -> str:
    if isinstance(value, np.generic):
        value = cast(Any, value).item()
    if isinstance(value, str):
        return names.quote(value)
    if isinstance(value, float):
        return float_text(value)
    if value is None or (isinstance(value, int) and value.bit_length() <= 3 * LONGEST_ATTRIBUTE):
        return str(value)
    if isinstance(value, np.dtype | type):
        try:
            return names.quote(dtype_name(cast(Any, value)))
        except (ValueError, TypeError):
            pass
    what = f"a value of class {cast(Any, value).__class__.__name__}"
    if isinstance(value, int):
        what = f"an integer of {value.bit_length()} bits"
    elif isinstance(value, Type):
        what = f"`{value!r}`"
    fail(
        "attribute-not-printable",
        f"{what} cannot be an attribute in text",
        hint="use numbers, strings, booleans, None, and lists, tuples and dicts of them",
    )


@cache
def _plan(cls: type[Operator]) -> tuple[tuple[str, Any, bool], ...]:
    """Each attribute with its default and whether it names a dtype."""
    types = attribute_types(cls)
    return tuple(
        [
            (f.name, f.default, types[f.name] is DTypeName or DTypeName in get_args(types[f.name]))
            for f in fields(cast(Any, cls))
        ]
    )


def operator_attributes(op: Operator, dimension_text: Callable[[Dimension], str] | None = None) -> str:
    """`alpha=0.1, dtype=float32` of what differs from the defaults, or nothing."""
    if type(op).changed_attributes is not Operator.changed_attributes:
        return ", ".join(attribute_list(op.changed_attributes()))
    parts: list[str] = []
    for name, default, is_dtype in _plan(type(op)):
        value = getattr(op, name)
        if value is default or (default is not MISSING and type(value) is type(default) and value == default):
            continue
        text = value if is_dtype and value in DTYPES else value_text(value, dimension_text)
        parts.append(f"{name}={text}")
    return ", ".join(parts)


def attribute_list(attrs: Mapping[str, Any]) -> list[str]:
    """`key=value` for each attribute."""
    return [f"{key_text(key)}={value_text(value)}" for key, value in attrs.items()]


def key_text(key: str) -> str:
    """The name of an attribute before its `=`."""
    return key if names.is_dotted(key) and key not in names.KEYWORDS else names.quote(key)
