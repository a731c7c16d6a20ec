"""Fourier transforms in machine code: passes over the data after Stockham, whose results need no reordering.

Before a pass the axis holds transforms of `count` terms, term by term, each of the elements that are as many
steps apart as there are transforms.  The pass makes `radix` of them into one of `radix * count` terms.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from relay.op.fourier.butterfly import Pair, butterfly, complex_product
from relay.op.fourier.roots import radices, roots, smooth_length
from relay.op.native import Index, Loops

VECTOR_BYTES = 64
Places = Sequence[Index]
Read = Callable[[Places], Pair]
Write = Callable[[Places, Pair], None]


@dataclass(frozen=True)
class Complex:
    """Tensors of real and imaginary parts."""

    real: Any
    imaginary: Any

    def at(self, index: Places) -> Pair:
        """An element."""
        return self.real.at(index), self.imaginary.at(index)

    def put(self, index: Places, x: Pair) -> None:
        """Write an element."""
        self.real.put(index, x[0])
        self.imaginary.put(index, x[1])


class Transforms:
    """Transforms along an axis of tensors that are equal but for its length."""

    def __init__(self, b: Loops, dtype: str, sizes: Sequence[Index], axis: int) -> None:
        """`sizes` are those of one of the tensors."""
        self.b, self.dtype = b, dtype
        axis %= len(sizes)
        self.before, self.after = tuple(sizes[:axis]), tuple(sizes[axis + 1 :])
        self.lanes = VECTOR_BYTES // numpy.dtype(dtype).itemsize

    def room(self, n: Index) -> Complex:
        """A tensor to work in."""
        sizes = (*self.before, n, *self.after)
        return Complex(self.b.room(self.dtype, sizes), self.b.room(self.dtype, sizes))

    def each(self, parts: Sequence[Index], body: Callable[[Places, Callable[[Index], Places]], None]) -> None:
        """Run `body(places, at)` for all places in parts of the axis and on all other axes; `at(i)` is the
        index of place `i` of the axis.
        """
        if 0 in parts:
            return
        axis = len(self.before)
        kept = [k for k, n in enumerate(parts) if n != 1]
        sizes = [*self.before, *[parts[k] for k in kept], *self.after]

        def one(index: Places) -> None:
            places: list[Index] = [0] * len(parts)
            for k, i in zip(kept, index[axis:], strict=False):
                places[k] = i
            front, back = index[:axis], index[axis + len(kept) :]
            body(places, lambda i: (*front, i, *back))

        lanes = self.lanes
        while sizes and isinstance(sizes[-1], int) and lanes >= 2 * sizes[-1] and lanes > 1:
            lanes //= 2
        self.b.each(sizes, one, lanes)

    def table(self, values: Any) -> Complex:
        """Complex numbers as constants."""
        return Complex(*[self.b.table(v.astype(self.dtype)) for v in (values.real, values.imag)])

    def run(self, n: int, sign: int, read: Read, write: Write) -> None:
        """The transform of `n` elements; `sign` is that of the exponent."""
        factors = radices(n)
        if factors is None:
            self.by_convolution(n, sign, read, write)
            return
        if not factors:
            self.each([1], lambda _, at: write(at(0), read(at(0))))
        rooms = [self.room(n) for _ in range(min(len(factors) - 1, 2))]
        count = 1
        for k, radix in enumerate(factors):
            to = rooms[k % 2].put if k + 1 < len(factors) else write
            self.one_pass(n, count, radix, sign, rooms[(k + 1) % 2].at if k else read, to)
            count *= radix

    def one_pass(self, n: int, count: int, radix: int, sign: int, read: Read, write: Write) -> None:
        """A pass."""
        b, steps = self.b, n // (count * radix)
        numbers = numpy.outer(numpy.arange(radix), numpy.arange(count))
        turns = self.table(roots(sign * numbers, radix * count)) if count > 1 else None

        def body(places: Places, at: Callable[[Index], Places]) -> None:
            term, step = places
            first = b.plus(b.times(term, radix * steps), step)
            xs = [read(at(b.plus(first, t * steps))) for t in range(radix)]
            if turns is not None:
                xs[1:] = [complex_product(b, x, turns.at((t, term))) for t, x in enumerate(xs[1:], 1)]
            first = b.plus(b.times(term, steps), step)
            for q, y in enumerate(butterfly(b, xs, sign)):
                write(at(b.plus(first, q * count * steps)), y)

        self.each([count, steps], body)

    def by_convolution(self, n: int, sign: int, read: Read, write: Write) -> None:
        """The transform of a length with great primes, as a convolution (Bluestein, 1970)."""
        b, long, axis = self.b, smooth_length(2 * n - 1), len(self.before)
        chirp = roots(sign * numpy.arange(n) ** 2, 2 * n)
        wave = numpy.zeros(long, "complex128")
        wave[:n] = chirp.conj()
        wave[long - n + 1 :] = wave[n - 1 : 0 : -1]
        chirps, spectrum = self.table(chirp), self.table(numpy.fft.fft(wave) / long)
        room, found = self.room(long), self.room(long)
        zero = b.const(0, self.dtype)
        self.each([n], lambda p, at: room.put(at(p[0]), complex_product(b, read(at(p[0])), chirps.at(p))))
        self.each([long - n], lambda p, at: room.put(at(b.plus(p[0], n)), (zero, zero)))
        self.run(
            long,
            -1,
            room.at,
            lambda index, x: found.put(index, complex_product(b, x, spectrum.at((index[axis],)))),
        )
        self.run(long, 1, found.at, room.put)
        self.each([n], lambda p, at: write(at(p[0]), complex_product(b, room.at(at(p[0])), chirps.at(p))))
