"""Truths of functions of one number or of several, from formulas in mpmath."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import copysign
from typing import Any

import ml_dtypes
import numpy as np
from mpmath import mp
from mpmath.libmp import ComplexResult

from truths.base import TRUTHS, ULPS, Case, Tangents
from truths.computed import directions
from truths.points import DTYPES, NARROW, line, plane

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
    at_zero: Formula | None = None,
    dtypes: Iterable[str] = DTYPES,
    ulps: float | Mapping[str, float] = ULPS,
    slope_ulps: float | Mapping[str, float] = ULPS,
    scale: Mapping[str, Formula] | None = None,
    slope_scale: Mapping[str, Formula] | None = None,
    operands: int = 1,
    **attrs: Any,
) -> None:
    """Declare the truth of a function of `operands` numbers, and its derivative by each.

    A formula is NaN where it has no real value, also in between, and may give None, which is not compared, as
    a pole at -0 is not.
    Where an operand is infinite, a function of one number has its limit, or what `at_infinity` gives in place
    of each formula; one of several is compared if there is an `at_infinity`, its derivatives are not.
    `at_zero` gives values where an operand is 0 of either sign; it and the `at_infinity` of several are given
    Python's floats.  Of narrow floats, derivatives by several operands are compared in the long run only, as
    machine code computes them in float32.  Bounds may differ by dtype; `scale` and `slope_scale` give the
    sizes by dtype that values and derivatives are rounded relative to where their terms cancel.
    """

    def cases(long: bool) -> Iterator[Case]:
        for dtype in dtypes:
            points = (line(dtype, at, long),) if operands == 1 else plane(dtype, at, long)
            scales, slope_scales = (
                None if size is None else _computed(size, points, at_infinity, None, is_slope=True)
                for size in ((sizes or {}).get(dtype) for sizes in (scale, slope_scale))
            )
            has_slopes = bool(slopes) and (long or operands == 1 or dtype not in NARROW)
            rights = [_computed(f, points, at_infinity, None, is_slope=True) for f in slopes if has_slopes]
            yield Case(
                points,
                _computed(value, points, at_infinity, at_zero, is_slope=False),
                tuple(rights) if has_slopes else None,
                attrs,
                ulps=_of_dtype(ulps, dtype),
                slope_ulps=_of_dtype(slope_ulps, dtype),
                scale=scales,
                slope_scales=None if slope_scales is None else (slope_scales,) * len(slopes),
                tangents=_tangents(points, rights, slope_scales) if has_slopes else None,
            )

    TRUTHS.setdefault(name, []).append(cases)


def _tangents(points: Sequence[Any], slopes: Sequence[Any], scales: Any) -> Tangents:
    """Return the changes along directions, where all operands and derivatives are finite in the dtype."""
    along = tuple(map(directions, points))
    greatest = float(ml_dtypes.finfo(points[0].dtype).max)
    right, sizes = (np.empty(len(points[0]), object) for _ in range(2))
    with mp.workprec(PRECISION):
        for k, rates in enumerate(zip(*slopes, strict=True)):
            is_open = not all(np.isfinite(float(x[k])) for x in points)
            if is_open or not all(r is not None and abs(r) <= greatest for r in rates):
                continue
            factors = [float(d[k]) for d in along]
            terms = [r * d for r, d in zip(rates, factors, strict=True)]
            right[k] = mp.fsum(terms)
            sizes[k] = mp.fsum(map(abs, terms))
            if scales is not None and scales[k] is not None:
                sizes[k] = max(sizes[k], scales[k] * max(map(abs, factors)))
    return Tangents(along, right, sizes)


def _of_dtype(ulps: float | Mapping[str, float], dtype: str) -> float:
    """Return the bound of a dtype."""
    return ulps.get(dtype, ULPS) if isinstance(ulps, Mapping) else ulps


def _computed(
    f: Formula, points: Sequence[Any], at_infinity: Formula | None, at_zero: Formula | None, is_slope: bool
) -> Any:
    """Evaluate a formula at points."""
    columns = [[float(x) for x in p] for p in points]
    right = np.empty(len(columns[0]), object)
    with mp.workprec(PRECISION), _real_numbers():
        right[:] = [_at(f, xs, at_infinity, at_zero, is_slope) for xs in zip(*columns, strict=True)]
    return right


@contextmanager
def _real_numbers() -> Iterator[None]:
    """Stop functions that would give complex numbers: those at infinities differ by mpmath's version."""
    is_trapped, mp.trap_complex = mp.trap_complex, True
    try:
        yield
    finally:
        mp.trap_complex = is_trapped


def _value(f: Formula, numbers: Sequence[Any]) -> Any:
    """Return the value of a formula, NaN where it has no real one."""
    try:
        return f(*numbers)
    except ComplexResult:
        return mp.nan


def _at(
    f: Formula, xs: Sequence[float], at_infinity: Formula | None, at_zero: Formula | None, is_slope: bool
) -> Any:
    """Evaluate a formula at one point."""
    numbers = [mp.mpf(x) for x in xs]
    if all(map(mp.isfinite, numbers)):
        if at_zero is not None and 0 in xs:
            return at_zero(*xs)
        y = _value(f, numbers)
        is_open = y is not None and mp.isinf(y) and any(x == 0 and copysign(1, x) < 0 for x in xs)
        return None if is_open else y
    if len(xs) > 1:
        return None if is_slope or at_infinity is None else at_infinity(*xs)
    if mp.isnan(numbers[0]):
        return _nan_or_open(f) if is_slope else mp.nan
    return _limit(f, numbers[0]) if at_infinity is None else at_infinity(*numbers)


def _limit(f: Formula, x: Any) -> Any:
    """Return the limit of a formula at an infinity."""
    try:
        y = f(x)
    except (ValueError, ArithmeticError, NotImplementedError):
        y = mp.nan
    return _value(f, [mp.sign(x) * FAR]) if y is not None and mp.isnan(y) else y


def _nan_or_open(slope: Formula) -> Any:
    """Return NaN, or None where a derivative chooses between numbers: there it is open."""
    try:
        y = slope(mp.nan)
    except (ValueError, ArithmeticError, NotImplementedError, TypeError):
        y = mp.nan
    return mp.nan if y is not None and mp.isnan(y) else None
