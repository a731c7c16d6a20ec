"""What the rules of several operator families share: axes, accumulation widths, and building expressions."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import inf, prod
from typing import Any

import numpy as _numpy

from relay.ir.dim import product
from relay.ir.dtype import FLOATS, dtype_name, is_float, rounded, to_numpy
from relay.ir.expr import Constant, Expr
from relay.ir.type import Dim, DType, TensorType, Type
from relay.op.axes import LAST_INDEX, axes_of
from relay.op.base import Array, Numpy, Operator
from relay.op.conversion import accumulator
from relay.op.registry import builders
from relay.op.relation import Typing

Axis = int | tuple[int, ...] | None

NARROW_FLOATS = frozenset(FLOATS) - {"float32", "float64"}


def narrow(x: Array, dtype: Any) -> Array:
    """`x` in `dtype`: a NumPy dtype or the name of a dtype."""
    wanted = to_numpy(dtype) if isinstance(dtype, str) else dtype
    return x if x.dtype == wanted else rounded(x, wanted)


def precise(np: Numpy, x: Array) -> Array:
    """Return floats in the dtype that sums and statistics of them are computed in: float64 in NumPy."""
    return x.astype(_numpy.float64) if np is _numpy and x.dtype != _numpy.float64 else accumulator(x)


def sum_of(np: Numpy, x: Array, axes: Axis, keepdims: bool = False) -> Array:
    """Return the sum of an array along axes, in its dtype.

    NumPy adds up pairs along the last axis only, and one by one along others: float32 is added up in float64
    here, and float64 along one axis that has been made the last.
    """
    if np is not _numpy or not is_float(dtype_name(x.dtype)):
        return np.sum(x, axis=axes, keepdims=keepdims, dtype=x.dtype)
    if x.dtype != _numpy.float64:
        return narrow(_numpy.sum(x, axis=axes, keepdims=keepdims, dtype=_numpy.float64), x.dtype)
    reduced = axes_named(axes, x.ndim)
    kept = [a for a in range(x.ndim) if a not in reduced]
    rows: Array = np.transpose(x, (*kept, *reduced)).reshape(
        *[x.shape[a] for a in kept], prod([x.shape[a] for a in reduced])
    )
    shape = [1 if a in reduced else d for a, d in enumerate(x.shape) if keepdims or a not in reduced]
    return np.sum(np.ascontiguousarray(rows), axis=-1).reshape(shape)[()]


def axes_named(axis: Axis, rank: int, exclude: bool = False) -> tuple[int, ...]:
    """The axes an attribute names, from the front and in order; None names all, `exclude` names the
    others.
    """
    if axis is None:
        named = tuple(range(rank))
    else:
        named = tuple(sorted({a % rank for a in ((axis,) if isinstance(axis, int) else axis)}))
    return tuple([a for a in range(rank) if a not in named]) if exclude else named


def checked_axes(t: Typing, axis: Axis, rank: int, exclude: bool = False) -> tuple[int, ...]:
    """`axes_named`, with a diagnostic for axes that the tensor has not, or that are named twice."""
    if axis is not None:
        axes_of(t, (axis,) if isinstance(axis, int) else axis, rank, "axis")
    return axes_named(axis, rank, exclude)


class SameType(Operator):
    """For operators whose result has the type of their first operand: said before more is known of it."""

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        t.equal(out, args[0])
        super().relate(t, args, out)


# --- building expressions (for decompositions) ------------------------------------------------------------


def apply(name: str, *operands: Any, **attrs: Any) -> Expr:
    """A call of the operator of that name."""
    return builders[name](*operands, **attrs)


def scalar(value: float, dtype: DType) -> Constant:
    """A scalar constant of a dtype, which may still be a variable: the value is then kept open."""
    if isinstance(dtype, Type):
        return Constant(_numpy.asarray(value, _numpy.float64), TensorType((), dtype))
    return Constant(*_scalar(value, dtype))


@lru_cache(maxsize=1024, typed=True)
def _scalar(value: float, dtype: str) -> tuple[Any, TensorType]:
    array = rounded(_numpy.asarray(value), to_numpy(dtype))
    array.flags.writeable = False
    return array, TensorType((), dtype)


def index_numbers(x: Expr, dtype: DType) -> Expr:
    """Return indices of an integer dtype as int64, by the rule of `as_index`."""
    if dtype == "uint64":
        x = apply("minimum", x, scalar(LAST_INDEX, dtype))
    return x if dtype == "int64" else apply("cast", x, dtype="int64")


def dims(t: Any) -> tuple[Dim, ...]:
    """The dimensions of a type that inference has found to be a tensor of known rank."""
    assert isinstance(t, TensorType)
    assert isinstance(t.shape, tuple)
    return t.shape


def count(x: Expr, t: Any, axes: tuple[int, ...], dtype: DType) -> Expr:
    """How many elements `axes` of `x` span, as a scalar: a constant, or counted at run time."""
    n = product([dims(t)[a] for a in axes])
    if isinstance(n, int):
        return scalar(n, dtype)
    total = apply("sum", apply("ones_like", x), axis=axes)
    return apply("max", total) if len(axes) < len(dims(t)) else total


def computing_dtype(dtype: DType) -> DType:
    """The dtype to accumulate in: float32 for narrow floats, else the same."""
    return "float32" if isinstance(dtype, str) and dtype in NARROW_FLOATS else dtype


def squaring_dtype(dtype: DType) -> DType:
    """Return the dtype to compute squares in, which has room for them and for the bits that differences lose.

    It is float32 for float16, and float64 for floats of the range of float32.
    """
    if not isinstance(dtype, str) or dtype not in FLOATS:
        return dtype
    return "float64" if dtype in ("float32", "bfloat16") else computing_dtype(dtype)


def for_squares(x: Array) -> Array:
    """Return an array in the dtype that squares of its elements are computed in."""
    return x.astype(to_numpy(str(squaring_dtype(dtype_name(x.dtype)))))


def in_dtype(x: Expr, dtype: DType, wanted: DType) -> Expr:
    """Return `x` of one dtype in another."""
    return x if dtype == wanted else apply("cast", x, dtype=wanted)


def widened(x: Expr, dtype: DType) -> Expr:
    """`x`, cast to float32 if `dtype` is a narrow float."""
    return apply("cast", x, dtype="float32") if computing_dtype(dtype) != dtype else x


def narrowed(x: Expr, dtype: DType) -> Expr:
    """The inverse of `widened`."""
    return apply("cast", x, dtype=dtype) if computing_dtype(dtype) != dtype else x


def along_channels(x: Expr, axis: int, rank: int) -> Expr:
    """A vector as a tensor that broadcasts along `axis` of one of rank `rank`."""
    after = rank - 1 - axis % rank
    return apply("expand_dims", x, axis=1, num_newaxis=after) if after else x


def least_value(np: Numpy, dtype: Any) -> Any:
    """The least value of a NumPy dtype: minus infinity, or the least integer."""
    if is_float(dtype_name(dtype)):
        return -np.inf
    return False if dtype_name(dtype) == "bool" else np.iinfo(dtype).min


def greatest_value(np: Numpy, dtype: Any) -> Any:
    """The greatest value of a NumPy dtype: infinity, or the greatest integer."""
    if is_float(dtype_name(dtype)):
        return np.inf
    return True if dtype_name(dtype) == "bool" else np.iinfo(dtype).max


# --- norms, of whatever operators are called on ------------------------------------------------------------


def norm_of(
    call: Callable[..., Any], number: Callable[..., Any], size: Any, order: float, total: Callable[[Any], Any]
) -> Any:
    """Return `total(size ** order) ** (1 / order)` of sizes from 0; the order is finite and not 0.

    The derivative is 0 by sizes that are 0, and where the norm is, as in PyTorch.  `call` applies an operator
    to tensors that have a `dtype`, and `number` makes a scalar of one.
    """
    end = 0.0 if order > 0 else inf
    powers = call("multiply", size, size) if order == 2 else raised(call, number, size, order, 0.0, end)
    return raised(call, number, total(powers), 1 / order, end, 0.0)


def raised(
    call: Callable[..., Any], number: Callable[..., Any], x: Any, exponent: float, start: float, end: float
) -> Any:
    """Return `x ** exponent`; where `x` is `start` it is `end`, with the derivative 0."""
    is_start = call("equal", x, number(start, x.dtype))
    inner = call("where", is_start, number(1.0, x.dtype), x)
    power = call("sqrt", inner) if exponent == 0.5 else call("power", inner, number(exponent, x.dtype))
    return call("where", is_start, number(end, x.dtype), power)
