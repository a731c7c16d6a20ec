"""Truths of functions of arrays, from formulas on arrays of mpmath's numbers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpmath import mp

from relay.ir.dtype import dtype_name, is_float
from truths.base import ULPS, Case

PRECISION = 600
STEP = mp.ldexp(1, -220)
"""Of differences, relative to the number, or to the greatest of its array where it is 0."""
WEIGHTS = (1.0, -2.0, 0.5, 4.0, -0.25)

exp, log, sqrt, tanh = (np.frompyfunc(f, 1, 1) for f in (mp.exp, mp.log, mp.sqrt, mp.tanh))


def exact(x: Any) -> Any:
    """Return an operand as mpmath's numbers, if it is of floats; tuples by their fields."""
    if isinstance(x, tuple):
        return tuple([exact(field) for field in x])
    array = np.asarray(x)
    if not is_floating(array):
        return array
    numbers = np.empty(array.shape, object)
    with np.errstate(invalid="ignore"):
        numbers[...] = np.frompyfunc(lambda v: mp.mpf(float(v)), 1, 1)(array.astype("float64"))
    return numbers


def is_floating(x: Any) -> bool:
    """Return whether an operand is an array of floats."""
    return not isinstance(x, tuple) and is_float(dtype_name(np.asarray(x).dtype))


def computed(
    f: Callable[..., Any],
    *operands: Any,
    ulps: float = ULPS,
    slope_ulps: float | None = None,
    scale: Callable[..., Any] | None = None,
    slope_scales: Callable[..., tuple[Any, ...]] | None = None,
    fixed: Sequence[int] = (),
    threads: Sequence[int] = (1,),
    has_slopes: bool = True,
    is_normwise: bool = False,
    result_dtypes: Any = None,
    **attrs: Any,
) -> Case:
    """Return a case whose right numbers are those of a formula, and of its differences.

    The formula takes arrays of mpmath's numbers (`dtype=object`), and integers and booleans as they are.
    `scale` is a formula too, and `slope_scales` one that gives a tuple of a scale or None for each operand.
    With `is_normwise`, rounding is relative to the greatest of the results, or of an operand's derivatives.
    `has_slopes=False` is for operators without a derivative, or operands at which they have none.
    """
    with mp.workprec(PRECISION):
        numbers = [exact(x) for x in operands]
        value = f(*numbers)
        dtype = next(
            (np.asarray(leaf).dtype for x in operands for leaf in _leaves(x) if is_floating(leaf)), None
        )
        weights = slopes = None
        if has_slopes and dtype is not None:
            weights = _weights(value, dtype)
            slopes = tuple(
                [None if i in fixed else _slopes(f, numbers, i, value, weights) for i in range(len(numbers))]
            )
        sizes = None if scale is None else scale(*numbers)
        slope_sizes = None if slope_scales is None else slope_scales(*numbers)
        if is_normwise:
            sizes = _greatest(value)
            slope_sizes = None if slopes is None else tuple([_greatest(s) for s in slopes])
        return Case(
            operands, value, slopes, attrs, weights, ulps, ulps if slope_ulps is None else slope_ulps,
            sizes, slope_sizes,
            tuple(fixed), tuple(threads),
        )  # fmt: skip


def _greatest(right: Any) -> Any:
    """Return arrays of the greatest size in some right numbers, of all the fields of a tuple together."""
    if right is None:
        return None
    arrays = [np.asarray(field) for field in _leaves(right) if field is not None]
    sizes = [abs(v) for array in arrays for v in array.ravel() if v is not None]
    largest = max(sizes, default=mp.mpf(0))
    filled = [
        None if field is None else np.full(np.shape(field), largest, object) for field in _leaves(right)
    ]
    return tuple(filled) if isinstance(right, tuple) else filled[0]


def _leaves(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def _weights(value: Any, dtype: Any) -> Any:
    """Return factors of a result: powers of two, which differ; None for a result of integers."""
    if isinstance(value, tuple):
        return tuple([_weights(v, dtype) for v in value])
    array = np.asarray(value)
    return np.resize(WEIGHTS, array.shape).astype(dtype) if array.dtype == object else None


def _slopes(f: Callable[..., Any], xs: Sequence[Any], place: int, value: Any, weights: Any) -> Any:
    """Return the derivatives of the weighed sum of results by one operand; None if it is of integers."""
    x = xs[place]

    def at(changed: Any) -> Any:
        return f(*[changed if i == place else y for i, y in enumerate(xs)])

    if not isinstance(x, tuple):
        return _differences(at, x, value, weights)
    return tuple(
        [
            _differences(lambda changed, i=i: at((*x[:i], changed, *x[i + 1 :])), field, value, weights)
            for i, field in enumerate(x)
        ]
    )


def _differences(f: Callable[[Any], Any], x: Any, value: Any, weights: Any) -> Any:
    """Return the forward differences of the weighed results of a function of an array."""
    array = np.asarray(x)
    if array.dtype != object:
        return None
    slopes = np.empty(array.shape, object)
    finite = [abs(v) for v in array.ravel() if mp.isfinite(v)]
    largest = max(finite, default=mp.mpf(1)) or mp.mpf(1)
    for place in np.ndindex(array.shape):
        if not mp.isfinite(array[place]):
            slopes[place] = None
            continue
        step = (abs(array[place]) or largest) * STEP
        up = array.copy()
        up[place] += step
        slopes[place] = _change(f(up), value, weights) / step
    return slopes


def _change(up: Any, down: Any, weights: Any) -> Any:
    """Return the weighed sum of the changes of results; infinite ones that stay, and NaN, do not change."""
    terms = [mp.mpf(0)]
    for above, below, ws in zip(*map(_leaves, (up, down, weights)), strict=True):
        if ws is not None:
            parts = [np.asarray(v).ravel() for v in (above, below, ws)]
            terms += [(a - b) * float(w) for a, b, w in zip(*parts, strict=True) if a != b and a == a]
    return mp.fsum(terms)
