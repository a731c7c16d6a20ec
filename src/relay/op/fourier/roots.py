"""Roots of unity, to the last digit, and the lengths that Fourier transforms are composed of."""

from functools import lru_cache
from typing import Any

import numpy

RADICES = (13, 11, 7, 5, 3)
"""Odd factors that a pass has; a length with others is transformed by Bluestein's algorithm."""
MOST_BITS = 4
"""Passes are of at most two to this power."""


def roots(numbers: Any, n: int) -> Any:
    """The `n`-th roots of unity of these numbers, an integer array, as complex128 of its shape.

    Angles are reduced to eighths of a turn, where nothing is lost to rounding.
    """
    k = numpy.asarray(numbers, "int64") % n
    eighths, rest = numpy.divmod(8 * k, n)
    mirrored = eighths % 2 == 1
    angle = numpy.where(mirrored, n - rest, rest) * (2 * numpy.pi / (8 * n))
    cosines, sines = numpy.cos(angle), numpy.sin(angle)
    first = numpy.where(mirrored, sines + 1j * cosines, cosines + 1j * sines)
    quarters = numpy.asarray([1, 1j, -1, -1j])[eighths // 2]
    return quarters * first


@lru_cache(maxsize=256)
def radices(n: int) -> tuple[int, ...] | None:
    """The factors of a length, one for each pass; None where a prime is too great.

    Powers of two come last: all passes but the last then have steps that fill vectors.
    """
    found: list[int] = []
    for p in RADICES:
        while n % p == 0:
            found.append(p)
            n //= p
    bits = n.bit_length() - 1
    if n != 1 << bits:
        return None
    count = -(-bits // MOST_BITS)
    powers = [bits // count + (i >= count - bits % count) for i in range(count)] if count else []
    return (*found, *[1 << p for p in powers])


def smooth_length(least: int) -> int:
    """The least length from a number on that is cheap: a power of two, or that times 3, 5 or 9 over one."""
    power = 1 << (least - 1).bit_length()
    return min(
        m for m in (power, power // 16 * 15, power // 8 * 5, power // 4 * 3, power // 16 * 9) if m >= least
    )
