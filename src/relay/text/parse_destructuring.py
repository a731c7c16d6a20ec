"""Patterns that bind in text: `let (%a, %b) = e;` and `let Cons(%h, _) = e else { d };`.

Both are a `match` whose first clause is the rest of the block.
"""

from typing import Any

from relay.ir.expr import Clause, Expr, Match, Pattern, Var
from relay.ir.pattern import PatternVar, PatternWildcard
from relay.text.cursor import Rule
from relay.text.parse_choice import Choices

BLOCK_END = frozenset({"}", ")", "]", "|]", ",", "END"})


class Statement:
    """A binding whose body is not known yet."""

    __slots__ = ("last", "otherwise", "start", "value", "var")

    def __init__(
        self, var: Any, value: Any, start: int, last: int, otherwise: tuple[Clause, ...] = ()
    ) -> None:
        """`var` and `value` are tuples for `let rec`, `var` a pattern where there is one.

        Tokens `start` to `last` are the binding; `otherwise` is the clause for values that do not match.
        """
        self.var = var
        self.value = value
        self.start = start
        self.last = last
        self.otherwise = otherwise


class Destructuring(Choices):
    """The rules of bindings by patterns."""

    def begins_pattern(self, i: int) -> bool:
        """Whether what `let` binds at token `i` is a pattern, not a local."""
        kind = self.kinds[i]
        return kind in ("(", "[|") or (kind in ("NAME", "GLOBAL") and self.is_constructor(i))

    def let_pattern(self, done: list[Statement], start: int, by_line: bool) -> Rule:
        """`P = e;` or `P = e else { d };` behind `let`, which is token `start`."""
        self.i = start + 1
        self.full_language_only(start, "patterns in `let`", "match (e) { P => … }")
        mark = len(self.log)
        lhs = self.pattern()
        last = self.i - 1
        bound = [(key, self.env[key]) for key, _ in self.log[mark:]]
        self.leave(mark)
        otherwise: tuple[Clause, ...] = ()
        try:
            self.take("=")
            value = yield self.expression(by_line)
            if self.kinds[self.i] == "else":
                at = self.i
                self.i += 1
                other = yield self.braces()
                wild = PatternWildcard(span=self.span(at))
                otherwise = (Clause(wild, other, span=self.span(at)),)
            else:
                self.refuse_failing(lhs, start + 1, last, "write `let P = e else { … };`, or use `match`")
        finally:
            for key, var in bound:
                self.bind(key, var)
        if isinstance(lhs, PatternVar | PatternWildcard) and not otherwise:
            var = lhs.var if isinstance(lhs, PatternVar) else Var("_", None, span=lhs.span)
            done.append(Statement(var, value, start, self.i - 1))
        else:
            done.append(Statement(lhs, value, start, self.i - 1, otherwise))
        if self.kinds[self.i] == ";":
            self.i += 1
        elif self.kinds[self.i] not in BLOCK_END:
            self.expected("`;`")
        if self.kinds[self.i] in BLOCK_END:
            self.fault("missing-result", "`let` has no body", self.i, hint="write the result after the `;`")

    def matched(self, s: Statement, body: Expr) -> Expr:
        """The `match` that a binding by a pattern is."""
        assert isinstance(s.var, Pattern)
        clauses = (Clause(s.var, body, span=s.var.span), *s.otherwise)
        return Match(s.value, clauses, span=self.span(s.start, s.last))
