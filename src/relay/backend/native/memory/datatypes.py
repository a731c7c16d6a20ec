"""Data types of a program: their fields, and how instances lie in memory."""

from collections.abc import Mapping
from typing import Any, cast

from relay.backend.native.memory.objects import Layout, Layouts, layout
from relay.backend.native.memory.representation import Representation
from relay.ir.expr import Constructor
from relay.ir.module import TypeData
from relay.ir.subst import substitute_type
from relay.ir.type import GlobalTypeVar, RefType, TupleType, Type, TypeCall


class DataTypes:
    """The data types that a program knows, and the layouts of its objects."""

    def __init__(self, definitions: Mapping[GlobalTypeVar, TypeData]) -> None:
        """Nothing is laid out yet."""
        self.definitions = definitions
        self.leaves = Representation()
        self.layouts = Layouts()
        self.cells: dict[tuple[Constructor, tuple[Any, ...]], tuple[tuple[Type, ...], Layout]] = {}

    def cell(self, c: Constructor, args: tuple[Any, ...]) -> tuple[tuple[Type, ...], Layout]:
        """The types of a constructor's fields at an instance of its type, and where they are in an object."""
        key = (c, args)
        found = self.cells.get(key)
        if found is None:
            data = self.definitions[c.belong_to]
            by = dict(zip(data.type_vars, args, strict=True))
            fields = tuple([substitute_type(t, by) for t in data.constructors[c.tag].inputs])
            found = self.cells[key] = (fields, layout([x for t in fields for x in self.leaves(t)]))
        return found

    def is_record(self, c: Constructor) -> bool:
        """Whether a constructor is the only one of its type."""
        return len(self.definitions[c.belong_to].constructors) == 1

    def note_layouts(self, t: Type | None) -> None:
        """Number the layouts of all objects that a value of type `t` may have inside."""
        seen: set[Type] = set()
        pending = [t]
        while pending:
            u = pending.pop()
            if u is None or u in seen:
                continue
            seen.add(u)
            if isinstance(u, TupleType):
                pending += u.fields
            elif isinstance(u, RefType):
                self.layouts.number(layout(self.leaves(u.value)))
                pending.append(u.value)
            elif isinstance(u, TypeCall | GlobalTypeVar):
                pending += self.field_types(u)

    def field_types(self, t: TypeCall | GlobalTypeVar) -> list[Type]:
        """The types of the fields of all constructors; the layouts of instances are numbered."""
        data = self.definitions[cast("GlobalTypeVar", t.func if isinstance(t, TypeCall) else t)]
        found: list[Type] = []
        for c in data.constructors:
            fields, of = self.cell(c, t.args if isinstance(t, TypeCall) else ())
            self.layouts.number(of)
            found += fields
        return found
