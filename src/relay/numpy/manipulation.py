"""Functions that move elements: shapes, axes, joining, indexing."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay.interpreter.value import is_sequence, is_tuple
from relay.ir.expr import as_expr
from relay.ir.traced import first_traced
from relay.numpy import dtypes
from relay.numpy.array import Array, TracedArray
from relay.numpy.call import (
    AnyArray,
    array,
    axes_of,
    axis_of,
    call,
    cast,
    common,
    created,
    is_number,
    number,
)  # fmt: skip
from relay.numpy.creation import arange
from relay.numpy.elementwise import remainder, subtract
from relay.tracing.indexing import index_operands
from relay.tracing.nested import in_trace
from relay.tracing.places import How
from relay.tracing.places import changed as changed_in_trace
from relay.tracing.pytree import unboxed
from relay.tracing.shapes import sizes

Axes = int | tuple[int, ...]


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> AnyArray:
    """Arrays joined along an axis; along none, their elements one after the other."""
    given = common(*arrays)
    if axis is None:
        given = [reshape(x, (-1,)) for x in given]
    return call("concatenate", tuple(given), axis=axis_of(axis or 0, given[0].ndim))


def stack(arrays: Sequence[Any], /, *, axis: int = 0) -> AnyArray:
    """Arrays joined along a new axis."""
    given = common(*arrays)
    return call("stack", tuple(given), axis=axis_of(axis, given[0].ndim + 1))


def unstack(x: Any, /, *, axis: int = 0) -> tuple[AnyArray, ...]:
    """The parts of an array along an axis."""
    given = moveaxis(x, axis, 0)
    return tuple([index(given, i) for i in range(given.shape[0])])


def expand_dims(x: Any, /, axis: Axes) -> AnyArray:
    """The array with new axes of size 1, at these places of the result."""
    given = array(x)
    places = sorted(axes_of(axis, given.ndim + (1 if isinstance(axis, int) else len(axis))))
    for place in places:
        given = call("expand_dims", given, axis=place)
    return given


def squeeze(x: Any, /, axis: Axes) -> AnyArray:
    """The array without these axes, whose size is 1 (`ValueError` for another size)."""
    given = array(x)
    axes = axes_of(axis, given.ndim)
    for a in axes:
        if isinstance(given.shape[a], int) and given.shape[a] != 1:
            raise ValueError(f"axis {a} has size {given.shape[a]}, not 1")
    return call("squeeze", given, axis=axes) if axes else given


def reshape(x: Any, /, shape: Sequence[int], *, copy: bool | None = None) -> AnyArray:
    """The elements in another shape, of which one size may be -1: what the others leave."""
    given = array(x)
    wanted = shape if is_sequence(shape) else (shape,)
    if -1 in wanted and 0 in wanted:
        raise ValueError(f"the shape {tuple(wanted)} leaves the size -1 open")
    return call("reshape", given, newshape=sizes(given, (tuple(wanted),)), allowzero=True)


def permute_dims(x: Any, /, axes: Sequence[int]) -> AnyArray:
    """The array with its axes in another order."""
    given = array(x)
    order = axes_of(tuple(axes), given.ndim)
    if len(order) != given.ndim:
        raise ValueError(f"{tuple(axes)} is not an order of {given.ndim} axes")
    return call("transpose", given, axes=order)


def moveaxis(x: Any, source: Axes, destination: Axes, /) -> AnyArray:
    """The array with axes moved to other places, the rest in their order."""
    given = array(x)
    moved, places = axes_of(source, given.ndim), axes_of(destination, given.ndim)
    if len(moved) != len(places):
        raise ValueError(f"{len(moved)} axes cannot move to {len(places)} places")
    rest = iter([i for i in range(given.ndim) if i not in moved])
    at = dict(zip(places, moved, strict=True))
    return permute_dims(given, [at[i] if i in at else next(rest) for i in range(given.ndim)])


def matrix_transpose(x: Any, /) -> AnyArray:
    """A stack of matrices, each transposed."""
    given = array(x)
    if given.ndim < 2:
        raise ValueError(f"only matrices are transposed, not arrays of rank {given.ndim}")
    return call("transpose", given, axes=(*range(given.ndim - 2), given.ndim - 1, given.ndim - 2))


def flip(x: Any, /, *, axis: Axes | None = None) -> AnyArray:
    """The elements in reverse order along axes, or along all."""
    given = array(x)
    for a in axes_of(axis, given.ndim):
        given = call("reverse", given, axis=a)
    return given


def roll(x: Any, /, shift: Axes, *, axis: Axes | None = None) -> AnyArray:
    """The elements moved along axes; those that leave at the end return at the front."""
    given = array(x)
    if axis is None:
        return reshape(roll(reshape(given, (-1,)), shift, axis=0), given.shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    for a, s in zip(axes, shifts, strict=True):
        given = _rolled(given, s, axis_of(a, given.ndim))
    return given


def _rolled(x: AnyArray, shift: int, axis: int) -> AnyArray:
    size = x.shape[axis]
    lead = (slice(None),) * axis
    if not isinstance(size, int):
        return take(x, remainder(subtract(arange(size), shift), size), axis=axis)
    if not size or not shift % size:
        return x
    at = -(shift % size)
    return concat([index(x, (*lead, slice(at, None))), index(x, (*lead, slice(None, at)))], axis=axis)


def tile(x: Any, repetitions: Sequence[int], /) -> AnyArray:
    """The array repeated along each axis; a missing axis has size 1."""
    given = array(x)
    reps = tuple(repetitions)
    reps = (1,) * (given.ndim - len(reps)) + reps
    given = reshape(given, (1,) * (len(reps) - given.ndim) + tuple(given.shape))
    for i, count in enumerate(reps):
        if count == 0:
            given = index(given, (*(slice(None),) * i, slice(0, 0)))
    return call("tile", given, reps=tuple([r or 1 for r in reps])) if reps else given


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> AnyArray:
    """Each element, or each part along an axis, as often as `repeats` says, a number or an array."""
    given = reshape(x, (-1,)) if axis is None else array(x)
    at = axis_of(axis or 0, given.ndim)
    if isinstance(repeats, int):
        if repeats == 0:
            return index(given, (*(slice(None),) * at, slice(0, 0)))
        return call("repeat", given, repeats=repeats, axis=at)
    ends = call("cumsum", _repetitions(repeats, given, at), axis=0)
    zero, one = number(0, dtypes.int64), number(1, dtypes.int64)
    total = call("sum", _repetitions(repeats, given, at), axis=(0,))
    every = created("arange", zero, total, one, dtype="int64")
    return take(given, call("searchsorted", ends, every, right=True, dtype="int64"), axis=at)


def _repetitions(repeats: Any, x: AnyArray, axis: int) -> AnyArray:
    """How often each part along an axis is repeated, as int64."""
    counts = cast(array(repeats), dtypes.int64)
    if counts.ndim == 1 and counts.shape[0] != 1:
        return counts
    return call("broadcast_to", reshape(counts, ()), shape=(x.shape[axis],))


# --- indexing


def index(x: Any, where: Any) -> AnyArray:
    """`x[where]`, with what NumPy takes for an index, arrays of the namespace among it (`bad-index`)."""
    given = array(x)
    if isinstance(where, bool) or (getattr(where, "shape", None) == () and where.dtype == dtypes.bool):
        return index(expand_dims(given, 0), reshape(where, (1,)))
    operands, items = index_operands(where)
    return call("index", given, *operands, items=items)


def changed(x: AnyArray, where: Any, v: Any, how: How) -> AnyArray:
    """A copy of an array with `v`, in its dtype, at `x[where]`, or added to it (`bad-index`)."""
    value = number(v, x.dtype) if is_number(v) else cast(array(v), x.dtype)
    parts = tuple([unboxed(p) for p in where]) if is_tuple(where) else unboxed(where)
    traced = first_traced((x, value, parts))
    if traced is not None:
        data = TracedArray(as_expr(unboxed(x)), in_trace(traced))
        return changed_in_trace(data, parts, unboxed(value), how)
    copied = np.array(x.value)
    with np.errstate(all="ignore"):
        if how == "add":
            np.add.at(copied, parts, value.value)
        else:
            copied[parts] = value.value
    return Array(copied[()])


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> AnyArray:
    """The parts of an array along an axis at these places (`index-out-of-range`)."""
    given = array(x)
    if axis is None and given.ndim != 1:
        raise ValueError(f"an array of rank {given.ndim} needs an axis to take from")
    at = array(indices)
    lead = (slice(None),) * axis_of(axis or 0, given.ndim)
    return index(given, (*lead, at))


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> AnyArray:
    """The element at each index along an axis; the other axes go together (`index-out-of-range`)."""
    given, places = array(x), array(indices)
    if places.ndim != given.ndim:
        raise ValueError(f"indices of rank {places.ndim} into an array of rank {given.ndim}")
    at = axis_of(axis, given.ndim)
    pairs = list(zip(given.shape, places.shape, strict=True))
    for i, (a, b) in enumerate(pairs):
        if i != at and a != b and isinstance(a, int) and isinstance(b, int):
            pairs[i] = np.broadcast_shapes((a,), (b,)) * 2
    return call(
        "gather", _to_shape(given, [a for a, _ in pairs]), _to_shape(places, [b for _, b in pairs]), axis=at
    )


def _to_shape(x: AnyArray, shape: Sequence[Any]) -> AnyArray:
    return x if tuple(x.shape) == tuple(shape) else call("broadcast_to", x, shape=tuple(shape))
