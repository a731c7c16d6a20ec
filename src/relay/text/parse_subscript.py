"""Subscripts in text: `%x[1:3, ..., None, %i]`."""

from functools import lru_cache
from typing import Any

from relay.ir.expr import Call, Op
from relay.op.subscript import Bound, Item, Subscript
from relay.text.cursor import Rule
from relay.text.parse_call import Calls

MAX_DIGITS = 18
"""Digits of an index that is written out: it fits into an int64."""
_ENDS = frozenset({",", "]"})
_BOUND_ENDS = frozenset({",", "]", ":"})


class Subscripts(Calls):
    """The rule of subscripts."""

    def subscripts(self, data: Any, first: int) -> Rule:
        """What stands in the brackets here, and the part of `data` that it takes."""
        operands = [data]
        items = yield from self.items(operands)
        span = self.span(first, self.i - 1)
        return Call(Op.get(Subscript.name), tuple(operands), subscript(items), (), span=span)

    def items(self, operands: list[Any]) -> Rule:
        """`[1:3, %i]`, as items; what is computed in it goes to the operands."""
        kinds, opener = self.kinds, self.i
        self.i = opener + 1
        items: list[Item] = []
        while kinds[self.i] != "]":
            items.append((yield self._subscript(operands)))
            if kinds[self.i] == ",":
                self.i += 1
            elif kinds[self.i] != "]":
                self.expected("`,` or `]`", opener=opener)
        if not items:
            self.expected("an index", hint="the first element is `%x[0]`, the whole tensor `%x`")
        self.i += 1
        return tuple(items)

    def _subscript(self, operands: list[Any]) -> Rule:
        """An item; what is computed in it goes to the operands."""
        i, kind = self.i, self.kinds[self.i]
        if kind == "..." or (kind == "NAME" and self.texts[i] == "None" and self.kinds[i + 1] in _ENDS):
            self.i = i + 1
            return "..." if kind == "..." else None
        begin: Bound = yield from self._slice_bound(operands)
        if self.kinds[self.i] != ":":
            return begin
        self.i += 1
        end: Bound = yield from self._slice_bound(operands)
        if self.kinds[self.i] != ":":
            return begin, end, None
        self.i += 1
        if self.kinds[self.i] not in _ENDS and not self._is_number(self.i):
            self.expected("a number", hint="the stride of a slice is written out")
        return begin, end, (yield from self._slice_bound(operands))

    def _slice_bound(self, operands: list[Any]) -> Rule:
        """The number here, `"%"` for what is computed, or None for nothing."""
        i = self.i
        if self.kinds[i] in _BOUND_ENDS:
            return None
        if not self._is_number(i):
            operands.append((yield self.expression()))
            return "%"
        negative = self.kinds[i] == "-"
        self.i = i + 1 + negative
        value = int(self.texts[i + negative])
        return -value if negative else value

    def _is_number(self, i: int) -> bool:
        """Whether a number alone stands at token `i`."""
        i += self.kinds[i] == "-"
        text = self.texts[i]
        return (
            self.kinds[i] == "NUMBER"
            and text.isdigit()
            and len(text) <= MAX_DIGITS
            and self.kinds[i + 1] in _BOUND_ENDS
        )


@lru_cache(maxsize=256)
def subscript(items: tuple[Item, ...]) -> Subscript:
    """The operator for some items, one object for equal ones."""
    return Subscript(items)
