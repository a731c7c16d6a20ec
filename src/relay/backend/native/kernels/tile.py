"""The innermost part of a matrix product: a tile of the result in registers.

A tile has `rows` rows of `width` vectors.  For each element of the summed dimension it reads a row of vectors
of the second operand, and one element a row of the first, and adds their products to its sums.  A low tile
has several sets of sums, so that one addition need not wait for the other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relay.backend.native.kernels.inner_steps import InnerStep
from relay.backend.native.llvm.machine import Machine
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.functions import kernel_function
from relay.backend.native.loops.nodes import ADDRESS, INDEX, Buffer, Function, Index, Value
from relay.backend.native.memory.representation import SIZES, scalar

MIN_CHAINS = 8
"""Sums that keep the multipliers busy: two a cycle, of four cycles each."""
CACHE_LINE_BYTES = 64
"""Bytes of a cache line."""
PREFETCHED_BYTES = 4096
"""Bytes ahead of what is read that a low tile fetches."""
PACKED_PITCH = 208
"""Elements between two rows of the first operand: rows begin in different sets of the cache."""
MAX_TILE_DEPTH = 192
"""The most of the summed dimension that a tile goes through, which its rows have room for."""
PARAMS = (
    ("first", ADDRESS), ("second", ADDRESS), ("pitch", INDEX), ("depth", INDEX), ("out", ADDRESS),
    ("out_pitch", INDEX), ("adds", "bool"), ("ahead", ADDRESS),
)  # fmt: skip
"""Both operands, elements from a row of the second to the next one, the elements of the summed dimension, the
result, numbers from a row of that to the next one, whether sums are added to what is there, and where what
comes next is, of which a cache line is fetched for each element.
"""
COLUMNS = (("columns", INDEX),)
"""How many columns there are; there may be more than the tile has."""
OPEN_PITCH = (("first_pitch", INDEX),)
"""Elements from a row of the first operand to the next one."""
RUNS = (("run", INDEX), ("gap", INDEX))
"""Elements of a run, and between two."""


@dataclass(frozen=True)
class Tile:
    """The schedule of a tile, which multiplies and adds in steps of a machine."""

    machine: Machine
    step: InnerStep
    rows: int
    width: int
    is_packed: bool = True
    """Whether rows of the first operand are `pitch` elements apart; else as far as a call says."""
    pitch: int = PACKED_PITCH
    has_runs: bool = False
    """Whether rows of the first operand are runs of elements with gaps between them; a call says how long."""
    is_full: bool = True
    """Whether the result has all of its columns; else a call says how many there are."""
    sets: int = 1
    """How many sets of sums there are, which are added up at the end."""
    reads_part: bool = False
    """Whether rows of the second operand have no more columns than the result has."""

    @property
    def name(self) -> str:
        """The symbol of its code."""
        how = f".runs.{self.pitch}" if self.has_runs else "" if self.is_packed else ".open"
        sets = "" if self.sets == 1 else f"x{self.sets}"
        part = "" if self.is_full else ".cut" if self.reads_part else ".part"
        return f"relay.tile.{self.step.name}.{self.rows}x{self.width}{sets}{how}{part}"

    @property
    def dtype(self) -> str:
        """That of the sums."""
        return self.step.dtype

    @property
    def lanes(self) -> int:
        """Numbers in a vector."""
        return self.machine.lanes(scalar(self.dtype))

    @property
    def columns(self) -> int:
        """Numbers in a row."""
        return self.width * self.lanes

    def function(self) -> Function:
        """Its loops."""
        rows = RUNS if self.has_runs else () if self.is_packed else OPEN_PITCH
        params = [*PARAMS, *rows, *(() if self.is_full else COLUMNS)]
        return kernel_function(self.name, params, lambda b, given: TileBuilder(b, self, given).build())


def sets_for(rows: int, width: int) -> int:
    """How many sets of sums the tiles of so many rows have in a block whose widest are so many vectors.

    Narrower tiles at the end of the rows have as many, so that all numbers of a row are summed in one order.
    """
    return max(1, MIN_CHAINS // (rows * width))


class TileBuilder:
    """The loops of a tile."""

    def __init__(self, b: Builder, tile: Tile, given: Sequence[Value]) -> None:
        """`given` are its parameters."""
        self.b, self.tile, self.step = b, tile, tile.step
        first, self.second, self.pitch, self.depth, out, out_pitch, self.adds, self.ahead, *self.more = given
        dtype = tile.dtype
        self.size = SIZES[scalar(dtype)]
        self.out = Buffer(out, dtype, (tile.rows, out_pitch), "out")
        self.sums = b.registers(dtype, (tile.sets, tile.rows, tile.columns), "sums")
        self.factors = b.registers(self.step.factor_dtype, (self.step.factor_count, tile.columns), "factors")
        self.starts = b.registers(ADDRESS, (tile.rows,), "rows")
        self.find_rows(first)

    def find_rows(self, first: Value) -> None:
        """Where the rows of the first operand begin.

        LLVM is not told how those lie that are not packed: it would add their pitch up from row to row, again
        and again, instead of keeping addresses.
        """
        b, tile = self.b, self.tile
        is_known = tile.is_packed or tile.has_runs
        pitch = tile.pitch if is_known else self.more[0]

        def row(r: Index) -> None:
            start = b.address(first, b.times(b.times(r, pitch), self.step.first_size))
            b.write(self.starts, (r,), start if is_known else b.apply("opaque", ADDRESS, start))

        b.unrolled(tile.rows, row)

    def each(self, body: Callable[[Index, Index], None]) -> None:
        """Run `body(row, column)` for the numbers of the tile, in vectors."""
        tile = self.tile
        self.b.unrolled(tile.rows, lambda r: self.vectors(lambda j: body(r, j)))

    def vectors(self, body: Callable[[Index], None], count: Index | None = None) -> None:
        """Run `body(column)` for the columns of the tile, or the first `count` of them."""
        n = self.tile.columns if count is None else count
        self.b.vector_loop(n, self.tile.lanes, body, vectors=self.tile.width, is_whole=count is None)

    def build(self) -> None:
        """All of it."""
        b, tile, zero = self.b, self.tile, self.b.const(0, self.tile.dtype)
        self.fetch_results()
        b.unrolled(tile.sets, lambda s: self.each(lambda r, j: b.write(self.sums, (s, r, j), zero)))
        if tile.has_runs:
            self.add_runs(*self.more[:2])
        elif tile.sets == 1:
            self.add_all([0] * tile.step.unrolled)
        else:
            self.add_all(range(tile.sets))
        self.write_results()

    # --- sums ---

    def add_all(self, sets: Sequence[int]) -> None:
        """Add all products, in each round one to the sums of each of these sets; those left to the first."""
        b = self.b
        rounds = b.quotient(self.depth, len(sets))
        row = self.add_products(rounds, sets, 0, self.second)
        self.add_sets()
        if len(sets) > 1:
            done = b.times(rounds, len(sets))
            self.add_products(b.minus(self.depth, done), [0], done, row)

    def add_products(
        self, rounds: Index, sets: Sequence[int], begin: Index, second: Value, passed: Index = 0
    ) -> Value:
        """Add a product to each sum of some sets in each round, from an element of the rows of the first
        operand on; `second` is the first row of the other, of which as many have `passed`.  Where the next
        row is.
        """
        b = self.b

        def one_round(i: Index, carried: list[Value]) -> list[Value]:
            (row,) = carried
            self.fetch(b.plus(passed, i), row)
            k = b.plus(begin, b.times(i, len(sets)))
            for j, s in enumerate(sets):
                self.add_product(s, b.plus(k, j), row)
                row = b.address(row, b.times(self.pitch, self.step.second_size))
            return [row]

        (row,) = b.loop(rounds, [second], one_round)
        return row

    def add_runs(self, run: Index, gap: Index) -> None:
        """Add the products of all runs."""
        b = self.b
        apart = b.plus(run, gap)

        def one_run(i: Index, carried: list[Value]) -> list[Value]:
            return [self.add_products(run, [0], b.times(i, apart), carried[0], b.times(i, run))]

        b.loop(b.quotient(self.depth, run), [self.second], one_run)

    def add_product(self, s: int, k: Index, row: Value) -> None:
        """Add a product to each sum of a set: element `k` of the rows of the first operand, and a row."""
        b, step = self.b, self.step
        second = Buffer(row, step.second_element, (self.tile.columns,))

        def column(j: Index) -> None:
            for f, factor in enumerate(step.factors(b, b.read(second, (j,)))):
                b.write(self.factors, (f, j), factor)

        def rows(r: Index) -> None:
            first = Buffer(b.read(self.starts, (r,)), step.first_element, (self.depth,))
            factors = step.factors(b, b.read(first, (k,)))

            def add(j: Index) -> None:
                total: Value = b.read(self.sums, (s, r, j))
                for f, factor in enumerate(factors):
                    total = step.multiply_add(b, total, factor, b.read(self.factors, (f, j)))
                b.write(self.sums, (s, r, j), total)

            self.vectors(add)

        self.vectors(column, self.there if self.tile.reads_part else None)
        b.unrolled(self.tile.rows, rows)

    def add_sets(self) -> None:
        """Add up all sets: the first half and the second, again and again."""
        b, sums, half = self.b, self.sums, self.tile.sets // 2
        while half:

            def add(s: Index, r: Index, j: Index, half: int = half) -> None:
                x, y = b.read(sums, (s, r, j)), b.read(sums, (b.plus(s, half), r, j))
                b.write(sums, (s, r, j), b.add(x, y))

            b.unrolled(half, lambda s, add=add: self.each(lambda r, j: add(s, r, j)))
            half //= 2

    # --- what is fetched ahead ---

    def fetch(self, i: Index, row: Value) -> None:
        """Fetch what is needed later: of the same panel if there is hardly a computation to wait for, else
        of the next one.
        """
        b = self.b
        if self.tile.sets > 1:
            for j in range(self.tile.width * self.tile.sets):
                b.prefetch(b.address(row, PREFETCHED_BYTES + j * CACHE_LINE_BYTES), level=3)
        else:
            b.prefetch(b.address(self.ahead, b.times(i, CACHE_LINE_BYTES)), level=2)

    def fetch_results(self) -> None:
        """Fetch the lines that the result is in."""
        b, data, pitch = self.b, self.out.data, self.out.sizes[1]

        def row(r: Index) -> None:
            start = b.address(data, b.times(b.times(r, pitch), self.size))
            for j in range(self.tile.width):
                b.prefetch(b.address(start, j * self.tile.machine.vector), level=3)

        b.unrolled(self.tile.rows, row)

    # --- results ---

    @property
    def there(self) -> Index:
        """How many columns there are, of a tile that need not have all."""
        return self.b.smaller(self.more[-1], self.tile.columns)

    def write_results(self) -> None:
        """Write the sums: as many columns as there are."""
        b, tile = self.b, self.tile
        if tile.is_full:
            self.write_columns(None)
            return
        count = self.there
        if tile.machine.has_masks:
            self.write_columns(count)
            return
        is_part = b.is_less(self.more[-1], tile.columns)
        b.when(is_part, lambda: self.write_columns(count), lambda: self.write_columns(None))

    def write_columns(self, count: Index | None) -> None:
        """Write the sums of all columns, or of the first `count`; added to what is there if that is asked."""
        b = self.b

        def write(r: Index, j: Index) -> None:
            b.write(self.out, (r, j), b.read(self.sums, (0, r, j)))

        def add(r: Index, j: Index) -> None:
            b.write(self.out, (r, j), b.add(b.read(self.sums, (0, r, j)), b.read(self.out, (r, j))))

        def each(body: Callable[[Index, Index], None]) -> None:
            b.unrolled(self.tile.rows, lambda r: self.vectors(lambda j: body(r, j), count))

        b.when(self.adds, lambda: each(add), lambda: each(write))
