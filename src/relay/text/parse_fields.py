"""The names of the fields of records in text: which one a token is, and what is wrong with it."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from relay.diagnostic import did_you_mean
from relay.ir.expr import Constructor
from relay.op.records import quoted
from relay.text.names import is_plain
from relay.text.parse_types import Types


class Fields(Types):
    """The rules of fields."""

    def new_field(self, i: int, known: Mapping[str, tuple[int, Any]]) -> str:
        """The name of a field at token `i`, which none of those before it has; steps over it."""
        name = self.texts[i]
        if self.kinds[i] != "NAME" or not is_plain(name):
            self.expected("the name of a field", hint="the fields of a record are `{ name: …, name: … }`")
        if name in known:
            raise self.defined_twice(f"the field `{name}`", i, known[name][0])
        self.i = i + 1
        return name

    def known_field(self, c: Constructor, known: Mapping[str, tuple[int, Any]]) -> str:
        """The name of a field of `c` at the cursor, which none of those before it has; steps over it."""
        i = self.i
        name = self.new_field(i, known)
        if name not in c.field_names:
            self.fault(
                "unknown-field",
                f"`{c.name_hint}` has no field `{name}`",
                i,
                hint=did_you_mean(name, c.field_names) or f"it has {quoted(c.field_names)}",
            )
        return name

    def demand_fields(self, c: Constructor, first: int) -> None:
        """Report a constructor, at token `first`, whose fields have no names."""
        if not c.field_names:
            form = f"{c.name_hint}({', '.join('…' * len(c.inputs))})" if c.inputs else c.name_hint
            self.fault(
                "expected-record",
                f"the fields of `{c.name_hint}` have no names",
                first,
                hint=f"write `{form}`, or declare the names: {c.name_hint} {{ name: Type, … }}",
            )

    def missing_field(self, c: Constructor, names: Sequence[str], i: int, hint: str) -> NoReturn:
        """Report fields of `c` that are not given at token `i`."""
        several = "s" * (len(names) > 1)
        self.fault("missing-field", f"`{c.name_hint}` lacks the field{several} {quoted(names)}", i, hint=hint)
