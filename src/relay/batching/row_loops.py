"""Calls of an operator row by row: for operators that have no rule for many rows, and for effects that happen
once for each.

The rows are halved until one is left, so that results are copied as often as their number can be halved.
"""

from collections.abc import Callable, Sequence
from typing import Any

from relay.autodiff.values import Block
from relay.batching.context import Context, source_type
from relay.batching.maps import may_differ, refuse
from relay.batching.values import Fields, Packed, Rows, Shared, Value
from relay.ir.deep import with_room
from relay.ir.expr import Call, Expr, Function, GlobalVar, If, Tuple, TupleGetItem, Var
from relay.ir.type import ANY, BOOL, UNIT, Kind, TensorType, TupleType, Type, TypeVar
from relay.op.base import Operator
from relay.op.numeric import apply, scalar

INDEX = TensorType((), "int64")


class RowLoops:
    """Makes the loops; each is a definition."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.names: dict[Any, GlobalVar] = {}
        self.made: dict[GlobalVar, Function] = {}

    def call(self, op: Operator, args: Sequence[Value], t: Type, *, keeps: bool, b: Block) -> Expr:
        """The results of all rows; the empty tuple unless it `keeps` them."""
        this = self.context
        if keeps and may_differ(t, this.types):
            refuse(t, None)
        flat = [e for a in args for e in this.flattened(a)]
        shapes = tuple([shape_of(a) for a in args])
        key = (op, shapes, this.rows if isinstance(this.rows, int) else None, keeps)
        if key not in self.names:
            self.names[key] = this.supply.fresh_global(f"{op.name.rpartition('.')[2]}_rows")
        name = self.names[key]
        rows = this.rows if isinstance(this.rows, int) else TypeVar("b", Kind.Dim)
        if name not in self.made:
            self.made[name] = self._function(name, op, args, rows, t, keeps=keeps)
        count = scalar(rows, "int64") if isinstance(rows, int) else self._counted(b)
        types = () if isinstance(rows, int) else (this.rows,)
        made = Call(name, (scalar(0, "int64"), count, *flat), None, types)
        if not keeps:
            return b.bind(made, UNIT, "_")
        return b.bind(made, this.types.batched(t, ANY), "y")

    def _counted(self, b: Block) -> Expr:
        """How many rows there are."""
        witness = self.context.witness
        assert witness is not None
        return b.bind(apply("sum", apply("ones_like", witness)), INDEX, "count")

    def _function(
        self, name: GlobalVar, op: Operator, args: Sequence[Value], rows: Any, t: Type, *, keeps: bool
    ) -> Function:
        """`fn(begin, count, xs) { if (count <= 1) { op(x of the row) } else { both halves } }`."""
        this = self.context
        begin, count = Var("begin", INDEX), Var("count", INDEX)
        params: list[Var] = []
        one = Block()
        operands = [self._row(a, begin, rows, params, one) for a in args]
        value = one.bind(op(*operands), t, "y")
        result = this.types.batched(t, ANY) if keeps else UNIT
        few = one.finish(
            _leaf_by_leaf(lambda *xs: apply("expand_dims", xs[0], axis=0), [value], t, one)
            if keeps
            else Tuple(())
        )
        many = Block()
        half = many.bind(apply("floor_divide", count, scalar(2, "int64")), INDEX, "half")
        rest = many.bind(apply("subtract", count, half), INDEX, "rest")
        middle = many.bind(apply("add", begin, half), INDEX, "middle")
        types = () if isinstance(rows, int) else (rows,)
        parts = [
            many.bind(Call(name, (at, n, *params), None, types), result, "y")
            for at, n in ((begin, half), (middle, rest))
        ]
        joined = (
            _leaf_by_leaf(
                lambda *xs: apply("concatenate", Tuple(xs), axis=0), parts, this.types.batched(t, ANY), many
            )
            if keeps
            else Tuple(())
        )
        is_one = Block()
        condition = is_one.bind(apply("less_equal", count, scalar(1, "int64")), BOOL, "is_one")
        body = is_one.finish(If(condition, few, many.finish(joined)))
        own = () if isinstance(rows, int) else (rows,)
        return Function((begin, count, *params), body, result, own)

    @with_room
    def _row(self, value: Value, at: Var, rows: Any, params: list[Var], b: Block) -> Expr:
        """The operand of one row."""
        match value:
            case Fields(values):
                return Tuple(tuple([self._row(v, at, rows, params, b) for v in values]))
            case Shared(type=t):
                params.append(Var("x", t))
                return params[-1]
            case Rows(type=t):
                params.append(Var("x", self.context.types.batched(t, rows)))
                return b.bind(apply("take", params[-1], at, axis=0), t, "x")
            case Packed(type=t):
                params.append(Var("x", self.context.types.batched(t, rows)))
                return self.context.maps.row(params[-1], t, rows, at, b)
            case _:
                refuse(source_type(value), None)


@with_room
def shape_of(value: Value) -> Any:
    """What of a value a loop depends on: which parts are batched, and their types."""
    if isinstance(value, Fields):
        return tuple([shape_of(v) for v in value.values])
    return type(value), source_type(value)


@with_room
def _leaf_by_leaf(f: Callable[..., Expr], xs: Sequence[Expr], t: Type, b: Block) -> Expr:
    """A function of tensors, for each field of tuples."""
    if not isinstance(t, TupleType):
        return f(*xs)
    parts: list[Expr] = []
    for i, u in enumerate(t.fields):
        parts.append(_leaf_by_leaf(f, [b.bind(TupleGetItem(x, i), u, "x") for x in xs], u, b))
    return Tuple(tuple(parts))
