"""Bodies in text: statements, blocks, functions, choices.

A chain of bindings is a list until its result is known, then folded from the end: no chain is too long.
"""

from typing import Any

from relay.ir.expr import Clause, Expr, Function, If, Let, LetRec, Match, Tuple, Var
from relay.ir.type import Type
from relay.text.cursor import Rule, SyntaxFault
from relay.text.parse_literal import Literals

_END = frozenset({"}", ")", "]", ",", "END"})
_RECURSION_END = frozenset({"}", ")", "]", ";", "END"})
_RESULT_WORDS = ("return", "ret")


class Statement:
    """A binding whose body is not known yet."""

    __slots__ = ("last", "start", "value", "var")

    def __init__(self, var: Any, value: Any, start: int, last: int) -> None:
        """`var` and `value` are tuples for `let rec`; tokens `start` to `last` are the binding."""
        self.var = var
        self.value = value
        self.start = start
        self.last = last


class Bodies(Literals):
    """The rules of statements and of what contains them."""

    # --- brackets -------------------------------------------------------------------------------------------

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

    # --- statements -----------------------------------------------------------------------------------------

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
                except SyntaxFault as fault:
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
            node = LetRec if type(s.var) is tuple else Let
            result = node(s.var, s.value, result, span=self.span(s.start, s.last))
        return result

    def _statement(self, done: list[Statement], is_value: bool, by_line: bool, opener: int | None) -> Rule:
        """One statement: a binding goes to `done`, a result is returned."""
        i = self.i
        kind = self.kinds[i]
        if kind == "let":
            return (yield from self._let(done, is_value, by_line))
        if self.kinds[i + 1] == "=" and not is_value:
            if kind == "GRAPH":
                return (yield from self._graph_binding(i))
            if kind == "LOCAL" and opener is not None:
                self._old(i, "missing-let", "a binding begins with `let`", f"let {self.source_text(i)} = …;")
                return (yield from self._binding(done, i, i, is_value, by_line))
        is_return = kind == "NAME" and self.texts[i] in _RESULT_WORDS and self._begins_expression(i + 1)
        if is_return:
            self._old(
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
            if not is_return and self.kinds[self.i] not in _END:
                done.append(Statement(Var("_", type_, span=self.span(i)), e, i, self.i - 2))
                return None
            if not is_return:
                self.i -= 1
                self.fault(
                    "missing-result",
                    "a block ends with its result",
                    self.i,
                    hint="leave the last `;` out, or write `()` behind it for no result",
                )
        elif opener is not None and self.kinds[self.i] not in _END:
            self.expected("`;`" if opener < 0 else "`;` or `}`", opener=None if opener < 0 else opener)
        return e if type_ is None else self._ascribed(e, type_, i)

    def _begins_expression(self, i: int) -> bool:
        return (
            self.kinds[i] not in _END
            and self.kinds[i] not in (";", "=", ":", "PROJ")
            and (self.kinds[i] != "(" or self.texts[i - 1] == "return" or self.starts[i] != self.ends[i - 1])
        )

    def _ascribed(self, e: Expr, type_: Type, i: int) -> Expr:
        """`e : T`."""
        var = Var("_", type_, span=self.span(i))
        return Let(var, e, var, span=self.span(i, self.i - 1))

    def _old(self, i: int, code: str, message: str, hint: str) -> None:
        """A form of the early drafts: a lint, and an error in the strict dialect."""
        if self.strict:
            self.fault(code, message, i, hint=hint)
        self.lint(code, message, i, hint=hint)

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
                    return kinds[i + 1] not in _END
                if kinds[i] == "let" and i > start:
                    self.i = i
                    return True
            i += 1
        self.i = i
        return False

    # --- bindings -------------------------------------------------------------------------------------------

    def _let(self, done: list[Statement], is_value: bool, by_line: bool) -> Rule:
        i = self.i + 1
        if self.is_word(i, "rec") and self.kinds[i + 1] in ("LOCAL", "NAME") and not self.strict:
            return (yield from self._let_rec(done))
        if self.kinds[i] == "NAME" and self.texts[i] != "_":
            self._old(
                i, "missing-sigil", f"the local `{self.texts[i]}` has no sigil", f"write %{self.texts[i]}"
            )
        elif self.kinds[i] != "LOCAL" and self.texts[i] != "_":
            self.i = i
            self.expected(
                "a local", hint="a graph binding has no `let`: %0 = e" if self.kinds[i] == "GRAPH" else ""
            )
        return (yield from self._binding(done, i - 1, i, is_value, by_line))

    def _binding(self, done: list[Statement], start: int, i: int, is_value: bool, by_line: bool) -> Rule:
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
        except SyntaxFault:
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
            if kinds[self.i] not in _END:
                return None
        elif kinds[self.i] not in _END:
            self.expected("`;`")
        if is_value and kinds[self.i - 1] != ";":
            self.expected("`;`")
        self._old(
            start,
            "missing-body",
            "the last `let` has no body",
            f"end the block with its result, {self.source_text(i)}",
        )
        return var

    def _bare_function(self, begin: int) -> int | None:
        """The `fn` of a value that is a function, maybe in parentheses or ascribed; None if it is more than that."""
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
            if behind in _END or behind in (";", ":") or (self.on_new_line(end + 1) and behind in _NEW_LINE)
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
                self._old(
                    i, "missing-sigil", f"the local `{self.texts[i]}` has no sigil", f"write %{self.texts[i]}"
                )
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
        if self.kinds[self.i] in _END:
            self.fault(
                "missing-result", "`let rec` has no body", self.i, hint="write the result behind the `;`"
            )
        return None

    def _find_ands(self, i: int, at: list[int]) -> None:
        """Collect where the names behind each `and` of a `let rec` stand; they are bound before the values are read."""
        kinds = self.kinds
        while kinds[i] not in _RECURSION_END:
            if self.is_word(i, "and") and kinds[i + 1] in ("LOCAL", "NAME"):
                at.append(i + 1)
            i = self.partner.get(i, i) + 1 if kinds[i] in ("(", "[", "{") else i + 1

    def _graph_binding(self, i: int) -> Rule:
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
        except SyntaxFault:
            self.graph.setdefault(name, Tuple((), span=self.span(i)))
            self.graph_block.setdefault(name, 0)
            raise
        self.graph[name] = value
        self.graph_block[name] = self.block
        if self.kinds[self.i] == ";":
            self.i += 1
        elif self.strict or (not self.on_new_line(self.i) and self.kinds[self.i] not in _END):
            self.expected("`;`" if self.strict else "`;` or a new line")
        if self.kinds[self.i] in _END:
            self._old(i, "missing-body", "the block ends with a binding", f"end it with its result, {name}")
            return value
        return None

    # --- functions ------------------------------------------------------------------------------------------

    def function(self, start: int, var: Var | None = None, key: str | None = None) -> Rule:
        """A function from its type parameters on; `var` is the variable and `key` the global it is bound to."""
        mark, outer = len(self.log), (self.implicit, self.in_result, self.depth)
        try:
            type_params = self.type_params()
            self.implicit = {} if self.depth == 0 else None
            params, attrs = self._params()
            for name, p in (self.implicit or {}).items():
                self.bind(f"'{name}", p)
                type_params.append(p)
            self.implicit, self.in_result = None, True
            ret = None
            if self.kinds[self.i] == "->":
                self.i += 1
                ret = self.type_()
            constraints = self.constraints()
            self.in_result = False
            if type_params:
                kinds = tuple([p.kind for p in type_params])
                self.param_kinds.update(dict.fromkeys([k for k in (var, key) if k is not None], kinds))
            last = self.i - 1
            self.depth += 1
            body = yield self.braces()
        finally:
            self.leave(mark)
            self.implicit, self.in_result, self.depth = outer
        return Function(
            tuple(params),
            body,
            ret,
            tuple(type_params),
            attrs,
            tuple(constraints),
            span=self.span(start, last),
        )

    def _params(self) -> tuple[list[Var], dict[str, Any]]:
        """`(%x: T, %y, key=attr)`."""
        opener = self.take("(")
        params: list[Var] = []
        attrs: dict[str, Any] = {}
        seen: set[str] = set()
        while self.kinds[self.i] != ")":
            i, kind = self.i, self.kinds[self.i]
            if kind != "LOCAL" and self.at_attribute(i):
                self.attribute(attrs)
            else:
                if kind == "NAME" and self.texts[i] != "_":
                    self._old(
                        i,
                        "missing-sigil",
                        f"the parameter `{self.texts[i]}` has no sigil",
                        f"write %{self.texts[i]}",
                    )
                elif kind != "LOCAL" and self.texts[i] != "_":
                    self.expected("a parameter", opener=opener)
                params.append(self._param(i, seen))
            if self.kinds[self.i] == ",":
                self.i += 1
            elif self.kinds[self.i] != ")":
                self.expected("`,` or `)`", opener=opener)
        self.i += 1
        return params, attrs

    def _param(self, i: int, seen: set[str]) -> Var:
        name = self.texts[i].removeprefix("%")
        if name in seen and name != "_":
            self.mistake("duplicate-name", f"the parameter `{self.source_text(i)}` occurs twice", i)
        seen.add(name)
        self.i = i + 1
        type_ = None
        if self.kinds[self.i] == ":":
            self.i += 1
            type_ = self.type_()
        var = Var(name, type_, span=self.span(i))
        self.bind_local(i, var)
        return var

    # --- choices --------------------------------------------------------------------------------------------

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
        if self.is_word(self.i, "case") and self.kinds[self.i + 1] in ("NAME", "LOCAL", "GLOBAL", "("):
            self.i += 1
        first = self.i
        lhs = self.pattern()
        last = self.i - 1
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
        return Clause(lhs, rhs, span=self.span(first, last))


_NEW_LINE = frozenset({"let", "GRAPH", "LOCAL"})
