"""Functions in text: type parameters, parameters, attributes, result, constraints, body."""

from typing import Any

from relay.ir.expr import Clause, Function, Match, Pattern, Var
from relay.ir.pattern import pattern_vars
from relay.text.cursor import Rule
from relay.text.parse_literal import Literals


class Functions(Literals):
    """The rules of functions."""

    def function(self, start: int, var: Var | None = None, key: str | None = None) -> Rule:
        """A function from its type parameters on; `var` or the global `key` is what it is bound to."""
        mark, outer = len(self.log), (self.implicit, self.in_result, self.depth)
        try:
            type_params = self.type_params()
            self.implicit = {} if self.depth == 0 else None
            params, attrs, patterns = self._params()
            for name, p in (self.implicit or {}).items():
                self.bind(f"'{name}", p)
                type_params.append(p)
                self.implicit_params.add(p)
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
            for param, pattern in reversed(patterns):
                body = Match(param, (Clause(pattern, body, span=pattern.span),), span=pattern.span)
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

    def _params(self) -> tuple[list[Var], dict[str, Any], list[tuple[Var, Pattern]]]:
        """`(%x: T, (%a, %b), key=attr)`; the patterns come with the parameters that they take apart."""
        opener = self.take("(")
        params: list[Var] = []
        attrs: dict[str, Any] = {}
        patterns: list[tuple[Var, Pattern]] = []
        seen: set[str] = set()
        while self.kinds[self.i] != ")":
            i, kind = self.i, self.kinds[self.i]
            if kind != "LOCAL" and self.at_attribute(i):
                self.attribute(attrs)
            elif kind in ("(", "[|") or (self.kinds[i + 1] in ("(", "{") and self.is_constructor(i)):
                patterns.append(self._pattern_param(seen, len(params)))
                params.append(patterns[-1][0])
            else:
                if kind == "NAME" and self.texts[i] != "_":
                    self.no_sigil(i, "parameter")
                elif kind != "LOCAL" and self.texts[i] != "_":
                    self.expected("a parameter", opener=opener)
                params.append(self._param(i, seen))
            if self.kinds[self.i] == ",":
                self.i += 1
            elif self.kinds[self.i] != ")":
                self.expected("`,` or `)`", opener=opener)
        self.i += 1
        return params, attrs, patterns

    def _pattern_param(self, seen: set[str], index: int) -> tuple[Var, Pattern]:
        """A parameter that a pattern takes apart, which gets a name that occurs nowhere else."""
        first = self.i
        self.full_language_only(first, "patterns as parameters", "match (%x) { P => … }")
        pattern = self.pattern()
        last = self.i - 1
        self.refuse_failing(pattern, first, last, "take the value as a parameter, and use `match`")
        for v in pattern_vars(pattern):
            if v.name_hint in seen:
                self.mistake("duplicate-name", f"the parameter `%{v.name_hint}` occurs twice", first, to=last)
            seen.add(v.name_hint)
        type_ = None
        if self.kinds[self.i] == ":":
            self.i += 1
            type_ = self.type_()
        return Var(f"arg{index}", type_, span=self.span(first, last)), pattern

    def _device(self) -> None:
        """`{virtual_device=…}` behind a parameter: where another compiler keeps it."""
        opener = self.take("{")
        self.attribute({})
        self.take("}", opener=opener)

    def _param(self, i: int, seen: set[str]) -> Var:
        name = self.texts[i].removeprefix("%")
        if name in seen and name != "_":
            self.mistake("duplicate-name", f"the parameter `{self.source_text(i)}` occurs twice", i)
        seen.add(name)
        self.i = i + 1
        type_ = None
        if self.strict and self.kinds[self.i] == "{":
            self._device()
        if self.kinds[self.i] == ":":
            self.i += 1
            type_ = self.type_()
        var = Var(name, type_, span=self.span(i))
        self.bind_local(i, var)
        return var
