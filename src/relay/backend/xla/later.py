"""Tensors that are computed when somebody asks for them."""

from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from relay.backend.xla.banks import Bank
    from relay.backend.xla.records import Record


class RowType:
    """The shape and the dtype of a tensor, which is a row where many of them lie together.

    A machine has one object for each.
    """

    __slots__ = ("bytes", "dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        """Ask `RowTypes` for it."""
        self.shape = shape
        self.dtype = dtype
        self.bytes = prod(shape) * np.dtype(dtype).itemsize


class RowTypes(dict[Any, RowType]):
    """The types of rows that a machine has met, by shape and dtype."""

    def __missing__(self, key: Any) -> RowType:
        return self.setdefault(key, RowType(*key))


class Home(Protocol):
    """Who computes tensors later."""

    def on_host(self, x: "Later") -> Any:
        """Its value, as the interpreter has it."""
        ...


class Later:
    """A tensor that a record computes; then a row of a bank, or what the host has computed for it."""

    __slots__ = ("__weakref__", "bank", "home", "record", "row", "type", "value")

    def __init__(self, of: RowType, home: Home, record: "Record") -> None:
        """`record` computes it, when it is asked for."""
        self.type = of
        self.home = home
        self.record: Record | None = record
        self.bank: Bank | None = None
        self.row = 0
        self.value: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        return self.type.shape

    @property
    def dtype(self) -> Any:
        """The dtype of its elements."""
        return self.type.dtype

    def host(self) -> Any:
        """Its value, as the interpreter has it: an array of NumPy, or a number."""
        return self.home.on_host(self)

    def __bool__(self) -> bool:
        return bool(self.host())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.host(), dtype, copy=copy)
