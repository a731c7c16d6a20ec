"""Products of a row and the rows of a matrix that are read as they are kept: in float32, in 16 or 8 bits, or
in blocks.

A matrix of weights is read once, and its numbers are decoded in registers.  Several rows of it are gone
through at once, each with a vector of sums of its own, which are added up in the end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relay.backend.native.kernels.decoding import BlockReader
from relay.backend.native.kernels.group_weights import ROW_PARAMS, GroupReader, Groups, Kept, form_of
from relay.backend.native.kernels.tile import CACHE_LINE_BYTES
from relay.backend.native.llvm.machine import Machine
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.functions import kernel_function
from relay.backend.native.loops.nodes import ADDRESS, INDEX, Buffer, Function, Index, Value
from relay.backend.native.memory.representation import SIZES, scalar
from relay.op.blocks.formats import BlockFormat

PARAMS = (
    ("first", ADDRESS), ("second", ADDRESS), ("pitch", INDEX), ("depth", INDEX), ("count", INDEX),
    ("out", ADDRESS),
)  # fmt: skip
"""The row, as float32; the first row of the matrix, the bytes from there to the next one, the numbers of a
row, how many rows of the matrix there are, which may be fewer than those at once, and where products go.
Kernels of groups take where their scales and zero points are besides.
"""
SHORT_ROW_BYTES = 2560
"""Bytes of rows that a processor does not follow by itself, several of them in a page: what comes after them
is fetched ahead.  It follows longer ones, and loses time by what it is told (Zen 3).
"""
ONE_SCALE = 32
"""Numbers of blocks that have one scale; larger ones have one for each run."""


@dataclass(frozen=True)
class RowProduct:
    """The schedule of such products, of a matrix of a dtype, in blocks of a format, or in groups."""

    machine: Machine
    kept: Kept

    @property
    def name(self) -> str:
        """The symbol of its code."""
        return f"relay.rows.{self.kept}"

    @property
    def lanes(self) -> int:
        """Sums in a vector."""
        lanes, form = self.machine.lanes("float"), form_of(self.kept)
        return lanes if form is None else min(lanes, form.run)

    @property
    def rows(self) -> int:
        """Rows of the matrix that are gone through at once, as many as there are sums in a vector."""
        return self.lanes

    def function(self) -> Function:
        """Its loops."""
        params = params_of(self.kept)
        return kernel_function(self.name, params, lambda b, given: RowProductBuilder(b, self, given).build())


def params_of(kept: Kept) -> tuple[tuple[str, str], ...]:
    """The parameters of kernels for a matrix."""
    return (*PARAMS, *ROW_PARAMS) if isinstance(kept, Groups) else PARAMS


def row_bytes(b: Builder, kept: Kept, depth: Index) -> Index:
    """The bytes of a row of so many numbers."""
    form = form_of(kept)
    if form is None:
        return b.times(depth, SIZES[scalar(str(kept))])
    return b.times(b.quotient(depth, form.size), form.bytes)


class RowProductBuilder:
    """The loops of such products."""

    def __init__(self, b: Builder, how: Any, given: Sequence[Value]) -> None:
        """`given` are its parameters."""
        first, self.second, self.pitch, self.depth, self.count, out, *self.beside = given
        self.b, self.how, self.rows = b, how, how.rows
        self.first = Buffer(first, "float32", (self.depth,), "first")
        self.out = Buffer(out, "float32", (self.count,), "out")
        self.form = form_of(how.kept)
        self.lanes = how.lanes
        self.sums = b.registers("float32", (self.rows, self.lanes), "sums")
        self.starts = b.registers(ADDRESS, (self.rows,), "rows")
        self.last = b.minus(self.count, 1)
        b.unrolled(self.rows, lambda r: b.write(self.starts, (r,), self.row(r, self.second, self.pitch)))

    def row(self, r: Index, first: Value, pitch: Index) -> Value:
        """Where row `r` begins; beyond the last one, where that does."""
        b = self.b
        return b.address(first, b.times(b.smaller(r, self.last), pitch))

    def build(self) -> None:
        """All of it."""
        b = self.b
        self.clear()
        if self.form is None:
            whole = b.quotient(self.depth, self.lanes)
            b.loop(whole, (), lambda i, _: self.numbers(i))
            self.write(b.times(whole, self.lanes))
        else:
            b.loop(b.quotient(self.depth, self.form.size), (), lambda i, _: self.blocks(i))
            self.write(self.depth)

    def clear(self) -> None:
        """Sums of 0."""
        b = self.b
        zero = b.const(0, "float32")
        b.unrolled(self.rows, lambda r: self.along(lambda x: b.write(self.sums, (r, x), zero)))

    def along(self, body: Callable[[Index], None]) -> None:
        """Run `body(x)` for the lanes of a vector."""
        self.b.vector(self.lanes, body)

    def add(self, r: Index, x: Index, factor: Value, other: Value) -> None:
        """Add a product to the sums of a row."""
        b = self.b
        total = b.read(self.sums, (r, x))
        b.write(self.sums, (r, x), b.function("fmuladd", factor, other, total))

    # --- numbers of a dtype ---

    def numbers(self, i: Index) -> None:
        """A vector of each row."""
        b, kept = self.b, self.how.kept
        k = b.times(i, self.lanes)
        self.fetch_short(i, self.rows * self.lanes * SIZES[scalar(kept)])
        factor = b.registers("float32", (1, self.lanes), "factor")
        self.along(lambda x: b.write(factor, (0, x), b.read(self.first, (b.plus(k, x),))))

        def row(r: Index) -> None:
            start = Buffer(b.read(self.starts, (r,)), kept, (self.depth,), "row")

            def step(x: Index) -> None:
                number = b.cast(b.read(start, (b.plus(k, x),)), "float32")
                self.add(r, x, b.read(factor, (0, x)), number)

            self.along(step)

        b.unrolled(self.rows, row)

    def rest(self, k: Index, totals: Buffer) -> None:
        """The numbers from `k` on, which fill no vector."""
        b, kept = self.b, self.how.kept

        def one(i: Index, _: object) -> None:
            at = b.plus(k, i)
            x = b.read(self.first, (at,))

            def row(r: Index) -> None:
                number = b.cast(
                    b.read(Buffer(b.read(self.starts, (r,)), kept, (self.depth,)), (at,)), "float32"
                )
                b.write(totals, (r,), b.function("fmuladd", x, number, b.read(totals, (r,))))

            b.unrolled(self.rows, row)

        b.loop(b.minus(self.depth, k), (), one)

    # --- blocks ---

    def blocks(self, i: Index) -> None:
        """A block of each row, in parts that have one scale."""
        b, form = self.b, self.form
        assert form is not None
        offset = b.times(i, form.bytes)
        self.fetch(i, self.rows * form.bytes)
        runs = range(form.size // form.run)
        for several in [runs] if form.size <= ONE_SCALE else [(q,) for q in runs]:
            self.part(form, several, i, offset)

    def part(self, form: BlockFormat, runs: Sequence[int], i: Index, offset: Index) -> None:
        """Runs that have one scale, of block `i` of each row."""
        b, lanes, q = self.b, self.lanes, runs[0]
        first = b.times(i, form.size)
        vectors = [(r, at) for r in runs for at in range(0, form.run, lanes)]
        factors = b.registers("float32", (len(vectors), lanes), "factors")
        whole = b.registers("float32", (1, lanes), "whole")
        inner = b.registers("float32", (1, lanes), "inner")

        def read(x: Index) -> None:
            found: list[Value] = []
            for v, (r, at) in enumerate(vectors):
                found.append(b.read(self.first, (b.plus(b.plus(first, r * form.run + at), x),)))
                b.write(factors, (v, x), found[-1])
            if form.zero or form.minimum is not None:
                b.write(whole, (0, x), sum_of(b, found))

        self.along(read)

        def row(r: Index) -> None:
            a = self.reader(form, r, i, offset)
            scale = form.scale(a, q).x
            least = None if form.minimum is None else form.minimum(a, q).x
            zero = b.const(-form.zero, "float32")

            def step(x: Index) -> None:
                total: Value | None = b.multiply(b.read(whole, (0, x)), zero) if form.zero else None
                for v, (run, at) in enumerate(vectors):
                    number, factor = a.number(run, b.plus(at, x)), b.read(factors, (v, x))
                    if total is None:
                        total = b.multiply(number, factor)
                    else:
                        total = b.function("fmuladd", number, factor, total)
                assert total is not None
                b.write(inner, (0, x), total)
                self.add(r, x, scale, b.read(inner, (0, x)))
                if least is not None:
                    self.add(r, x, least, b.read(whole, (0, x)))

            self.along(step)

        b.unrolled(self.rows, row)

    def reader(self, form: BlockFormat, r: Index, i: Index, offset: Index) -> BlockReader:
        """Block `i` of a row, which begins so many bytes behind it."""
        b, at = self.b, self.b.address(self.b.read(self.starts, (r,)), offset)
        if not isinstance(self.how.kept, Groups):
            return BlockReader(b, at, form)
        scales, scale_pitch, zeros, zero_pitch = self.beside
        beside = self.row(r, scales, scale_pitch), self.row(r, zeros, zero_pitch)
        return GroupReader(b, at, self.how.kept, i, *beside)

    def fetch(self, i: Index, size: int) -> None:
        """Have the cache fetch a share of the rows that come after these, so many bytes: a processor does not
        follow several rows in a page by itself.
        """
        b = self.b
        self.fetch_lines(b.plus(b.times(self.pitch, self.rows), b.times(i, size)), size)
        if isinstance(self.how.kept, Groups):
            scales, pitch = self.beside[:2]
            share = b.quotient(b.times(i, 4 * self.rows), self.how.kept.group // self.how.kept.size)
            b.prefetch(b.address(scales, b.plus(b.times(pitch, self.rows), share)), level=3)

    def fetch_short(self, i: Index, size: int) -> None:
        """Fetch what comes next of short rows; of others what is there already."""
        b = self.b
        is_short = b.is_less(self.pitch, SHORT_ROW_BYTES)
        ahead, step = b.choose(is_short, b.times(self.pitch, self.rows), 0), b.choose(is_short, size, 0)
        self.fetch_lines(b.plus(ahead, b.times(i, step)), size)

    def fetch_lines(self, ahead: Index, size: int) -> None:
        """Have the cache fetch so many bytes of the matrix, from a byte behind the first of these rows on."""
        b = self.b
        following = b.address(self.second, ahead)
        for line in range(0, size, CACHE_LINE_BYTES):
            b.prefetch(b.address(following, line), level=3)

    # --- results ---

    def write(self, k: Index) -> None:
        """The sums of each row added up, and the numbers from `k` on; as many as there are rows."""
        b, rows = self.b, self.rows
        totals = Buffer(b.stack(4 * rows), "float32", (rows,), "totals")
        self.add_up(totals)
        if self.form is None:
            self.rest(k, totals)

        def whole() -> None:
            b.vector(rows, lambda r: b.write(self.out, (r,), b.read(totals, (r,))))

        def part() -> None:
            b.loop(self.count, (), lambda r, _: b.write(self.out, (r,), b.read(totals, (r,))))

        b.when(b.is_same(self.count, rows), whole, part)

    def add_up(self, totals: Buffer) -> None:
        """The sums of each row, of which there are as many as lanes."""
        b, rows = self.b, self.rows
        b.transpose(self.sums)

        def column(x: Index) -> None:
            b.write(totals, (x,), sum_of(b, [b.read(self.sums, (r, x)) for r in range(rows)]))

        b.vector(rows, column)


def sum_of(b: Builder, xs: Sequence[Value]) -> Value:
    """The sum of a power of 2 of numbers: of the first half and the second, again and again."""
    found = list(xs)
    while len(found) > 1:
        half = len(found) // 2
        found = [b.add(p, q) for p, q in zip(found[:half], found[half:], strict=True)]
    return found[0]
