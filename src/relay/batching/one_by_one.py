"""Rows one by one: the function that is batched is called for each row, and the results are put together.

This is for rows that differ in more than their numbers: in the structure of data, in the sizes of tensors, in
functions and in references.  The rows are halved until one is left, so that a row is copied as often as their
number can be halved, and its cotangent in the derivative too.
"""

from collections.abc import Sequence

from relay.autodiff.values import Block
from relay.batching.context import Context, source_type
from relay.batching.maps import INDEX, refuse
from relay.batching.values import Fields, Packed, Pattern, Rows, Value, pattern_of
from relay.ir.deep import with_room
from relay.ir.expr import Call, Expr, Function, GlobalVar, If, Tuple, Var
from relay.ir.type import ANY, BOOL, Dim, Kind, TensorType, TupleType, Type, TypeCall, TypeVar
from relay.op.batching import is_unknown
from relay.op.numeric import apply, scalar

SCALAR_INDEX = TensorType((), INDEX)


class OneByOne:
    """A loop over rows that calls one definition for each."""

    def __init__(self, context: Context, row: GlobalVar, f: Function) -> None:
        """`f` is the definition of `row`, which is called for one row."""
        assert f.ret_type is not None
        self.context = context
        self.row = row
        self.type_params = f.type_params
        self.result: Type = f.ret_type
        self.types: list[Type] = [context.type_of(p) for p in f.params]
        self.name = context.supply.fresh_global(f"{row.name_hint}_one_by_one")

    def call(self, args: Sequence[Value], b: Block) -> Value:
        """Define the loop, and return its value for the rows of `args`; of no rows it is not called."""
        this = self.context
        assert this.witness is not None
        for t in (*self.types, self.result):
            if this.types.is_open(t):
                refuse(t, None)
        this.types.mod[self.name] = self._definition([pattern_of(a) for a in args])
        some = Block()
        index = some.bind(this.witness, TensorType((this.rows,), INDEX), "index")
        y = self._call_loop(index, args, this.rows, some)
        t = this.types.batched(self.result, this.rows)
        count = b.bind(apply("sum", apply("ones_like", this.witness)), SCALAR_INDEX, "count")
        is_empty = b.bind(apply("equal", count, scalar(0, INDEX)), BOOL, "is_empty")
        none = Block()
        empty = none.finish(self._empty(self.result, none))
        results = b.bind(If(is_empty, empty, some.finish(y)), t, "y")
        return this.open(results, this.full(self.result), self.result, b)

    def _call_loop(self, index: Expr, args: Sequence[Value], rows: Dim, b: Block) -> Var:
        """Return a call of the loop for some rows."""
        this = self.context
        passed = [e for a in args for e in this.flattened(a)]
        call = Call(self.name, (index, *passed), None, (rows, *self.type_params))
        return b.bind(call, this.types.batched(self.result, rows), "y")

    def _definition(self, patterns: Sequence[Pattern]) -> Function:
        """Return `fn (index, xs) { if (count <= 1) { row(x of the row) } else { both halves } }`."""
        this = self.context
        own = TypeVar("b", Kind.Dim)
        index = Var("index", TensorType((own,), INDEX))
        inner = Context(this.types, this.supply, this.type_of)
        inner.maps, inner.rows, inner.witness = this.maps, own, index
        params = [index]
        args = [inner.received(p, t, "x", params) for p, t in zip(patterns, self.types, strict=True)]
        b = Block()
        count = b.bind(apply("sum", apply("ones_like", index)), SCALAR_INDEX, "count")
        is_one = b.bind(apply("less_equal", count, scalar(1, INDEX)), BOOL, "is_one")
        result = this.types.batched(self.result, own)
        both = If(is_one, self._one(inner, args), self._halves(inner, count, args))
        return Function(tuple(params), b.finish(both), result, (own, *self.type_params))

    def _one(self, inner: Context, args: Sequence[Value]) -> Expr:
        """Return the result of the only row."""
        b = Block()
        operands = tuple([_row_of(inner, a, b) for a in args])
        y = b.bind(Call(self.row, operands, None, self.type_params), self.result, "y")
        return b.finish(inner.maps.stretch(y, self.result, inner.rows, inner.witness, b))

    def _halves(self, inner: Context, count: Expr, args: Sequence[Value]) -> Expr:
        """Return the results of the first half of the rows, and of the others."""
        b = Block()
        half = b.bind(apply("floor_divide", count, scalar(2, INDEX)), SCALAR_INDEX, "half")
        parts: list[Expr] = []
        for begin, end in ((scalar(0, INDEX), half), (half, count)):
            index = apply("arange", begin, end, scalar(1, INDEX), dtype=INDEX)
            index = b.bind(index, TensorType((ANY,), INDEX), "index")
            parts.append(self._call_loop(index, [inner.taken(a, index, ANY, b) for a in args], ANY, b))
        return b.finish(inner.maps.join(parts, self.result, (ANY, ANY), inner.rows, b))

    def _empty(self, t: Type, b: Block) -> Expr:
        """Return the value of no rows: of a data type, the least one."""
        value = self._least(t, (), b)
        if value is None:
            refuse(t, None)
        return value

    @with_room
    def _least(self, t: Type, around: tuple[Type, ...], b: Block) -> Expr | None:
        """Return the value of no rows without values of the types around it; None if there is none."""
        this = self.context
        match t:
            case TensorType(shape=tuple() as shape):
                known = [0 if is_unknown(d) else d for d in shape]
                zeros = apply("zeros", shape=(this.rows, *known), dtype=t.dtype)
                return b.bind(zeros, this.types.batched(t, this.rows), "none")
            case TupleType(fields=fields):
                parts = self._all_least(fields, around, b)
                return (
                    None if parts is None else b.bind(Tuple(parts), this.types.batched(t, this.rows), "none")
                )
            case TypeCall() if t not in around:
                batched = this.types.batched(t, this.rows)
                assert isinstance(batched, TypeCall)
                for c, fields in this.types.fields(t):
                    parts = self._all_least(fields, (*around, t), b)
                    if parts is not None:
                        value = Call(this.types.constructor(c), parts, None, batched.args)
                        return b.bind(value, batched, "none")
            case _:
                pass
        return None

    def _all_least(
        self, types: Sequence[Type], around: tuple[Type, ...], b: Block
    ) -> tuple[Expr, ...] | None:
        """Return the values of no rows of several types; None if there is none of one of them."""
        parts = [p for p in (self._least(t, around, b) for t in types) if p is not None]
        return tuple(parts) if len(parts) == len(types) else None


@with_room
def _row_of(inner: Context, value: Value, b: Block) -> Expr:
    """Return the first row of a value."""
    match value:
        case Fields(values):
            parts = tuple([_row_of(inner, v, b) for v in values])
            t = TupleType([source_type(v) for v in values])
            return b.bind(Tuple(parts), t, "x")
        case Rows() | Packed():
            return inner.maps.row(value.expr, value.type, inner.rows, scalar(0, INDEX), b)
        case _:
            return inner.pack(value, b)
