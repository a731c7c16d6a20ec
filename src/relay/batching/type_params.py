"""Calls of batched definitions: what goes along for their type parameters, and those of known functions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relay.autodiff.values import Block
from relay.batching.context import source_type
from relay.batching.values import Cell, Closure, Fields, Known, Packed, Pattern, Value, pattern_of
from relay.ir.expr import Call, Function, Var
from relay.ir.type import TupleType, Type, TypeVar
from relay.ir.walk import post_order, type_post_order
from relay.typecheck.types import Types

if TYPE_CHECKING:
    from relay.batching.batcher import Batcher


def as_argument(this: "Batcher", value: Value, t: Type, by: Mapping[TypeVar, Any], b: Block) -> Value:
    """A value as an argument of a parameter of type `t`, whose type parameters have arguments: packed
    where these say what it is.
    """
    if isinstance(value, Closure):
        around = type_params_around(this, [pattern_of(value)])
        if any(by.get(v, v) is not v for v in around):
            value = this.packed_closure(value, b)
    if not this.types.is_open(t):
        return value
    if isinstance(t, TupleType):
        assert isinstance(value, Fields)
        parts = zip(value.values, t.fields, strict=True)
        return Fields(tuple([as_argument(this, v, f, by, b) for v, f in parts]))
    full = this.full(source_type(value))
    value = this.coerced(value, full, b)
    return value if isinstance(value, Cell) else Packed(this.atom(value, full, b), t)


def instance(this: "Batcher", pattern: Pattern, declared: Type, t: Type) -> Pattern:
    """The pattern of a result of type `t` where the one of its definition is `declared`."""
    if not this.types.is_open(declared):
        return pattern
    if isinstance(declared, TupleType):
        assert isinstance(t, TupleType)
        parts = zip(pattern, declared.fields, t.fields, strict=True)
        return tuple([instance(this, p, d, f) for p, d, f in parts])
    return this.full(t)


def type_params_around(this: "Batcher", patterns: Sequence[Pattern]) -> list[TypeVar]:
    """The type parameters that the types of known functions mention, of the definitions that they are
    from.
    """
    found: dict[TypeVar, None] = {}
    stack = list(patterns)
    while stack:
        pattern = stack.pop()
        if isinstance(pattern, Known):
            stack += [p for _, p in pattern.captured]
            if pattern.function not in this.around:
                this.around[pattern.function] = type_params_in(pattern.function, this.type_of)
            found.update(dict.fromkeys(this.around[pattern.function]))
        elif isinstance(pattern, tuple):
            stack += pattern  # pyright: ignore[reportUnknownVariableType]
    return list(found)


def type_params_in(f: Function, type_of: Types) -> tuple[TypeVar, ...]:
    """The type parameters that the types in a function mention, but its own."""
    found: dict[TypeVar, None] = {}
    for e in post_order(f):
        types = (
            [type_of(e)] if isinstance(e, Var) else list(e.written_type_args) if isinstance(e, Call) else []
        )
        for t in types:
            if isinstance(t, Type):
                found.update(dict.fromkeys([v for v in type_post_order(t) if isinstance(v, TypeVar)]))
    return tuple([v for v in found if v not in f.type_params])
