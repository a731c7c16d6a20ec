"""Bindings in text: `let`, `let rec … and …`, and graph bindings."""

from typing import Any

from relay.ir.expr import Expr, Function, Let, Tuple, Var
from relay.ir.type import Type
from relay.text.cursor import ParseError, Rule
from relay.text.parse_destructuring import BLOCK_END, Destructuring, Statement

_RECURSION_END = frozenset({"}", ")", "]", "|]", ";", "END"})
_NO_LOCAL = {
    "GRAPH": "a graph binding has no `let`: %0 = e",
}
_NEW_LINE = frozenset({"let", "GRAPH", "LOCAL"})


class Bindings(Destructuring):
    """The rules of bindings."""

    def let(self, done: list[Statement], is_value: bool, by_line: bool) -> Rule:
        """The rule for the binding whose `let` is here."""
        i = self.i + 1
        kind = self.kinds[i]
        if kind != "LOCAL":
            if self.is_word(i, "rec") and self.kinds[i + 1] in ("LOCAL", "NAME") and not self.strict:
                return self._let_rec(done)
            if self.begins_pattern(i):
                return self.let_pattern(done, i - 1, by_line)
            if kind == "NAME" and self.texts[i] != "_":
                self.no_sigil(i)
            elif self.texts[i] != "_":
                self.i = i
                self.expected("a local", hint=_NO_LOCAL.get(kind, ""))
        return self.binding(done, i - 1, i, is_value, by_line)

    def binding(self, done: list[Statement], start: int, i: int, is_value: bool, by_line: bool) -> Rule:
        """`%x: T = e;`, of which token `i` is the name."""
        kinds = self.kinds
        self.i = i + 1
        type_: Type | None = None
        var: Var | None = None
        value: Any = None
        try:
            if kinds[i + 1] == ":":
                self.i = i + 2
                type_ = self.type_()
            self.take("=")
            begin = self.i
            name = self.texts[i].removeprefix("%")
            if kinds[begin] in ("fn", "fun") or (
                kinds[begin] == "(" and kinds[begin + 1] in ("fn", "fun", "(")
            ):
                fn_at = self._bare_function(begin)
                if fn_at is not None:
                    var = Var(name, type_, span=self.span(i))
                    self.bind_local(i, var)
                    if fn_at == begin:
                        self.i = begin + 1
                        value = yield self.function(begin, var)
            if value is None:
                value = yield self.expression(by_line)
            if var is not None:
                value = self._without_ascription(var, value)
        except ParseError:
            if var is None:
                self.bind_local(i, Var(self.texts[i].removeprefix("%"), type_, span=self.span(i)))
            raise
        if var is None:
            var = Var(name, type_, span=self.span(i))
            self.bind_local(i, var)
            if type(value) is Function and value.type_params:
                self.param_kinds[var] = tuple([p.kind for p in value.type_params])
        done.append(Statement(var, value, start, self.i - 1))
        if kinds[self.i] == ";":
            self.i += 1
            if kinds[self.i] not in BLOCK_END:
                return None
        elif kinds[self.i] not in BLOCK_END:
            self.expected("`;`")
        if is_value and kinds[self.i - 1] != ";":
            self.expected("`;`")
        self.old_form(
            start,
            "missing-body",
            "the last `let` has no body",
            f"end the block with its result, {self.source_text(i)}",
        )
        return var

    def _bare_function(self, begin: int) -> int | None:
        """The `fn` of a value that is a function, maybe in parentheses or ascribed; else None."""
        kinds, partner = self.kinds, self.partner
        i = begin
        while kinds[i] == "(":
            i += 1
        if kinds[i] not in ("fn", "fun"):
            return None
        fn_at = i
        while kinds[i] not in ("{", ";", "}", "END"):
            i = partner.get(i, i) + 1 if kinds[i] in ("(", "[") else i + 1
        end = partner.get(i)
        if kinds[i] != "{" or end is None:
            return fn_at
        for opener in range(fn_at - 1, begin - 1, -1):
            if kinds[end + 1] == ":":
                end = partner.get(opener, end)
            elif kinds[end + 1] == ")":
                end += 1
            else:
                return None
        behind = kinds[end + 1]
        return (
            fn_at
            if behind in BLOCK_END
            or behind in (";", ":")
            or (self.on_new_line(end + 1) and behind in _NEW_LINE)
            else None
        )

    def _without_ascription(self, var: Var, value: Any) -> Any:
        """An ascribed function as a function, its ascription as the annotation of the variable."""
        if (
            type(value) is Let
            and value.var.name_hint == "_"
            and value.body is value.var
            and var.type_annotation is None
        ):
            object.__setattr__(var, "type_annotation", value.var.type_annotation)
            return value.value
        return value

    def _let_rec(self, done: list[Statement]) -> Rule:
        """`let rec %f = fn… and %g = fn…;`."""
        start = self.i
        at = [start + 2]
        self._find_ands(start + 2, at)
        variables = [Var(self.texts[i].removeprefix("%"), None, span=self.span(i)) for i in at]
        for k, (i, var) in enumerate(zip(at, variables, strict=True)):
            if any(self.texts[j] == self.texts[i] for j in at[:k]):
                self.mistake("duplicate-name", f"`{self.source_text(i)}` is bound twice", i)
            self.bind_local(i, var)
        values: list[Expr] = []
        for k, (i, var) in enumerate(zip(at, variables, strict=True)):
            if k and not self.is_word(self.i, "and"):
                self.expected("`and` or `;`")
            if self.kinds[i] == "NAME":
                self.no_sigil(i)
            self.i = i + 1
            if self.kinds[self.i] == ":":
                self.i += 1
                object.__setattr__(var, "type_annotation", self.type_())
            self.take("=")
            begin = self.i
            if self.kinds[begin] in ("fn", "fun"):
                self.i = begin + 1
                value = yield self.function(begin, var)
            else:
                value = self._without_ascription(var, (yield self.expression()))
            if type(value) is not Function:
                self.mistake(
                    "recursive-value",
                    "`let rec` binds functions",
                    begin,
                    to=self.i - 1,
                    hint="a value cannot mention itself; bind it with `let`",
                )
            values.append(value)
        done.append(Statement(tuple(variables), tuple(values), start, self.i - 1))
        self.take(";")
        if self.kinds[self.i] in BLOCK_END:
            self.fault(
                "missing-result", "`let rec` has no body", self.i, hint="write the result after the `;`"
            )
        return None

    def _find_ands(self, i: int, at: list[int]) -> None:
        """Collect where the names behind each `and` of a `let rec` stand, which are bound first."""
        kinds = self.kinds
        while kinds[i] not in _RECURSION_END:
            if self.is_word(i, "and") and kinds[i + 1] in ("LOCAL", "NAME"):
                at.append(i + 1)
            i = self.partner.get(i, i) + 1 if kinds[i] in ("(", "[", "[|", "{") else i + 1

    def graph_binding(self, i: int) -> Rule:
        """`%1 = e`, ended by `;` or by the line."""
        name = self.texts[i]
        self.i = i + 2
        if name in self.graph:
            self.mistake(
                "duplicate-name",
                f"`{name}` is bound twice in this definition",
                i,
                hint="a graph binding is of the whole definition: take another number",
            )
        try:
            value = yield self.expression(not self.strict)
        except ParseError:
            self.graph.setdefault(name, Tuple((), span=self.span(i)))
            self.graph_block.setdefault(name, 0)
            raise
        self.graph[name] = value
        self.graph_block[name] = self.block
        if self.kinds[self.i] == ";":
            self.i += 1
        elif self.strict or (not self.on_new_line(self.i) and self.kinds[self.i] not in BLOCK_END):
            self.expected("`;`" if self.strict else "`;` or a new line")
        if self.kinds[self.i] in BLOCK_END:
            self.old_form(
                i, "missing-body", "the block ends with a binding", f"end it with its result, {name}"
            )
            return value
        return None
