"""Dual types: what the values of a differentiated program look like.

A floating-point tensor becomes a pair of itself and its **partner**: its tangent in forward mode, the
reference in which its cotangent gathers in reverse mode.  Everything else is mapped part by part; what
holds no floating-point tensor and no function stays as it is: it is *inert*.  Reverse mode hands every
function the **tape**, a reference to the function that pulls cotangents back through all that was done so
far.
"""

from typing import Any, Literal

from relay.diagnostic import fail
from relay.ir.dtype import is_float
from relay.ir.expr import Constructor
from relay.ir.module import IRModule, TypeData
from relay.ir.subst import substitute_type
from relay.ir.supply import NameSupply
from relay.ir.type import (
    UNIT,
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

Mode = Literal["jvp", "vjp"]
TAPE = RefType(FuncType((), UNIT))
Instance = tuple[GlobalTypeVar, tuple[Any, ...]]
"""A data type with its arguments of kind `BaseType`: which of its tensors have partners is known."""


def is_floating(t: Any) -> bool:
    """Whether `t` is a tensor that has a partner."""
    return isinstance(t, TensorType) and isinstance(t.dtype, str) and is_float(t.dtype)


class DualTypes:
    """The dual types of one mode over a module, to which the data types they need are added."""

    def __init__(self, mod: IRModule, mode: Mode) -> None:
        """`mod` is extended; it must not be shared."""
        self.mod = mod
        self.mode: Mode = mode
        self.duals: dict[Type, Type] = {}
        self.changes: dict[Instance, bool] = {}
        self.declared: dict[Instance, TypeData] = {}

    def partner(self, t: TensorType) -> Type:
        """The type of what accompanies a tensor of type `t`."""
        return t if self.mode == "jvp" else RefType(t)

    @property
    def more_params(self) -> tuple[Type, ...]:
        """The types of the parameters that functions get besides their own."""
        return () if self.mode == "jvp" else (TAPE,)

    def is_inert(self, t: Type) -> bool:
        """Whether values of type `t` are the same in the differentiated program."""
        return not any(
            self._is_changed(p) or (isinstance(p, TypeVar) and p.kind is Kind.Type)
            for p in type_post_order(t)
        )

    def _is_changed(self, t: Type) -> bool:
        """Whether this part alone, the types inside aside, has another dual."""
        if isinstance(t, TypeCall) and isinstance(t.func, GlobalTypeVar):
            return self._instance_changes(self.instance(t))
        if isinstance(t, TensorType) and not isinstance(t.dtype, str):
            fail(
                "unknown-grad-target",
                f"whether {t} has a derivative depends on its dtype, which is a type parameter here",
                hint="annotate parameters with their dtype, or let the recursion keep its dtypes",
            )
        return isinstance(t, FuncType) or is_floating(t)

    def instance(self, t: TypeCall) -> Instance:
        """Which variant of its data type `t` is."""
        assert isinstance(t.func, GlobalTypeVar)
        params = self.mod.type_definitions[t.func].type_vars
        return t.func, tuple([a for p, a in zip(params, t.args, strict=True) if p.kind is Kind.BaseType])

    def fields(self, instance: Instance) -> list[tuple[Constructor, tuple[Type, ...]]]:
        """Each constructor of a variant with the types of its fields."""
        data = self.mod.type_definitions[instance[0]]
        bases = [p for p in data.type_vars if p.kind is Kind.BaseType]
        by = dict(zip(bases, instance[1], strict=True))
        return [(c, tuple([substitute_type(f, by) for f in c.inputs])) for c in data.constructors]

    def _instance_changes(self, instance: Instance) -> bool:
        """Whether a field somewhere inside has another dual; the type parameters themselves do not count."""
        known = self.changes.get(instance)
        if known is not None:
            return known
        seen, stack, found = {instance}, [instance], False
        while stack and not found:
            for _, types in self.fields(stack.pop()):
                for part in [p for t in types for p in type_post_order(t)]:
                    if isinstance(part, TypeCall) and isinstance(part.func, GlobalTypeVar):
                        inner = self.instance(part)
                        found = found or self.changes.get(inner, False)
                        if inner not in seen:
                            seen.add(inner)
                            stack.append(inner)
                    found = found or isinstance(part, FuncType) or is_floating(part)
        self.changes[instance] = found
        return found

    def dual(self, root: Type) -> Type:
        """The type of the differentiated value."""
        for t in type_post_order(root):
            if t not in self.duals:
                self.duals[t] = self._dual(t)
        return self.duals[root]

    def _dual(self, t: Type) -> Type:
        """The dual of `t`, whose parts have theirs."""
        duals = self.duals
        match t:
            case TensorType():
                return TupleType((t, self.partner(t))) if is_floating(t) else t
            case TupleType():
                return TupleType([duals[f] for f in t.fields])
            case RefType():
                return RefType(duals[t.value])
            case FuncType():
                params = [*[duals[a] for a in t.arg_types], *self.more_params]
                return FuncType(params, duals[t.ret_type], t.type_params, t.type_constraints)
            case TypeCall(func=GlobalTypeVar() as header):
                params = self.mod.type_definitions[header].type_vars
                args = [duals[a] if p.kind is Kind.Type else a for p, a in zip(params, t.args, strict=True)]
                instance = self.instance(t)
                if not self._instance_changes(instance):
                    return TypeCall(header, args)
                kept = [a for p, a in zip(params, args, strict=True) if p.kind is not Kind.BaseType]
                return TypeCall(self.declare(instance).header, kept)
            case _:
                return t

    def declare(self, instance: Instance) -> TypeData:
        """The dual of a data type, added to the module at its first use."""
        known = self.declared.get(instance)
        if known is not None:
            return known
        data = self.mod.type_definitions[instance[0]]
        names = NameSupply()
        for name in (*self.mod.constructors(), *[h.name_hint for h in self.mod.type_definitions]):
            names.reserve_name(name)
        header = GlobalTypeVar(names.fresh_name(f"{data.header.name_hint}_{self.mode}"))
        params = tuple([p for p in data.type_vars if p.kind is not Kind.BaseType])
        self.declared[instance] = self.mod.type_definitions[header] = TypeData(header, params, ())
        constructors = [
            Constructor(
                names.fresh_name(f"{c.name_hint}_{self.mode}"),
                tuple([self.dual(f) for f in types]),
                header,
                c.tag,
                c.field_names,
            )
            for c, types in self.fields(instance)
        ]
        made = TypeData(header, params, tuple(constructors))
        self.declared[instance] = self.mod.type_definitions[header] = made
        return made

    def constructor(self, c: Constructor, t: TypeCall) -> Constructor:
        """The constructor of the dual type of `t` that answers to `c`."""
        instance = self.instance(t)
        if not self._instance_changes(instance):
            return c
        return self.declare(instance).constructors[c.tag]
