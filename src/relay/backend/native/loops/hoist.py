"""Moves out of loops what is the same in each iteration, where it costs nothing if there is none.

for i, j in 4, 8 { out[i, j] = x[i, j] * exp(s[i]) }  =>  for i in 4 { e = exp(s[i]); for j in 8 { … } }
"""

from dataclasses import replace
from typing import Any

from relay.backend.native.loops import nodes as ir
from relay.backend.native.loops.cost import NOT_NUMBERS


def hoist(block: ir.Block) -> ir.Block:
    """The block with what does not change in its loops before these."""
    found: list[ir.Statement] = []
    is_changed = False
    for s in block.statements:
        new = [s]
        if ir.blocks(s):
            own = ir.with_blocks(s, [hoist(x) for x in ir.blocks(s)])
            new = hoisted(own) if isinstance(own, ir.For) else [own]
        is_changed = is_changed or len(new) > 1 or new[0] is not s
        found += new
    return ir.Block(tuple(found), block.yields) if is_changed else block


def hoisted(s: ir.For) -> list[ir.Statement]:
    """What does not change in a nest, and the nest; what changes with its first axes only is between."""
    before, body = invariant(s, {*s.indices, *s.carried})
    own = replace(s, body=body) if before else s
    if len(s.indices) > 1 and not s.carried:
        between, inner = invariant(own, {s.indices[-1]})
        if any(
            isinstance(x, ir.Load) or (isinstance(x, ir.Apply) and x.dtype not in NOT_NUMBERS)
            for x in between
        ):
            last = replace(own, indices=s.indices[-1:], extents=s.extents[-1:], body=inner)
            front = ir.Block((*between, last))
            own = replace(own, indices=s.indices[:-1], extents=s.extents[:-1], body=front, lanes=0)
    return [*before, own]


def invariant(s: ir.For, changing: set[Any]) -> tuple[list[ir.Statement], ir.Block]:
    """The statements of a nest's body that do not read what changes, and the others."""
    runs = all(
        isinstance(n, int) and n > 0 for n, i in zip(s.extents, s.indices, strict=True) if i in changing
    )
    still: list[ir.Statement] = []
    left: list[ir.Statement] = []
    changing = set(changing)
    for x in s.body.statements:
        may_move = is_free(x) or (isinstance(x, ir.Load) and is_there(x, runs))
        if may_move and changing.isdisjoint(ir.operands(x)) and not is_overwritten(x, s.body):
            still.append(x)
            continue
        left.append(x)
        changing.update(ir.results(x))
    return (still, ir.Block(tuple(left), s.body.yields)) if still else ([], s.body)


def is_overwritten(x: ir.Statement, block: ir.Block) -> bool:
    """Whether a block may write what a load reads."""
    return isinstance(x, ir.Load) and any(
        isinstance(y, ir.Invoke | ir.CallRoutine)
        or (isinstance(y, ir.Store) and y.buffer.data == x.buffer.data)
        for y in ir.statements(block)
    )


def is_free(s: ir.Statement) -> bool:
    """Whether a statement may run where the loop around it does not."""
    if isinstance(s, ir.Apply):
        return s.op not in ("quotient", "rest", "divide", "remainder", "lane")
    return isinstance(s, ir.Let)


def is_there(s: ir.Load, runs: bool) -> bool:
    """Whether an element is in memory although the loop that reads it may not run."""
    return all(
        isinstance(i, ir.Var) or (isinstance(i, int) and (runs or d == 1))
        for i, d in zip(s.index, s.buffer.sizes, strict=True)
    )
