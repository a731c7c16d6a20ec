"""Patterns of `match` in text."""

from relay.diagnostic import did_you_mean
from relay.ir.expr import Constructor, Pattern, Var
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar, PatternWildcard, pattern_nodes
from relay.ir.walk import run
from relay.text.cursor import Rule
from relay.text.parse_types import Types


class Patterns(Types):
    """The rules of patterns."""

    def pattern(self) -> Pattern:
        """The pattern here; its variables are bound from here on."""
        return run(self._pattern(set()))

    def _pattern(self, bound: set[str]) -> Rule:
        i, kind = self.i, self.kinds[self.i]
        if kind == "LOCAL":
            return self._pattern_var(bound)
        if kind == "(":
            return (yield self._pattern_tuple(bound))
        if kind == "NAME" and self.texts[i] == "_":
            self.i = i + 1
            return PatternWildcard(span=self.span(i))
        if kind == "[|":
            return (yield self._pattern_list(bound))
        if kind not in ("NAME", "GLOBAL"):
            self.expected(
                "a pattern",
                hint="patterns are `_`, variables, constructors and tuples of patterns; "
                "numbers are compared with `if`"
                if kind in ("NUMBER", "STRING", "-")
                else "",
            )
        constructor = self._constructor(i)
        self.i = i + 1
        fields = (yield self._pattern_fields(bound))[0] if self.kinds[self.i] == "(" else ()
        return PatternConstructor(constructor, fields, span=self.span(i, self.i - 1))

    def _pattern_var(self, bound: set[str]) -> Pattern:
        i = self.i
        self.i = i + 1
        if self.texts[i] == "%_":
            return PatternWildcard(span=self.span(i))
        if self.texts[i] in bound:
            self.mistake(
                "duplicate-name",
                f"the pattern binds `{self.source_text(i)}` twice",
                i,
                hint="bind two names, and compare them in the clause",
            )
        bound.add(self.texts[i])
        type_ = None
        if self.kinds[self.i] == ":":
            self.i += 1
            type_ = self.type_()
        var = Var(self.texts[i][1:], type_, span=self.span(i))
        self.bind_local(i, var)
        return PatternVar(var, span=self.span(i))

    def _pattern_tuple(self, bound: set[str]) -> Rule:
        i = self.i
        fields, has_comma = yield self._pattern_fields(bound)
        if len(fields) == 1 and not has_comma:
            return fields[0]
        return PatternTuple(fields, span=self.span(i, self.i - 1))

    def _pattern_list(self, bound: set[str]) -> Rule:
        """`[| p, q, ..r |]`; `..` alone stands for any rest."""
        opener = self.i
        self.full_language_only(opener, "`[| … |]`", "Cons(%a, Nil)")
        self.i += 1
        elements: list[Pattern] = []
        rest: Pattern | None = None
        while self.kinds[self.i] != "|]" and rest is None:
            i = self.i
            if self.kinds[i] == "..":
                self.i += 1
                is_bare = self.kinds[self.i] in ("|]", ",")
                rest = PatternWildcard(span=self.span(i)) if is_bare else (yield self._pattern(bound))
            else:
                elements.append((yield self._pattern(bound)))
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        end = self.take("|]", opener=opener)
        if rest is None:
            rest = PatternConstructor(self.list_constructor("Nil", opener), (), span=self.span(end))
        for p in reversed(elements):
            cons = self.list_constructor("Cons", opener)
            rest = PatternConstructor(cons, (p, rest), span=self.span(opener, end))
        return rest

    def _pattern_fields(self, bound: set[str]) -> Rule:
        opener = self.i
        self.i += 1
        fields: list[Pattern] = []
        has_comma = False
        while self.kinds[self.i] != ")":
            fields.append((yield self._pattern(bound)))
            if self.kinds[self.i] != ",":
                break
            has_comma = True
            self.i += 1
        self.take(")", opener=opener)
        return tuple(fields), has_comma

    def is_constructor(self, i: int) -> bool:
        """Whether token `i` is the name of a constructor."""
        return self.texts[i].removeprefix("@") in self.constructors

    def refuse_failing(self, pattern: Pattern, first: int, last: int, hint: str) -> None:
        """Report a pattern, at tokens `first` to `last`, that some value does not match."""
        for p in pattern_nodes(pattern):
            if isinstance(p, PatternConstructor):
                data = self.mod.type_definitions.get(p.constructor.belong_to)
                others = () if data is None else [c for c in data.constructors if c != p.constructor]
                if others:
                    missing = f"`{others[0].name_hint}` is not covered"
                    message = "a pattern that binds has to match every value"
                    self.mistake("missing-case", message, first, to=last, label=missing, hint=hint)
                    return

    def _constructor(self, i: int) -> Constructor:
        name = self.texts[i].removeprefix("@")
        found = self.constructors.get(name)
        if found is None:
            hint = did_you_mean(name, self.constructors) if len(self.constructors) < 2000 else ""
            self.fault(
                "unknown-constructor",
                f"there is no constructor `{name}`",
                i,
                hint=hint or self.home_hint(name, i) or f"a variable of a pattern has its sigil: %{name}",
            )
        return found
