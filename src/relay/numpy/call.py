"""Calls of operators: at once on arrays of known elements, recorded on those of a trace.

The functions of the namespace are written over `call`, once for both.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from relay.diagnostic import caller_span
from relay.interpreter.operators import refuse, too_large
from relay.interpreter.value import is_tensor
from relay.ir.dtype import dtype_name
from relay.ir.expr import Call, Expr, Op, RelayExpr, TupleGetItem, Var, as_expr
from relay.ir.symbol import Dimension
from relay.ir.traced import Traced
from relay.ir.type import TensorType, TupleType
from relay.numpy import dtypes
from relay.numpy.array import Array, TracedArray, frozen
from relay.numpy.dtypes import DType
from relay.op.registry import instance
from relay.tracing.nested import in_trace
from relay.tracing.pytree import Boxed
from relay.tracing.types import TypesOfTrace, current
from relay.typecheck.infer import infer_expr

AnyArray = Any
"""An `Array` or a `TracedArray`; where arrays are given, one of NumPy's or a traced value does too."""

KEPT_CALLS = 4096
"""How many operators, as checked for the types of their operands, are kept; the oldest use goes first."""


def call(name: str, *operands: Any, results: int | None = None, **attrs: Any) -> Any:
    """The result of an operator on arrays, or on tuples of them; a list where it has several `results`.

    Raises what the type check of the operator raises, and what evaluating it does.
    """
    traced = _first_traced(operands)
    if traced is not None:
        return _recorded(_call(name, operands, attrs), in_trace(traced), results)
    values = tuple(map(_value, operands))
    function = _checked(name, tuple(attrs.items()), tuple(map(_type_key, values)))
    with np.errstate(all="ignore"):
        found = function(*values)
    return Array(found) if results is None else [Array(x) for x in found]


def created(name: str, *operands: Any, **attrs: Any) -> Any:
    """`call` for what makes arrays of sizes: recorded in a trace, however small the operands' part in it."""
    types = current.get()
    if types is None:
        return call(name, *operands, **attrs)
    return _recorded(_call(name, operands, attrs), types, None)


def _call(name: str, operands: tuple[Any, ...], attrs: dict[str, Any]) -> Call:
    return Call(Op.get(name), tuple(map(_expr, operands)), instance(name, attrs))


def _recorded(e: Expr, types: TypesOfTrace, results: int | None) -> Any:
    if results is None:
        return TracedArray(e, types)
    return [TracedArray(TupleGetItem(e, i), types) for i in range(results)]


def _first_traced(operands: tuple[Any, ...]) -> Traced | None:
    for x in operands:
        if isinstance(x, Traced):
            return x
        if isinstance(x, tuple):
            found = _first_traced(x)  # pyright: ignore[reportUnknownArgumentType]
            if found is not None:
                return found
    return None


def _expr(x: Any) -> Expr:
    if isinstance(x, tuple):
        return as_expr([_expr(v) for v in x])  # pyright: ignore[reportUnknownVariableType]
    return as_expr(x.value if isinstance(x, Boxed) else x)


def _value(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple([_value(v) for v in x])  # pyright: ignore[reportUnknownVariableType]
    return x.value if isinstance(x, Boxed) else x


def _type_key(x: Any) -> Any:
    return tuple([_type_key(v) for v in x]) if isinstance(x, tuple) else (x.dtype, *x.shape)  # pyright: ignore[reportUnknownVariableType]


def _type(key: Any) -> TensorType | TupleType:
    if key and isinstance(key[0], tuple):
        return TupleType([_type(k) for k in key])
    return TensorType(key[1:], dtype_name(key[0]))


@lru_cache(maxsize=KEPT_CALLS)
def _checked(name: str, attrs: tuple[tuple[str, Any], ...], keys: tuple[Any, ...]) -> Callable[..., Any]:
    """What computes an operator on operands of these types, once it is known that it takes them."""
    operator: Any = instance(name, dict(attrs))
    types = [_type(k) for k in keys]
    span = caller_span()
    args = tuple([Var(f"x{i}", t, span=span) for i, t in enumerate(types)])
    inferred = infer_expr(Call(Op.get(name), args, operator, span=span))
    problem = too_large(operator, types, inferred.checked_type)
    if problem:
        refuse(problem)
    return operator.compile_reference(types)


# --- what functions are given


def array(x: Any) -> AnyArray:
    """An array, a traced value, an array of NumPy's, a number or a dimension as an array of the namespace."""
    if isinstance(x, Array | TracedArray):
        return x
    if isinstance(x, Traced):
        return TracedArray(x.expr, x.types)
    if is_tensor(x):
        own = frozen(x)
        dtypes.checked_dtype(own.dtype)
        return Array(own)
    if isinstance(x, int | float | complex):
        return number(x, dtypes.of_number(x))
    if isinstance(x, Dimension):
        return _recorded(_call("dim_value", (), {"dim": x}), in_trace(), None)
    if isinstance(x, RelayExpr):
        return TracedArray(x, in_trace())  # pyright: ignore[reportArgumentType]
    raise TypeError(f"an array is wanted, not {type(x).__name__}: relay.numpy.asarray makes one")


def number(x: Any, dtype: DType) -> AnyArray:
    """A number or a dimension as an array of rank 0 (`OverflowError` where an integer is out of range)."""
    if isinstance(x, Dimension):
        return cast(array(x), dtype)
    if isinstance(x, int) and dtypes.is_integral(dtype):
        limits = dtypes.iinfo(dtype)
        if not limits.min <= x <= limits.max:
            raise OverflowError(f"{x} is out of the range of {dtype}")
    with np.errstate(all="ignore"):
        return Array(np.asarray(x, np.float64 if isinstance(x, float) else None).astype(dtype)[()])


def is_number(x: Any) -> bool:
    """Whether it is a number of Python's or a dimension, which takes the dtype of what it meets."""
    return isinstance(x, int | float | complex | Dimension) and not isinstance(x, np.generic)


def common(*xs: Any) -> list[AnyArray]:
    """Arrays and numbers as arrays of one dtype, that to which they promote (`TypeError` if to none)."""
    if all(isinstance(x, Array) for x in xs) and all(x.dtype is xs[0].dtype for x in xs):
        return [*xs]
    dtype = common_dtype(xs)
    return [number(x, dtype) if is_number(x) else cast(array(x), dtype) for x in xs]


def common_dtype(xs: Any) -> DType:
    """The dtype to which arrays, dtypes and numbers promote (`TypeError` if to none)."""
    found: DType | None = None
    for x in xs:
        if not is_number(x):
            own = _dtype_of(x)
            found = own if found is None else dtypes.promoted(found, own)
    for x in xs:
        if is_number(x):
            found = dtypes.of_number(x, found)
    assert found is not None
    return found


def _dtype_of(x: Any) -> DType:
    if isinstance(x, Boxed | Traced | np.ndarray | np.generic):
        return array(x).dtype
    return dtypes.checked_dtype(x)


def cast(x: AnyArray, dtype: DType) -> AnyArray:
    """An array in a dtype, itself where it has it."""
    return x if x.dtype == dtype else call("cast", x, dtype=dtype_name(dtype))


def floating(x: Any) -> AnyArray:
    """An array in a floating-point dtype, its own if it has one."""
    given = array(x)
    return cast(given, dtypes.floating_of(given.dtype))


def axes_of(axis: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """Axes from the front: one, several, or all (`IndexError`, `ValueError` for one given twice)."""
    if axis is None:
        return tuple(range(rank))
    found = tuple([axis_of(a, rank) for a in (axis if isinstance(axis, tuple | list) else (axis,))])
    if len(set(found)) < len(found):
        raise ValueError(f"{axis} has an axis twice")
    return found


def axis_of(axis: int, rank: int) -> int:
    """An axis from the front (`IndexError` where there is none)."""
    if not -rank <= axis < rank:
        raise IndexError(f"there is no axis {axis} in rank {rank}")
    return axis % rank if rank else 0
