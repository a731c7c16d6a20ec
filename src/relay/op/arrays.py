"""What references take and give: arrays and scalars of NumPy, strings, and tuples of these."""

import operator as python
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy

from relay.ir.dtype import dtype_name
from relay.ir.type import TensorType, TupleType, Type

ON_SCALARS: dict[str, Callable[..., Any]] = {
    "add": python.add,
    "subtract": python.sub,
    "multiply": python.mul,
    "less": python.lt,
    "less_equal": python.le,
    "greater": python.gt,
    "greater_equal": python.ge,
    "equal": python.eq,
    "not_equal": python.ne,
    "negative": python.neg,
}
"""Python's operators that do what NumPy's functions do to scalars of one type."""


def array_type(value: Any) -> Type:
    """The type of a run-time value: an array, a scalar, a string, or a tuple of them."""
    if isinstance(value, tuple):
        return TupleType([array_type(v) for v in value])  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, str):
        return TensorType((), "string")
    return TensorType(value.shape, dtype_name(value.dtype))


def numpy_function(ufunc: str, types: Sequence[Type]) -> Callable[..., Any]:
    """A NumPy function, or Python's operator for it on scalars, which takes a tenth of the time."""
    on_scalars = ON_SCALARS.get(ufunc)
    if on_scalars and all(isinstance(t, TensorType) and t.shape == () and t.dtype != "bool" for t in types):
        return on_scalars
    return getattr(numpy, ufunc)


def unboxed(value: Any) -> Any:
    """A value with its arrays of rank 0 as scalars; tuples nest only as deep as the operator returns them."""
    if isinstance(value, tuple):
        return tuple([unboxed(v) for v in cast("tuple[Any, ...]", value)])
    return value[()] if type(value) is numpy.ndarray and value.ndim == 0 else value


def may_have_strings(t: Type) -> bool:
    """Whether a tensor, or one in a tuple of such, may be of strings."""
    if isinstance(t, TupleType):
        return any(not isinstance(f, TensorType) or may_have_strings(f) for f in t.fields)
    return not isinstance(t, TensorType) or t.dtype == "string" or not isinstance(t.dtype, str)


def strings_boxed(value: Any) -> Any:
    """A string, or those in a tuple, as an array of rank 0; other values as they are."""
    if isinstance(value, tuple):
        return tuple([strings_boxed(v) for v in cast("tuple[Any, ...]", value)])
    return numpy.asarray(value, object) if isinstance(value, str) else value


def strings_unboxed(value: Any) -> Any:
    """`unboxed`, and strings as Python has them, in arrays too."""
    if isinstance(value, tuple):
        return tuple([strings_unboxed(v) for v in cast("tuple[Any, ...]", value)])
    array = numpy.asarray(value)
    return array.astype(object)[()] if array.dtype.kind == "U" else unboxed(value)
