"""Values while a program is differentiated: opened into tensors and partners, and packed into dual values."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from typing import Any

from relay.autodiff.dual_types import DualTypes, is_floating
from relay.autodiff.structure import LIFT, PRIMAL, Structure
from relay.autodiff.values import Block, Fields, Inert, Number, Packed, Value
from relay.ir.expr import (
    Constant,
    Expr,
    GlobalVar,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import UNIT, RefType, TensorType, TupleType, Type
from relay.typecheck.query import Types

Task = Generator[Any, Any, Any]


class Values(ABC):
    """How values are opened and packed in one mode; the modes say what a partner is."""

    def __init__(self, types: DualTypes, supply: GlobalVarSupply) -> None:
        """`types.mod` is annotated; it gets the differentiated definitions."""
        self.types = types
        self.mod = types.mod
        self.supply = supply
        self.structure = Structure(types, supply)
        self.type_of = Types(self.mod)
        self.env: dict[Var, Value] = {}

    @abstractmethod
    def partner_of(self, value: Number, b: Block) -> Expr:
        """The partner of a tensor, made up where there is none."""

    def open(self, expr: Expr, t: Type, b: Block) -> Value:
        """A dual value of source type `t`, as far open as tensors need it."""
        if self.types.is_inert(t):
            return Inert(expr, t)
        if not is_floating(t):
            return Packed(expr, t)
        assert isinstance(t, TensorType)
        primal = b.bind(TupleGetItem(expr, 0), t, getattr(expr, "name_hint", "x"))
        value = Number(primal, t, b.bind(TupleGetItem(expr, 1), self.types.partner(t), "d"))
        b.steps.append(value)
        return value

    def receive(self, expr: Expr, t: Type, name: str, b: Block, is_last: bool) -> Value:
        """The result of a call or a branching: bound and opened, unless it is what the block returns."""
        if is_last:
            return Inert(expr, t) if self.types.is_inert(t) else Packed(expr, t)
        return self.open(b.bind(expr, self.types.dual(t), name), t, b)

    def plain(self, expr: Expr, t: Type, b: Block) -> Value:
        """A value from outside of what is differentiated: nothing varies in it."""
        if self.types.is_inert(t):
            return Inert(expr, t)
        if is_floating(t):
            assert isinstance(t, TensorType)
            return Number(expr if isinstance(expr, Constant) else b.bind(expr, t, "x"), t)
        return Packed(self.structure.apply(LIFT, t, [expr], b, expr.span), t)

    def pack(self, value: Value, b: Block) -> Expr:
        """A value as one expression of its dual type."""
        match value:
            case Inert() | Packed():
                return value.expr
            case Number():
                return Tuple((value.primal, self.partner_of(value, b)))
            case Fields():
                return Tuple(tuple([self.pack_atom(v, b) for v in value.values]))

    def pack_atom(self, value: Value, b: Block) -> Expr:
        """As `pack`, bound to a variable."""
        e = self.pack(value, b)
        return (
            e
            if isinstance(e, Var | Constant | GlobalVar)
            else b.bind(e, self.types.dual(self.source_type(value)))
        )

    def source_type(self, value: Value) -> Type:
        """The type of a value in the source."""
        match value:
            case Fields():
                return TupleType([self.source_type(v) for v in value.values])
            case _:
                return value.type

    def field(self, value: Value, i: int, t: Type, name: str, b: Block) -> Value:
        """A field of a tuple."""
        match value:
            case Fields():
                return value.values[i]
            case Inert():
                return Inert(b.bind(TupleGetItem(value.expr, i), t, name), t)
            case _:
                assert isinstance(value, Packed)
                return self.open(b.bind(TupleGetItem(value.expr, i), self.types.dual(t), name), t, b)

    def spread(self, value: Value, b: Block) -> Value:
        """A tuple with its fields apart, tensors with their parts apart; what an operator can take."""
        match value:
            case Packed(type=TupleType(fields=fields)):
                return Fields([self.spread(self.field(value, i, f, "x", b), b) for i, f in enumerate(fields)])
            case Fields():
                return Fields([self.spread(v, b) for v in value.values])
            case Inert(type=TupleType() as t):
                parts = [self.field(value, i, f, "x", b) for i, f in enumerate(t.fields)]
                return Fields([self.spread(v, b) for v in parts])
            case _:
                return value

    def parts(self, whole: Var, t: Type, b: Block) -> Value:
        """The result of an operator, with its fields apart."""
        if isinstance(t, TupleType):
            fields = [b.bind(TupleGetItem(whole, i), f, whole.name_hint) for i, f in enumerate(t.fields)]
            return Fields([self.parts(v, f, b) for v, f in zip(fields, t.fields, strict=True)])
        return Number(whole, t) if is_floating(t) else Inert(whole, t)  # pyright: ignore[reportArgumentType]

    def primal(self, value: Value) -> Any:
        """The operand of an operator as its rules see it: a tuple as a Python tuple."""
        match value:
            case Number():
                return value.primal
            case Fields():
                return tuple([self.primal(v) for v in value.values])
            case _:
                return value.expr

    # --- what is around the program that is differentiated ---

    def capture(self, several: Sequence[Var], b: Block) -> list[tuple[Var, Expr]]:
        """Prepare the variables from outside; references with what stands in for them, for `write_back`."""
        cells: list[tuple[Var, Expr]] = []
        for v in several:
            t = self.type_of(v)
            if isinstance(t, RefType) and not self.types.is_inert(t):
                held = self.structure.apply(
                    LIFT, t.value, [b.bind(RefRead(v), t.value, v.name_hint)], b, v.span
                )
                cell = b.bind(RefCreate(held), self.types.dual(t), v.name_hint)
                cells.append((v, cell))
                self.env[v] = Packed(cell, t)
            else:
                self.env[v] = self.plain(v, t, b)
        return cells

    def write_back(self, cells: Sequence[tuple[Var, Expr]], b: Block) -> None:
        """References from outside hold what was written meanwhile."""
        for v, cell in cells:
            t = self.type_of(v)
            assert isinstance(t, RefType)
            held = b.bind(RefRead(cell), self.types.dual(t.value), v.name_hint)
            b.bind(RefWrite(v, self.structure.apply(PRIMAL, t.value, [held], b)), UNIT, "_")

    def plain_result(self, value: Value, b: Block) -> Expr:
        """A value as it is in the source."""
        match value:
            case Inert():
                return b.bind(value.expr, value.type, "y")
            case Number():
                return value.primal
            case Fields():
                parts = [self.plain_result(v, b) for v in value.values]
                return b.bind(Tuple(tuple(parts)), self.source_type(value), "y")
            case Packed():
                return self.structure.apply(PRIMAL, value.type, [value.expr], b)

    def bound(self, value: Value, b: Block) -> Value:
        """A value whose expression is evaluated by now."""
        match value:
            case Packed():
                return Packed(b.bind(value.expr, self.types.dual(value.type), "y"), value.type)
            case Inert():
                return Inert(b.bind(value.expr, value.type, "y"), value.type)
            case _:
                return value


def varies(value: Value) -> bool:
    """Whether something in an operand is active."""
    match value:
        case Number():
            return value.active
        case Fields():
            return any(map(varies, value.values))
        case _:
            return False


def holds_more_than_tensors(t: Type) -> bool:
    """Whether a type is not a tensor, or a tuple of tensors, to any depth."""
    stack: list[Type] = [t]
    while stack:
        u = stack.pop()
        if isinstance(u, TupleType):
            stack += u.fields
        elif not isinstance(u, TensorType):
            return True
    return False
