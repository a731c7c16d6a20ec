"""What statements cost: enough to choose lanes and to tell a moment from work for several threads."""

from collections.abc import Iterable, Iterator
from math import prod

from relay.backend.native.loops import nodes as ir
from relay.backend.native.loops.free_values import free_values
from relay.backend.native.math.vector_math import COSTS, FLOAT64_FUNCTIONS
from relay.backend.native.memory.representation import SIZES, scalar

VECTOR_BYTES = 64
"""What most processors have, in one register or several."""
REGISTERS_LIGHT, REGISTERS_HEAVY = 4, 2
"""Vectors at once, so that one waits for none; fewer where functions need registers of their own."""
HEAVY_COST = 16
MAX_LANES = 64
"""Bound on the lanes of narrow numbers.  Many processors have no masks for numbers of one or two bytes, so
that a remainder compiles to a branch for each lane: with 256 lanes, LLVM takes seconds.
"""
MOVED_NANOSECONDS, COMPUTED_NANOSECONDS = 0.2, 0.04
"""For an element that is read or written, and for each instruction that computes one, in vectors."""
SCALAR_FACTOR = 10
"""How much longer an element takes that is computed alone."""
NOT_NUMBERS = (ir.INDEX, ir.ADDRESS, ir.OBJECT)


def cost_of(s: ir.Statement) -> int:
    """What a statement computes, in instructions, about."""
    return COSTS.get(s.op, 1) if isinstance(s, ir.Apply) and s.dtype not in NOT_NUMBERS else 0


def always_run(body: ir.Block) -> Iterator[ir.Statement]:
    """Yield the statements of a block and those inside, except in choices with loops, which rarely run."""
    pending: list[ir.Statement] = [*reversed(body.statements)]
    while pending:
        s = pending.pop()
        yield s
        if not (isinstance(s, ir.Branch) and s.results and loops_in(ir.Block((s,)))):
            pending += [x for inner in reversed(ir.blocks(s)) for x in reversed(inner.statements)]


def lanes_for(body: ir.Block, extent: object) -> int:
    """How many lanes loops over a body have: the same on each machine, so that sums add up in one order."""
    widest, heaviest = 1, 0
    for s in always_run(body):
        if isinstance(s, ir.Load | ir.Store):
            widest = max(widest, SIZES[scalar(s.buffer.dtype)])
        elif isinstance(s, ir.Apply) and s.dtype not in NOT_NUMBERS:
            heaviest = max(heaviest, s.cost, cost_of(s))
            is_wide = s.is_wide or s.op in FLOAT64_FUNCTIONS
            widest = max(widest, 8 if is_wide else SIZES[scalar(s.dtype)])
    registers = REGISTERS_HEAVY if heaviest >= HEAVY_COST else REGISTERS_LIGHT
    lanes = min(VECTOR_BYTES // widest * registers, MAX_LANES)
    if isinstance(extent, int):
        while lanes >= 2 * extent and lanes > 1:
            lanes //= 2
    return lanes


def nanoseconds(body: Iterable[ir.Statement], lanes: int) -> float:
    """What an iteration of a body takes, without the loops inside of it."""
    factor = 1 if lanes else SCALAR_FACTOR
    own, pending, cost = 0, list(body), 0
    while pending:
        s = pending.pop()
        if isinstance(s, ir.Load | ir.Store):
            own = 1
        elif not isinstance(s, ir.For):
            cost += cost_of(s)
            for inner in ir.blocks(s):
                pending += inner.statements
    return factor * (MOVED_NANOSECONDS * own + COMPUTED_NANOSECONDS * cost)


def loops_in(body: ir.Block) -> list[ir.For]:
    """The loops of a body, not those inside of them."""
    found: list[ir.For] = []
    pending = list(reversed(body.statements))
    while pending:
        s = pending.pop()
        if isinstance(s, ir.For):
            found.append(s)
        else:
            pending += [x for inner in reversed(ir.blocks(s)) for x in reversed(inner.statements)]
    return found


def takes(s: ir.For) -> tuple[float, list[ir.Index]]:
    """The nanoseconds of an iteration of a nest, times sizes that are not known but are before the nest."""
    lanes, outside = s.lanes, set(free_values(s.body))
    total, unknown = nanoseconds(s.body.statements, lanes), list[ir.Index]()
    pending = [(x, 1, list[ir.Index](), lanes) for x in loops_in(s.body)]
    while pending:
        x, count, sizes, outer = pending.pop()
        count *= prod([d for d in x.extents if isinstance(d, int)])
        sizes = [*sizes, *[d for d in x.extents if not isinstance(d, int) and d in outside]]
        own = max(x.lanes, outer)
        total += count * nanoseconds(x.body.statements, own)
        unknown = max(unknown, sizes, key=len)
        pending += [(y, count, sizes, own) for y in loops_in(x.body)]
    return total, unknown
