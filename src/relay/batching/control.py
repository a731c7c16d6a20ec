"""Branches and matches where a program is batched: on what all rows share, and on what differs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relay.autodiff.values import Block
from relay.batching.branches import is_cheap, is_numeric
from relay.batching.data import batched_pattern
from relay.batching.values import Cell, Closure, Fields, Rows, Shared, Value, joined, pattern_of, settled
from relay.ir.expr import Clause, If, Match
from relay.op.broadcast import Where

if TYPE_CHECKING:
    from relay.batching.batcher import Batcher, Task


def branching(this: "Batcher", e: If, name: str, b: Block) -> "Task":
    """An `if`."""
    cond = this.value(e.cond, b)
    if isinstance(cond, Rows):
        is_cheaper = this.may_select and all(map(is_cheap, (e.true_branch, e.false_branch)))
        if is_cheaper and is_numeric(this.type_of(e)):
            return (yield selected(this, cond, e, name, b))
        return (yield this.partition(cond, e, name, b))
    assert isinstance(cond, Shared)
    yes, no = Block(), Block()
    values = (yield this.block(e.true_branch, yes)), (yield this.block(e.false_branch, no))
    t = this.type_of(e)
    pattern = settled(joined(pattern_of(values[0]), pattern_of(values[1])))
    branches = [
        inside.finish(this.pack(this.coerced(v, pattern, inside), inside))
        for v, inside in zip(values, (yes, no), strict=True)
    ]
    made = If(cond.expr, *branches, span=e.span)
    return this.open(b.bind(made, this.type_at(pattern, t, this.rows), name), pattern, t, b)


def selected(this: "Batcher", cond: Rows, e: If, name: str, b: Block) -> "Task":
    """An `if` whose branches both run for all rows: they cannot fail, and cost little."""
    values = (yield this.block(e.true_branch, b)), (yield this.block(e.false_branch, b))
    t = this.type_of(e)
    full = this.full(t)
    return _chosen(this, cond, [this.coerced(v, full, b) for v in values], name, b)


def _chosen(this: "Batcher", cond: Rows, values: Sequence[Value], name: str, b: Block) -> Value:
    first = values[0]
    if isinstance(first, Fields):
        parts = zip(*[v.values for v in values if isinstance(v, Fields)], strict=True)
        return Fields(tuple([_chosen(this, cond, p, name, b) for p in parts]))
    assert isinstance(first, Rows)
    return this.operate(Where(), [cond, *values], first.type, name, b)


def matched(this: "Batcher", e: Match, name: str, b: Block) -> "Task":
    """A match: the structure of what is matched is one for all rows."""
    of = this.type_of(e.data)
    data = this.value(e.data, b)
    pattern = pattern_of(data)
    is_shared = pattern == this.least(of) and not isinstance(data, Closure | Cell)
    is_shared = is_shared and not this.types.is_open(of)
    if not is_shared:
        data = this.coerced(data, this.full(of), b)
    atom = this.atom(data, this.least(of) if is_shared else this.full(of), b)
    blocks: list[Block] = []
    values: list[Value] = []
    sides: list[Any] = []
    for c in e.clauses:
        blocks.append(Block())
        sides.append(batched_pattern(this, c.lhs, of, is_shared, blocks[-1]))
        values.append((yield this.block(c.rhs, blocks[-1])))
    t = this.type_of(e)
    result = settled(pattern_of(values[0])) if values else this.least(t)
    for v in values[1:]:
        result = settled(joined(result, pattern_of(v)))
    clauses = [
        Clause(lhs, inside.finish(this.pack(this.coerced(v, result, inside), inside)), span=c.span)
        for c, lhs, v, inside in zip(e.clauses, sides, values, blocks, strict=True)
    ]
    made = Match(atom, tuple(clauses), e.complete, span=e.span)
    return this.open(b.bind(made, this.type_at(result, t, this.rows), name), result, t, b)
