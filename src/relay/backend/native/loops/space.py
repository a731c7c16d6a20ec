"""The spaces that loops go through: axes that are one, and the last of them along the lanes of vectors."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from relay.backend.native.llvm.vectors import Run, Value, counting
from relay.backend.native.loops.indices import Index
from relay.backend.native.loops.loops import Loops
from relay.backend.native.loops.scalars import Number
from relay.backend.native.memory.representation import SIZES, scalar
from relay.ir.expr import Call, Expr
from relay.op.base import Operator

VECTOR = 64
"""Bytes of a vector: what most processors have, in one register or several."""
HEAVY = 16
"""Instructions that an element of an expensive operator costs, about."""


@dataclass(frozen=True)
class Axes:
    """Neighbouring axes that are one: an index along all of them is that of `at`, and 0 for the others."""

    axes: tuple[int, ...]
    at: int

    def count(self, b: Loops, sizes: Sequence[Index]) -> Index:
        """How many places there are."""
        return b.count([sizes[a] for a in self.axes])


def is_pointwise(e: Expr | None) -> bool:
    """Whether a node reads each operand at the place of the element that it computes."""
    return isinstance(e, Call) and isinstance(e.attrs, Operator) and e.attrs.is_pointwise


def merged(sizes: Sequence[Index], roots: Sequence[Any], reduced: Sequence[int] = ()) -> list[Axes]:
    """The axes of a shape, joined where `roots`, tensors of that shape, and what they are computed from go
    through neighbours in the order of memory or not at all; axes that are reduced stay apart from others.
    """
    rank = len(sizes)
    long = [i for i in range(rank) if sizes[i] != 1]
    apart = [i == 0 or (i in reduced) != (i - 1 in reduced) for i in range(rank)]
    seen: set[int] = set()
    pending = list(roots)
    while pending and not all(apart):
        x = pending.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        own = [0] * (rank - len(x.sizes)) + [
            0 if d == 1 else 1 if d == sizes[i] else 2 for i, d in enumerate(x.sizes, rank - len(x.sizes))
        ]
        follows = x.call is None or is_pointwise(x.call)
        for j, i in itertools.pairwise(long):
            pair = {own[j], own[i]}
            apart[i] = apart[i] or 2 in pair or len(pair) > 1 or (not follows and pair != {0})
        if follows and x.call is not None:
            pending += operands(x)
    found: list[list[int]] = []
    for i in range(rank):
        if apart[i]:
            found.append([])
        found[-1].append(i)
    return [Axes(tuple(g), next((a for a in reversed(g) if sizes[a] != 1), g[-1])) for g in found]


def operands(x: Any) -> list[Any]:
    """What a tensor that is computed where it is read is computed from, fields of tuples one by one."""
    return [z for y in x.views for z in (cast("tuple[Any, ...]", y) if isinstance(y, tuple) else (y,))]


def below(roots: Sequence[Any]) -> list[Any]:
    """All tensors that some are computed from where they are read, operands first, and themselves."""
    found: dict[Any, None] = {}
    pending = [(x, False) for x in roots]
    while pending:
        x, is_done = pending.pop()
        if is_done:
            found.setdefault(x)
        elif x not in found:
            pending.append((x, True))
            if x.call is not None:
                pending += [(y, False) for y in operands(x)]
    return list(found)


def width(n: Index, roots: Sequence[Any]) -> int:
    """How many lanes loops over `n` elements have; several registers of them, so that one waits for none.

    The same on each machine, so that what is added up is added in the same order.
    """
    nodes = below(roots)
    ops: list[Operator] = [x.call.attrs for x in nodes if x.call is not None]
    widest = max([SIZES[scalar(x.dtype)] for x in nodes] + [8 for op in ops if op.computes_in_float64])
    is_heavy = any(op.element_cost >= HEAVY for op in ops)
    lanes = VECTOR // widest * (2 if is_heavy else 4)
    if isinstance(n, int):
        while lanes >= 2 * n and lanes > 1:
            lanes //= 2
    return lanes


def in_lanes(
    b: Loops,
    n: Index,
    totals: Sequence[Number],
    body: Callable[[Index, Sequence[Number]], Sequence[Number]],
) -> Sequence[Number]:
    """Run `body(i, totals)` for `i` from 0 to `n`, as many at a time as the code has lanes.

    Where some are left that do not fill the lanes, the others are masked.
    """
    code, lanes = b.code, b.code.lanes
    rounds = b.quotient(n, lanes)
    if not isinstance(rounds, int):
        totals = b.loop(rounds, totals, lambda i, t: body(Run(code, b.times(i, lanes), 1), t))
    elif rounds == 1:
        with b.inner():
            totals = body(Run(code, 0, 1), totals)
    elif rounds:
        totals = b.loop(rounds, totals, lambda i, t: body(Run(code, b.times(i, lanes), 1), t))
    first = b.times(rounds, lanes)
    rest = b.minus(n, first)
    return totals if rest == 0 else the_rest(b, first, rest, totals, body)


def the_rest(
    b: Loops,
    first: Index,
    rest: Index,
    totals: Sequence[Number],
    body: Callable[[Index, Sequence[Number]], Sequence[Number]],
) -> Sequence[Number]:
    """What does not fill the lanes."""
    code = b.code
    left = rest if isinstance(rest, Value) else None
    start, some, end = code.here, code.label(), code.label()
    if left is not None:
        code.branch(code.compare("icmp ne", left, Value("i64", "0")), some, end)
        code.block(some)
    bound = Value("i32", str(rest)) if left is None else code.cast("trunc", left, "i32")
    code.mask = code.compare("icmp ult", counting("i32", code.lanes), code.spread(bound))
    with b.inner():
        new = body(Run(code, first, 1), totals)
    kept = [
        Number(x.dtype, code.select(code.marks(), x.value, y.value)) for x, y in zip(new, totals, strict=True)
    ]
    code.mask = None
    if left is None:
        return kept
    arrivals = [([x.value for x in totals], start), ([x.value for x in kept], code.here)]
    code.jump(end)
    code.block(end)
    return [Number(x.dtype, v) for x, v in zip(totals, code.join(arrivals), strict=True)]
