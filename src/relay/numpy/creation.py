"""Functions that make arrays, and that change their dtype or device."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from relay.interpreter.value import is_sequence, is_tensor
from relay.ir.dtype import dtype_name
from relay.ir.symbol import Dimension
from relay.numpy import dtypes
from relay.numpy.array import Array, check_device, frozen
from relay.numpy.call import AnyArray, array, call, cast, common, common_dtype, created, number
from relay.tracing.pytree import Boxed
from relay.tracing.value import TracedValue

Shape = int | Sequence[int]


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> AnyArray:
    """An array of numbers, nested lists of numbers or arrays, or an array of any library.

    Python's integers become int32 (int64 if one does not fit), its floats float32, unless `dtype` says
    otherwise.  The elements of NumPy's arrays are shared unless `copy` is true: do not write them.

    Raises `TypeError` for what is not an array, `OverflowError` for integers out of range, `ValueError` where
    `copy=False` cannot be.
    """
    check_device(device)
    wanted = None if dtype is None else dtypes.checked_dtype(dtype)
    if isinstance(obj, Boxed | TracedValue | np.ndarray | np.generic):
        made = array(obj)
    elif is_sequence(obj):
        _refuse_no_copy(copy)
        return _of_rows(obj, wanted)
    elif isinstance(obj, int | float | complex):
        _refuse_no_copy(copy)
        return number(obj, wanted or dtypes.of_number(obj))
    else:
        made = array(_of_library(obj))
    if wanted is not None and made.dtype != wanted:
        _refuse_no_copy(copy)
        return cast(made, wanted)
    return Array(frozen(np.array(made.value))) if copy and isinstance(made, Array) else made


def _refuse_no_copy(copy: bool | None) -> None:
    if copy is False:
        raise ValueError("this array cannot be made without a copy")


def _of_library(x: Any) -> Any:
    """The elements of an array of another library, shared where they can be."""
    if hasattr(x, "__dlpack__"):
        try:
            return np.from_dlpack(x)
        except (BufferError, RuntimeError, TypeError):
            pass
    if hasattr(x, "__array__") or isinstance(x, memoryview | bytearray):
        return np.asarray(x)
    raise TypeError(f"{type(x).__name__} is not a number, a list of numbers, or an array")


def _of_rows(rows: Any, dtype: Any) -> AnyArray:
    """An array of nested lists; arrays among them are stacked."""
    leaves = _leaves(rows)
    if any(isinstance(x, Boxed | TracedValue) for x in leaves):
        parts = [asarray(r) for r in rows]
        made = call("stack", tuple(common(*parts)), axis=0)
        return made if dtype is None else cast(made, dtype)
    if any(isinstance(x, complex) for x in leaves):
        raise TypeError(dtypes.COMPLEX_HINT)
    known: list[Any] = [x.dtype for x in leaves if is_tensor(x)]
    found: Any = dtype or (known[0] if known else _of_numbers(leaves))
    if dtypes.is_integral(found):
        limits = dtypes.iinfo(found)
        for x in leaves:
            if isinstance(x, int) and not limits.min <= x <= limits.max:
                raise OverflowError(f"{x} is out of the range of {found}")
    with np.errstate(all="ignore"):
        made: Any = np.asarray(rows, None if known else _exact(found)).astype(found)
    return Array(frozen(made))


def _exact(dtype: Any) -> Any:
    """A dtype of NumPy's own that numbers of Python's become first, without a loss for `dtype`."""
    return np.float64 if dtypes.is_floating(dtype) else dtype


def _leaves(rows: Any) -> list[Any]:
    found: list[Any] = []
    stack = [rows]
    while stack:
        x = stack.pop()
        if is_sequence(x):
            stack += x
        else:
            found.append(x)
    return found


def _of_numbers(leaves: list[Any]) -> Any:
    """The dtype of Python's numbers that nothing decides."""
    if any(isinstance(x, float) for x in leaves) or not leaves:
        return dtypes.DEFAULT_FLOAT
    if all(isinstance(x, bool) for x in leaves):
        return dtypes.bool
    return max(
        (dtypes.of_number(int(x)) for x in leaves), key=[dtypes.int32, dtypes.int64, dtypes.uint64].index
    )


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An array that shares its elements with one of another library (`BufferError` where it cannot)."""
    check_device(device)
    made = np.from_dlpack(x.value if isinstance(x, Array) and not x.ndim else x, copy=copy)
    return Array(frozen(made))


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> AnyArray:
    """The values in another dtype: floats become integers towards 0 and within the range, NaN 0."""
    check_device(device)
    return cast(array(x), dtypes.checked_dtype(dtype))


def _shape(shape: Any) -> tuple[Any, ...]:
    return (
        tuple([d if not hasattr(d, "__index__") else d.__index__() for d in shape])
        if is_sequence(shape)
        else (shape.__index__() if hasattr(shape, "__index__") else shape,)
    )


def full(shape: Shape, fill_value: Any, *, dtype: Any = None, device: Any = None) -> AnyArray:
    """An array of one number."""
    check_device(device)
    value = asarray(fill_value, dtype=dtype)
    return created("full", value, shape=_shape(shape), dtype=dtype_name(value.dtype))


def zeros(shape: Shape, *, dtype: Any = None, device: Any = None) -> AnyArray:
    """An array of zeros, of float32 unless `dtype` says otherwise."""
    return full(shape, 0, dtype=dtypes.DEFAULT_FLOAT if dtype is None else dtype, device=device)


def ones(shape: Shape, *, dtype: Any = None, device: Any = None) -> AnyArray:
    """An array of ones, of float32 unless `dtype` says otherwise."""
    return full(shape, 1, dtype=dtypes.DEFAULT_FLOAT if dtype is None else dtype, device=device)


def empty(shape: Shape, *, dtype: Any = None, device: Any = None) -> AnyArray:
    """An array of any elements: of zeros, as arrays do not change."""
    return zeros(shape, dtype=dtype, device=device)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> AnyArray:
    """An array of one number, of the shape of another, and of its dtype unless `dtype` says otherwise."""
    check_device(device)
    like = array(x)
    value = asarray(fill_value, dtype=like.dtype if dtype is None else dtype)
    return call("broadcast_to_like", value, like)


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> AnyArray:
    """An array of zeros, of the shape of another, and of its dtype unless `dtype` says otherwise."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> AnyArray:
    """An array of ones, of the shape of another, and of its dtype unless `dtype` says otherwise."""
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> AnyArray:
    """An array of any elements, of the shape of another: of zeros, as arrays do not change."""
    return zeros_like(x, dtype=dtype, device=device)


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None, device: Any = None
) -> AnyArray:
    """The numbers from `start` up to but not including `stop`, or from 0 up to `start`.

    Integers give int32 (int64 where they need it), floats float32, unless `dtype` says otherwise.
    """
    check_device(device)
    low, high = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise ValueError("the step of arange is not 0")
    if isinstance(low, Dimension) or isinstance(high, Dimension):
        return _up_to(low, high, step, dtype)
    is_real = any(isinstance(x, float) for x in (low, high, step))
    if is_real or (dtype is not None and dtypes.is_floating(dtypes.checked_dtype(dtype))):
        count = max(0, math.ceil((high - low) / step))
        wanted = dtypes.DEFAULT_FLOAT if dtype is None else dtypes.checked_dtype(dtype)
        return cast(_steps(float(low), float(step), count), wanted)
    low, high, step = int(low), int(high), int(step)
    wanted = _of_numbers([low, high, step]) if dtype is None else dtypes.checked_dtype(dtype)
    count = max(0, -((low - high) // step))
    places = cast(created("arange", *[number(n, dtypes.int64) for n in (0, count, 1)], dtype="int64"), wanted)
    if not count:
        return places
    scaled = places if step == 1 else call("multiply", places, number(step, wanted))
    return scaled if low == 0 else call("add", scaled, number(low, wanted))


def _up_to(low: Any, high: Any, step: Any, dtype: Any) -> AnyArray:
    """The integers from `low` up to `high`, one of them a dimension."""
    if step != 1:
        raise ValueError(f"arange of dimensions takes steps of 1, not {step}")
    ones = full((high - low,), 1, dtype=dtypes.int64 if dtype is None else dtype)
    return call("add", call("cumsum", ones, axis=0, exclusive=True), cast(array(low), ones.dtype))


def _steps(start: float, step: float, count: int) -> AnyArray:
    """`start`, `start + step`, … in float64."""
    places = created("arange", *[number(float(n), dtypes.float64) for n in (0, count, 1)], dtype="float64")
    scaled = call("multiply", places, number(step, dtypes.float64))
    return call("add", scaled, number(start, dtypes.float64))


def linspace(
    start: float, stop: float, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True
) -> AnyArray:
    """`num` numbers at equal distances, from `start` to `stop`, which is left out without `endpoint`."""
    check_device(device)
    wanted = dtypes.DEFAULT_FLOAT if dtype is None else dtypes.checked_dtype(dtype)
    low, high, parts = float(start), float(stop), num - 1 if endpoint else num
    found = _steps(low, (high - low) / parts if parts > 0 else math.nan if num > 1 else 0.0, num)
    if endpoint and num > 1:
        last = call("equal", arange(num, dtype=dtypes.int64), number(num - 1, dtypes.int64))
        found = call("where", last, number(high, dtypes.float64), found)
    if dtypes.is_integral(wanted):
        found = call("floor", found) if low <= high else found
    return cast(found, wanted)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> AnyArray:
    """A matrix with ones on the diagonal `k`, above the main one where `k` is positive, and zeros beside."""
    check_device(device)
    wanted = dtypes.DEFAULT_FLOAT if dtype is None else dtypes.checked_dtype(dtype)
    rows, cols = (arange(n, dtype=dtypes.int64) for n in (n_rows, n_rows if n_cols is None else n_cols))
    diagonal = call("add", call("expand_dims", rows, axis=1), number(k, dtypes.int64))
    return cast(call("equal", diagonal, cols), wanted)


def tril(x: Any, /, *, k: int = 0) -> AnyArray:
    """Matrices with zeros above the diagonal `k`."""
    return _triangle(x, k, False)


def triu(x: Any, /, *, k: int = 0) -> AnyArray:
    """Matrices with zeros below the diagonal `k`."""
    return _triangle(x, k, True)


def _triangle(x: Any, k: int, upper: bool) -> AnyArray:
    given = array(x)
    if given.ndim < 2:
        raise ValueError(f"a triangle is of matrices, not of rank {given.ndim}")
    return call("trilu", given, number(k, dtypes.int64), upper=upper)


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[AnyArray, ...]:
    """The coordinates of the points of a grid, of one array for each axis.

    With `"xy"` the first two axes of the results are those of the second and the first array.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is 'xy' or 'ij', not {indexing!r}")
    given = [array(x) for x in arrays]
    if len({x.dtype for x in given}) > 1:
        raise ValueError("the arrays of a grid have one dtype")
    if any(x.ndim > 1 for x in given):
        raise ValueError("the arrays of a grid have rank 1")
    order = [*range(len(given))]
    if indexing == "xy" and len(given) > 1:
        order[:2] = 1, 0
    rank = len(given)
    placed: list[AnyArray] = []
    for i, x in enumerate(given):
        shape = [1] * rank
        shape[order[i]] = -1
        placed.append(call("reshape", x, newshape=tuple(shape), allowzero=True))
    return tuple(_stretched(placed))


def _stretched(xs: Sequence[AnyArray]) -> list[AnyArray]:
    """Arrays broadcast to the shape that all of them broadcast to."""
    if not xs:
        return []
    zero = None
    for x in xs:
        mask = call("not_equal", x, x)
        zero = mask if zero is None else call("logical_or", zero, mask)
    return [call("broadcast_to_like", x, zero) for x in xs]


def broadcast_arrays(*arrays: Any) -> tuple[AnyArray, ...]:
    """The arrays, stretched to the shape that all of them broadcast to."""
    return tuple(_stretched([array(x) for x in arrays]))


def broadcast_to(x: Any, /, shape: Sequence[int]) -> AnyArray:
    """The array, stretched to a shape."""
    return call("broadcast_to", array(x), shape=_shape(shape))


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that shapes broadcast to (`ValueError` if there is none)."""
    return np.broadcast_shapes(*shapes)


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype to which arrays, dtypes and numbers promote (`TypeError` if to none).

    Floats win over integers, integers over truth values; a number takes the dtype of what it meets.
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type needs an array, a dtype or a number")
    return common_dtype(arrays_and_dtypes)
