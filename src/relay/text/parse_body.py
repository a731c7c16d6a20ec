"""Bodies in text: statements and blocks.

A chain of bindings is a list until its result is known, then folded from the end: no chain is too long.
"""

from typing import Any

from relay.ir.expr import Expr, Let, LetRec, Tuple, Var
from relay.ir.type import Type
from relay.text.cursor import ParseError, Rule
from relay.text.parse_binding import Bindings
from relay.text.parse_destructuring import BLOCK_END, Statement

_RESULT_WORDS = ("return", "ret")


class Bodies(Bindings):
    """The rules of statements and of what contains them."""

    def group(self) -> Rule:
        """`()`, `(e)`, `(a, b)`, `(e : T)`: the parenthesis is read already."""
        opener = self.i - 1
        fields: list[Any] = []
        has_comma = False
        while self.kinds[self.i] != ")":
            fields.append((yield self.sequence()))
            if self.kinds[self.i] != ",":
                break
            has_comma = True
            self.i += 1
        end = self.take(")", what="`,` or `)`" if has_comma else "", opener=opener)
        if len(fields) == 1 and not has_comma:
            return fields[0]
        return Tuple(tuple(fields), span=self.span(opener, end))

    def braces(self) -> Rule:
        """`{ … }`."""
        opener = self.take("{")
        body = yield self.sequence(opener=opener)
        self.take("}", what="`;` or `}`", opener=opener)
        return body

    def sequence(self, *, is_value: bool = False, by_line: bool = False, opener: int | None = None) -> Rule:
        """Bindings and a result; `is_value` ends it with the first expression, at a `;` even.

        Given the `opener` of its braces (-1 for the whole text), a fault is reported and the next
        statement is tried.
        """
        mark, outer = len(self.log), self.block
        self.blocks += 1
        self.block = self.blocks
        self.open_blocks.add(self.block)
        done: list[Statement] = []
        result: Any = None
        try:
            while result is None:
                start = self.i
                try:
                    result = yield from self._statement(done, is_value, by_line, opener)
                except ParseError as fault:
                    if opener is None:
                        raise
                    self.recovered(fault)
                    if not self._resume(opener, start, fault.at):
                        result = Tuple((), span=self.here(self.i))
        finally:
            self.leave(mark)
            self.open_blocks.discard(self.block)
            self.block = outer
        for s in reversed(done):
            kind = s.var.__class__
            if kind is Var:
                result = Let(s.var, s.value, result, span=self.span(s.start, s.last))
            elif kind is tuple:
                result = LetRec(s.var, s.value, result, span=self.span(s.start, s.last))
            else:
                result = self.matched(s, result)
        return result

    def _statement(self, done: list[Statement], is_value: bool, by_line: bool, opener: int | None) -> Rule:
        """One statement: a binding goes to `done`, a result is returned."""
        i = self.i
        kind = self.kinds[i]
        if kind == "let":
            return (yield from self.let(done, is_value, by_line))
        if self.kinds[i + 1] == "=" and not is_value:
            if kind == "GRAPH":
                return (yield from self.graph_binding(i))
            if kind == "LOCAL" and opener is not None:
                self.old_form(
                    i, "missing-let", "a binding begins with `let`", f"let {self.source_text(i)} = …;"
                )
                return (yield from self.binding(done, i, i, is_value, by_line))
        is_return = kind == "NAME" and self.texts[i] in _RESULT_WORDS and self._begins_expression(i + 1)
        if is_return:
            self.old_form(
                i,
                "needless-return",
                "the last expression of a block is its result",
                f"leave `{self.texts[i]}` out",
            )
            self.i = i + 1
        e = yield self.expression(by_line)
        if is_value:
            return e
        type_ = None
        if self.kinds[self.i] == ":":
            self.i += 1
            type_ = self.type_()
        if self.kinds[self.i] == ";":
            self.i += 1
            if not is_return and self.kinds[self.i] not in BLOCK_END:
                done.append(Statement(Var("_", type_, span=self.span(i)), e, i, self.i - 2))
                return None
            if not is_return:
                self.i -= 1
                self.fault(
                    "missing-result",
                    "a block ends with its result",
                    self.i,
                    hint="leave the last `;` out, or write `()` after it for no result",
                )
        elif opener is not None and self.kinds[self.i] not in BLOCK_END:
            self.expected("`;`" if opener < 0 else "`;` or `}`", opener=None if opener < 0 else opener)
        return e if type_ is None else self._ascribed(e, type_, i)

    def _begins_expression(self, i: int) -> bool:
        return (
            self.kinds[i] not in BLOCK_END
            and self.kinds[i] not in (";", "=", ":", "PROJ")
            and (self.kinds[i] != "(" or self.texts[i - 1] == "return" or self.starts[i] != self.ends[i - 1])
        )

    def _ascribed(self, e: Expr, type_: Type, i: int) -> Expr:
        """`e : T`."""
        var = Var("_", type_, span=self.span(i))
        return Let(var, e, var, span=self.span(i, self.i - 1))

    def _resume(self, opener: int, start: int, fault_at: int) -> bool:
        """Go behind the statement of the block at `opener` that has the fault; False where the block ends."""
        kinds, enclosing = self.kinds, self.enclosing
        end = self.partner.get(opener)
        i = fault_at
        while (
            kinds[i] != "END"
            and i != end
            and enclosing[i] >= opener
            and not (kinds[i] == "def" and kinds[i + 1] == "GLOBAL")
        ):
            if enclosing[i] == opener:
                if kinds[i] == ";":
                    self.i = i + 1
                    return kinds[i + 1] not in BLOCK_END
                if kinds[i] == "let" and i > start:
                    self.i = i
                    return True
            i += 1
        self.i = i
        return False
