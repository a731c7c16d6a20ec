"""Fourier transforms of lengths that are known when a program runs, in machine code.

They are convolutions with a chirp (Bluestein, 1970), by transforms of a power of four in passes of radix 4.
"""

from collections.abc import Callable
from math import pi
from typing import Any

from relay.op.fourier.butterfly import Pair, butterfly, complex_product, conjugate
from relay.op.fourier.passes import Complex, Places, Read, Transforms, Write
from relay.op.native import Index, Loops

MOST_PASSES = 31


def transform(lines: Transforms, n: Index, sign: int, read: Read, write: Write) -> None:
    """The transform of `n` elements, known or not; `sign` is that of the exponent."""
    if isinstance(n, int):
        lines.run(n, sign, read, write)
    else:
        Chirped(lines, n, sign).run(read, write)


class Chirped:
    """Transforms along an axis by convolution."""

    def __init__(self, lines: Transforms, n: Index, sign: int) -> None:
        """Make the tables for `n` elements; `sign` is that of the exponent."""
        b = self.b = lines.b
        self.lines, self.n = lines, n
        self.passes, self.long = passes_for(b, b.minus(b.times(n, 2), 1))
        self.roots = waves(b, lines.dtype, self.long, lambda i: (i, self.long), 2 * pi)
        twice = b.times(n, 2)
        self.chirp = waves(b, lines.dtype, n, lambda i: (b.rest(b.times(i, i), twice), n), sign * pi)
        one = Transforms(b, lines.dtype, [self.long], 0)
        self.spectrum = Rooms(one, self.long)
        rest, zero = b.minus(n, 1), b.const(0, lines.dtype)

        def put(i: Index, x: Pair) -> None:
            self.spectrum.put(0, (i,), conjugate(b, x))

        def mirrored(p: Places, _: Any) -> None:
            put(b.minus(b.plus(p[0], self.long), rest), self.chirp.at((b.minus(rest, p[0]),)))

        one.each([self.long], lambda p, _: put(p[0], (zero, zero)))
        one.each([n], lambda p, _: put(p[0], self.chirp.at(p)))
        one.each([rest], mirrored)
        self.place = self.transform(one, self.spectrum, -1)

    def run(self, read: Read, write: Write) -> None:
        """The transform."""
        b, lines, axis = self.b, self.lines, len(self.lines.before)
        room, zero = Rooms(lines, self.long), b.const(0, lines.dtype)
        lines.each([self.long], lambda p, at: room.put(0, at(p[0]), (zero, zero)))
        lines.each(
            [self.n],
            lambda p, at: room.put(0, at(p[0]), complex_product(b, read(at(p[0])), self.chirp.at(p))),
        )
        place = self.transform(lines, room, -1)
        scale = b.divide(b.const(1, lines.dtype), b.as_number(self.long, lines.dtype))

        def filtered(p: Places, at: Any) -> None:
            index = at(p[0])
            factor = [b.multiply(x, scale) for x in self.spectrum.at(self.place, (index[axis],))]
            room.put(0, index, complex_product(b, room.at(place, index), (factor[0], factor[1])))

        lines.each([self.long], filtered)
        place = self.transform(lines, room, 1)

        def last(p: Places, at: Any) -> None:
            index = at(p[0])
            write(index, complex_product(b, room.at(place, index), self.chirp.at(p)))

        lines.each([self.n], last)

    def transform(self, lines: Transforms, room: "Rooms", sign: int) -> Index:
        """The transform of what the first room holds; which room has it then."""
        b = self.b

        def one_pass(_: Index, totals: Any) -> Any:
            count, place = totals
            steps = b.quotient(self.long, b.times(count, 4))
            to = b.minus(1, place)

            def body(p: Places, at: Any) -> None:
                term, step = p
                first = b.plus(b.times(term, b.times(steps, 4)), step)
                xs = [room.at(place, at(b.plus(first, b.times(steps, t)))) for t in range(4)]
                for t in range(1, 4):
                    turn = self.roots.at((b.times(b.times(term, steps), t),))
                    xs[t] = complex_product(b, xs[t], turn if sign > 0 else conjugate(b, turn))
                first = b.plus(b.times(term, steps), step)
                for q, y in enumerate(butterfly(b, xs, sign)):
                    room.put(to, at(b.plus(first, b.times(b.times(count, steps), q))), y)

            lines.each([count, steps], body)
            return [b.times(count, 4), to]

        return b.loop(self.passes, [1, 0], one_pass)[1]


class Rooms:
    """Two tensors to work in."""

    def __init__(self, lines: Transforms, n: Index) -> None:
        """Of `n` places along the axis."""
        sizes = (2, *lines.before, n, *lines.after)
        self.both = Complex(*[lines.b.room(lines.dtype, sizes) for _ in range(2)])

    def at(self, place: Index, index: Places) -> Pair:
        """An element of one of them."""
        return self.both.at((place, *index))

    def put(self, place: Index, index: Places, x: Pair) -> None:
        """Write an element of one."""
        self.both.put((place, *index), x)


def passes_for(b: Loops, least: Index) -> tuple[Index, Index]:
    """How many passes make a length that is no less, and that length."""

    def step(_: Index, totals: Any) -> Any:
        count, n = totals
        is_less = b.is_less(n, least)
        return [b.choose(is_less, b.plus(count, 1), count), b.choose(is_less, b.times(n, 4), n)]

    passes, long = b.loop(MOST_PASSES, [0, 1], step)
    return passes, long


def waves(
    b: Loops, dtype: str, n: Index, part: Callable[[Index], tuple[Index, Index]], turn: float
) -> Complex:
    """Cosines and sines of a part `(i, of)` of an angle, for the places from 0 to `n`."""
    found = Complex(*[b.room(dtype, [n]) for _ in range(2)])

    def one(index: Places) -> None:
        i, of = (b.as_number(k, "float64") for k in part(index[0]))
        angle = b.multiply(b.divide(i, of), b.const(turn, "float64"))
        found.put(index, tuple([b.cast(b.function(f, angle), dtype) for f in ("cos", "sin")]))

    b.each([n], one)
    return found
