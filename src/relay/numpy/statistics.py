"""Functions that reduce or accumulate along axes."""

import math
from typing import Any

from relay.numpy import dtypes
from relay.numpy.call import AnyArray, array, axes_of, axis_of, call, cast, common, floating, number
from relay.numpy.elementwise import maximum, subtract, truths
from relay.numpy.manipulation import concat, index

Axis = int | tuple[int, ...] | None


def sum(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> AnyArray:
    """The sum along axes; of integers and truth values in 64 bits, unless `dtype` says otherwise."""
    return _reduced("sum", _accumulated(x, dtype), axis, keepdims)


def prod(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> AnyArray:
    """The product along axes; of integers and truth values in 64 bits, unless `dtype` says otherwise."""
    return _reduced("prod", _accumulated(x, dtype), axis, keepdims)


def max(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> AnyArray:
    """The greatest element along axes, NaN if one is; of none the least value of the dtype."""
    return _reduced("max", array(x), axis, keepdims)


def min(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> AnyArray:
    """The least element along axes, NaN if one is; of none the greatest value of the dtype."""
    return _reduced("min", array(x), axis, keepdims)


def mean(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> AnyArray:
    """The mean along axes, of none NaN."""
    return _reduced("mean", floating(x), axis, keepdims)


def all(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> AnyArray:
    """Whether every element along axes is true, or not 0."""
    return _reduced("all", truths(x), axis, keepdims)


def any(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> AnyArray:
    """Whether an element along axes is true, or not 0."""
    return _reduced("any", truths(x), axis, keepdims)


def count_nonzero(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> AnyArray:
    """How many elements along axes are not 0."""
    return _reduced("sum", cast(truths(x), dtypes.INDEX), axis, keepdims)


def _reduced(operator: str, x: AnyArray, axis: Axis, keepdims: bool) -> AnyArray:
    return call(operator, x, axis=axes_of(axis, x.ndim), keepdims=bool(keepdims))


def _accumulated(x: Any, dtype: Any) -> AnyArray:
    """An array in the dtype in which it is summed."""
    given = array(x)
    return cast(given, dtypes.summed(given.dtype) if dtype is None else dtypes.checked_dtype(dtype))


def var(x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> AnyArray:
    """The variance along axes: the mean square of what is beside the mean.

    The number of elements, less the `correction`, divides; NaN or infinity where that is not positive.
    """
    given = floating(x)
    axes = axes_of(axis, given.ndim)
    if not correction:
        return _reduced("variance", given, axes, keepdims)
    beside = call("subtract", given, _reduced("mean", given, axes, True))
    total = _reduced("sum", call("multiply", beside, beside), axes, keepdims)
    size: Any = math.prod([given.shape[a] for a in axes])
    if isinstance(size, int):
        left = number(float(size - correction if size > correction else 0), given.dtype)
    else:
        left = maximum(subtract(cast(array(size), given.dtype), float(correction)), 0.0)
    return call("divide", total, left)


def std(x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> AnyArray:
    """The standard deviation along axes: the square root of the variance."""
    return call("sqrt", var(x, axis=axis, correction=correction, keepdims=keepdims))


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> AnyArray:
    """The sums of the elements up to each along an axis, as `sum` has them, with 0 in front if asked."""
    return _cumulative("cumsum", 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> AnyArray:
    """The products of the elements up to each along an axis, as `prod` has them, with 1 in front if asked."""
    return _cumulative("cumprod", 1, x, axis, dtype, include_initial)


def _cumulative(operator: str, first: int, x: Any, axis: int | None, dtype: Any, initial: bool) -> AnyArray:
    given = _accumulated(x, dtype)
    if axis is None and given.ndim != 1:
        raise ValueError(f"an array of rank {given.ndim} needs an axis to go along")
    at = axis_of(axis or 0, given.ndim)
    found = call(operator, given, axis=at)
    if not initial:
        return found
    shape = (*given.shape[:at], 1, *given.shape[at + 1 :])
    return concat([call("broadcast_to", number(first, given.dtype), shape=shape), found], axis=at)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> AnyArray:
    """The differences of neighbours along an axis, `n` times; of truth values, whether they differ."""
    if n < 0:
        raise ValueError(f"differences are taken 0 or more times, not {n}")
    given = array(x)
    at = axis_of(axis, given.ndim)
    if n == 0:
        return given
    parts = [p for p in (prepend, given, append) if p is not None]
    if len(parts) > 1:
        given = concat([_row(p, given, at) for p in parts], axis=at)
    lead = (slice(None),) * at
    for _ in range(n):
        after, before = index(given, (*lead, slice(1, None))), index(given, (*lead, slice(None, -1)))
        given = call("not_equal" if given.dtype == dtypes.bool else "subtract", *common(after, before))
    return given


def _row(x: Any, like: AnyArray, axis: int) -> AnyArray:
    """What stands before or after an array; one number is a row of it."""
    given = array(x)
    if given.ndim:
        return given
    return call("broadcast_to", given, shape=(*like.shape[:axis], 1, *like.shape[axis + 1 :]))
