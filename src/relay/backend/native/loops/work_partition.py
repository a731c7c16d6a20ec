"""Loops of operators on several threads, where the work is worth it."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from relay.backend.native.llvm.builder import Value
from relay.backend.native.llvm.vectors import Run
from relay.backend.native.loops.indices import Index, value
from relay.backend.native.loops.loops import Loops
from relay.backend.native.loops.parallel import WORTH, grain_for, parallel, threads
from relay.backend.native.loops.space import in_lanes, the_rest
from relay.backend.native.memory.representation import SIZES, scalar

PIECES = 64
"""Iterations that are enough for all threads to have about as much to do."""
MOVED, COMPUTED = 0.2, 0.04
"""Nanoseconds for an element that is read or written, and for each instruction that computes one."""

Body = Callable[[tuple[Index, ...]], None]


def nanoseconds(nodes: Sequence[Any]) -> float:
    """What an element takes that some operators compute, several of them at a time."""
    return MOVED + COMPUTED * sum([x.call.attrs.element_cost for x in nodes if x.call is not None])


def is_little(b: Loops, sizes: Sequence[Index], each_takes: float) -> bool:
    """Whether one thread is done before another would have begun."""
    count = b.count(sizes)
    return isinstance(count, int) and count * each_takes < 2 * WORTH


def ranges(
    b: Loops, n: Index, body: Callable[[Index, Index], None], each_takes: float, inner: Index = 1
) -> None:
    """Run `body(begin, end)` for ranges that make up the one from 0 to `n`; one of the iterations takes so
    many nanoseconds, `inner` times.
    """
    if b.code.lanes or is_little(b, [n, inner], each_takes):
        body(0, n)
        return

    def share(begin: Index, end: Index, lane: Index) -> None:
        with b.inner():
            body(begin, end)

    parallel(b.program, b.code, n, grain_for(b, each_takes, inner), share)


def with_room(
    b: Loops,
    n: Index,
    body: Callable[[Index, Index, Value], None],
    room: tuple[str, Index],
    each_takes: float,
    inner: Index,
) -> None:
    """Run `body(begin, end, data)` for such ranges, with memory of its own for each of them that runs at the
    same time as others: the base type of numbers, and how many.
    """
    dtype, size = room
    little = is_little(b, [n, inner], each_takes)
    lanes = 1 if little else b.smaller(threads(b.program, b.code), n)
    memory = b.room(dtype, [lanes, size]).data
    assert memory is not None

    def share(begin: Index, end: Index, lane: Index) -> None:
        with b.inner():
            at = b.times(b.times(lane, size), SIZES[scalar(dtype)])
            body(begin, end, b.code.at(memory, at if isinstance(at, int) else value(at)))

    if little:
        share(0, n, 0)
    else:
        parallel(b.program, b.code, n, grain_for(b, each_takes, inner), share)


def each(b: Loops, sizes: Sequence[Index], body: Body, each_takes: float, inner: Index = 1) -> None:
    """Run `body(index)` for every index of a shape, in any order; one takes so many nanoseconds, `inner`
    times.
    """
    if not sizes or is_little(b, [*sizes, inner], each_takes):
        b.nest(sizes, body)
        return
    known = [prod([d if isinstance(d, int) else 1 for d in sizes[: i + 1]]) for i in range(len(sizes))]
    split = next((i + 1 for i, n in enumerate(known) if n >= PIECES), len(sizes))
    front, back = sizes[:split], sizes[split:]

    def share(begin: Index, end: Index) -> None:
        def one(i: Index, _: Any) -> None:
            index = b.unravelled(b.plus(begin, i), front)
            b.nest(back, lambda more: body((*index, *more)))

        b.loop(b.minus(end, begin), (), one)

    ranges(b, b.count(front), share, each_takes, b.count([*back, inner]))


def each_lane(
    b: Loops, n: Index, lanes: int, body: Callable[[Index], None], each_takes: float, inner: Index = 1
) -> None:
    """Run `body(i)` for `i` from 0 to `n`, as many at a time as there are lanes; one takes so many
    nanoseconds, `inner` times.
    """
    code = b.code
    if is_little(b, [n, inner], each_takes):
        with code.in_lanes(lanes):
            in_lanes(b, n, (), lambda i, _: body(i) or ())
        return
    rounds = b.quotient(n, lanes)

    def share(begin: Index, end: Index) -> None:
        def one(i: Index, _: Any) -> None:
            body(Run(code, b.times(b.plus(begin, i), lanes), 1))

        with code.in_lanes(lanes):
            b.loop(b.minus(end, begin), (), one)

    ranges(b, rounds, share, each_takes * lanes, inner)
    first = b.times(rounds, lanes)
    rest = b.minus(n, first)
    if rest != 0:
        with code.in_lanes(lanes):
            the_rest(b, first, rest, (), lambda i, _: body(i) or ())
