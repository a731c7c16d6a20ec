"""Records in text: `Layer { w: %w, b: %b }`, their fields `%l.w`, and copies `%l with { b: %c }`."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NoReturn

from relay.diagnostic import Span, did_you_mean
from relay.ir.expr import Call, Constant, Constructor, Expr, Function, GlobalVar, Let, Op, Var
from relay.op.records import annotated_record, copied_record, field_name, field_of_record, quoted
from relay.op.subscript import Item, Subscript
from relay.op.update import IndexUpdate
from relay.text.cursor import Rule
from relay.text.other_languages import member_hint
from relay.text.parse_subscript import Subscripts, subscript
from relay.text.parse_words import Form

MOST_RECORDS = 3
"""How many records a hint shows the fields of."""
_AT_ANY_TIME = frozenset({Var, GlobalVar, Op, Constructor, Constant, Function})


def is_at_any_time(e: Expr) -> bool:
    """Whether it makes no difference when an expression is evaluated."""
    return type(e) in _AT_ANY_TIME or (type(e) is Call and type(e.op) is Constructor and not e.args)


@lru_cache(maxsize=256)
def update(items: tuple[Item, ...]) -> IndexUpdate:
    """The operator for some items, one object for equal ones."""
    return IndexUpdate(items)


class Records(Subscripts):
    """The rules of records."""

    known_fields: frozenset[str] | None = None
    """What `field_names` has found."""

    def record(self, c: Constructor, first: int, type_args: tuple[Any, ...]) -> Rule:
        """`{ w: e, b: f }` behind a constructor, and the instance that it makes."""
        opener = self.i
        self.demand_fields(c, first)
        self.i += 1
        places: dict[str, tuple[int, Any]] = {}
        values: dict[str, Any] = {}
        while self.kinds[self.i] != "}":
            i = self.i
            name = self.known_field(c, places)
            self.take(":")
            values[name] = yield self.expression()
            places[name] = i, None
            if self.kinds[self.i] == ",":
                self.i += 1
            elif self.kinds[self.i] != "}":
                self.expected("`,` or `}`", opener=opener)
        missing = [name for name in c.field_names if name not in values]
        if missing:
            self.missing_field(c, missing, first, "a record is made of all of its fields")
        self.i += 1
        return self._instance_of(c, values, type_args, first)

    # --- fields ---------------------------------------------------------------------------------------------

    def names_type(self, e: Any, first: int) -> bool:
        """Whether what stands before the `.` here is the name of a data type, not a value."""
        if type(e) is Form or self.strict or self.kinds[self.i + 1] == "GLOBAL":
            return True
        is_name = type(e) is GlobalVar and self.i == first + 1
        return is_name and e.name_hint in self.data_kinds and e.name_hint not in self.globals

    def field(self, e: Any, first: int) -> Expr:
        """`.w` or `.w.v`: a field of a record, which inference finds where annotations do not say it."""
        dot = self.i
        names = self.texts[dot + 1].split(".")
        if self.kinds[dot + 1] != "NAME":
            self.not_a_field(dot)
        end = self.starts[dot + 1] - 1
        for name in names:
            end += 1 + len(name)
            span = Span(self.source, self.starts[first], end)
            record = annotated_record(e, self.mod)
            if record is not None and name in record.constructor.field_names:
                e = field_of_record(e, record, name, span)
                continue
            if record is None and name not in self.field_names():
                self._unknown_field(name, dot)
            e = Call(Op.get(Subscript.name), (e,), subscript((f".{name}",)), (), span=span)
        self.i = dot + 2
        return e

    def field_names(self) -> frozenset[str]:
        """The names of all fields of all records."""
        if self.known_fields is None:
            self.known_fields = frozenset([n for c in self.constructors.values() for n in c.field_names])
        return self.known_fields

    def _unknown_field(self, name: str, dot: int) -> NoReturn:
        hint = "" if member_hint(name) else self._fields_hint(name)
        if hint:
            self.fault("unknown-field", f"no record has a field `{name}`", dot, to=dot + 1, hint=hint)
        self.not_a_field(dot)

    def _fields_hint(self, name: str) -> str:
        """A field with a similar name, else the records and their fields, as far as there are any."""
        records = [c for c in self.constructors.values() if c.field_names]
        several = [f"`{c.name_hint}` has {quoted(c.field_names)}" for c in records[:MOST_RECORDS]]
        several += ["…"] if len(records) > MOST_RECORDS else []
        return did_you_mean(name, self.field_names()) or "; ".join(several)

    # --- copies ---------------------------------------------------------------------------------------------

    def at_with(self, i: int) -> bool:
        """Whether token `i` begins `with { … }`."""
        return self.texts[i] == "with" and self.kinds[i + 1] == "{" and not self.strict

    def changed(self, e: Any, first: int) -> Rule:
        """`with { b: e, [1:3]: f }`: a copy with other fields, or another part of a tensor."""
        opener = self.i + 1
        self.i += 2
        places: dict[str, tuple[int, Any]] = {}
        while self.kinds[self.i] != "}" or self.i == opener + 1:
            i = self.i
            operands: list[Any] = []
            if self.kinds[i] == "[":
                items = yield self.items(operands)
            else:
                name = self.new_field(i, places)
                if name not in self.field_names():
                    hint = self._fields_hint(name) or "a part of a tensor is `[1:3]: %v`"
                    self.fault("unknown-field", f"no record has a field `{name}`", i, hint=hint)
                places[name] = i, None
                items = (f".{name}",)
            self.take(":")
            value = yield self.expression()
            span = self.span(first, self.i - 1)
            name = field_name(items)
            record = annotated_record(e, self.mod) if name else None
            if record is not None and name in record.constructor.field_names:
                e = copied_record(e, record, {name: value}, span)
            else:
                e = Call(Op.get(IndexUpdate.name), (e, value, *operands), update(items), (), span=span)
            if self.kinds[self.i] == ",":
                self.i += 1
            elif self.kinds[self.i] != "}":
                self.expected("`,` or `}`", opener=opener)
        self.i += 1
        return e

    def _instance_of(
        self, c: Constructor, values: Mapping[str, Any], type_args: tuple[Any, ...], first: int
    ) -> Expr:
        """The instance with these fields, which are evaluated in the order in which they are written."""
        span = self.span(first, self.i - 1)
        fields = dict(values)
        bound: list[tuple[Var, Expr]] = []
        if tuple(values) != c.field_names:
            for name, e in values.items():
                if not is_at_any_time(e):
                    fields[name] = Var(f"_{name}", None, span=e.span)
                    bound.append((fields[name], e))
        made: Expr = Call(c, tuple([fields[name] for name in c.field_names]), None, type_args, span=span)
        for var, e in reversed(bound):
            made = Let(var, e, made, span=span)
        return made
