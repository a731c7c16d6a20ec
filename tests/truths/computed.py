"""Truths of functions of arrays, from formulas on arrays of mpmath's numbers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from mpmath import mp

from relay.ir.dtype import dtype_name, is_float
from truths.base import ULPS, Case, Tangents

PRECISION = 600
STEP = mp.ldexp(1, -220)
"""Of differences, relative to the number, or to the greatest of its array where it is 0."""
WEIGHTS = (1.0, -2.0, 0.5, 4.0, -0.25)
DIRECTIONS = (1.0, 0.5, -0.25, -1.0)
"""Of forward mode: at most 1, so that no term overflows where its derivative does not."""

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
        weights = slopes = tangents = None
        if has_slopes and dtype is not None:
            weights = _weights(value, dtype)
            changes = Changes(value, weights)
            places = [i for i in range(len(numbers)) if i not in fixed]
            slopes = tuple(
                [_slopes(f, numbers, i, changes) if i in places else None for i in range(len(numbers))]
            )
            tangents = changes.tangents(operands)
        sizes = None if scale is None else scale(*numbers)
        slope_sizes = None if slope_scales is None else slope_scales(*numbers)
        if is_normwise:
            sizes = _greatest(value)
            slope_sizes = None if slopes is None else tuple([_greatest(s) for s in slopes])
        if tangents is not None and slope_sizes is not None:
            stated = () if is_normwise else tuple([leaf for s in slope_sizes for leaf in _leaves(s)])
            tangents = replace(tangents, scale=_greatest(tangents.scale, stated))
        return Case(
            operands, value, slopes, attrs, weights, ulps, ulps if slope_ulps is None else slope_ulps,
            sizes, slope_sizes,
            tuple(fixed), tuple(threads), tangents,
        )  # fmt: skip


def _greatest(right: Any, more: tuple[Any, ...] = ()) -> Any:
    """Return arrays of the greatest size in some right numbers, of all the fields of a tuple together.

    Those in `more` count too.
    """
    if right is None:
        return None
    arrays = [np.asarray(field) for field in (*_leaves(right), *more) if field is not None]
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


class Changes:
    """Sums over the derivatives of results by one number after another."""

    def __init__(self, value: Any, weights: Any) -> None:
        """Begin at results, which are arrays or a tuple of arrays, and their weights."""
        self.value = value
        self.fields = [np.asarray(v) for v in _leaves(value)]
        self.weights = [None if w is None else [float(v) for v in w.ravel()] for w in _leaves(weights)]
        self.along = [[mp.mpf(0)] * v.size for v in self.fields]
        self.sizes = [[mp.mpf(0)] * v.size for v in self.fields]

    def add(self, changed: Any, step: Any, direction: float) -> Any:
        """Add the derivatives by a number, whose step changed the results; return their weighed sum.

        Infinite results that stay, and those that become NaN, do not change.
        """
        terms = [mp.mpf(0)]
        for k, (results, weights) in enumerate(zip(_leaves(changed), self.weights, strict=True)):
            if weights is None:
                continue
            pairs = zip(np.asarray(results).ravel(), self.fields[k].ravel(), strict=True)
            for i, (new, old) in enumerate(pairs):
                if new is old or new == old or new != new:
                    continue
                slope = (new - old) / step
                terms.append(slope * weights[i])
                self.along[k][i] += slope * direction
                self.sizes[k][i] += abs(slope * direction)
        return mp.fsum(terms)

    def tangents(self, operands: Sequence[Any]) -> Tangents:
        """Return the changes of results along the directions of operands; infinite results have none."""
        right = [
            None if weights is None else _shaped(along, field)
            for along, field, weights in zip(self.along, self.fields, self.weights, strict=True)
        ]
        sizes = [
            None if weights is None else _shaped(size, field)
            for size, field, weights in zip(self.sizes, self.fields, self.weights, strict=True)
        ]
        if not isinstance(self.value, tuple):
            right, sizes = right[0], sizes[0]
        else:
            right, sizes = tuple(right), tuple(sizes)
        return Tangents(tuple(map(directions, operands)), right, sizes)


def _shaped(numbers: Sequence[Any], field: Any) -> Any:
    """Return numbers in the shape of results, None where these are infinite or NaN."""
    array = np.empty(field.shape, object)
    array.ravel()[:] = [n if mp.isfinite(v) else None for n, v in zip(numbers, field.ravel(), strict=True)]
    return array


def directions(x: Any) -> Any:
    """Return powers of two, which differ, for the finite numbers of an operand; 0 for others and integers."""
    if isinstance(x, tuple):
        return tuple([directions(field) for field in x])
    array = np.asarray(x)
    if not is_floating(array):
        return np.zeros_like(array)
    return np.where(np.isfinite(array), np.resize(DIRECTIONS, array.shape), 0).astype(array.dtype)


def _slopes(f: Callable[..., Any], xs: Sequence[Any], place: int, changes: Changes) -> Any:
    """Return the derivatives of the weighed sum of results by one operand; None if it is of integers."""
    x = xs[place]

    def at(changed: Any) -> Any:
        return f(*[changed if i == place else y for i, y in enumerate(xs)])

    if not isinstance(x, tuple):
        return _differences(at, x, changes)
    return tuple(
        [
            _differences(lambda changed, i=i: at((*x[:i], changed, *x[i + 1 :])), field, changes)
            for i, field in enumerate(x)
        ]
    )


def _differences(f: Callable[[Any], Any], x: Any, changes: Changes) -> Any:
    """Return the differences of the weighed results of a function of an array."""
    array = np.asarray(x)
    if array.dtype != object:
        return None
    slopes = np.empty(array.shape, object)
    finite = [abs(v) for v in array.ravel() if mp.isfinite(v)]
    largest = max(finite, default=mp.mpf(1)) or mp.mpf(1)
    along = np.resize(DIRECTIONS, array.shape)
    for place in np.ndindex(array.shape):
        if not mp.isfinite(array[place]):
            slopes[place] = None
            continue
        step = (abs(array[place]) or largest) * STEP
        moved = array.copy()
        moved[place] = array[place] + step
        slopes[place] = changes.add(f(moved), step, float(along[place]))
    return slopes
