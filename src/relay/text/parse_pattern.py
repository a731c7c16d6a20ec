"""Patterns of `match` in text."""

from itertools import islice
from typing import NamedTuple

import numpy as np

from relay.diagnostic import did_you_mean
from relay.ir.dtype import is_float
from relay.ir.expr import Constant, Constructor, Pattern, Var
from relay.ir.pattern import (
    PatternAs,
    PatternConstructor,
    PatternLiteral,
    PatternOr,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    pattern_nodes,
)
from relay.ir.type import BOOL, TensorType
from relay.ir.walk import run
from relay.text.cursor import Rule
from relay.text.literals import special_float
from relay.text.parse_fields import Fields

_LITERALS = frozenset({"NUMBER", "STRING", "-"})


class Bound(NamedTuple):
    """The variables that a pattern binds so far, and those that other alternatives of it bind."""

    here: dict[str, Var]
    known: dict[str, Var]


class Patterns(Fields):
    """The rules of patterns."""

    def pattern(self) -> Pattern:
        """The pattern here; its variables are bound from here on."""
        return run(self._pattern(Bound({}, {})))

    def _pattern(self, bound: Bound) -> Rule:
        """`P | Q as %x`."""
        i, known = self.i, len(bound.here)
        p = self._pattern_var(bound) if self.kinds[i] == "LOCAL" else (yield self._one_pattern(bound))
        if self.kinds[self.i] == "|":
            p = yield self._alternatives(p, i, bound, known)
        while self.is_word(self.i, "as"):
            self.full_language_only(self.i, "`as`", "match (e) { %x => match (%x) { P => … } }")
            self.i += 1
            at = self.i
            if self.kinds[at] != "LOCAL":
                self.expected("a local", hint="the name for what matches: `P as %x`")
            v = self._bound_var(bound)
            p = PatternAs(p, v, span=self.span(i, self.i - 1))
        return p

    def _alternatives(self, first: Pattern, i: int, bound: Bound, known: int) -> Rule:
        """`P | Q | …`, of which the first is read; `known` names were bound before: all bind the same."""
        self.full_language_only(self.i, "`P | Q`", "P => e, Q => e")
        several = [first]
        own = dict(islice(bound.here.items(), known, None))
        before = dict(islice(bound.here.items(), known))
        while self.kinds[self.i] == "|":
            self.i += 1
            at = self.i
            other = Bound(dict(before), {**bound.known, **own})
            several.append((yield self._one_pattern(other)))
            found = {name for name in other.here if name not in before}
            if found != own.keys():
                name = min(found ^ own.keys())
                self.mistake(
                    "unknown-variable",
                    f"`{name}` is bound by some of these alternatives, not by all",
                    at,
                    to=self.i - 1,
                    hint="alternatives bind the same names; write a clause for each instead",
                )
        return PatternOr(tuple(several), span=self.span(i, self.i - 1))

    def _one_pattern(self, bound: Bound) -> Rule:
        """A pattern without `|` and `as`."""
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
        if kind in _LITERALS or (kind == "NAME" and self._is_literal_word(i)):
            return self._pattern_literal(i)
        if kind not in ("NAME", "GLOBAL"):
            self.expected(
                "a pattern", hint="patterns are `_`, variables, literals, constructors, tuples and lists"
            )
        constructor = self._constructor(i)
        self.i = i + 1
        if self.kinds[self.i] == "{" and constructor.field_names:
            fields = yield self._pattern_record(constructor, bound)
            return PatternConstructor(constructor, fields, span=self.span(i, self.i - 1))
        fields = (yield self._pattern_fields(bound))[0] if self.kinds[self.i] == "(" else ()
        return PatternConstructor(constructor, fields, span=self.span(i, self.i - 1))

    def _is_literal_word(self, i: int) -> bool:
        name = self.texts[i]
        is_literal = name in ("True", "False") or special_float(name) is not None
        return is_literal and not (self.strict and name in self.constructors)

    def _pattern_literal(self, i: int) -> Pattern:
        """`0`, `-1i64`, `True`, `"text"`."""
        self.full_language_only(i, "literals in patterns", "if (%x == 0) { … } else { … }")
        last = i + (self.kinds[i] == "-")
        word = self.texts[last]
        if self.kinds[last] == "STRING":
            value = Constant(
                np.asarray(self.string(last), object), TensorType((), "string"), span=self.span(i)
            )
        elif word in ("True", "False"):
            value = Constant(np.asarray(word == "True"), BOOL, span=self.span(i))
        elif self.kinds[last] == "NUMBER" or special_float(word) is not None:
            value = self.number(i, last)
        else:
            self.expected("a number")
        if value.value.dtype.kind == "f" if value.type is None else is_float(str(value.type.dtype)):
            self.fault(
                "literal-kind",
                "a float is not a pattern",
                i,
                to=last,
                hint="compare it in a guard: `%x if (%x == 0.5) => …`",
            )
        self.i = last + 1
        return PatternLiteral(value, span=self.span(i, last))

    def _pattern_var(self, bound: Bound) -> Pattern:
        i = self.i
        if self.texts[i] == "%_":
            self.i = i + 1
            return PatternWildcard(span=self.span(i))
        return PatternVar(self._bound_var(bound), span=self.span(i))

    def _bound_var(self, bound: Bound) -> Var:
        """The variable at the cursor, bound; another alternative may have made it."""
        i, name = self.i, self.texts[self.i]
        self.i = i + 1
        if name in bound.here:
            self.mistake(
                "duplicate-name",
                f"the pattern binds `{self.source_text(i)}` twice",
                i,
                hint="bind two names, and compare them by a guard",
            )
        type_ = None
        if self.kinds[self.i] == ":":
            self.i += 1
            type_ = self.type_()
        var = bound.known.get(name)
        if var is None:
            var = Var(name[1:], type_, span=self.span(i))
            self.bind_local(i, var)
        bound.here[name] = var
        return var

    def _pattern_tuple(self, bound: Bound) -> Rule:
        i = self.i
        fields, has_comma = yield self._pattern_fields(bound)
        if len(fields) == 1 and not has_comma:
            return fields[0]
        return PatternTuple(fields, span=self.span(i, self.i - 1))

    def _pattern_list(self, bound: Bound) -> Rule:
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

    def _pattern_record(self, c: Constructor, bound: Bound) -> Rule:
        """`{ w: P, .. }` behind a constructor: a pattern for each field, in the order declared."""
        opener = self.i
        self.i += 1
        found: dict[str, tuple[int, Pattern]] = {}
        rest: Pattern | None = None
        while self.kinds[self.i] != "}" and rest is None:
            i = self.i
            if self.kinds[i] == "..":
                self.i = i + 1
                rest = PatternWildcard(span=self.span(i))
            else:
                name = self.known_field(c, found)
                self.take(":")
                found[name] = i, (yield self._pattern(bound))
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        self.take("}", opener=opener)
        missing = [name for name in c.field_names if name not in found]
        if missing and rest is None:
            self.missing_field(c, missing, opener - 1, "`..` stands for the fields that do not matter")
        return tuple([found[name][1] if name in found else rest for name in c.field_names])

    def _pattern_fields(self, bound: Bound) -> Rule:
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
            if isinstance(p, PatternLiteral):
                message = "a pattern that binds has to match every value"
                self.mistake("missing-case", message, first, to=last, hint=hint)
                return
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
