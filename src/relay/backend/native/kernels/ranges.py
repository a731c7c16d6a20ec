"""Ranges of iterations that kernels give to the threads of the process, where the work is worth it."""

from collections.abc import Callable, Sequence
from math import prod

from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Index, Value
from relay.backend.native.loops.parallelize import ENOUGH_PIECES, grain_for, is_short
from relay.backend.native.memory.representation import SIZES, scalar


def ranges(
    b: Builder, n: Index, body: Callable[[Index, Index], None], nanoseconds: float, inner: Index = 1
) -> None:
    """Run `body(begin, end)` for ranges that make up the one from 0 to `n`; an iteration takes `inner` steps
    of so many nanoseconds.
    """
    if is_short(b.count([n, inner]), nanoseconds):
        body(0, n)
    else:
        b.parallel(n, grain_for(b, nanoseconds, inner), lambda begin, end, lane: body(begin, end))


def ranges_with_buffer(
    b: Builder,
    n: Index,
    body: Callable[[Index, Index, Value], None],
    buffer: tuple[str, Index],
    nanoseconds: float,
    inner: Index,
) -> None:
    """Run `body(begin, end, data)` for such ranges, each with memory that no other has that runs at the same
    time; `buffer` is the dtype of its elements, and how many they are.
    """
    dtype, size = buffer
    is_one = is_short(b.count([n, inner]), nanoseconds)
    memory = b.room(dtype, [1 if is_one else b.smaller(b.threads(), n), size]).buffer.data

    def share(begin: Index, end: Index, lane: Index) -> None:
        body(begin, end, b.address(memory, b.times(b.times(lane, size), SIZES[scalar(dtype)])))

    if is_one:
        share(0, n, 0)
    else:
        b.parallel(n, grain_for(b, nanoseconds, inner), share)


def each(
    b: Builder,
    sizes: Sequence[Index],
    body: Callable[[tuple[Index, ...]], None],
    nanoseconds: float,
    inner: Index = 1,
) -> None:
    """Run `body(index)` for every index of a shape, in any order; an iteration takes `inner` steps of so many
    nanoseconds.
    """
    if not sizes or is_short(b.count([*sizes, inner]), nanoseconds):
        b.nest(sizes, body)
        return
    known = [prod([d for d in sizes[: i + 1] if isinstance(d, int)]) for i in range(len(sizes))]
    split = next((i + 1 for i, n in enumerate(known) if n >= ENOUGH_PIECES), len(sizes))
    front, back = sizes[:split], sizes[split:]

    def share(begin: Index, end: Index) -> None:
        def one(i: Index, _: object) -> None:
            index = b.unravelled(b.plus(begin, i), front)
            b.nest(back, lambda more: body((*index, *more)))

        b.loop(b.minus(end, begin), (), one)

    ranges(b, b.count(front), share, nanoseconds, b.count([*back, inner]))
