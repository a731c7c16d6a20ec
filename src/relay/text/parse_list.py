"""Lists in text: `[| a, b, ..%rest |]` is `Cons(a, Cons(b, %rest))`, and `[||]` is `Nil`."""

from typing import Any

from relay.diagnostic import Span
from relay.ir.expr import Call
from relay.text.cursor import Rule
from relay.text.parse_expr import Expressions


class Lists(Expressions):
    """The rules of lists."""

    def list_literal(self) -> Rule:
        """`[| a, b, ..%rest |]` or `[|<T> a, b |]`: the bracket is read already."""
        opener = self.i - 1
        self.full_language_only(opener, "`[| … |]`", "Cons(a, Nil)")
        type_args = self._type_arguments() if self.kinds[self.i] == "<" else ()
        elements: list[Any] = []
        starts: list[int] = []
        rest: Any = None
        while self.kinds[self.i] != "|]" and rest is None:
            starts.append(self.starts[self.i])
            if self.kinds[self.i] == "..":
                self.i += 1
                rest = yield self.expression()
            else:
                elements.append((yield self.expression()))
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        end = self.take("|]", opener=opener)
        if rest is None:
            rest = Call(self.list_constructor("Nil", opener), (), None, type_args, span=self.span(end))
        for i in range(len(elements) - 1, -1, -1):
            cons = self.list_constructor("Cons", opener)
            start = starts[i] if i else self.starts[opener]
            rest = Call(
                cons, (elements[i], rest), None, type_args, span=Span(self.source, start, self.ends[end])
            )
        return rest

    def _type_arguments(self) -> tuple[Any, ...]:
        """`<T>` behind the bracket: the type arguments of the constructors."""
        opener = self.i
        kinds = self.data_kinds.get(self.list_constructor("Cons", opener).belong_to.name_hint, ())
        self.i += 1
        found: list[Any] = []
        while self.kinds[self.i] != ">":
            found.append(self.said_kind(self.type_(kinds[len(found)] if len(found) < len(kinds) else None)))
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        self.take_angle(opener)
        return tuple(found)
