"""The items of a module as lines of text, and expressions alone; `relay.text.printer` says how and why."""

from typing import Any

from relay.ir.alias import TypeAlias
from relay.ir.expr import Function, GlobalVar, Var
from relay.ir.module import IRModule, TypeData
from relay.text import names
from relay.text.attributes import value_text
from relay.text.layout import Multi, broken, flatten, wrapped
from relay.text.print_expr import ExprPrinter
from relay.text.print_leaves import labelled
from relay.text.print_scope import Steps
from relay.text.survey import Survey

VERSION = "1"
MAX_SHOWN_BYTES = 4096
"""Bytes of the constants of a program that `print` shows."""


class Printer(ExprPrinter):
    """Prints modules, and expressions alone, in the full language."""

    version = VERSION

    def definition(self, name: GlobalVar, e: Any, survey: Survey) -> list[Any]:
        """The lines of `def @name…`."""
        self.begin(survey)
        return self.whole(lambda: self._definition(name, e))

    def _definition(self, name: GlobalVar, e: Any) -> Steps:
        start = f"def {names.global_(name.name_hint)}"
        t = None if self.mod is None else self.mod.constant_types.get(name)
        if isinstance(e, Function) and t is None:
            text = yield self.function(e, self.width, start)
        else:
            start += "" if t is None else f": {self.types.argument(t)}"
            around = self.enter(None)
            last = yield self.body(e)
            if self.block.lines:
                self.statement("", last, "")
                text = Multi(f"{start} = {{", self.leave(around), "}")
            else:
                self.leave(around)
                text = wrapped(last, f"{start} = ", "")
        self.statement("", text, "")
        return self.block.lines

    def is_own(self, alias: TypeAlias, mod: IRModule) -> bool:
        """Whether the text of a module declares an alias."""
        return type(self).sugar and alias.header.name_hint not in mod.imported

    def alias(self, alias: TypeAlias) -> str:
        """The line of an alias."""
        undo = self.types.enter(alias.type_vars)
        head = f"type {names.type_name(alias.header.name_hint)}{self.types.parameters(alias.type_vars)}"
        line = f"{head} = {self.types(alias.type)}"
        self.types.leave(undo)
        return line

    def type_data(self, data: TypeData) -> list[str]:
        """The lines of a data type."""
        undo = self.types.enter(data.type_vars)
        head = f"type {names.type_name(data.header.name_hint)}{self.types.parameters(data.type_vars)}"
        lines = [f"extern {head}"] if data.is_extern else [f"{head} {{"]
        for c in data.constructors:
            fields = [self.types.argument(t) for t in c.written or c.inputs]
            name = names.constructor(c.name_hint)
            if self.is_record(c, len(fields), ""):
                lines += self.fields(f"  {name} {{", labelled(c.field_names, fields))
            else:
                lines.append(f"  {name}({', '.join(fields)})," if fields else f"  {name},")
        self.types.leave(undo)
        return lines if data.is_extern else [*lines, "}"]

    def fields(self, opening: str, fields: list[str]) -> list[str]:
        """The fields of a record, on one line if there is room."""
        line = f"{opening} {', '.join(fields)} }},"
        if len(line) <= self.width:
            return [line]
        return [opening, *[f"    {field}," for field in fields], "  },"]

    def free_vars(self, several: list[Var]) -> list[str]:
        """`free_var %x: T;` for each."""
        return [
            f"free_var {names.local(self.free[v])}"
            + ("" if v.type_annotation is None else f": {self.types.argument(v.type_annotation)}")
            + ";"
            for v in several
        ]

    def module(self, mod: IRModule) -> list[list[str]]:
        """The items of a module, each with its lines; those that are one line stand together."""
        items: list[list[str]] = []
        short = [f"import {names.quote(i.path)}" for i in mod.imports]
        short += self.settings("attributes", mod.attrs) + self.settings("options", mod.options)
        items += [short] if short else []
        aliases = [self.alias(a) for a in mod.aliases.values() if self.is_own(a, mod)]
        items += [aliases] if aliases else []
        own = [d for d in mod.type_definitions.values() if d.header.name_hint not in mod.imported]
        items += [self.type_data(d) for d in own]
        defined = [(v, f) for v, f in mod.functions.items() if v.name_hint not in mod.imported]
        surveys = [Survey(f) for _, f in defined]
        free = self.name_free(zip([f for _, f in defined], surveys, strict=True))
        if free:
            items.append(self.free_vars(free))
        for (v, f), survey in zip(defined, surveys, strict=True):
            items.append(flatten(self.definition(v, f, survey)))
        return [broken(lines, self.width) for lines in items]

    def settings(self, word: str, values: dict[str, Any]) -> list[str]:
        """The module's own attributes or options."""
        if not values:
            return []
        pairs = [
            f"{key if names.is_plain(key) else names.quote(key)}: {value_text(v)}"
            for key, v in values.items()
        ]
        return [f"{word} {{ {', '.join(pairs)} }}"]

    def expression(self, e: Any) -> list[str]:
        """The lines of an expression alone, free variables declared first."""
        survey = Survey(e)
        free = self.name_free([(e, survey)])
        self.begin(survey)

        def steps() -> Steps:
            last = yield self.body(e)
            self.statement("", last, "")
            return self.block.lines

        return broken(self.free_vars(free) + flatten(self.whole(steps)), self.width)

    def metadata_or_note(self, name: str) -> list[str]:
        """That section, or where it is long, a comment that says what is left out; `name` has it."""
        size = sum([c.value.nbytes for c in self.large])
        if size <= MAX_SHOWN_BYTES:
            return self.metadata()
        count = f"{len(self.large)} constants" if len(self.large) > 1 else "a constant"
        return [f"// {count} of {size:,} bytes left out: {name}.astext() has all"]

    def metadata(self) -> list[str]:
        """The section that holds the large constants."""
        from relay.text.json_format import save_json

        return ["#[metadata]", save_json({"relay.Constant": self.large})] if self.large else []
