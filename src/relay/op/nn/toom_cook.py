"""Matrices of minimal filtering: convolutions of a few places as products of polynomials at points.

Source: Lavin and Gray, 2015, after Winograd, 1980; the matrices are those of Toom and Cook, transposed.
"""

from fractions import Fraction
from functools import cache
from itertools import count

import numpy as np
from numpy.typing import NDArray

Rows = list[list[Fraction]]
MOST_POINTS = 12
"""More points than this leave few correct digits in float32."""


def points(n: int) -> list[Fraction]:
    """`n` numbers with small products: 0, 1, -1, 2, -2, 1/2, -1/2, 3, …"""
    found = [Fraction(0)]
    for k in count(1):
        for p in (Fraction(k), Fraction(-k), Fraction(1, k), Fraction(-1, k)):
            if p not in found:
                found.append(p)
        if len(found) >= n:
            return found[:n]
    raise AssertionError


def monic(roots: list[Fraction]) -> list[Fraction]:
    """The coefficients of the product of `x - root`, the constant one first."""
    found = [Fraction(1)]
    for root in roots:
        higher, lower = [Fraction(0), *found], [*(-root * c for c in found), Fraction(0)]
        found = [a + b for a, b in zip(higher, lower, strict=True)]
    return found


@cache
def matrices(m: int, r: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """`A` `(m, n)`, `G` `(n, r)` and `B` `(n, n)`, `n = m + r - 1`, float64, where `A @ ((G @ g) * (B @ d))`
    are the `m` places of the correlation of `d`, `n` numbers, with the `r` taps `g`.

    `m` is 1 or more, `r` is 1 or more; both together at most `MOST_POINTS`.
    """
    n = m + r - 1
    if m == 1 or r == 1:
        one = np.eye(n)
        return (np.ones((1, n)), one, one) if m == 1 else (one, np.ones((n, 1)), one)
    at = points(n - 1)
    a: Rows = [[p**i for p in at] + [Fraction(i == m - 1)] for i in range(m)]
    g: Rows = []
    b: Rows = []
    for j, p in enumerate(at):
        others = at[:j] + at[j + 1 :]
        scale = Fraction(1)
        for q in others:
            scale *= p - q
        sign = -1 if j == 0 and scale < 0 else 1  # as in the paper, the first row of `G` is positive
        g.append([sign * p**i / scale for i in range(r)])
        b.append([sign * c for c in monic(others)] + [Fraction(0)])
    g.append([Fraction(i == r - 1) for i in range(r)])
    b.append(monic(at))
    made = [np.array([[float(x) for x in row] for row in rows]) for rows in (a, g, b)]
    return made[0], made[1], made[2]
