"""Imports in text: what an imported module has becomes known here."""

from typing import Any

from relay.diagnostic import RelayError
from relay.ir.expr import Function
from relay.ir.module import Import
from relay.text.parse_data import DataTypes


class Imports(DataTypes):
    """The rules of imports."""

    lacks_import: bool = False
    """An import failed, so that names of it are not known."""

    def import_(self, i: int) -> None:
        """`import "std/list"`."""
        self.i = i + 2
        path = self.string(i + 1)
        self.mod.imports.append(Import(path, self.span(i, i + 1)))
        try:
            other = self.loader.load(path, self.span(i + 1))
        except RelayError as error:
            self.lacks_import = True
            for d in error.diagnostics:
                self.add(d)
            return
        if other is not None:
            self._take_over(other, i + 1)

    def _take_over(self, other: Any, i: int) -> None:
        """The definitions and types of an imported module; its `@main` stays there."""
        mod = self.mod
        for var, value in other.functions.items():
            if var.name_hint == "main":
                continue
            known = mod.functions.get(var)
            if known is not None and known is not value:
                self.mistake("duplicate-name", f"`@{var.name_hint}` is defined in two imported modules", i)
            mod.functions[var] = value
            mod.imported.add(var.name_hint)
            self.globals.add(var.name_hint)
            self.imported_here.add(var.name_hint)
            if isinstance(value, Function) and value.type_params:
                self.param_kinds[var.name_hint] = tuple([p.kind for p in value.type_params])
        mod.constant_types.update(other.constant_types)
        for header, alias in other.aliases.items():
            name = header.name_hint
            if mod.aliases.get(header, alias) is not alias:
                self.mistake("duplicate-name", f"the type `{name}` is defined in two imported modules", i)
            mod.aliases[header] = alias
            mod.imported.add(name)
            self.data_kinds[name] = tuple([p.kind for p in alias.type_vars])
        for header, data in other.type_definitions.items():
            name = header.name_hint
            known = mod.type_definitions.get(header)
            if known is not None and known is not data:
                self.mistake("duplicate-name", f"the type `{name}` is defined in two imported modules", i)
            mod.type_definitions[header] = data
            mod.imported.add(name)
            self.data_kinds[name] = tuple([p.kind for p in data.type_vars])
            for c in data.constructors:
                self.constructors[c.name_hint] = c
