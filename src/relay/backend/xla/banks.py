"""Rows: tensors of one type that lie together on the device, so that programs find them by their numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import ref

import numpy as np

from relay.backend.xla.host_operators import on_host
from relay.backend.xla.later import Later, RowType

MAX_SPARSE_BYTES = 1 << 24
"""Up to how many bytes a bank has room for up to 8 times the rows that it needs, so that few sizes occur."""

MAX_FIRST_BYTES = 1 << 20
"""Up to how many bytes a bank has room for 512 rows at least."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a bank gets."""

    is_new: bool
    """Whether it becomes another array, with more room."""
    first: int
    """The number of the first of the rows that it gets."""
    arguments: tuple[Any, Any, Any, Any]
    """The array that it was if that had rows, the rows that it keeps, those that it gets, and where."""


class Bank:
    """An array `(capacity, *shape)`, of which the first rows are in use."""

    def __init__(self, of: RowType) -> None:
        """A bank without rows."""
        self.type = of
        self.array: Any = None
        self.capacity = 0
        self.used = 0
        self.values: list[ref[Later]] = []
        """The tensors that have lain in it."""

    def taken(self, count: int) -> int:
        """The number of the first of some rows that are in use from now on."""
        first = self.used
        self.used += count
        return first

    def hold(self, which: ref[Later], row: int) -> None:
        """A tensor, if it is still used, is a row from now on."""
        x = which()
        if x is not None:
            x.bank, x.row, x.record = self, row, None
            self.values.append(which)

    def prepared(self, values: Sequence[Any], count: int) -> Renewal | None:
        """What it gets for some values to lie in it, and for room for some more rows; None for nothing."""
        rows = stacked(values, self.type) if values else None
        total = count + (0 if rows is None else len(rows))
        is_new = self.used + total > self.capacity
        if not is_new and rows is None:
            return None
        old = living = None
        if is_new:
            used = self.living()
            if used:
                old = self.array
                living = np.zeros(power_of_two(len(used)), np.int32)
                living[: len(used)] = [x.row for x in used]
                for i, x in enumerate(used):
                    x.row = i
            self.used = 0 if living is None else len(living)
            self.capacity = capacity_for(2 * self.used + total, self.type)
        first = 0 if rows is None else self.taken(len(rows))
        return Renewal(is_new, first, (old, living, rows, np.int32(first)))

    def row(self, number: int) -> Any:
        """A row on the host, which may be written to; a number of rank 0."""
        return np.array(np.asarray(self.array)[number])[()]

    def living(self) -> list[Later]:
        """The tensors in it that are still used."""
        found = [x for r in self.values if (x := r()) is not None and x.bank is self]
        self.values = [ref(x) for x in found]
        return found


def power_of_two(count: int) -> int:
    """The least power of 2 that is at least a positive number."""
    return 1 << (count - 1).bit_length()


def capacity_for(count: int, of: RowType) -> int:
    """How many rows a bank has that holds some: a power of 8, or one of 2 where that takes much memory."""
    wide = 512 if 512 * of.bytes <= MAX_FIRST_BYTES else 8
    while wide < count:
        wide *= 8
    return wide if wide * of.bytes <= MAX_SPARSE_BYTES else power_of_two(count)


def stacked(values: Sequence[Any], of: RowType) -> Any:
    """Tensors as rows of an array, of which there are a power of 2."""
    rows = np.zeros((power_of_two(len(values)), *of.shape), of.dtype)
    for i, x in enumerate(values):
        rows[i] = on_host(x)
    return rows


def renewal_program(jax: Any, sizes: Sequence[tuple[RowType, int]]) -> Any:
    """The program for banks of some types and capacities that get rows or room: from the arrays of those that
    stay, and the arguments of their renewals, to arrays.
    """

    def call(kept: Sequence[Any], parts: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        for (t, capacity), array, (old, living, rows, at) in zip(sizes, kept, parts, strict=True):
            if array is None:
                array = jax.numpy.zeros((capacity, *t.shape), t.dtype)
            if old is not None:
                array = jax.lax.dynamic_update_slice(array, old[living], [np.int32(0)] * array.ndim)
            if rows is not None:
                start = (at, *[np.int32(0)] * len(t.shape))
                array = jax.lax.dynamic_update_slice(array, rows, start)
            found.append(array)
        return found

    return jax.jit(call, donate_argnums=0)
