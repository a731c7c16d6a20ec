"""Functions in text: type parameters, parameters, attributes, result, constraints, body."""

from typing import Any

from relay.ir.expr import Function, Var
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
                    self.no_sigil(i, "parameter")
                elif kind != "LOCAL" and self.texts[i] != "_":
                    self.expected("a parameter", opener=opener)
                params.append(self._param(i, seen))
            if self.kinds[self.i] == ",":
                self.i += 1
            elif self.kinds[self.i] != ")":
                self.expected("`,` or `)`", opener=opener)
        self.i += 1
        return params, attrs

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
