"""Visitor, mutator and functor classes over types, as `relay.ir.functor` has them over expressions."""

from typing import Any, Generic, TypeVar

from relay.ir.alias import AliasCall
from relay.ir.functor import DeepVisits
from relay.ir.module import TypeData
from relay.ir.type import (
    Any as AnyDim,
)
from relay.ir.type import (
    DimCall,
    DimExpr,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
)
from relay.ir.type import (
    TypeVar as RelayTypeVar,
)

R = TypeVar("R")

METHODS: dict[type, str] = {
    RelayTypeVar: "visit_type_var", IncompleteType: "visit_incomplete_type", TensorType: "visit_tensor_type",
    FuncType: "visit_func_type", TupleType: "visit_tuple_type", TypeRelation: "visit_type_relation",
    RefType: "visit_ref_type", GlobalTypeVar: "visit_global_type_var", TypeCall: "visit_type_call",
    TypeData: "visit_type_data", AnyDim: "visit_any", DimExpr: "visit_dim_expr", DimCall: "visit_dim_call",
    AliasCall: "visit_alias_call",
}  # fmt: skip


class TypeFunctor(DeepVisits, Generic[R]):
    """A function over types (and declarations of data types), by kind; each distinct type is visited once."""

    @staticmethod
    def method_name(node: Any, /) -> str:
        """The name of the method for the type's kind."""
        found = METHODS.get(node.__class__)
        if found is None:
            raise TypeError(f"{node!r} is not a type")
        return found

    def visit(self, typ: Type | TypeData, /) -> R:
        """The result for a type: remembered, or from the method of its kind."""
        return super().visit(typ)

    def default(self, t: Type | TypeData, /) -> R:
        """What a kind of type without a method of its own gets."""
        raise NotImplementedError(f"{type(self).__name__} has no {self.method_name(t)}")

    visit_type_var = visit_incomplete_type = visit_global_type_var = visit_any = default
    visit_tensor_type = visit_func_type = visit_tuple_type = visit_type_relation = default
    visit_ref_type = visit_type_call = visit_type_data = visit_dim_expr = visit_dim_call = default

    def visit_alias_call(self, t: AliasCall, /) -> R:
        """What the alias stands for."""
        return self.visit(t.target)


class TypeVisitor(TypeFunctor[None]):
    """Visits every type inside once; override a method to see its kind, call `super()` to go on inside."""

    def _leaf(self, t: Any, /) -> None:
        return

    def _children(self, t: Any, /) -> None:
        for child in t.children:
            self.visit(child)

    def visit_func_type(self, ftt: FuncType) -> None:
        """Type parameters, then the types inside."""
        for p in ftt.type_params:
            self.visit(p)
        self._children(ftt)

    def visit_type_data(self, td: TypeData) -> None:
        """The name, the parameters, then the fields of each constructor."""
        self.visit(td.header)
        for v in td.type_vars:
            self.visit(v)
        for c in td.constructors:
            for field in c.inputs:
                self.visit(field)

    visit_type_var = visit_incomplete_type = visit_global_type_var = visit_any = _leaf
    visit_tensor_type = visit_tuple_type = visit_type_relation = _children
    visit_ref_type = visit_type_call = visit_dim_expr = visit_dim_call = _children


class TypeMutator(TypeFunctor[Any]):
    """Rebuilds a type; every method returns the replacement (for a dimension, an integer may be one)."""

    def _leaf(self, t: Any, /) -> Any:
        return t

    def _rebuilt(self, t: Any, /) -> Any:
        children: list[Any] = []
        for child in t.children:
            children.append(self.visit(child))  # noqa: PERF401  a comprehension is one more frame for every level
        new = tuple(children)
        return t if all(a is b for a, b in zip(new, t.children, strict=True)) else t.rebuild(new)

    def visit_func_type(self, ftt: FuncType) -> Any:
        """Type parameters (which must stay type parameters), then the types inside."""
        params = tuple([_parameter(self.visit(p)) for p in ftt.type_params])
        new = self._rebuilt(ftt)
        if params == ftt.type_params:
            return new
        return FuncType(new.arg_types, new.ret_type, params, new.type_constraints)

    visit_type_var = visit_incomplete_type = visit_global_type_var = visit_any = _leaf
    visit_tensor_type = visit_tuple_type = visit_type_relation = _rebuilt
    visit_ref_type = visit_type_call = visit_dim_expr = visit_dim_call = _rebuilt
    visit_type_data = _leaf


def _parameter(t: Any) -> RelayTypeVar:
    if not isinstance(t, RelayTypeVar):
        raise TypeError(f"a type parameter cannot become {t!r}")
    return t
