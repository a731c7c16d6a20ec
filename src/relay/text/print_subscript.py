"""Subscripts as text, `%x[1:3, ..., None, %i]`, fields of records, `%l.w`, and copies with others."""

from collections.abc import Container, Iterator, Sequence
from typing import Any

from relay.ir.expr import Call, Constant, Expr
from relay.op.records import field_name
from relay.op.subscript import Item, Subscript
from relay.op.update import IndexUpdate
from relay.text.names import is_plain
from relay.text.parse_subscript import MAX_DIGITS

UPDATE_OPERANDS = 2
"""The operands of a copy before those of its items: what is copied, and the new value."""


def is_subscript(e: Call) -> bool:
    """Whether a call reads as one with brackets: it has an operand for each item that is one, and no more."""
    return isinstance(e.attrs, Subscript) and _has_items(e, e.attrs.items, 1)


def is_update(e: Any) -> bool:
    """Whether a node reads as a copy, `%x with { [1:3]: %v }`."""
    return (
        type(e) is Call and isinstance(e.attrs, IndexUpdate) and _has_items(e, e.attrs.items, UPDATE_OPERANDS)
    )


def _has_items(e: Call, items: Sequence[Item], operands: int) -> bool:
    """Whether a call has so many operands before those of its items, and one for each item that takes one."""
    if e.written_type_args or not items:
        return False
    if field_name(items):
        return len(e.args) == operands and is_plain(field_name(items))
    parts = [part for item in items for part in (item if isinstance(item, tuple) else (item,))]
    return parts.count("%") == len(e.args) - operands and all(map(_is_written, parts))


def _is_written(part: int | str | None) -> bool:
    """Whether a part of an item has a form in brackets."""
    return part in ("%", "...") if isinstance(part, str) else _is_short(part)


def updates(e: Call, named: tuple[Container[Any], ...]) -> list[Call]:
    """The copies of copies that print together, in order; nodes in `named` print by a name."""
    found = [e]
    inner = e.args[0]
    while is_update(inner) and not any(inner in names for names in named):
        assert isinstance(inner, Call)
        if field_name(inner.attrs.items) in {field_name(c.attrs.items) or None for c in found}:
            break
        found.append(inner)
        inner = inner.args[0]
    return found[::-1]


def _is_short(part: int | None) -> bool:
    """Whether a part of an item, if it is a number, has few enough digits."""
    return part is None or abs(part) < 10**MAX_DIGITS


def subscript_texts(items: Sequence[Item], operands: Sequence[Expr], texts: Sequence[str]) -> list[str]:
    """Each item as text; `texts` are those of the operands."""
    found = iter([_operand(e, text) for e, text in zip(operands, texts, strict=True)])
    return [_item_text(item, found) for item in items]


def _operand(e: Expr, text: str) -> str:
    """An operand so that it does not read as an item that is written out."""
    return f"({text})" if text == "None" or (type(e) is Constant and text[0] in "-0123456789") else text


def _item_text(item: Item, operands: Iterator[str]) -> str:
    if isinstance(item, tuple):
        begin, end, stride = ["" if n is None else _item_text(n, operands) for n in item]
        return f"{begin}:{end}:{stride}" if stride else f"{begin}:{end}"
    return next(operands) if item == "%" else str(item)
