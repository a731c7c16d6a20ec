"""Gives the iterations of long loops to several threads.

A nest goes to threads by its first axes, as many as give each thread enough pieces to share out evenly; one
along lanes by whole vectors, whose remainder comes after.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.cost import takes
from relay.backend.native.loops.nodes import (
    INDEX,
    Apply,
    Block,
    Branch,
    Check,
    For,
    Index,
    Let,
    Statement,
    Var,
    statements,
)
from relay.backend.native.memory.strings import makes_strings

CHUNK_NANOSECONDS = 10_000
"""Work that a chunk has at least; a loop of two such chunks is worth a second thread."""
ENOUGH_PIECES = 64
"""Iterations that are enough for all threads to have about as much to do."""
ONE_RANGE_EACH = 0
"""The grain of a loop that has one range for each thread."""


def grain_for(b: Builder, nanoseconds: float, inner: Index = 1) -> Index:
    """How many iterations a chunk has, if each is `inner` steps of so many nanoseconds; none, with nothing in
    them, take 0.
    """
    steps = max(1, round(CHUNK_NANOSECONDS / nanoseconds)) if nanoseconds else 1
    if isinstance(inner, int):
        return max(1, -(-steps // max(1, inner)))
    return b.plus(b.quotient(steps, b.larger(inner, 1)), 1)


def is_short(count: Index, nanoseconds: float) -> bool:
    """Whether one thread is done before another would have begun."""
    return isinstance(count, int) and count * nanoseconds < 2 * CHUNK_NANOSECONDS


def parallelize(b: Builder, block: Block) -> Block:
    """A function's block whose loops are on several threads where that pays."""
    found: list[Statement] = []
    for s in block.statements:
        if isinstance(s, Branch) and is_of_copy(s):
            found.append(replace(s, blocks=tuple([parallelize(b, x) for x in s.blocks])))
            continue
        is_candidate = isinstance(s, For) and s.any_order and not s.carried and not takes_memory(s.body)
        found += parallelized(b, s) if is_candidate and isinstance(s, For) else [s]
    return Block(tuple(found), block.yields)


def is_of_copy(s: Branch) -> bool:
    """Whether a choice is whether a tensor is copied, or is in the place of the other."""
    return isinstance(s.conditions[0], Apply) and s.conditions[0].op == "apart"


def takes_memory(body: Block) -> bool:
    """Whether an iteration makes strings: threads share the memory of a call."""
    return any(isinstance(s, Apply) and makes_strings(s.op) for s in statements(body))


def parallelized(b: Builder, s: For) -> Sequence[Statement]:
    """A loop on several threads, or as it is."""
    nanoseconds, unknown = takes(s)
    if not unknown and all(isinstance(n, int) for n in s.extents):
        count = prod([n for n in s.extents if isinstance(n, int)])
        if is_short(count, nanoseconds):
            return [s]
    split = by_vectors if len(s.indices) == 1 and s.lanes else by_front_axes
    return b.added(lambda: split(b, s, nanoseconds, b.count(unknown)))


def by_front_axes(b: Builder, s: For, nanoseconds: float, inner: Index) -> None:
    """The first axes go to threads, the others stay loops."""
    most = len(s.indices) - bool(s.lanes)
    known = [prod([d for d in s.extents[: k + 1] if isinstance(d, int)]) for k in range(most)]
    split = next((k + 1 for k, n in enumerate(known) if n >= ENOUGH_PIECES), most)
    front, back = s.extents[:split], s.extents[split:]

    def body(begin: Index, end: Index, lane: Index) -> None:
        def one(index: tuple[Index, ...], _: object) -> None:
            places = b.unravelled(b.plus(begin, index[0]), front)
            for v, i in zip(s.indices, places, strict=False):
                b.add_statement(Let(v, i))
            if back:
                b.add_statement(replace(s, indices=s.indices[split:], extents=back))
            else:
                for x in s.body.statements:
                    b.add_statement(x)

        b.for_each([b.minus(end, begin)], (), one, any_order=True)

    b.parallel(b.count(front), grain_for(b, nanoseconds, b.times(b.count(back), inner)), body)


def by_vectors(b: Builder, s: For, nanoseconds: float, inner: Index) -> None:
    """Whole vectors go to threads; what does not fill one comes after."""
    (index,), (n,), lanes = s.indices, s.extents, s.lanes
    rounds = b.quotient(n, lanes)

    def shifted(first: Index, count: Index, **schedule: Any) -> None:
        i = Var(INDEX, b.scope.name("i"))
        start = b.times(first, lanes)
        at = b.added(lambda: b.add_statement(Let(index, b.plus(start, i))))
        body = Block((*at, *s.body.statements), s.body.yields)
        b.add_statement(replace(s, indices=(i,), extents=(count,), body=body, **schedule))

    b.parallel(
        rounds,
        grain_for(b, nanoseconds * lanes, inner),
        lambda begin, end, lane: shifted(begin, b.times(b.minus(end, begin), lanes), is_whole=True),
    )
    rest = b.minus(n, b.times(rounds, lanes))
    if rest == 0:
        return
    if not isinstance(rest, int) and any(isinstance(x, Check) for x in statements(s.body)):
        # A vector of which no lane counts would still check what is the same in all lanes.
        b.when(b.is_less(0, rest), lambda: shifted(rounds, rest, unroll=1))
    else:
        shifted(rounds, rest, unroll=1)
