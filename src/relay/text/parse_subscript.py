"""Subscripts in text: `%x[1:3, ..., None, %i]`."""

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
        kinds, opener = self.kinds, self.i
        self.i = opener + 1
        items: list[Item] = []
        operands = [data]
        while kinds[self.i] != "]":
            if self._is_written_subscript(self.i):
                items.append(self._subscript())
            else:
                operands.append((yield self.expression()))
                items.append("%")
                if kinds[self.i] == ":":
                    self._refuse_slice_bound()
            if kinds[self.i] == ",":
                self.i += 1
            elif kinds[self.i] != "]":
                self.expected("`,` or `]`", opener=opener)
        if not items:
            self.expected("an index", hint="the first element is `%x[0]`, the whole tensor `%x`")
        self.i += 1
        span = self.span(first, self.i - 1)
        return Call(Op.get(Subscript.name), tuple(operands), Subscript(tuple(items)), (), span=span)

    def _is_written_subscript(self, i: int) -> bool:
        """Whether no operand begins at token `i`: `...`, `None`, a number alone or a slice."""
        kinds = self.kinds
        if kinds[i] in ("...", ":"):
            return True
        if kinds[i] == "NAME" and self.texts[i] == "None":
            return kinds[i + 1] in _ENDS
        return self._is_slice_bound(i)

    def _is_slice_bound(self, i: int) -> bool:
        i += self.kinds[i] == "-"
        text = self.texts[i]
        return (
            self.kinds[i] == "NUMBER"
            and text.isdigit()
            and len(text) <= MAX_DIGITS
            and self.kinds[i + 1] in _BOUND_ENDS
        )

    def _subscript(self) -> Item:
        i = self.i
        if self.kinds[i] in ("...", "NAME"):
            self.i = i + 1
            return "..." if self.kinds[i] == "..." else None
        parts = [self._slice_bound()]
        if self.kinds[self.i] != ":":
            return parts[0]
        while self.kinds[self.i] == ":" and len(parts) < 3:
            self.i += 1
            parts.append(self._slice_bound())
        if self.kinds[self.i] not in _ENDS:
            self._refuse_slice_bound()
        begin, end, stride = [*parts, None, None][:3]
        return begin, end, stride

    def _slice_bound(self) -> Bound:
        """The number here, if there is one."""
        i = self.i
        if not self._is_slice_bound(i):
            return None
        negative = self.kinds[i] == "-"
        self.i = i + 1 + negative
        value = int(self.texts[i + negative])
        return -value if negative else value

    def _refuse_slice_bound(self) -> None:
        self.expected(
            "`,` or `]`",
            hint="the bounds of a slice are numbers that are written out; "
            "`dyn.strided_slice(data, begin, end, strides)` takes computed ones",
        )
