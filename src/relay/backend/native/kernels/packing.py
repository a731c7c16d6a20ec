"""Matrices moved to where kernels read them in order: rows copied to another pitch, or written as columns.

Numbers are converted on the way.  Those that tiles multiply as pairs are moved as pairs: int16 numbers, two
neighbours along the summed dimension in an int32, the first of them lower; after an odd number comes a zero.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relay.backend.native.kernels.vector_loops import vector_loop
from relay.backend.native.llvm.machine import Machine
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.functions import kernel_function
from relay.backend.native.loops.nodes import ADDRESS, INDEX, Buffer, Function, Index, Value
from relay.backend.native.memory.representation import scalar

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
class PairPacking(Packing):
    """A way of moving a matrix of small integers as pairs."""

    is_across: bool
    """Whether pairs are neighbours in a column."""

    @property
    def element_dtype(self) -> str:
        return "int32"

    @property
    def name(self) -> str:
        return f"{super().name}.{'across' if self.is_across else 'along'}"

    def function(self) -> Function:
        made = PairsAcross if self.is_across else PairsAlong
        return kernel_function(self.name, PARAMS, lambda b, given: made(b, self, given).build())


class PackingBuilder:
    """The loops that move a matrix, one element of it at a time or a square."""

    def __init__(self, b: Builder, how: Packing, given: Sequence[Value]) -> None:
        """`given` are its parameters."""
        source, source_pitch, to, to_pitch, rows, columns, filled = given
        self.b, self.how = b, how
        self.lanes = how.machine.lanes(scalar(how.element_dtype))
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
        vector_loop(
            b, how.machine, (how.dtype, how.element_dtype), self.columns,
            lambda j: b.write(self.to, (i, j), self.element(i, j)),
        )  # fmt: skip
        self.fill(i, self.columns)

    def fill(self, i: Index, begin: Index) -> None:
        """Zeros in the rest of a row that is written."""
        b, zero = self.b, self.b.const(0, self.how.element_dtype)
        self.each(begin, b.larger(self.filled, begin), lambda j: b.write(self.to, (i, j), zero))

    # --- rows as columns ---

    def transpose(self) -> None:
        """All rows, by squares; what these leave over element by element."""
        b, n = self.b, self.lanes
        rows, columns = (b.times(b.quotient(x, n), n) for x in (self.rows, self.full))
        self.each(0, columns, lambda j: self.each(0, rows, lambda i: self.square(i, j), n), n)
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


class Pairs(PackingBuilder):
    """Elements are pairs."""

    def pair(self, low: Value, high: Value) -> Value:
        """Two numbers as one element."""
        b = self.b
        low = b.bits("and", b.cast(low, "int32"), b.const(0xFFFF, "int32"))
        return b.bits("or", low, b.bits("shl", b.cast(high, "int32"), b.const(16, "int32")))

    def pair_of(self, first: tuple[Index, Index], second: tuple[Index, Index], is_there: Value) -> Value:
        """The numbers at two places of the matrix, the second one 0 if it is not there."""
        b = self.b
        zero = b.const(0, self.how.dtype)
        high = b.where(is_there, lambda: b.read(self.source, second), lambda: zero)
        return self.pair(b.read(self.source, first), high)


class PairsAlong(Pairs):
    """Pairs of neighbours in a row."""

    def __init__(self, b: Builder, how: Packing, given: Sequence[Value]) -> None:
        super().__init__(b, how, given)
        self.count = self.columns
        """Numbers in a row."""
        self.full = b.quotient(self.count, 2)
        self.columns = b.quotient(b.plus(self.count, 1), 2)

    def element(self, i: Index, j: Index) -> Value:
        k = self.b.times(j, 2)
        further = self.b.plus(k, 1)
        return self.pair_of((i, k), (i, further), self.b.is_less(further, self.count))

    def copy_row(self, i: Index) -> None:
        """The numbers of a row side by side."""
        b, how = self.b, self.how
        rows, pitch = self.to.sizes
        numbers = Buffer(self.to.data, how.to, (rows, b.times(pitch, 2)), "to")
        vector_loop(
            b, how.machine, (how.dtype, how.to), b.times(self.full, 2),
            lambda j: b.write(numbers, (i, j), b.cast(b.read(self.source, (i, j)), how.to)),
        )  # fmt: skip
        self.each(self.full, self.columns, lambda j: b.write(self.to, (i, j), self.element(i, j)))
        self.fill(i, self.columns)

    def read_row(self, square: Buffer, k: Index, i: Index, j: Index) -> None:
        b, n = self.b, 2 * self.lanes
        numbers = Buffer(square.data, self.how.to, (self.lanes, n), "square")

        def one(x: Index) -> None:
            number = b.read(self.source, (i, b.plus(b.times(j, 2), x)))
            b.write(numbers, (k, x), b.cast(number, self.how.to))

        b.vector(n, one)


class PairsAcross(Pairs):
    """Pairs of neighbours in a column."""

    def __init__(self, b: Builder, how: Packing, given: Sequence[Value]) -> None:
        super().__init__(b, how, given)
        self.count = self.rows
        """Numbers in a column."""
        self.rows = b.quotient(b.plus(self.count, 1), 2)

    def element(self, i: Index, j: Index) -> Value:
        k = self.b.times(i, 2)
        further = self.b.plus(k, 1)
        return self.pair_of((k, j), (further, j), self.b.is_less(further, self.count))
