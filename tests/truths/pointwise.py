"""Truths of functions of one number or of several, from formulas in mpmath."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import copysign
from typing import Any

import numpy as np
from mpmath import mp

from truths.base import TRUTHS, ULPS, Case
from truths.points import DTYPES, line, plane

PRECISION = 300
"""Bits that formulas are computed with: what a formula loses to cancellation comes off these."""
FAR = mp.mpf("1e6000")
"""A number that stands for infinity where a formula has no value there."""

Formula = Callable[..., Any]


def pointwise(
    name: str,
    value: Formula,
    *slopes: Formula,
    at: Sequence[Any] = (),
    at_infinity: Formula | None = None,
    dtypes: Iterable[str] = DTYPES,
    ulps: float = ULPS,
    slope_ulps: float = ULPS,
    narrow_ulps: float | None = None,
    operands: int = 1,
    **attrs: Any,
) -> None:
    """Declare the truth of a function of `operands` numbers, and its derivative by each.

    A formula may give a complex number, which is NaN, and None, which is not compared; so is a pole at -0.
    Where an operand is infinite, a function of one number has its limit, or what `at_infinity` gives in place
    of each formula; one of several is compared if there is an `at_infinity`, its derivatives are not.
    `narrow_ulps` bounds derivatives of the dtypes that are narrower than float32.
    """

    def cases(long: bool) -> Iterator[Case]:
        for dtype in dtypes:
            points = (line(dtype, at, long),) if operands == 1 else plane(dtype, at, long)
            lenient = slope_ulps if narrow_ulps is None or dtype in ("float32", "float64") else narrow_ulps
            yield Case(
                points,
                _computed(value, points, at_infinity, is_slope=False),
                tuple([_computed(f, points, at_infinity, is_slope=True) for f in slopes]) if slopes else None,
                attrs,
                ulps=ulps,
                slope_ulps=lenient,
            )

    TRUTHS.setdefault(name, []).append(cases)


def _computed(f: Formula, points: Sequence[Any], at_infinity: Formula | None, is_slope: bool) -> Any:
    """Evaluate a formula at points."""
    columns = [[float(x) for x in p] for p in points]
    with mp.workprec(PRECISION):
        rows = [_at(f, xs, at_infinity, is_slope) for xs in zip(*columns, strict=True)]
    right = np.empty(len(rows), object)
    right[:] = rows
    return right


def _at(f: Formula, xs: Sequence[float], at_infinity: Formula | None, is_slope: bool) -> Any:
    """Evaluate a formula at one point."""
    numbers = [mp.mpf(x) for x in xs]
    if all(map(mp.isfinite, numbers)):
        y = f(*numbers)
        is_open = y is not None and mp.isinf(y) and any(x == 0 and copysign(1, x) < 0 for x in xs)
        return None if is_open else y
    if len(xs) > 1:
        return None if is_slope or at_infinity is None else at_infinity(*xs)
    if mp.isnan(numbers[0]):
        return mp.nan
    if at_infinity is not None:
        return at_infinity(*numbers)
    return _limit(f, numbers[0])


def _limit(f: Formula, x: Any) -> Any:
    """Return the limit of a formula at an infinity."""
    try:
        y = f(x)
    except (ValueError, ArithmeticError, NotImplementedError):
        y = mp.nan
    return f(mp.sign(x) * FAR) if mp.isnan(y) else y
