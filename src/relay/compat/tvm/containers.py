"""Containers by the names that scripts call them; each is what Python has."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from relay.compat.tvm.arrays import NDArray, array
from relay.ir.expr import Node, RelayExpr
from relay.ir.type import Type

__all__ = ["Array", "Map", "Object", "ShapeTuple", "String", "convert"]

Array, Map, String = list, dict, str
Object = Node


class ShapeTuple(tuple[int, ...]):
    """A shape."""

    __slots__ = ()


def convert(value: Any) -> Any:
    """What a program takes for an object of Python: containers, texts, numbers and nodes as they are."""
    if isinstance(value, RelayExpr | Type | NDArray | Mapping | list | tuple | str | int | float | None):
        return value  # pyright: ignore[reportUnknownVariableType]
    return array(value) if isinstance(value, np.ndarray | np.generic) else value
