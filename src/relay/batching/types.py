"""Batched types: what the values of many rows look like where all in them is batched.

A tensor has the rows along a new first axis, a tuple and a function are batched part by part.  A data type
keeps one structure for all rows; where its fields hold tensors of types of their own, it gets a twin with the
number of rows as its first parameter.
"""

import itertools
from collections.abc import Iterator
from typing import Any

from relay.ir.expr import Constructor
from relay.ir.module import IRModule, TypeData
from relay.ir.subst import substitute_type
from relay.ir.supply import NameSupply
from relay.ir.type import (
    HAS_VAR,
    Dim,
    FuncType,
    GlobalTypeVar,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from relay.ir.walk import type_post_order


class BatchedTypes:
    """The batched types over a module, to which the twins that they need are added."""

    def __init__(self, mod: IRModule) -> None:
        """`mod` is extended; it must not be shared."""
        self.mod = mod
        self.found: dict[tuple[Type, Dim], Type] = {}
        self.twins: dict[GlobalTypeVar, TypeData] = {}
        self.changes: dict[GlobalTypeVar, bool] = {}

    def is_inert(self, t: Type) -> bool:
        """Whether values of type `t` hold no tensor, and no function: they are the same for all rows."""
        return not self.is_open(t) and not any(
            isinstance(p, TensorType | FuncType | RefType)
            or (isinstance(p, TypeCall) and isinstance(p.func, GlobalTypeVar) and self.has_twin(p.func))
            for p in type_post_order(t)
        )

    def is_open(self, t: Type) -> bool:
        """Whether type parameters are in `t`; they stand for the types of what is batched."""
        return bool(t.flags & HAS_VAR) and any(
            isinstance(p, TypeVar) and p.kind is Kind.Type for p in type_post_order(t)
        )

    def has_state(self, t: Type) -> bool:
        """Return whether values of type `t` may hold references or functions."""
        return any(isinstance(p, FuncType | RefType) for p in self.reachable(t))

    def reachable(self, root: Type) -> Iterator[Type]:
        """Yield the parts of a type, and those of the fields of its data types."""
        seen: set[GlobalTypeVar] = set()
        stack = [root]
        while stack:
            for part in type_post_order(stack.pop()):
                yield part
                if isinstance(part, GlobalTypeVar) and part not in seen:
                    seen.add(part)
                    stack += [f for c in self.mod.type_definitions[part].constructors for f in c.inputs]

    def has_twin(self, header: GlobalTypeVar) -> bool:
        """Whether a data type has tensors or functions in its fields that are not its parameters."""
        known = self.changes.get(header)
        if known is not None:
            return known
        parts = itertools.islice(self.reachable(header), 1, None)
        found = any(isinstance(p, TensorType | FuncType | RefType) for p in parts)
        self.changes[header] = found
        return found

    def batched(self, root: Type, rows: Dim) -> Type:
        """The type of values of type `root` of many rows."""
        for t in type_post_order(root):
            if (t, rows) not in self.found:
                self.found[t, rows] = self._batched(t, rows)
        return self.found[root, rows]

    def _batched(self, t: Type, rows: Dim) -> Type:
        """The batched type of `t`, whose parts have theirs."""

        def of(part: Type) -> Type:
            return self.found[part, rows]

        match t:
            case TensorType():
                assert isinstance(t.shape, tuple), f"{t} has no rank"
                return TensorType((rows, *t.shape), t.dtype)
            case TupleType():
                return TupleType([of(f) for f in t.fields])
            case RefType():
                return RefType(of(t.value))
            case FuncType():
                return FuncType(
                    [of(a) for a in t.arg_types], of(t.ret_type), t.type_params, t.type_constraints
                )
            case TypeCall(func=GlobalTypeVar() as header):
                params = self.mod.type_definitions[header].type_vars
                args = [of(a) if p.kind is Kind.Type else a for p, a in zip(params, t.args, strict=True)]
                if not self.has_twin(header):
                    return TypeCall(header, args)
                return TypeCall(self.twin(header).header, (rows, *args))
            case _:
                return t

    def twin(self, header: GlobalTypeVar) -> TypeData:
        """The batched form of a data type, added to the module at its first use."""
        known = self.twins.get(header)
        if known is not None:
            return known
        data = self.mod.type_definitions[header]
        names = NameSupply()
        for name in (*self.mod.constructors(), *[h.name_hint for h in self.mod.type_definitions]):
            names.reserve_name(name)
        made = GlobalTypeVar(names.fresh_name(f"{header.name_hint}_vmap"))
        rows = TypeVar("b", Kind.Dim)
        params = (rows, *data.type_vars)
        self.twins[header] = self.mod.type_definitions[made] = TypeData(made, params, ())
        constructors = [
            Constructor(
                names.fresh_name(f"{c.name_hint}_vmap"),
                tuple([self.batched(f, rows) for f in c.inputs]),
                made,
                c.tag,
                c.field_names,
            )
            for c in data.constructors
        ]
        whole = TypeData(made, params, tuple(constructors))
        self.twins[header] = self.mod.type_definitions[made] = whole
        return whole

    def constructor(self, c: Constructor) -> Constructor:
        """The constructor of the batched data type that answers to `c`."""
        return self.twin(c.belong_to).constructors[c.tag] if self.has_twin(c.belong_to) else c

    def fields(self, t: TypeCall) -> list[tuple[Constructor, tuple[Any, ...]]]:
        """Each constructor of a data type with the types of its fields at these arguments."""
        assert isinstance(t.func, GlobalTypeVar)
        data = self.mod.type_definitions[t.func]
        by = dict(zip(data.type_vars, t.args, strict=True))
        return [(c, tuple([substitute_type(f, by) for f in c.inputs])) for c in data.constructors]
