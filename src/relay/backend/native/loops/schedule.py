"""The passes that a function goes through between the rules of its operators and LLVM IR, in order."""

from collections.abc import Iterable
from dataclasses import replace

from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.free_values import without_dead_values
from relay.backend.native.loops.hoist import hoist
from relay.backend.native.loops.keep_rows import keep_rows
from relay.backend.native.loops.merge_axes import merge_axes
from relay.backend.native.loops.nodes import Block, For, Statement, Var, blocks, with_blocks
from relay.backend.native.loops.parallelize import parallelize
from relay.backend.native.loops.value_builder import Scope
from relay.backend.native.loops.vectorize import vectorize
from relay.backend.native.loops.verify import VERIFIES, verify


def schedule(b: Builder, block: Block, given: Iterable[Var]) -> Block:
    """A function's block, ready to be written: axes merged, with lanes, what rows share kept, on threads.

    `given` are the values that the function has before it.
    """
    if not any(blocks(s) for s in block.statements):
        return without_dead_values(block)
    b = Builder(b.program, Scope(), b.at)
    block = merged(b, block)
    block = vectorize(block)
    block = keep_rows(block)
    block = hoist(block)
    block = parallelize(b, without_dead_values(block))
    if VERIFIES:
        verify(block, given)
    return block


def merged(b: Builder, block: Block) -> Block:
    """A block with the axes of its loops merged."""
    found: list[Statement] = []
    for s in block.statements:
        own: Statement = s
        if isinstance(s, For):
            if len(s.indices) > 1 and (s.any_order or s.reduction is not None):
                before = b.added(lambda s=s: found_in(b, s))
                *counts, own = before
                found += counts
            own = replace(own, body=merged(b, own.body)) if isinstance(own, For) else own
        elif blocks(s):
            own = with_blocks(s, [merged(b, x) for x in blocks(s)])
        found.append(own)
    return Block(tuple(found), block.yields)


def found_in(b: Builder, s: For) -> None:
    """Add a merged nest, behind the sizes of its axes."""
    b.add_statement(merge_axes(s, b))
