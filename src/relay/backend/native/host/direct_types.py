"""Types whose values compiled definitions read from Python's objects and make as such."""

from typing import Any

from relay.backend.native.memory.tensors import SUBBYTE_STORAGE
from relay.ir.dtype import FLOATS, to_numpy
from relay.ir.type import ANY, TensorType, TupleType, Type, TypeVar

SHORT_FLOATS = frozenset(FLOATS) - {"float32", "float64"}
MAX_PARTS = 64
"""How many values a result consists of at most that is made directly: the code grows with them."""


def is_direct(t: Type | None) -> bool:
    """Whether values of a type are read and written: numbers that Python has, and arrays."""
    if not isinstance(t, TensorType) or not isinstance(t.dtype, str) or t.dtype == "string":
        return False
    is_short = t.shape == () and t.dtype in SHORT_FLOATS
    return isinstance(t.shape, tuple) and not is_short and to_numpy(t.dtype) not in SUBBYTE_STORAGE


def is_returned(t: Type | None) -> bool:
    """Return whether a result is made directly: an array, a number, or a tuple of these and of tuples."""
    if isinstance(t, TupleType):
        parts = parts_of(t)
        return len(parts) <= MAX_PARTS and all(isinstance(p, TupleType) or is_direct(p) for p in parts)
    return is_direct(t)


def parts_of(t: TupleType) -> list[Type]:
    """The types of what a tuple consists of, tuples inside of it too, up to one more than `MAX_PARTS`."""
    found: list[Type] = []
    pending = [*t.fields]
    while pending and len(found) <= MAX_PARTS:
        part = pending.pop()
        found.append(part)
        pending += part.fields if isinstance(part, TupleType) else ()
    return found


def is_readable(t: Type | None) -> bool:
    """Whether the sizes of an array are known, or have names of their own."""
    return isinstance(t, TensorType) and all(isinstance(d, int | TypeVar) or d is ANY for d in static_dims(t))


def static_dims(t: TensorType) -> tuple[Any, ...]:
    """The dimensions of a type of known rank."""
    assert isinstance(t.shape, tuple)
    return t.shape


def is_array(t: Type | None) -> bool:
    """Whether values of a type are arrays."""
    return isinstance(t, TensorType) and t.shape != ()
