"""Subscripts as text: `%x[1:3, ..., None, %i]`."""

from collections.abc import Iterator, Sequence

from relay.ir.expr import Call, Constant, Expr
from relay.op.subscript import Item, Subscript
from relay.text.parse_subscript import MAX_DIGITS


def is_subscript(e: Call) -> bool:
    """Whether a call reads as one with brackets: it has an operand for each item that is one, and no more."""
    op = e.attrs
    if not isinstance(op, Subscript) or e.type_args or not op.items:
        return False
    parts = [part for item in op.items for part in (item if isinstance(item, tuple) else (item,))]
    return parts.count("%") == len(e.args) - 1 and all(map(_is_short, parts))


def _is_short(part: int | str | None) -> bool:
    """Whether a part of an item, if it is a number, has few enough digits."""
    return not isinstance(part, int) or abs(part) < 10**MAX_DIGITS


def subscript_texts(op: Subscript, operands: Sequence[Expr], texts: Sequence[str]) -> list[str]:
    """Each item as text; `texts` are those of the operands."""
    found = iter([_operand(e, text) for e, text in zip(operands, texts, strict=True)])
    return [_item_text(item, found) for item in op.items]


def _operand(e: Expr, text: str) -> str:
    """An operand so that it does not read as an item that is written out."""
    return f"({text})" if text == "None" or (type(e) is Constant and text[0] in "-0123456789") else text


def _item_text(item: Item, operands: Iterator[str]) -> str:
    if isinstance(item, tuple):
        begin, end, stride = ["" if n is None else _item_text(n, operands) for n in item]
        return f"{begin}:{end}:{stride}" if stride else f"{begin}:{end}"
    return next(operands) if item == "%" else str(item)
