"""Shapes as tuples of integers."""

from collections.abc import Iterable
from typing import Any

__all__ = ["get_const_int", "get_const_tuple"]


def get_const_int(expr: Any) -> int:
    """An integer that is known."""
    return int(expr)


def get_const_tuple(in_tuple: Iterable[Any]) -> tuple[Any, ...]:
    """A shape with its integers as those of Python; sizes that are not known stay as they are."""
    return tuple([int(d) if isinstance(d, int) else d for d in in_tuple])
