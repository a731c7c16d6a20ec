"""Bare words and numbers in text: constructors, operators, forms that look like them, literals."""

from typing import Any, NamedTuple, NoReturn

import numpy as np

from relay.diagnostic import RelayError, did_you_mean
from relay.ir.expr import Call, Constant, Constructor, Expr, Op, RelayExpr, Tuple
from relay.ir.type import BOOL
from relay.op.dimension import DimValue
from relay.op.registry import alias_of, get, registry
from relay.text.cursor import Rule
from relay.text.literals import closed, number, opened, special_float, strict_dtype
from relay.text.other_languages import SHORT_NAMES, member_hint
from relay.text.parse_pattern import Patterns

FORMS = {"ref": 1, "ref_read": 1, "ref_write": 2, "grad": 1, "vjp": 1, "jvp": 1, "vmap": 1}
"""Words that are called like operators, and how many operands they take."""
OPERATORS = "relay."
"""What may stand before the name of an operator, and has to where a constructor has that name."""
_NAMES = frozenset({"NAME", "GLOBAL"})
WORDS = frozenset({"True", "False", "Constant", "meta", *FORMS})


class Form(NamedTuple):
    """A word that is called like an operator and builds a node of its own."""

    name: str


class Words(Patterns):
    """The rules of bare words and numbers."""

    def word(self, i: int) -> Rule:
        """A bare word that has a form of its own; a local of that name hides it."""
        name = self.texts[i]
        next_ = self.kinds[self.i]
        if self.env.get(name) is not None:
            return self.bare_name(i)
        if name in ("True", "False"):
            return Constant(np.asarray(name == "True"), BOOL, span=self.span(i))
        if name in FORMS and next_ == "(":
            return Form(name)
        if name == "Constant" and next_ == "(":
            return (yield self.constant(i))
        if name == "meta" and next_ == "[":
            return self._metadata_expr(i)
        return self.bare_name(i)

    def bare_name(self, i: int) -> Any:
        """A local bound without sigil, a dimension, a constructor, an operator, a local bound with it, in
        that order.
        """
        name = self.texts[i]
        found = self.env.get(name)
        if found is not None:
            self.no_sigil(i)
            return found
        if self.kinds[self.i] != "(" and self.is_dimension(i):
            return self.dimension(i)
        constructor = self.constructors.get(name)
        if constructor is not None and special_float(name) is None:
            return self.instance_of_nullary(constructor, i)
        if name in registry:
            return Op.get(name)
        if name in alias_of:
            return get(name)
        if name in SHORT_NAMES and not self.strict:
            return get(SHORT_NAMES[name])
        if special_float(name) is not None:
            return self.number(i, i)
        found = self.env.get(f"%{name}")
        if found is not None and not self.strict:
            self.no_sigil(i)
            return found
        found = self._qualified(name)
        return self._unknown(i) if found is None else found

    def dimension(self, i: int) -> Expr:
        """The value of the dimension at token `i`."""
        name = self.texts[i]
        if name in self.constructors:
            self._other_meaning(i, f"the constructor `{name}`", f"`{name}()` is the constructor")
        elif name in registry or name in alias_of:
            self._other_meaning(i, f"the operator `{name}`", f"`relay.{name}` is the operator")
        elif self.env.get(f"%{name}") is not None:
            self._other_meaning(i, f"the local `%{name}`", f"write %{name} for the local")
        return Call(Op.get(DimValue.name), (), DimValue(self.env[f"'{name}"]), (), span=self.span(i))

    def _other_meaning(self, i: int, other: str, hint: str) -> None:
        """Warn that a bare name is a dimension, where it could be meant as something else."""
        name = self.texts[i]
        self.lint("dimension-name", f"`{name}` is the dimension here, not {other}", i, hint=hint)

    def _unknown(self, i: int) -> Any:
        """A bare name that means nothing yet: a free local, or before a `.` the name of a data type."""
        name, next_ = self.texts[i], self.kinds[self.i]
        if next_ == ".":
            return Form(name)
        if self.is_open and next_ != "(" and not self.strict and name[0] != "_":
            near = did_you_mean(name, [*registry, *self.constructors, "True", "False", "Constant"])
            if not near:
                self.no_sigil(i)
                self.texts[i] = f"%{name}"
                return self.local(i)
        self.unknown_name(i, is_called=next_ == "(")

    def _qualified(self, name: str) -> Expr | None:
        """`List.Nil`, the constructor, also where it has no fields; `relay.abs`, the operator in any case."""
        data, _, short = name.rpartition(".")
        found = self.constructors.get(short) if data else None
        if found is not None and found.belong_to.name_hint == data:
            return found
        operator = name.removeprefix(OPERATORS)
        return get(operator) if operator != name and operator in registry else None

    def member(self, first: int) -> Constructor:
        """`List.@"odd name"`, of which token `first` is the name of the data type and the dot is next."""
        dot = self.i
        if dot != first + 1 or self.kinds[first] not in _NAMES:
            self.not_a_field(dot)
        self.i = dot + 1
        if self.kinds[self.i] not in _NAMES:
            self.expected("the name of a constructor")
        data, name = self.texts[first].removeprefix("@"), self.texts[self.i].removeprefix("@")
        found = self.constructors.get(name)
        if found is None or found.belong_to.name_hint != data:
            known = [c.name_hint for c in self.constructors.values() if c.belong_to.name_hint == data]
            hint = did_you_mean(name, known)
            self.fault("unknown-constructor", f"`{data}` has no constructor `{name}`", self.i, hint=hint)
        self.i += 1
        return found

    def not_a_field(self, dot: int) -> NoReturn:
        """Report the `.` at token `dot` that no number follows: what is meant is an operator, maybe."""
        name, is_name = self.texts[dot + 1], self.kinds[dot + 1] == "NAME"
        if self.kinds[dot - 1] == "NUMBER" and self.ends[dot - 1] == self.starts[dot]:
            hint = f"write `{self.texts[dot - 1]}.0`"
            self.fault("unexpected-token", "a number has digits behind its point", dot - 1, to=dot, hint=hint)
        self.fault(
            "unexpected-token",
            f"`.{name}` is not a field" if is_name else "expected an index",
            dot,
            to=dot + is_name,
            hint=(member_hint(name) if is_name else "") or "fields have numbers: %t.0",
        )

    def instance_of_nullary(self, e: Expr, i: int) -> Expr:
        """A constructor without fields, not called, is its instance: `Nil` is `Nil()`."""
        if (
            type(e) is Constructor
            and not e.inputs
            and self.kinds[self.i] != "("
            and self.texts[i].removeprefix("@") == e.name_hint
        ):
            at_type_args = (
                self.kinds[self.i] == "<"
                and self.angle_partner.get(self.i) is not None
                and self.ends[i] == self.starts[self.i]
            )
            return e if at_type_args else Call(e, (), None, (), span=self.span(i))
        return e

    def _metadata_expr(self, i: int) -> Expr:
        found = self.metadata_object(i)
        if found is None:
            return Tuple((), span=self.span(i))
        if isinstance(found, Constant):
            return Constant(found.value, found.type, span=self.span(i, self.i - 1))
        if not isinstance(found, RelayExpr):
            self.fault(
                "missing-metadata",
                f"expected an expression, found metadata of {type(found).__name__}",
                i,
                to=self.i - 1,
            )
        return found  # pyright: ignore[reportReturnType]

    def number(self, first: int, i: int) -> Constant:
        """The number at token `i`; a minus before it is token `first`."""
        text = self.texts[i]
        negative = first != i
        if self.kinds[i] == "NAME":
            special = special_float(text)
            assert special is not None
            value, dtype = special
            value = -value if negative else value
        else:
            try:
                value, dtype = number(text, negative)
            except RelayError as error:
                raise self.located(error, first, i) from None
        if dtype is None and self.strict:
            dtype = strict_dtype(value)
        span = self.span(first, i)
        return opened(value, span) if dtype is None else closed(value, dtype, span)
