"""Fourier transforms of a few complex numbers, written out: of a product of two lengths by those of its
factors (Cooley and Tukey, 1965), of a prime by sums and differences of the pairs that mirror each other.
"""

from collections.abc import Sequence
from math import cos, pi, sin
from typing import Any

from relay.op.native import Scalars

Pair = tuple[Any, Any]
"""The real and the imaginary part, as numbers in the code that is made."""


def butterfly(b: Scalars, xs: Sequence[Pair], sign: int) -> list[Pair]:
    """The transform of some numbers; `sign` is that of the exponent."""
    n = len(xs)
    first = next((d for d in (4, 2, 3, 5, 7) if n % d == 0 and n > d), n)
    if first == n:
        return by_halves(b, xs, sign) if n in (2, 4) else of_prime(b, xs, sign)
    second = n // first
    columns = [butterfly(b, xs[i::second], sign) for i in range(second)]
    turned = [[turn(b, x, i * k, n, sign) for k, x in enumerate(column)] for i, column in enumerate(columns)]
    rows = [butterfly(b, [column[k] for column in turned], sign) for k in range(first)]
    return [rows[k][q] for q in range(second) for k in range(first)]


def by_halves(b: Scalars, xs: Sequence[Pair], sign: int) -> list[Pair]:
    """The transform of one, two or four numbers, which takes no multiplication."""
    if len(xs) == 2:
        return [plus(b, *xs), minus(b, *xs)]
    even, odd = (by_halves(b, xs[i::2], sign) for i in (0, 1))
    turned = turn(b, odd[1], 1, 4, sign)
    return [
        plus(b, even[0], odd[0]),
        plus(b, even[1], turned),
        minus(b, even[0], odd[0]),
        minus(b, even[1], turned),
    ]


def of_prime(b: Scalars, xs: Sequence[Pair], sign: int) -> list[Pair]:
    """The transform of an odd number of numbers."""
    n, (zero, *others) = len(xs), xs
    if not others:
        return [zero]
    half = n // 2
    sums = [plus(b, others[j], others[-1 - j]) for j in range(half)]
    gaps = [minus(b, others[j], others[-1 - j]) for j in range(half)]
    total = zero
    for x in sums:
        total = plus(b, total, x)
    found = [total] + [zero] * (n - 1)
    for k in range(1, half + 1):
        even, odd = zero, None
        for j in range(half):
            angle = 2 * pi * (k * (j + 1) % n) / n
            even = tuple([weighted(b, v, cos(angle), e) for v, e in zip(sums[j], even, strict=True)])
            weight = sign * sin(angle)
            starts = (None, None) if odd is None else odd
            odd = tuple([weighted(b, v, weight, o) for v, o in zip(gaps[j], starts, strict=True)])
        assert odd is not None
        (er, ei), (re, im) = even, odd
        found[k] = (b.subtract(er, im), b.add(ei, re))
        found[n - k] = (b.add(er, im), b.subtract(ei, re))
    return found


def weighted(b: Scalars, x: Any, weight: float, total: Any) -> Any:
    """`x * weight + total`, without a total where it is None."""
    factor = b.const(weight, x)
    return b.multiply(x, factor) if total is None else b.function("fmuladd", x, factor, total)


def plus(b: Scalars, x: Pair, y: Pair) -> Pair:
    """`x + y`."""
    return b.add(x[0], y[0]), b.add(x[1], y[1])


def minus(b: Scalars, x: Pair, y: Pair) -> Pair:
    """`x - y`."""
    return b.subtract(x[0], y[0]), b.subtract(x[1], y[1])


def complex_product(b: Scalars, x: Pair, y: Pair) -> Pair:
    """`x * y`."""
    (xr, xi), (yr, yi) = x, y
    real = b.function("fmuladd", xr, yr, b.negative(b.multiply(xi, yi)))
    return real, b.function("fmuladd", xr, yi, b.multiply(xi, yr))


def conjugate(b: Scalars, x: Pair) -> Pair:
    """`x` with the imaginary part negated."""
    return x[0], b.negative(x[1])


def turn(b: Scalars, x: Pair, k: int, n: int, sign: int) -> Pair:
    """`x` turned by `k` `n`-ths of a whole turn; by quarters and eighths without losing a digit to it."""
    eighths, rest = divmod(8 * (sign * k % n), n)
    real, imaginary = x
    if rest:
        angle = 2 * pi * (sign * k % n) / n
        return complex_product(b, x, (b.const(cos(angle), real), b.const(sin(angle), real)))
    if eighths % 2:
        half = b.const(2**-0.5, real)
        turned = (b.subtract(real, imaginary), b.add(real, imaginary))
        real, imaginary = (b.multiply(v, half) for v in turned)
    match eighths // 2:
        case 0:
            return real, imaginary
        case 1:
            return b.negative(imaginary), real
        case 2:
            return b.negative(real), b.negative(imaginary)
        case _:
            return imaginary, b.negative(real)
