"""Functions that search and sort, and those of sets."""

from typing import Any, NamedTuple

from relay.numpy import dtypes
from relay.numpy.call import AnyArray, array, axis_of, call, cast, common, number
from relay.numpy.elementwise import truths
from relay.numpy.manipulation import concat, index, reshape, take
from relay.numpy.statistics import diff


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: AnyArray
    indices: AnyArray
    inverse_indices: AnyArray
    counts: AnyArray


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: AnyArray
    counts: AnyArray


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: AnyArray
    inverse_indices: AnyArray


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> AnyArray:
    """The place of the greatest element along an axis, or of all: the first, and that of a NaN before."""
    return _place_of("argmax", x, axis, keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> AnyArray:
    """The place of the least element along an axis, or of all: the first, and that of a NaN before."""
    return _place_of("argmin", x, axis, keepdims)


def _place_of(operator: str, x: Any, axis: int | None, keepdims: bool) -> AnyArray:
    given = array(x)
    if axis is None:
        found = call(operator, reshape(given, (-1,)), axis=(0,), keepdims=False)
        found = reshape(found, (1,) * given.ndim) if keepdims else found
    else:
        found = call(operator, given, axis=(axis_of(axis, given.ndim),), keepdims=bool(keepdims))
    return cast(found, dtypes.INDEX)


def nonzero(x: Any, /) -> tuple[AnyArray, ...]:
    """The places of the elements that are not 0, along each axis."""
    given = truths(x)
    if given.ndim == 0:
        raise ValueError("an array of rank 0 has no places")
    found = cast(call("argwhere", given), dtypes.INDEX)
    return tuple([index(found, (slice(None), i)) for i in range(given.ndim)])


def where(condition: Any, x1: Any, x2: Any, /) -> AnyArray:
    """The elements of the first array where the condition holds, those of the second elsewhere."""
    return call("where", truths(condition), *common(x1, x2))


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> AnyArray:
    """The places in a sorted array before which values stand, behind equal ones with `side="right"`."""
    if side not in ("left", "right"):
        raise ValueError(f"a side is 'left' or 'right', not {side!r}")
    ordered = array(x1) if sorter is None else take(x1, sorter, axis=0)
    ordered, values = map(_ordered, common(ordered, x2))
    return call("searchsorted", ordered, values, right=side == "right", dtype="int64")


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> AnyArray:
    """The elements in order along an axis; NaN is greater than any number.  The order is always stable."""
    given = array(x)
    return call("sort", given, axis=axis_of(axis, given.ndim), is_ascend=not descending)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> AnyArray:
    """The places that put the elements in order along an axis.  The order is always stable."""
    given = array(x)
    return call("argsort", given, axis=axis_of(axis, given.ndim), is_ascend=not descending, dtype="int64")


def _ordered(x: AnyArray) -> AnyArray:
    """Truth values as numbers, which have an order."""
    return cast(x, dtypes.uint8) if x.dtype == dtypes.bool else x


# --- sets


def unique_all(x: Any, /) -> UniqueAll:
    """The different elements in order, where each is first, which one each element is, and their counts.

    Each NaN is different from any other.
    """
    given = array(x)
    order, starts, values = _sorted_runs(given)
    return UniqueAll(values, index(order, starts), _inverse(given, order, starts), _counts(starts))


def unique_counts(x: Any, /) -> UniqueCounts:
    """The different elements in order, each NaN by itself, and how often each is there."""
    _, starts, values = _sorted_runs(array(x))
    return UniqueCounts(values, _counts(starts))


def unique_inverse(x: Any, /) -> UniqueInverse:
    """The different elements in order, each NaN by itself, and which of them each element is."""
    given = array(x)
    order, starts, values = _sorted_runs(given)
    return UniqueInverse(values, _inverse(given, order, starts))


def unique_values(x: Any, /) -> AnyArray:
    """The different elements in order, each NaN by itself."""
    return _sorted_runs(array(x))[2]


def _sorted_runs(x: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """The order of the elements, which of them in that order are the first of their kind, and these."""
    flat = reshape(x, (-1,))
    order = argsort(flat)
    ordered = index(flat, order)
    changes = call("not_equal", index(ordered, slice(1, None)), index(ordered, slice(None, -1)))
    first = call("equal", index(order, slice(0, 1)), index(order, slice(0, 1)))
    starts = concat([first, changes], axis=0)
    return order, starts, index(ordered, starts)


def _inverse(x: AnyArray, order: AnyArray, starts: AnyArray) -> AnyArray:
    """The number of the run that each element is in."""
    runs = call("cumsum", cast(starts, dtypes.INDEX), axis=0)
    runs = call("subtract", runs, number(1, dtypes.INDEX))
    placed = call("scatter_elements", runs, order, runs, axis=0)
    return reshape(placed, x.shape)


def _counts(starts: AnyArray) -> AnyArray:
    """The lengths of runs, by where they start."""
    places = index(cast(call("argwhere", starts), dtypes.INDEX), (slice(None), 0))
    total = call("sum", cast(call("equal", starts, starts), dtypes.INDEX), axis=(0,), keepdims=True)
    return diff(concat([places, total], axis=0))


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> AnyArray:
    """Whether each element of the first array is one of the second; with `invert`, whether it is none."""
    values, among = common(x1, x2)
    among = sort(reshape(among, (-1,)))
    before, after = [searchsorted(among, values, side=side) for side in ("left", "right")]
    is_number = call("equal", values, values)  # a NaN is none of the others
    found = call("logical_and", call("less", before, after), is_number)
    return call("logical_not", found) if invert else found
