"""Types, by the module name that people know."""

from relay.ir.type import (
    Any,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeKind,
    TypeRelation,
    TypeVar,
    scalar_type,
)

__all__ = [
    "Any", "FuncType", "GlobalTypeVar", "IncompleteType", "Kind", "RefType", "TensorType", "TupleType",
    "Type", "TypeCall", "TypeKind", "TypeRelation", "TypeVar", "scalar_type",
]  # fmt: skip
