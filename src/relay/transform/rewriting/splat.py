"""Tensors of one value: what is known of them, and how they are written without being filled."""

from functools import cache
from typing import Any

import numpy as np

from relay.ir.dtype import is_float, rounded, to_numpy
from relay.ir.expr import Call, Constant, Expr, Op
from relay.ir.type import HAS_ANY, TensorType
from relay.op.broadcast import BroadcastTo, BroadcastToLike
from relay.op.cast import Cast
from relay.op.conversion import converted
from relay.op.create import Full, FullLike, Ones, OnesLike, Zeros, ZerosLike
from relay.op.reshape import Reshaping, Transpose
from relay.transform.rewriting.rewriter import Rewriter, call, call_of

MAX_COMPARED_ELEMENTS = 1024
"""Constants with more elements are not searched for equal elements."""
STEPS = 8
"""How many operators are looked through."""
MOVING = (BroadcastTo, BroadcastToLike, Reshaping, Transpose)
FILLING = (Zeros, ZerosLike, Ones, OnesLike, Full, FullLike)


@cache
def _may_be_uniform(operator: type) -> bool:
    """Whether `uniform` knows the operator: most calls that it meets end here."""
    return issubclass(operator, (*FILLING, *MOVING, Cast))


def uniform(w: Rewriter, e: Expr) -> Any:
    """The value that every element of `e` has, as a NumPy scalar; None if that is not known."""
    dtypes: list[str] = []
    for _ in range(STEPS):
        made = w.value_of(e)
        if isinstance(made, Constant):
            return _converted(_one_value(made), dtypes) if w.may_use(e, made) else None
        if not (isinstance(made, Call) and type(made.op) is Op and _may_be_uniform(made.attrs.__class__)):
            return None
        if not w.may_use(e, made):
            return None
        match made.attrs:
            case Zeros() | ZerosLike() | Ones() | OnesLike():
                t = w.types(made)
                if not isinstance(t, TensorType) or not isinstance(t.dtype, str) or t.dtype == "string":
                    return None
                value = int(isinstance(made.attrs, Ones | OnesLike))
                return _converted(to_numpy(t.dtype).type(value), dtypes)
            case Full(dtype=dtype):
                dtypes += [dtype] if dtype else []
                e = made.args[0]
            case FullLike():
                e = made.args[1]
            case Cast(dtype=dtype):
                dtypes.append(dtype)
                e = made.args[0]
            case op if isinstance(op, MOVING):
                e = made.args[0]
            case _:
                return None
    return None


def _converted(value: Any, dtypes: list[str]) -> Any:
    for dtype in reversed(dtypes):
        value = None if value is None else converted(np, value, dtype)
    return value


def _one_value(c: Constant) -> Any:
    """The value that all elements of a constant have to the bit."""
    if c.type is None or not c.type.is_closed or c.type.dtype == "string" or not c.value.size:
        return None
    if not any(c.value.strides):
        return c.value[(0,) * c.value.ndim]
    if c.value.size > MAX_COMPARED_ELEMENTS:
        return None
    first = c.value[(0,) * c.value.ndim]
    return first if c.value.tobytes() == first.tobytes() * c.value.size else None


def is_value(value: Any, number: float) -> bool:
    """Whether a known value is that number; None is not a number."""
    return value is not None and bool(value == number)


def scalar(value: Any, dtype: str, source: Expr) -> Constant:
    """A scalar constant."""
    return Constant(rounded(np.asarray(value), to_numpy(dtype)), TensorType((), dtype), span=source.span)


def filled(w: Rewriter, value: Any, source: Expr) -> Expr | None:
    """A tensor of one value in the type of `source`; None if that is not static."""
    t = w.tensor(source)
    if t is None or not isinstance(t.dtype, str) or t.dtype == "string":
        return None
    if not t.shape:
        return scalar(value, t.dtype, source)
    if is_value(value, 0) and not (is_float(t.dtype) and np.signbit(value)):
        return call_of("zeros", (), source, shape=t.concrete_shape, dtype=t.dtype)
    if is_value(value, 1):
        return call_of("ones", (), source, shape=t.concrete_shape, dtype=t.dtype)
    return call(Full(shape=t.concrete_shape), (scalar(value, t.dtype, source),), source)


def stretched(w: Rewriter, x: Expr, other: Expr, source: Expr) -> Expr | None:
    """`x` in the type of `source`, which is a broadcast of `x` and `other`; None if that is not known."""
    t, s, o = w.types(source), w.types(x), w.types(other)
    if not isinstance(t, TensorType) or not isinstance(s, TensorType) or not isinstance(o, TensorType):
        return None
    is_one = isinstance(o.shape, tuple) and all(d == 1 for d in o.shape)
    if s == t and (is_one or not t.flags & HAS_ANY):
        return x
    if w.tensor(source) is None or w.tensor(x) is None or s.dtype != t.dtype:
        return None
    return call(BroadcastTo(shape=t.concrete_shape), (x,), source)
