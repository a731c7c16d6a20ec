"""Fourier transforms from and to real numbers, in machine code: of an even length by one of half of it."""

from collections.abc import Callable
from typing import Any

import numpy

from relay.op.fourier.butterfly import Pair, complex_product, conjugate, minus, plus, turn
from relay.op.fourier.open_length import transform
from relay.op.fourier.passes import Places, Read, Transforms, Write
from relay.op.fourier.roots import roots
from relay.op.native import Index

ReadReal = Callable[[Places], Any]
WriteReal = Callable[[Places, Any], None]


def to_half(lines: Transforms, n: Index, read: ReadReal, write: Write, inner: float) -> None:
    """The terms from 0 to `n // 2` of real numbers, those with mirror images times `inner`."""
    b = lines.b
    zero = b.const(0, lines.dtype)
    half = b.quotient(n, 2)
    if not isinstance(n, int) or n % 2:
        room = lines.room(n)
        transform(lines, n, -1, lambda index: (read(index), zero), room.put)
        lines.each([1], lambda p, at: write(at(0), room.at(at(0))))

        def copy(p: Places, at: Any) -> None:
            k = b.plus(p[0], 1)
            write(at(k), weighed(lines, room.at(at(k)), inner, n, k))

        lines.each([half], copy)
        return
    room, axis = lines.room(half), len(lines.before)

    def pairs(index: Places) -> Pair:
        first = b.times(index[axis], 2)
        front, back = index[:axis], index[axis + 1 :]
        return read((*front, first, *back)), read((*front, b.plus(first, 1), *back))

    lines.run(half, -1, pairs, room.put)
    # Of z = even + i odd: z[k] + conj z[-k] is twice the transform of the even numbers.
    turns = lines.table(roots(-numpy.arange(1, max(half, 2)), n) * -0.5j)

    def ends(_: Places, at: Any) -> None:
        real, imaginary = room.at(at(0))
        write(at(0), (b.add(real, imaginary), zero))
        write(at(half), (b.subtract(real, imaginary), zero))

    def middle(p: Places, at: Any) -> None:
        k = b.plus(p[0], 1)
        x, y = room.at(at(k)), conjugate(b, room.at(at(b.minus(half, k))))
        even = tuple([b.multiply(v, b.const(0.5, v)) for v in plus(b, x, y)])
        odd = complex_product(b, minus(b, x, y), turns.at(p))
        write(at(k), weighed(lines, plus(b, (even[0], even[1]), odd), inner, n, k))

    lines.each([1], ends)
    lines.each([half - 1], middle)


def from_half(lines: Transforms, n: Index, read: Read, write: WriteReal, inner: float) -> None:
    """The `n` real numbers whose transform has the terms from 0 to `n // 2`, those with mirror images times
    `inner`.
    """
    b = lines.b
    half = b.quotient(n, 2)
    if not isinstance(n, int) or n % 2:
        room = lines.room(n)
        first = b.plus(half, 1)

        def direct(p: Places, at: Any) -> None:
            k = b.plus(p[0], 1)
            room.put(at(k), weighed(lines, read(at(k)), inner, n, k))

        def mirrored(p: Places, at: Any) -> None:
            k = b.plus(p[0], first)
            x = read(at(b.minus(n, k)))
            room.put(at(k), conjugate(b, weighed(lines, x, inner, n, k)))

        lines.each([1], lambda p, at: room.put(at(0), read(at(0))))
        lines.each([half], direct)
        lines.each([b.minus(n, first)], mirrored)
        transform(lines, n, 1, room.at, lambda index, x: write(index, x[0]))
        return
    room = lines.room(half)
    turns = lines.table(roots(numpy.arange(1, max(half, 2)), n))

    def ends(_: Places, at: Any) -> None:
        (first, _), (last, _) = read(at(0)), read(at(half))
        room.put(at(0), (b.add(first, last), b.subtract(first, last)))

    def middle(p: Places, at: Any) -> None:
        k = b.plus(p[0], 1)
        x, y = (weighed(lines, read(at(i)), inner, n, k) for i in (k, b.minus(half, k)))
        y = conjugate(b, y)
        odd = complex_product(b, minus(b, x, y), turns.at(p))
        room.put(at(k), plus(b, plus(b, x, y), turn(b, odd, 1, 4, 1)))

    lines.each([1], ends)
    lines.each([half - 1], middle)
    found = lines.room(half)
    lines.run(half, 1, room.at, found.put)

    def apart(p: Places, at: Any) -> None:
        first = b.times(p[0], 2)
        for k, x in enumerate(found.at(at(p[0]))):
            write(at(b.plus(first, k)), x)

    lines.each([half], apart)


def weighed(lines: Transforms, x: Pair, weight: float, n: Index, k: Index) -> Pair:
    """Term `k`, which is not the first, times a weight unless it is its own mirror image."""
    if weight == 1:
        return x
    b = lines.b
    by = b.const(weight, lines.dtype)
    if not isinstance(n, int):
        by = b.select(b.is_same(b.times(k, 2), n), b.const(1, lines.dtype), by)
    return b.multiply(x[0], by), b.multiply(x[1], by)
