"""Types as nodes of the JSON format."""

from collections.abc import Sequence
from typing import Any

from relay.ir.alias import AliasCall
from relay.ir.type import Any as AnyDim
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
    TypeVar,
)
from relay.text.json_graph import Chain, DictAttrs, Graph, Node
from relay.text.json_schema import KINDS

_DIM_KEYS = {"/": "tir.FloorDiv", "min": "tir.Min", "max": "tir.Max", "broadcast": "relay.Broadcast"}


class TypeGraph(Graph):
    """Writes types."""

    def type_(self, t: Type) -> Node:
        """The node of a type."""
        match t:
            case TensorType():
                named = isinstance(t.dtype, str)
                base = {} if named else {"base": t.dtype}
                plain = {"dtype": str(t.dtype) if named else "", "span": "0"}
                return self.make("relay.TensorType", plain, shape=t.shape, **base)
            case TupleType():
                return self.make("TupleType", {"span": "0"}, fields=t.fields)
            case FuncType():
                return self.make(
                    "FuncType",
                    {"span": "0"},
                    arg_types=t.arg_types,
                    ret_type=t.ret_type,
                    type_params=t.type_params,
                    type_constraints=t.type_constraints,
                )
            case RefType():
                return self.make("relay.RefType", {"span": "0"}, value=t.value)
            case TypeCall():
                return self.make("TypeCall", {"span": "0"}, func=t.func, args=t.args)
            case AliasCall():
                return self.make("relay.AliasCall", {"span": "0"}, func=t.func, args=t.args, target=t.target)
            case TypeVar():
                return self.make(
                    "TypeVar", {"kind": str(_kind_number(t)), "span": "0"}, name_hint=t.name_hint
                )
            case GlobalTypeVar():
                return self.make("GlobalTypeVar", {"kind": "5", "span": "0"}, name_hint=t.name_hint)
            case IncompleteType():
                return self.make("IncompleteType", {"kind": str(_kind_number(t)), "span": "0"})
            case TypeRelation():
                plain = {"name": t.name, "num_inputs": str(max(len(t.args or ()) - 1, 0)), "span": "0"}
                attrs = DictAttrs(dict(t.attrs)) if t.attrs else None
                return self.make("TypeRelation", plain, args=None if t.args is None else t.args, attrs=attrs)
            case AnyDim():
                return self.make("tir.Any", {"dtype": "int32", "span": "0"})
            case DimCall():
                return self.chain(_DIM_KEYS[t.op], t.args)
            case DimExpr():
                return self.sum(t)
            case _:
                raise AssertionError(f"a type of class {type(t).__name__}")

    def chain(self, key: str, args: Sequence[Any]) -> Node:
        """`op(a, op(b, c))`."""
        a, *rest = args
        return self.make(key, {"span": "0"}, a=a, b=rest[0] if len(rest) == 1 else Chain(key, tuple(rest)))

    def sum(self, t: DimExpr) -> Node:
        """A polynomial as nested sums and products."""
        terms = [Chain("tir.Mul", (c, *monomial)) for monomial, c in t.terms]
        return self.chain("tir.Add", [*terms, t.constant])


def _kind_number(t: TypeVar | IncompleteType) -> int:
    return KINDS.index(t.kind.value)
