"""References that are batched: one for each row, kept in one of all rows."""

from typing import NoReturn

from relay.autodiff.values import Block
from relay.batching.context import Context
from relay.batching.maps import may_differ, refuse
from relay.batching.values import Cell, Shared, Value
from relay.diagnostic import Span, fail
from relay.ir.deep import with_room
from relay.ir.expr import Expr, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem
from relay.ir.type import UNIT, Dim, RefType, TensorType, TupleType, Type
from relay.op.numeric import apply


def made_cell(this: Context, value: Value, t: Type, name: str, b: Block) -> Value:
    """A new reference."""
    assert isinstance(t, RefType)
    full = this.full(t.value)
    held = this.atom(this.coerced(value, full, b), full, b)
    return Cell(b.bind(RefCreate(held), this.types.batched(t, this.rows), name), t, this.rows, None)


def read_cell(this: Context, cell: Value, t: Type, name: str, b: Block) -> Value:
    """What a reference holds."""
    if isinstance(cell, Shared):
        return this.shared(b.bind(RefRead(cell.expr), t, name), t, b)
    assert isinstance(cell, Cell)
    held = b.bind(RefRead(cell.expr), this.types.batched(t, cell.outer), name)
    if cell.index is not None:
        held = this.maps.take(held, t, cell.outer, cell.index, this.rows, b)
    return this.open(held, this.full(t), t, b)


def written_cell(this: Context, cell: Value, value: Value, span: Span | None, b: Block) -> Value:
    """The unit value, after a value was put into a reference.  Raises `batch-reference` for a shared one."""
    if not isinstance(cell, Cell):
        refuse_write(span)
    assert isinstance(cell.type, RefType)
    t = cell.type.value
    held = this.atom(this.coerced(value, this.full(t), b), this.full(t), b)
    if cell.index is not None:
        before = b.bind(RefRead(cell.expr), this.types.batched(t, cell.outer), "x")
        held = _replaced(this, before, t, cell.index, held, cell.outer, b)
    return this.shared(b.bind(RefWrite(cell.expr, held), UNIT, "_"), UNIT, b)


def refuse_write(span: Span | None) -> NoReturn:
    """Report rows that write into a reference that they share."""
    fail(
        "batch-reference",
        "rows write into a reference that they share",
        span=span,
        hint="make the reference inside of the function that is batched, or return the value",
    )


@with_room
def _replaced(this: Context, held: Expr, t: Type, index: Expr, rows: Expr, outer: Dim, b: Block) -> Expr:
    """What a reference holds, with the rows that an index names replaced."""
    if isinstance(t, TupleType):
        parts: list[Expr] = []
        for i, f in enumerate(t.fields):
            before = b.bind(TupleGetItem(held, i), this.types.batched(f, outer), "x")
            new = b.bind(TupleGetItem(rows, i), this.types.batched(f, this.rows), "x")
            parts.append(_replaced(this, before, f, index, new, outer, b))
        return b.bind(Tuple(tuple(parts)), this.types.batched(t, outer), "x")
    if not isinstance(t, TensorType) or may_differ(t, this.types):
        refuse(t, held.span)
    made = apply("scatter_nd", held, apply("expand_dims", index, axis=0), rows, mode="update")
    return b.bind(made, this.types.batched(t, outer), "x")
