"""Matrices moved to where kernels read them in order: rows copied to another pitch, or written as columns.

Numbers are converted on the way.  Those that tiles multiply in groups are moved in groups: neighbours along
the summed dimension, two of 16 bits or four of 8 in an int32, the first lowest; after the last come zeros.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from relay.backend.native.kernels.tile import CACHE_LINE_BYTES
from relay.backend.native.kernels.vector_loops import vector_loop
from relay.backend.native.llvm.machine import Machine
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.functions import kernel_function
from relay.backend.native.loops.nodes import ADDRESS, INDEX, Buffer, Function, Index, Value
from relay.backend.native.memory.representation import SIZES, scalar
from relay.ir.dtype import is_integer

FETCHED_LINES, FETCHED_ROWS = 2, 2
"""How many cache lines ahead of what is moved are fetched along a row; or how many rows, where these are long
and end before the next line in memory: processors do not follow rows that are apart.
"""
PARAMS = (
    ("source", ADDRESS), ("source_pitch", INDEX), ("to", ADDRESS), ("to_pitch", INDEX), ("rows", INDEX),
    ("columns", INDEX), ("filled", INDEX),
)  # fmt: skip
"""Where a matrix is and where it goes, elements from a row of each to the next one, its rows and columns, and
up to how many elements the rows that are written have zeros.
"""


@dataclass(frozen=True)
class Packing:
    """A way of moving a matrix: its dtype, that of the numbers written, and whether it is transposed."""

    machine: Machine
    dtype: str
    to: str
    is_transposed: bool

    @property
    def element_dtype(self) -> str:
        """Of the elements that are written."""
        return self.to

    @property
    def name(self) -> str:
        """The symbol of its code."""
        return f"relay.pack.{'transposed' if self.is_transposed else 'rows'}.{self.dtype}.{self.to}"

    def function(self) -> Function:
        """Its loops."""
        return kernel_function(self.name, PARAMS, lambda b, given: PackingBuilder(b, self, given).build())


@dataclass(frozen=True)
class GroupPacking(Packing):
    """A way of moving a matrix of small numbers in groups."""

    is_across: bool
    """Whether those of a group are neighbours in a column."""
    group: int
    """How many they are."""

    @property
    def element_dtype(self) -> str:
        return "int32"

    @property
    def name(self) -> str:
        return f"{super().name}.{'across' if self.is_across else 'along'}"

    def function(self) -> Function:
        made = GroupsAcross if self.is_across else GroupsAlong
        return kernel_function(self.name, PARAMS, lambda b, given: made(b, self, given).build())


class PackingBuilder:
    """The loops that move a matrix, one element of it at a time or a square."""

    fetches: ClassVar[bool] = True
    """Whether the cache is told what is moved later."""

    def __init__(self, b: Builder, how: Packing, given: Sequence[Value]) -> None:
        """`given` are its parameters."""
        source, source_pitch, to, to_pitch, rows, columns, filled = given
        self.b, self.how = b, how
        self.lanes = how.machine.lanes(scalar(how.element_dtype))
        self.size = SIZES[scalar(how.dtype)]
        self.line = CACHE_LINE_BYTES // self.size
        """Numbers in a cache line."""
        self.source = Buffer(source, how.dtype, (rows, source_pitch), "source")
        self.to = Buffer(to, how.element_dtype, (rows, to_pitch), "to")
        self.rows: Index = rows
        self.columns: Index = columns
        self.full: Index = columns
        """Columns whose elements can be read several at a time."""
        self.filled = filled

    def build(self) -> None:
        """All of it."""
        if self.how.is_transposed:
            self.transpose()
        else:
            self.each(0, self.rows, self.copy_row)

    def each(self, begin: Index, end: Index, body: Callable[[Index], None], step: int = 1) -> None:
        """Run `body(i)` for each `step`-th `i` from `begin` to `end`, which is not before it."""
        b = self.b
        count = b.quotient(b.minus(end, begin), step)
        b.loop(count, (), lambda i, _: body(b.plus(begin, b.times(i, step))))

    def element(self, i: Index, j: Index) -> Value:
        """An element of the matrix, converted."""
        return self.b.cast(self.b.read(self.source, (i, j)), self.how.to)

    def copy_row(self, i: Index) -> None:
        """A row as it is."""
        b, how = self.b, self.how
        if self.fetches:
            self.fetch_row(i)
        vector_loop(
            b, how.machine, (how.dtype, how.element_dtype), self.columns,
            lambda j: b.write(self.to, (i, j), self.element(i, j)),
        )  # fmt: skip
        self.fill(i, self.columns)

    def fetch_row(self, i: Index) -> None:
        """Fetch what is copied later: of the same row, if that is moved a line at a time, else of another."""
        b, n = self.b, self.line
        is_short = b.is_less(self.columns, n + 1)
        row = b.plus(i, b.choose(is_short, 0, FETCHED_ROWS))
        first = b.choose(is_short, FETCHED_LINES * n, 0)
        lines = b.quotient(b.plus(self.columns, n - 1), n)
        b.loop(lines, (), lambda k, _: self.fetch(row, b.plus(first, b.times(k, n))))

    def fetch(self, i: Index, j: Index) -> None:
        """Have the cache fetch the line of a number."""
        b = self.b
        place = b.plus(b.times(i, self.source.sizes[1]), j)
        b.prefetch(b.address(self.source.data, b.times(place, self.size)), level=3)

    def fill(self, i: Index, begin: Index) -> None:
        """Zeros in the rest of a row that is written."""
        b, zero = self.b, self.b.const(0, self.how.element_dtype)
        self.each(begin, b.larger(self.filled, begin), lambda j: b.write(self.to, (i, j), zero))

    # --- rows as columns ---

    def transpose(self) -> None:
        """All rows, by blocks that have whole cache lines; what squares leave over element by element."""
        b, n = self.b, self.lanes
        rows, columns = (b.times(b.quotient(x, n), n) for x in (self.rows, self.full))
        side = max(n, self.line)

        def block(top: Index, left: Index) -> None:
            if self.fetches:
                later = b.plus(left, FETCHED_LINES * self.line)
                b.unrolled(side, lambda i: self.fetch(b.plus(top, i), later))
            bottom, right = b.smaller(b.plus(top, side), rows), b.smaller(b.plus(left, side), columns)
            self.each(top, bottom, lambda i: self.each(left, right, lambda j: self.square(i, j), n), n)

        down, across = (b.times(b.quotient(b.plus(x, side - 1), side), side) for x in (rows, columns))
        self.each(0, down, lambda i: self.each(0, across, lambda j: block(i, j), side), side)
        self.each(0, columns, lambda j: self.each(rows, self.rows, lambda i: self.one(i, j)))
        self.each(columns, self.columns, lambda j: self.each(0, self.rows, lambda i: self.one(i, j)))
        self.each(0, self.columns, lambda j: self.fill(j, self.rows))

    def one(self, i: Index, j: Index) -> None:
        """One element to its place."""
        self.b.write(self.to, (j, i), self.element(i, j))

    def square(self, i: Index, j: Index) -> None:
        """A square of elements to its place."""
        b, n = self.b, self.lanes
        square = b.registers(self.how.element_dtype, (n, n), "square")

        def written(k: Index) -> None:
            row = b.plus(j, k)
            b.vector(n, lambda x: b.write(self.to, (row, b.plus(i, x)), b.read(square, (k, x))))

        b.unrolled(n, lambda k: self.read_row(square, k, b.plus(i, k), j))
        b.transpose(square)
        b.unrolled(n, written)

    def read_row(self, square: Buffer, k: Index, i: Index, j: Index) -> None:
        """Read row `k` of a square: elements of row `i` of the matrix, from column `j` on."""
        b = self.b
        b.vector(self.lanes, lambda x: b.write(square, (k, x), self.element(i, b.plus(j, x))))


class Groups(PackingBuilder):
    """Elements are groups of numbers."""

    fetches = False

    def __init__(self, b: Builder, how: GroupPacking, given: Sequence[Value]) -> None:
        super().__init__(b, how, given)
        self.group = how.group

    def joined(self, numbers: Sequence[Value]) -> Value:
        """Numbers as one element."""
        b = self.b
        bits = 32 // self.group
        mask, found = b.const((1 << bits) - 1, "int32"), None
        for i, x in enumerate(numbers):
            whole = b.cast(self.as_integer(b.cast(x, self.how.to)), "int32")
            part = b.bits("and", whole, mask) if i + 1 < self.group else whole
            moved = b.bits("shl", part, b.const(i * bits, "int32")) if i else part
            found = moved if found is None else b.bits("or", found, moved)
        assert found is not None
        return found

    def as_integer(self, x: Value) -> Value:
        """A number's bits."""
        return x if is_integer(x.dtype) else self.b.reinterpret(x, "int16")

    def joined_at(self, places: Sequence[tuple[Index, Index]], are_there: Sequence[Value]) -> Value:
        """The numbers at some places of the matrix, those after the first 0 if they are not there."""
        b, zero = self.b, self.b.const(0, self.how.dtype)
        first, *others = places
        more = [
            b.where(c, lambda p=p: b.read(self.source, p), lambda: zero)
            for c, p in zip(are_there, others, strict=True)
        ]
        return self.joined([b.read(self.source, first), *more])

    def further(self, k: Index) -> tuple[list[Index], list[Value]]:
        """The numbers along the summed dimension that follow number `k` in its group, and whether they are
        there.
        """
        b = self.b
        others = [b.plus(k, i) for i in range(1, self.group)]
        return others, [b.is_less(i, self.count) for i in others]

    count: Index
    """Numbers along the summed dimension."""


class GroupsAlong(Groups):
    """Groups of neighbours in a row."""

    def __init__(self, b: Builder, how: GroupPacking, given: Sequence[Value]) -> None:
        super().__init__(b, how, given)
        self.count = self.columns
        self.full = b.quotient(self.count, self.group)
        self.columns = b.quotient(b.plus(self.count, self.group - 1), self.group)

    def element(self, i: Index, j: Index) -> Value:
        k = self.b.times(j, self.group)
        others, are_there = self.further(k)
        return self.joined_at([(i, k), *[(i, x) for x in others]], are_there)

    def copy_row(self, i: Index) -> None:
        """The numbers of a row side by side."""
        b, how = self.b, self.how
        rows, pitch = self.to.sizes
        numbers = Buffer(self.to.data, how.to, (rows, b.times(pitch, self.group)), "to")
        vector_loop(
            b, how.machine, (how.dtype, how.to), b.times(self.full, self.group),
            lambda j: b.write(numbers, (i, j), b.cast(b.read(self.source, (i, j)), how.to)),
        )  # fmt: skip
        self.each(self.full, self.columns, lambda j: b.write(self.to, (i, j), self.element(i, j)))
        self.fill(i, self.columns)

    def read_row(self, square: Buffer, k: Index, i: Index, j: Index) -> None:
        b, n = self.b, self.group * self.lanes
        numbers = Buffer(square.data, self.how.to, (self.lanes, n), "square")

        def one(x: Index) -> None:
            number = b.read(self.source, (i, b.plus(b.times(j, self.group), x)))
            b.write(numbers, (k, x), b.cast(number, self.how.to))

        b.vector(n, one)


class GroupsAcross(Groups):
    """Groups of neighbours in a column."""

    def __init__(self, b: Builder, how: GroupPacking, given: Sequence[Value]) -> None:
        super().__init__(b, how, given)
        self.count = self.rows
        self.rows = b.quotient(b.plus(self.count, self.group - 1), self.group)

    def element(self, i: Index, j: Index) -> Value:
        k = self.b.times(i, self.group)
        others, are_there = self.further(k)
        return self.joined_at([(k, j), *[(x, j) for x in others]], are_there)
