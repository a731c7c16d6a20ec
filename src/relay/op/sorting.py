"""Sorting as loops: a stable merge sort of the places of a line, by the elements that stand there."""

from collections.abc import Callable, Sequence
from typing import Any

from relay.ir.dtype import is_float
from relay.op.native import Index, Loops, Output, View
from relay.op.radix import MIN_RADIX_ELEMENTS, Radix

MAX_SELECTED_ELEMENTS = 64
"""Up to this many of the first elements are selected without sorting all."""
Read = Callable[[Index], Any]
"""The element at a place of the line."""


def is_before(b: Loops, x: Any, y: Any, ascending: bool) -> Any:
    """Whether `x` comes before `y` wherever they stand: NaN is greater than every number."""
    if not ascending:
        x, y = y, x
    found = b.compare("lt", x, y)
    if is_float(x.dtype):
        late = b.both(b.compare("ne", y, y), b.compare("eq", x, x))
        found = b.bits("or", found, late)
    return found


def rounds_of(b: Loops, n: Index) -> Index:
    """How often a length of 1 is doubled until it is `n` or more."""
    if isinstance(n, int):
        return max(n - 1, 0).bit_length()

    def step(k: Index, totals: Sequence[Any]) -> Sequence[Any]:
        more = b.is_less(power_of_two(b, k), n)
        return [b.add(totals[0], b.cast(more, "int64"))]

    return b.as_index(b.loop(62, [b.const(0, "int64")], step)[0])


def power_of_two(b: Loops, k: Index) -> Index:
    """`2 ** k`."""
    return b.as_index(b.bits("shl", b.const(1, "int64"), b.as_number(k, "int64")))


def sorted_places(b: Loops, room: Output, read: Read, n: Index, ascending: bool) -> Index:
    """Sort the places of a line of `n` elements; they stand in `room`, of twice the size, from here on."""
    b.nest([n], lambda index: room.put(index, b.as_number(index[0], "int64")))
    rounds = rounds_of(b, n)

    def merge_all(k: Index, _: Sequence[Any]) -> Sequence[Any]:
        width = power_of_two(b, k)
        source = b.times(b.rest(k, 2), n)
        pairs = b.quotient(b.plus(n, b.minus(b.times(2, width), 1)), b.times(2, width))
        b.long_loop(pairs, [], lambda pair, _: merge(pair, width, source))
        return []

    def merge(pair: Index, width: Index, source: Index) -> Sequence[Any]:
        low = b.times(pair, b.times(2, width))
        middle, high = b.smaller(b.plus(low, width), n), b.smaller(b.plus(low, b.times(2, width)), n)
        target = b.minus(n, source)

        def place(i: Index, end: Index) -> Any:
            return room.at([b.plus(source, b.choose(b.is_less(i, end), i, low))])

        def step(k: Index, totals: Sequence[Any]) -> Sequence[Any]:
            i, j = b.as_index(totals[0]), b.as_index(totals[1])
            left, right = place(i, middle), place(j, high)
            overtakes = is_before(b, read(b.as_index(right)), read(b.as_index(left)), ascending)
            stays = b.both(b.is_less(i, middle), b.negation(b.both(b.is_less(j, high), overtakes)))
            room.put([b.plus(b.plus(target, low), k)], b.select(stays, left, right))
            one = b.cast(stays, "int64")
            return [b.add(totals[0], one), b.add(totals[1], b.subtract(b.const(1, "int64"), one))]

        b.long_loop(b.minus(high, low), [b.as_number(low, "int64"), b.as_number(middle, "int64")], step)
        return []

    b.loop(rounds, [], merge_all)
    return b.times(b.rest(rounds, 2), n)


def first_places(b: Loops, room: Output, read: Read, n: Index, count: int, ascending: bool) -> Index:
    """Put the places of the first `count` of `n` elements in order into `room`; they stand at its beginning.

    An element goes through those that are there from the last on, as far as it comes before them.
    """

    def insert(i: Index, filled: Index) -> None:
        x = read(i)

        def step(k: Index, totals: Sequence[Any]) -> Sequence[Any]:
            at = b.minus(b.minus(filled, 1), k)
            there = room.at([b.larger(at, 0)])
            moves = b.both(totals[1], is_before(b, x, read(b.as_index(there)), ascending))
            b.when(b.both(moves, b.is_less(b.plus(at, 1), count)), lambda: room.put([b.plus(at, 1)], there))
            return [b.select(moves, b.as_number(at, "int64"), totals[0]), moves]

        begin = [b.as_number(filled, "int64"), b.const(True, "bool")]
        to = b.as_index(b.loop(filled, begin, step)[0])
        b.when(b.is_less(to, count), lambda: room.put([to], b.as_number(i, "int64")))

    def later(i: Index, _: Sequence[Any]) -> Sequence[Any]:
        i = b.plus(i, count)
        last = read(b.as_index(room.at([count - 1])))
        b.when(is_before(b, read(i), last, ascending), lambda: insert(i, count))
        return []

    b.loop(count, [], lambda i, _: insert(i, i) or [])
    b.loop(b.minus(n, count), [], later)
    return 0


def ordering(
    b: Loops, dtype: str, n: Index, count: Index, ascending: bool
) -> tuple[Output, Callable[[Read], Index]]:
    """How the first `count` places of lines of `n` elements are put in order: where they will stand, and what
    puts them there and says from which element on.
    """
    if isinstance(n, int) and isinstance(count, int) and 0 < count <= min(MAX_SELECTED_ELEMENTS, n // 4):
        few = b.room("int64", [count])
        return few, lambda read: first_places(b, few, read, n, count, ascending)
    if isinstance(n, int) and n >= MIN_RADIX_ELEMENTS:
        radix = Radix(b, dtype, n)
        return radix.places, lambda read: radix.sort(read, ascending)
    room = b.room("int64", [b.times(2, n)])
    return room, lambda read: sorted_places(b, room, read, n, ascending)


def sort_lines(
    b: Loops, data: View, axis: int, ascending: bool, count: Index, emit: Callable[[list[Index], Any], None]
) -> None:
    """Call `emit(index, place)` for the first `count` places in order of each line along an axis."""
    at, n = axis % len(data.sizes), data.sizes[axis]
    room, places = ordering(b, data.dtype, n, count, ascending)

    def line(index: Sequence[Index]) -> None:
        before, after = index[:at], index[at:]
        begin = places(lambda i: data.at([*before, i, *after]))
        b.nest([count], lambda k: emit([*before, *k, *after], room.at([b.plus(begin, k[0])])))

    b.nest([d for i, d in enumerate(data.sizes) if i != at], line)
