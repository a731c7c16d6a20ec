"""Operators evaluated at compile time, where the result is small and takes little work."""

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any

import numpy as np

from relay.diagnostic import RelayError
from relay.ir.dtype import to_numpy
from relay.ir.expr import Constant, Expr, Tuple
from relay.ir.type import TensorType, TupleType, Type
from relay.op.base import Operator
from relay.op.kind import Fusion

MAX_BYTES = 16_384
"""How large a result may be, unless its operands are larger together."""
MAX_WORK = 100_000_000
"""How many element operations it may take, about."""


def evaluated(
    op: Operator,
    operands: Sequence[Any],
    t: Type,
    e: Expr,
    max_bytes: int = MAX_BYTES,
    max_work: int = MAX_WORK,
) -> Expr | None:
    """The value of an operator call `e` of type `t` as an expression.

    None if it is too large or too much work, or fails: then it is left to fail when it runs.  NumPy refuses
    operands whose shapes the types left open and the operator does not take.
    """
    if not is_affordable(op, operands, t, max_bytes, max_work):
        return None
    try:
        return constant_of(op.evaluate(*operands), t, e)
    except (RelayError, MemoryError, ValueError):
        return None


def is_affordable(op: Operator, operands: Sequence[Any], t: Type, max_bytes: int, max_work: int) -> bool:
    """Whether the result is known to be small and to take little work."""
    given, made = sizes_of_values(operands), sizes_of_type(t)
    if made is None:
        return False
    given_elements = sum(n for n, _ in given)
    elements = sum(n for n, _ in made)
    if sum(n * b for n, b in made) > max(max_bytes, sum(n * b for n, b in given)):
        return False
    work = float(given_elements + elements)
    if op.fusion in (Fusion.KERNEL, Fusion.OPAQUE):
        work = max(work, sqrt(prod(float(max(1, n)) for n, _ in (*given, *made))))
    return work <= max_work


def shape_alone(t: Type) -> Any:
    """A value of a static type, of which nothing but the type counts; it takes no room."""
    if isinstance(t, TensorType) and t.is_closed and isinstance(t.dtype, str):
        return np.broadcast_to(np.zeros((), to_numpy(t.dtype)), t.concrete_shape)
    return None


def sizes_of_values(values: Any) -> list[tuple[int, int]]:
    """The elements that each array in a nest of tuples holds, and the bytes of one."""
    found: list[tuple[int, int]] = []
    stack = list(values)
    while stack:
        v = stack.pop()
        if isinstance(v, tuple):
            stack += v
        elif isinstance(v, str):
            found.append((1, to_numpy("string").itemsize))
        else:
            found.append((v.size if any(v.strides) else 1, v.dtype.itemsize))
    return found


def sizes_of_type(t: Type) -> list[tuple[int, int]] | None:
    """The elements of each tensor in a nest of tuples, and the bytes of one; None if they are not static."""
    found: list[tuple[int, int]] = []
    stack = [t]
    while stack:
        u = stack.pop()
        if isinstance(u, TupleType):
            stack += u.fields
        elif isinstance(u, TensorType) and u.is_closed and isinstance(u.dtype, str):
            found.append((prod(u.concrete_shape), to_numpy(u.dtype).itemsize))
        else:
            return None
    return found


def constant_of(value: Any, t: Type, e: Expr) -> Expr | None:
    """A value of type `t` as an expression; None if it is not of that type."""
    if isinstance(t, TupleType) and isinstance(value, tuple):
        fields = [constant_of(v, f, e) for v, f in zip(value, t.fields, strict=True)]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return None if None in fields else Tuple(tuple([f for f in fields if f is not None]), span=e.span)
    array = np.asarray(value)
    if not isinstance(t, TensorType) or not isinstance(t.dtype, str):
        return None
    if array.shape != t.shape or array.dtype != to_numpy(t.dtype):
        return None
    return Constant(array, t, span=e.span)
