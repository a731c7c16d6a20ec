"""Operators as the host applies them, to arrays wherever these lie."""

from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from relay.backend.xla.later import Later
from relay.interpreter.value import is_tensor, is_tuple
from relay.op.arrays import unboxed

HOST_ELEMENTS = 64
"""Up to how many elements the host computes with itself: counters, conditions and shapes."""


class HostOperator:
    """An operator that NumPy computes, wherever its operands are."""

    __slots__ = ("decides", "function", "has_form", "is_small", "op")

    def __init__(
        self,
        op: Any,
        function: Callable[..., Any],
        *,
        is_small: bool = False,
        decides: bool = False,
        has_form: bool = True,
    ) -> None:
        """`function` computes the operator `op` on values of the interpreter.  Its result `is_small` if it
        has few elements by its type, and `decides` if these are integers or truth values; it `has_form` if
        XLA may compute it.
        """
        self.op = op
        self.function = function
        self.is_small = is_small
        self.decides = decides
        self.has_form = has_form

    def __call__(self, *operands: Any) -> Any:
        return self.function(*map(on_host, operands))


def on_host(x: Any) -> Any:
    """A tensor, or a tuple of such, as NumPy has it; other values as they are."""
    if is_tensor(x):
        return x
    if is_tuple(x):
        return tuple(map(on_host, x))
    if isinstance(x, Later):
        return x.host()
    return unboxed(np.asarray(x)) if is_on_device(x) else x


def is_on_device(x: Any) -> bool:
    """Whether a value is an array of JAX."""
    return hasattr(x, "is_deleted")


class Kind(Enum):
    """What a value is to a segment."""

    SMALL = "few numbers, which the host computes with"
    HOST = "numbers that the host has"
    LARGE = "tensors"
    OTHER = "not tensors alone"

    __hash__ = object.__hash__  # of what there is one, and in a tenth of the time


def kind_of_value(x: Any) -> Kind:
    """What a value is to a segment."""
    if is_tensor(x):
        return Kind.SMALL if x.size <= HOST_ELEMENTS else Kind.HOST
    if isinstance(x, Later):
        return Kind.LARGE
    if is_tuple(x):
        kinds = set(map(kind_of_value, x))
        return next((k for k in (Kind.OTHER, Kind.LARGE, Kind.HOST) if k in kinds), Kind.SMALL)
    if isinstance(x, str):
        return Kind.SMALL
    return Kind.LARGE if is_on_device(x) else Kind.OTHER
