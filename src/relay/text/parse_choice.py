"""Choices in text: `if` and `match`."""

from typing import Any

from relay.ir.expr import Clause, If, Match
from relay.text.cursor import Rule
from relay.text.parse_function import Functions

_BEGINS_PATTERN = frozenset({"NAME", "LOCAL", "GLOBAL", "(", "[|", "NUMBER", "STRING", "-"})


class Choices(Functions):
    """The rules of choices."""

    def if_(self, start: int) -> Rule:
        """`if (c) { … } else if (d) { … } else { … }`."""
        arms: list[tuple[Any, Any, int, int]] = []
        while True:
            opener = self.take("(", what="`(` around the condition")
            cond = yield self.sequence()
            end = self.take(")", opener=opener)
            yes = yield self.braces()
            arms.append((cond, yes, start, end))
            if self.kinds[self.i] != "else":
                self.expected("`else`", hint="an `if` is an expression: both of its branches have a value")
            self.i += 1
            if self.kinds[self.i] != "if":
                break
            start = self.i
            self.i += 1
        result = yield self.braces()
        for cond, yes, first, last in reversed(arms):
            result = If(cond, yes, result, span=self.span(first, last))
        return result

    def match(self, start: int) -> Rule:
        """`match (e) { P => e, … }`, `match (e) { case P { e } … }`, `match? …`."""
        complete = self.kinds[self.i] != "?"
        self.i += not complete
        self.take("(", what="`(` around what is matched")
        data = yield self.group()
        last = self.i - 1
        opener = self.take("{")
        clauses: list[Clause] = []
        while self.kinds[self.i] != "}":
            clauses.append((yield from self._clause(opener)))
        self.i += 1
        return Match(data, tuple(clauses), complete, span=self.span(start, last))

    def _clause(self, opener: int) -> Rule:
        mark = len(self.log)
        if self.is_word(self.i, "case") and self.kinds[self.i + 1] in _BEGINS_PATTERN:
            self.i += 1
        first = self.i
        lhs = self.pattern()
        last = self.i - 1
        guard: Any = None
        if self.kinds[self.i] == "if":
            self.full_language_only(self.i, "guards", "P => if (c) { … } else { … }")
            self.i += 1
            bracket = self.take("(", what="`(` around the guard")
            guard = yield self.sequence()
            self.take(")", opener=bracket)
        if self.kinds[self.i] == "{":
            rhs = yield self.braces()
        else:
            self.take("=>", what="`=>`")
            rhs = yield self.sequence()
            if self.kinds[self.i] not in (",", "}"):
                self.expected("`,` or `}`", opener=opener)
        if self.kinds[self.i] == ",":
            self.i += 1
        self.leave(mark)
        return Clause(lhs, rhs, guard, span=self.span(first, last))
