"""Values while a program is batched: spread, packed, and brought to a pattern, at some number of rows."""

from collections.abc import Sequence
from typing import Any

from relay.autodiff.values import Block
from relay.batching.maps import INDEX, Maps, refuse
from relay.batching.types import BatchedTypes
from relay.batching.values import (
    PACKED,
    PART_CELL,
    ROWS,
    SHARED,
    WHOLE_CELL,
    Cell,
    Closure,
    Fields,
    Known,
    Packed,
    Pattern,
    Rows,
    Shared,
    Value,
)
from relay.ir.deep import with_room
from relay.ir.expr import Constant, Expr, GlobalVar, Tuple, TupleGetItem, Var
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import Dim, FuncType, Kind, RefType, TensorType, TupleType, Type, TypeVar
from relay.op.derivative import fields_of
from relay.op.numeric import apply
from relay.typecheck.types import Types


class Context:
    """What the batched code of one definition, or of a part of it, has around it."""

    def __init__(self, types: BatchedTypes, supply: GlobalVarSupply, type_of: Types) -> None:
        """`type_of` knows the source; `types.mod` gets what is made."""
        self.types = types
        self.supply = supply
        self.type_of = type_of
        self.maps = Maps(types, supply)
        self.env: dict[Var, Value] = {}
        self.rows: Dim = 0
        self.witness: Expr | None = None
        """A tensor with an element for each row, where their number is symbolic."""
        self.more_params: list[TypeVar] = []

    @with_room
    def full(self, t: Type) -> Pattern:
        """The pattern of a value in which all is batched."""
        if isinstance(t, TupleType):
            return tuple([self.full(f) for f in t.fields])
        if isinstance(t, TensorType):
            return ROWS
        if isinstance(t, RefType):
            return WHOLE_CELL
        return SHARED if self.types.is_inert(t) else PACKED

    @with_room
    def least(self, t: Type) -> Pattern:
        """The pattern of a value of which nothing is known to be batched."""
        if isinstance(t, TupleType):
            return tuple([self.least(f) for f in t.fields])
        if isinstance(t, RefType):
            return WHOLE_CELL
        return PACKED if isinstance(t, FuncType) or self.types.is_open(t) else SHARED

    @with_room
    def type_at(self, pattern: Pattern, t: Type, rows: Dim) -> Type:
        """The type of a packed value of a pattern."""
        if isinstance(pattern, tuple):
            assert isinstance(t, TupleType)
            return TupleType([self.type_at(p, f, rows) for p, f in zip(pattern, t.fields, strict=True)])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return t if pattern == SHARED else self.types.batched(t, rows)

    @with_room
    def open(self, expr: Expr, pattern: Pattern, t: Type, b: Block) -> Value:
        """A packed value of a pattern, with the fields of tuples apart."""
        if isinstance(t, TupleType):
            parts: list[Value] = []
            for i, (p, f) in enumerate(zip(fields_of(pattern), t.fields, strict=True)):
                part = b.bind(TupleGetItem(expr, i), self.type_at(p, f, self.rows), "x")
                parts.append(self.open(part, p, f, b))
            return Fields(tuple(parts))
        if pattern == SHARED:
            return Shared(expr, t)
        if pattern == ROWS:
            assert isinstance(t, TensorType)
            return Rows(expr, t)
        return Packed(expr, t) if pattern == PACKED else Cell(expr, t, self.rows, None)

    @with_room
    def shared(self, expr: Expr, t: Type, b: Block) -> Value:
        """A value that all rows share."""
        if isinstance(t, TupleType):
            if isinstance(expr, Tuple):
                return Fields(
                    tuple([self.shared(e, f, b) for e, f in zip(expr.fields, t.fields, strict=True)])
                )
            fields = [(b.bind(TupleGetItem(expr, i), f, "x"), f) for i, f in enumerate(t.fields)]
            return Fields(tuple([self.shared(e, f, b) for e, f in fields]))
        return Shared(expr, t)

    @with_room
    def coerced(self, value: Value, pattern: Pattern, b: Block) -> Value:
        """A value with more of it batched."""
        if isinstance(value, Fields):
            parts = zip(value.values, fields_of(pattern), strict=True)
            return Fields(tuple([self.coerced(v, p, b) for v, p in parts]))
        if isinstance(value, Shared) and pattern != SHARED:
            if isinstance(value.type, FuncType | RefType):
                refuse(value.type, value.expr.span)
            made = self.maps.stretch(value.expr, value.type, self.rows, self.witness, b)
            return Rows(made, value.type) if isinstance(value.type, TensorType) else Packed(made, value.type)
        if isinstance(value, Closure) and not isinstance(pattern, Known):
            return self.packed_closure(value, b)
        if isinstance(value, Cell) and value.index is not None and pattern != PART_CELL:
            refuse(value.type, value.expr.span)
        return value

    def packed_closure(self, value: Closure, b: Block) -> Packed:
        """A function that is known as a value."""
        raise AssertionError("said by the batcher")

    @with_room
    def pack(self, value: Value, b: Block) -> Expr:
        """A value without functions that are known, as one expression."""
        match value:
            case Fields(values):
                return Tuple(tuple([self.pack(v, b) for v in values]))
            case Closure():
                return self.packed_closure(value, b).expr
            case _:
                return value.expr

    def atom(self, value: Value, pattern: Pattern, b: Block) -> Expr:
        """A packed value, bound to a variable."""
        e = self.pack(value, b)
        if isinstance(e, Var | Constant | GlobalVar):
            return e
        return b.bind(e, self.type_at(pattern, source_type(value), self.rows))

    # --- what calls pass on ---

    @with_room
    def flattened(self, value: Value) -> list[Expr]:
        """What a call passes on of a value."""
        match value:
            case Fields(values):
                return [e for v in values for e in self.flattened(v)]
            case Closure():
                return [e for v in value.captured.values() for e in self.flattened(v)]
            case Cell(index=index) if index is not None:
                return [value.expr, index]
            case _:
                return [value.expr]

    @with_room
    def outer_rows(self, value: Value) -> list[Dim]:
        """The numbers of rows that a call passes on, beside that of its own rows."""
        match value:
            case Fields(values):
                return [d for v in values for d in self.outer_rows(v)]
            case Closure():
                return [d for v in value.captured.values() for d in self.outer_rows(v)]
            case Cell(index=index, outer=outer) if index is not None:
                return [outer]
            case _:
                return []

    @with_room
    def received(self, pattern: Pattern, t: Type, name: str, params: list[Var]) -> Value:
        """The value of a parameter of that pattern; what it takes goes to `params`."""

        def param(of: Type) -> Var:
            params.append(Var(name, of))
            return params[-1]

        if isinstance(pattern, Known):
            captured = [
                (v, self.received(p, self.type_of(v), v.name_hint, params)) for v, p in pattern.captured
            ]
            return Closure(pattern.function, dict(captured))
        if isinstance(t, TupleType):
            parts = zip(fields_of(pattern), t.fields, strict=True)
            return Fields(tuple([self.received(p, f, name, params) for p, f in parts]))
        if pattern == PART_CELL:
            outer = TypeVar(f"b{len(self.more_params)}", Kind.Dim)
            self.more_params.append(outer)
            return Cell(param(self.types.batched(t, outer)), t, outer, param(TensorType((self.rows,), INDEX)))
        made = param(self.type_at(pattern, t, self.rows))
        if pattern == SHARED:
            return Shared(made, t)
        if pattern == ROWS:
            assert isinstance(t, TensorType)
            return Rows(made, t)
        return Packed(made, t) if pattern == PACKED else Cell(made, t, self.rows, None)

    @with_room
    def taken(self, value: Value, index: Expr, rows: Dim, b: Block) -> Value:
        """The rows of a value that an index names."""
        match value:
            case Shared():
                return value
            case Fields(values):
                return Fields(tuple([self.taken(v, index, rows, b) for v in values]))
            case Closure():
                return Closure(
                    value.function, {v: self.taken(x, index, rows, b) for v, x in value.captured.items()}
                )
            case Cell():
                at = (
                    index
                    if value.index is None
                    else b.bind(apply("take", value.index, index, axis=0), TensorType((rows,), INDEX))
                )
                return Cell(value.expr, value.type, value.outer, at)
            case Rows():
                return Rows(self.maps.take(value.expr, value.type, self.rows, index, rows, b), value.type)
            case Packed():
                return Packed(self.maps.take(value.expr, value.type, self.rows, index, rows, b), value.type)


@with_room
def source_type(value: Value) -> Type:
    """The type of a value in the source."""
    match value:
        case Fields(values):
            return TupleType([source_type(v) for v in values])
        case Closure():
            f = value.function
            assert f.ret_type is not None
            return FuncType([p.type_annotation for p in f.params], f.ret_type)  # pyright: ignore[reportArgumentType]
        case _:
            return value.type


def operands(values: Sequence[Value]) -> tuple[list[Any], list[Any]]:
    """Operands as rules of operators see them, and which of them are batched."""
    pairs = [_operand(v) for v in values]
    return [x for x, _ in pairs], [w for _, w in pairs]


@with_room
def _operand(value: Value) -> tuple[Any, Any]:
    match value:
        case Fields(values):
            xs, which = operands(values)
            return tuple(xs), tuple(which)
        case Shared() | Rows():
            return value.expr, isinstance(value, Rows)
        case _:
            raise AssertionError(f"{value!r} is not an operand")
