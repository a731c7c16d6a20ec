"""The transforms of minimal convolutions: patches of data to points, and points to tiles of the result.

A patch of `size + 2` by `size + 2` elements gives `size` by `size` results of a filter of 3 by 3.  Both are
polynomials: their values at some points are multiplied, which takes fewer products than there are taps, and
channels are summed in between.  The points are 0, pairs `p` and `-p`, and infinity; those for tiles of 4 are
where sums in float32 lose least, less than half of what the usual 1 and 2 lose.  Source: Winograd, 1980;
Lavin and Gray, 2015.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from relay.backend.native.kernels.vector_loops import vector_loop
from relay.backend.native.llvm.machine import Machine
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.functions import kernel_function
from relay.backend.native.loops.nodes import ADDRESS, INDEX, Buffer, Function, Index, Value
from relay.backend.native.memory.representation import SIZES, scalar
from relay.ir.dtype import is_float

PAIRS = {2: (1.0,), 4: (5 / 8, 3 / 2)}
"""The points that are positive, by the size of tiles."""
Matrix = Sequence[Sequence[float]]


def data_matrix(size: int) -> Matrix:
    """What a line of a patch is multiplied with; sums and differences of the pairs between the first and the
    last are its values at points.
    """
    whole = product([[-p * p, 0, 1] for p in PAIRS[size]])
    rows = [[*whole, 0]]
    for p in PAIRS[size]:
        others = product([[-q * q, 0, 1] for q in PAIRS[size] if q != p])
        rows += [[0, 0, *others, 0], [0, *[p * c for c in others], 0, 0]]
    return [*rows, [0, *whole]]


def result_matrix(size: int) -> Matrix:
    """What a line of values at points is multiplied with, after sums and differences have been made of those
    pairs.
    """
    rows: list[list[float]] = []
    for i in range(size):
        pairs = [c for p in PAIRS[size] for c in ((0, p**i) if i % 2 else (p**i, 0))]
        rows.append([float(i == 0), *pairs, float(i == size - 1)])
    return rows


def filter_matrix(size: int) -> Matrix:
    """What a line of a filter is multiplied with."""
    rows = [[1 / prod([-p * p for p in PAIRS[size]]), 0, 0]]
    for p in PAIRS[size]:
        by = 1 / (2 * p * p * prod([p * p - q * q for q in PAIRS[size] if q != p]))
        rows += [[by, p * by, p * p * by], [by, -p * by, p * p * by]]
    return [*rows, [0, 0, 1]]


def product(factors: Sequence[Sequence[float]]) -> list[float]:
    """The product of polynomials, as their coefficients."""
    found = np.ones(1)
    for f in factors:
        found = np.convolve(found, f)
    return [float(c) for c in found]


def filter_points(weight: Any, size: int) -> Any:
    """Filters `(3, 3, channels, filters)` as points `((size + 2) ** 2, channels, filters)`, in float64."""
    g = np.asarray(filter_matrix(size))
    both = np.einsum("ia,jb->ijab", g, g).reshape(-1, 9)
    _, _, channels, filters = weight.shape
    flat = weight.reshape(9, channels * filters).astype("float64")
    return (both @ flat).reshape(-1, channels, filters)


PARAMS = (
    ("source", ADDRESS), ("to", ADDRESS), ("shape", ADDRESS), ("first", INDEX), ("tiles", INDEX),
    ("begin", INDEX), ("channels", INDEX),
)  # fmt: skip
"""Where numbers come from and go, `WORDS`, the first tile, counted through all images, and how many, the
first channel and how many.
"""
WORDS = (
    "image", "row", "place", "height", "width", "apart_down", "apart_across", "down", "across", "top", "left",
    "point", "tile",
)  # fmt: skip
"""Bytes from an image, a row and a place of the tensor to the next one; its height and width; how many rows
and places apart those of a tile are; tiles below and beside each other of which no place lies between those
of another; padding before the tensor; bytes from a point, and from a tile of points, to the next one.
"""


@dataclass(frozen=True)
class Transform:
    """A transform of data, or of the result, in float32 or float64; for tiles of 2 in integers, too, of whose
    result each is four times what it stands for, since filters of integers are.
    """

    machine: Machine
    dtype: str
    """Of the points."""
    size: int
    of_data: bool
    tensor: str = ""
    """The dtype of the data or the result, if another: bytes, whose points are int16, or short floats."""

    @property
    def name(self) -> str:
        """The symbol of its code."""
        of = f"{self.tensor}." if self.tensor else ""
        return f"relay.{'patches' if self.of_data else 'tiles'}.{self.size}.{of}{self.dtype}"

    def function(self) -> Function:
        """Its loops."""
        return kernel_function(self.name, PARAMS, lambda b, given: TransformBuilder(b, self, given).build())


class TransformBuilder:
    """The loops of a transform."""

    def __init__(self, b: Builder, how: Transform, given: Sequence[Value]) -> None:
        """`given` are its parameters."""
        self.b, self.how = b, how
        self.lanes = how.machine.lanes(scalar(how.dtype))
        self.tensor = how.tensor or how.dtype
        self.size = SIZES[scalar(self.tensor)]
        self.bytes = self.lanes * self.size
        self.points = how.size + 2
        self.edge = self.points if how.of_data else how.size
        """Elements on a side of what is read or written of the tensor."""
        self.source, self.to, shape, self.first, self.tiles, self.begin, self.channels = given
        words = Buffer(shape, INDEX, (len(WORDS),), "shape")
        self.words = {name: b.read(words, (i,)) for i, name in enumerate(WORDS)}
        self.patch = b.stack(self.edge * self.edge * self.bytes)
        """Elements of a vector of channels, where not all are on the tensor."""

    def build(self) -> None:
        """Tile by tile."""
        self.b.loop(self.tiles, (), lambda i, _: self.tile(i, self.b.plus(self.first, i)))

    def tile(self, i: Index, number: Index) -> None:
        """One tile: all of its channels."""
        b, w = self.b, self.words
        apart = w["apart_down"], w["apart_across"]
        image, *phases, y, x = b.unravelled(number, [0, *apart, w["down"], w["across"]])
        along = zip(phases, apart, (y, x), ("top", "left"), ("height", "width"), strict=True)
        (top, y, height), (left, x, width) = [
            self.begin_of_tile(phase, step, n, (w[before], w[size])) for phase, step, n, before, size in along
        ]
        self.counts = height, width
        self.steps = b.times(apart[0], w["row"]), b.times(apart[1], w["place"])
        tensor = b.address(self.source if self.how.of_data else self.to, b.times(image, w["image"]))
        for n, pitch in ((top, w["row"]), (left, w["place"]), (y, self.steps[0]), (x, self.steps[1])):
            tensor = b.address(tensor, b.times(n, pitch))
        tensor = b.address(tensor, b.times(self.begin, self.size))
        points = b.address(self.to if self.how.of_data else self.source, b.times(i, w["tile"]))
        is_inside = b.both(*self.fits(y, height), *self.fits(x, width))
        rounds = b.quotient(b.plus(self.channels, self.lanes - 1), self.lanes)

        def vector(v: Index, _: object) -> None:
            left = b.minus(self.channels, b.times(v, self.lanes))
            is_whole = b.negation(b.is_less(left, self.lanes))
            count = b.choose(is_whole, self.lanes, left)
            place = b.address(tensor, b.times(v, self.bytes))
            at = b.address(points, b.times(v, self.lanes * SIZES[scalar(self.how.dtype)]))
            is_direct = b.both(is_inside, is_whole)
            here = b.select(is_direct, place, self.patch)
            row = b.choose(is_direct, self.steps[0], self.edge * self.bytes)
            column = b.choose(is_direct, self.steps[1], self.bytes)
            is_apart = b.negation(is_direct)
            if self.how.of_data:
                b.when(is_apart, lambda: self.move_patch((y, x), place, count))
                b.vector(self.lanes, lambda c: self.forward(self.grid(here, row, column, self.points), at, c))
            else:
                b.vector(
                    self.lanes, lambda c: self.backward(at, self.grid(here, row, column, self.how.size), c)
                )
                b.when(is_apart, lambda: self.move_patch((y, x), place, count))

        b.loop(rounds, (), vector)

    def begin_of_tile(
        self, phase: Index, apart: Index, n: Index, along: tuple[Index, Index]
    ) -> tuple[Index, Index, Index]:
        """Where tile `n` of a phase begins along an axis with so much padding and so many elements: the first
        element of those that are `apart`, the number among these, and how many there are.
        """
        b, (before, size) = self.b, along
        first = b.minus(phase, before)
        start = b.rest(b.plus(b.rest(first, apart), apart), apart)
        padding = b.quotient(b.minus(start, first), apart)
        count = b.quotient(b.plus(b.minus(size, start), b.minus(apart, 1)), apart)
        return start, b.minus(b.times(n, self.how.size), padding), count

    def fits(self, at: Index, n: Index) -> list[Value]:
        """Whether an edge of a tile lies on the tensor."""
        b = self.b
        return [b.negation(b.is_less(at, 0)), b.negation(b.is_less(b.minus(n, self.edge), at))]

    def move_patch(self, begin: tuple[Index, Index], place: Value, count: Index) -> None:
        """Move elements between the tensor, as far as they lie on it, and the patch; the others are 0."""
        b, how, (down, across) = self.b, self.how, self.steps

        def one(k: Index, _: object) -> None:
            i, j = b.quotient(k, self.edge), b.rest(k, self.edge)
            patch = Buffer(b.address(self.patch, b.times(k, self.bytes)), self.tensor, (self.lanes,))
            at = b.address(b.address(place, b.times(i, down)), b.times(j, across))
            tensor = Buffer(at, self.tensor, (count,))
            along = zip(begin, (i, j), self.counts, strict=True)
            there = [b.is_within(b.plus(first, n), size) for first, n, size in along]
            if how.of_data:
                b.vector(self.lanes, lambda c: b.write(patch, (c,), b.const(0, self.tensor)))
            source, to = (tensor, patch) if how.of_data else (patch, tensor)
            some = b.choose(b.both(*there), count, 0)
            vector_loop(
                b, how.machine, (self.tensor,), some, lambda c: b.write(to, (c,), b.read(source, (c,)))
            )

        b.loop(self.edge * self.edge, (), one)

    # --- transforms ---

    def grid(self, p: Value, row: Index, column: Index, n: int) -> list[list[Buffer]]:
        """The elements of `n` rows and columns from an address on, each a vector of channels."""
        b, found = self.b, list[list[Buffer]]()
        for _ in range(n):
            at, line = p, list[Buffer]()
            for _ in range(n):
                line.append(Buffer(at, self.tensor, (self.lanes,)))
                at = b.address(at, column)
            found.append(line)
            p = b.address(p, row)
        return found

    def point(self, p: Value, i: int, j: int) -> Buffer:
        """A point, of a vector of channels."""
        n = i * self.points + j
        return Buffer(self.b.address(p, self.b.times(self.words["point"], n)), self.how.dtype, (self.lanes,))

    def forward(self, patch: Sequence[Sequence[Buffer]], to: Value, c: Index) -> None:
        """A patch as points."""
        b = self.b
        lines = [[b.cast(b.read(x, (c,)), self.how.dtype) for x in line] for line in patch]
        half = [self.to_points(line) for line in zip(*lines, strict=True)]
        for i, line in enumerate(zip(*half, strict=True)):
            for j, x in enumerate(self.to_points(line)):
                b.write(self.point(to, i, j), (c,), x)

    def backward(self, p: Value, tile: Sequence[Sequence[Buffer]], c: Index) -> None:
        """Points as a tile of the result."""
        b, n = self.b, self.points
        half = [self.of_points([b.read(self.point(p, i, j), (c,)) for i in range(n)]) for j in range(n)]
        for line, row in zip(zip(*half, strict=True), tile, strict=True):
            for x, element in zip(self.of_points(line), row, strict=True):
                b.write(element, (c,), x if is_float(x.dtype) else b.bits("ashr", x, b.const(2, x)))

    def to_points(self, line: Sequence[Value]) -> list[Value]:
        """A line of a patch, transformed."""
        return self.paired([self.sum(row, line) for row in data_matrix(self.how.size)])

    def of_points(self, line: Sequence[Value]) -> list[Value]:
        """A line of points, transformed back."""
        paired = self.paired(line)
        return [self.sum(row, paired) for row in result_matrix(self.how.size)]

    def paired(self, line: Sequence[Value]) -> list[Value]:
        """Sums and differences in place of the pairs between the first and the last."""
        b, (first, *inner, last) = self.b, line
        pairs = zip(inner[::2], inner[1::2], strict=True)
        found = [op(x, y) for x, y in pairs for op in (b.add, b.subtract)]
        return [first, *found, last]

    def sum(self, factors: Sequence[float], line: Sequence[Value]) -> Value:
        """A sum of numbers, each times a factor."""
        b, total = self.b, None
        terms = [(c, v) for c, v in zip(factors, line, strict=True) if c]
        terms.sort(key=lambda term: abs(term[0]) != 1 or term[0] < 0)
        for c, v in terms:
            if total is None:
                total = v if c == 1 else b.multiply(v, b.const(c, v))
            elif abs(c) == 1:
                total = (b.add if c > 0 else b.subtract)(total, v)
            else:
                total = b.function("fmuladd", v, b.const(c, v), total)
        assert total is not None, "a row of a matrix is not 0"
        return total
