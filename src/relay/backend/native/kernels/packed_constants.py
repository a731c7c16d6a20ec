"""Constants as kernels read them: strips of columns, each as wide as a tile, one after the other."""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from relay.ir.dtype import to_numpy
from relay.ir.expr import Constant
from relay.op.native import WindowProduct


@dataclass(frozen=True)
class Taps:
    """Some elements along an axis: the first, how far each is from the one before it, and how many."""

    first: int
    step: int
    count: int

    @property
    def slice(self) -> slice:
        """They, of an array."""
        return slice(self.first, self.first + self.step * self.count, self.step)


@dataclass(frozen=True)
class Packed:
    """A constant in panels of `width` columns, the last one filled with zeros."""

    weight: Constant
    dtype: str
    width: int
    numbers: str
    """The dtype of the numbers, several of which make up an element if that is of another dtype."""

    def rows(self) -> Any:
        """Its numbers as a stack of matrices: those of the second operand of products."""
        raise AssertionError(f"{type(self).__name__} does not say what its matrices are")

    @property
    def value(self) -> Any:
        """The numbers, matrix after matrix, panel after panel, row after row."""
        return np.ascontiguousarray(self.panels()).reshape(-1)

    def panels(self) -> Any:
        """The numbers as `(matrices, panels, rows, columns)`."""
        rows = self.rows()
        stack, depth, columns = rows.shape
        full, rest = divmod(columns, self.width)
        whole = np.empty((stack, full + (rest > 0), depth, self.width), to_numpy(self.dtype))
        front = rows[:, :, : columns - rest].reshape(stack, depth, full, self.width)
        whole[:, :full] = front.swapaxes(1, 2)
        if rest:
            whole[:, full, :, :rest] = rows[:, :, columns - rest :]
            whole[:, full, :, rest:] = 0
        return whole


@dataclass(frozen=True)
class Panels(Packed):
    """A constant matrix."""

    is_transposed: bool
    """Whether its rows are the columns of the product."""

    def rows(self) -> Any:
        matrix = self.weight.value
        return grouped((matrix.T if self.is_transposed else matrix)[None], self.numbers, self.dtype)


@dataclass(frozen=True)
class Filters(Packed):
    """The filters of a convolution: a matrix for each group, whose rows are taps and their channels."""

    convolution: WindowProduct
    taps: tuple[Taps | None, ...] = ()
    """Those that are wanted along each axis, if not all are."""
    run: int = 0
    """The numbers of the taps of a line, filled up with zeros to as many."""

    def rows(self) -> Any:
        some = tuple([slice(None) if t is None else t.slice for t in self.taps])
        rows = filter_rows(self.weight.value[some], self.convolution)
        if self.run:
            groups, depth, columns = rows.shape
            count = self.weight.value[some].shape[self.convolution.kernel_layout.index("H")]
            lines = rows.reshape(groups, count, depth // count, columns)
            filled = np.pad(lines, ((0, 0), (0, 0), (0, self.run - depth // count), (0, 0)))
            rows = filled.reshape(groups, count * self.run, columns)
        return grouped(rows, self.numbers, self.dtype)


@dataclass(frozen=True)
class MergedFilters(Filters):
    """Filters of small groups: a matrix for each set of neighbouring groups, zeros between these."""

    merged: int = 1
    """How many groups a set has."""

    def rows(self) -> Any:
        rows = super().rows()
        m, taps = self.merged, self.count_of_taps
        several = rows.reshape(-1, m, taps, rows.shape[1] // taps, rows.shape[2])
        sets, _, _, channels, filters = several.shape
        whole = np.zeros((sets, taps, m, channels, m, filters), rows.dtype)
        for i in range(m):
            whole[:, :, i, :, i] = several[:, i]
        return whole.reshape(sets, taps * m * channels, m * filters)

    @property
    def count_of_taps(self) -> int:
        """The taps of a window."""
        c = self.convolution
        sizes = zip(c.kernel_layout, self.weight.value.shape, strict=True)
        return prod([n for letter, n in sizes if letter not in c.channels])


@dataclass(frozen=True)
class FilterPoints(Packed):
    """Filters of 3 by 3 taps as points: a matrix of channels and filters for each.  Those of integers are
    four times the points of tiles of 2, which are halves and quarters.
    """

    order: tuple[int, ...]
    """Where the taps, the channels and the filters are among the axes."""
    size: int
    """That of the tiles."""
    is_reversed: bool
    """Whether the last tap comes first."""

    def rows(self) -> Any:
        from relay.backend.native.kernels.transforms import filter_points

        ordered = self.weight.value.transpose(self.order)
        points = filter_points(ordered[::-1, ::-1] if self.is_reversed else ordered, self.size)
        return points if self.numbers == self.dtype else grouped(4 * points, self.numbers, self.dtype)

    @property
    def value(self) -> Any:
        """The numbers, panel after panel, matrix after matrix, row after row."""
        return np.ascontiguousarray(self.panels().swapaxes(0, 1)).reshape(-1)


def grouped(rows: Any, numbers: str, dtype: str) -> Any:
    """The rows of a stack of matrices as elements of a dtype: numbers, or as many of a column as an element
    has, after the last of which may come zeros.
    """
    if numbers == dtype:
        return rows
    stack, depth, columns = rows.shape
    count = to_numpy(dtype).itemsize // to_numpy(numbers).itemsize
    whole = np.zeros((stack, -(-depth // count), columns, count), to_numpy(numbers))
    for i in range(count):
        part = rows[:, i::count]
        whole[:, : part.shape[1], :, i] = part
    return whole.view(to_numpy(dtype))[..., 0]


def filter_rows(weight: Any, c: WindowProduct) -> Any:
    """A weight as `(groups, taps * channels, filters)`."""
    data, result = (c.kernel_layout.index(letter) for letter in c.channels)
    taps = [i for i in range(weight.ndim) if i not in (data, result)]
    whole = weight.transpose(data, *taps, result)
    first, last = whole.shape[0], whole.shape[-1]
    count = prod(whole.shape[1:-1])
    if c.is_transposed:
        parts = np.moveaxis(whole.reshape(c.groups, first // c.groups, count, last), 1, 2)
    else:
        parts = np.moveaxis(whole.reshape(first, count, c.groups, last // c.groups), (0, 2), (2, 0))
    return parts.reshape(c.groups, parts.shape[1] * parts.shape[2], parts.shape[3])
