"""Operands of products of matrices: read where they are, or packed as tiles read them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relay.backend.native.kernels.block_matrices import BlockMatrix
from relay.backend.native.kernels.block_shape import ROWS, Shape
from relay.backend.native.kernels.packing import GroupPacking, Packing
from relay.backend.native.kernels.ranges import ranges, ranges_with_buffer
from relay.backend.native.kernels.tile import PACKED_PITCH
from relay.backend.native.kernels.vector_loops import has_masks
from relay.backend.native.loops.nodes import Index, Value
from relay.backend.native.memory.representation import SIZES, scalar

STRIP_ROWS = 16
"""Rows of the second operand that are moved at once: as many streams as a processor follows."""
MOVED_NANOSECONDS = 0.1
"""Nanoseconds for a number that is moved."""

DECODED_NANOSECONDS = 0.4
"""Nanoseconds for a number that is decoded and moved."""

First = Callable[[Index, Index, Index], Value]
"""Where packed rows of the first operand begin: the round, the first row, how many."""
Second = Callable[[Index, Index], tuple[Value, Index]]
"""Where a row of a panel begins, and how far the next row is: the panel, the row."""


@dataclass(frozen=True)
class Factor:
    """An operand: where its matrix begins, its dtype, and whether it is transposed in memory."""

    data: Value
    dtype: str
    is_transposed: bool
    pitch: Index | None = None
    """Numbers from a row in memory to the next one, if more than it has."""
    blocks: BlockMatrix | None = None
    """The matrix, if it is kept in blocks or groups, which become float32."""


class Operands(Shape):
    """How the operands of a product are packed, and by which threads."""

    def is_row(self, x: Factor) -> bool:
        """Whether the first operand is read where it is."""
        return self.rows == 1 and self.is_packed(x.dtype)

    def is_read_in_place(self, y: Factor) -> bool:
        """Whether the whole panels of the second operand are read where they are: few rows do not repay
        moving them.
        """
        few = isinstance(self.rows, int) and self.rows <= 2 * self.height
        return few and not y.is_transposed and y.dtype == self.step.second_element

    def is_cut(self, y: Factor) -> bool:
        """Whether the last panel is read where it is, too: what it has no columns for is not read."""
        dtype = self.step.second_element
        return self.is_read_in_place(y) and self.step.group == 1 and has_masks(self.machine, (dtype,))

    def is_packed_late(self, y: Factor) -> bool:
        """Whether the thread that multiplies with a panel packs it just before: then it is not fetched from
        the cache of another one.
        """
        return self.by_panels and y.blocks is None and not self.is_read_in_place(y)

    def buffer_sizes(self, x: Factor | None, y: Factor | None) -> tuple[Index, Index]:
        """How many numbers operands have when they are packed, those that are not before and have to be."""
        b = self.b
        first: Index = 0
        if x is not None and self.is_row(x):
            self.deep, self.rounds = self.depth, 1
        elif x is not None:
            first = b.times(b.times(self.rounds, self.rows), PACKED_PITCH)
        if y is None:
            return first, 0
        if self.is_cut(y) or self.is_packed_late(y):
            return first, 0
        panels = 1 if self.is_read_in_place(y) else self.panels
        return first, b.times(b.times(panels, self.depth), self.width)

    def allocate(self, x: Factor | None, y: Factor | None) -> None:
        """Allocate the buffers to pack operands into; outside of loops."""
        first, second = self.buffer_sizes(x, y)
        if first != 0:
            self.first = self.b.room(self.step.first_element, [first]).data
        if y is not None and not self.is_cut(y) and not self.is_packed_late(y):
            self.second = self.b.room(self.step.second_element, [second]).data

    def pack(
        self,
        x: Factor,
        numbers: str,
        place: Index,
        pitch: Index,
        to: Value,
        to_pitch: int,
        sizes: tuple[Index, Index],
        filled: Index,
        is_across: bool = False,
    ) -> None:
        """Move a part of an operand as numbers of a dtype; `sizes` are those it has in memory, of which the
        first is that of the summed dimension if groups of it go across rows.
        """
        b = self.b
        how = Packing(self.machine, x.dtype, numbers, x.is_transposed)
        if self.step.group > 1:
            how = GroupPacking(self.machine, x.dtype, numbers, x.is_transposed, is_across, self.step.group)
        source = self.address(x.data, place, SIZES[scalar(x.dtype)])
        b.invoke(how, source, pitch, to, to_pitch, *sizes, filled)

    def pack_first(self, x: Factor) -> First:
        """All rows of the first operand, round after round."""
        if self.first is None:
            return lambda r, top, rows: x.data
        b, to = self.b, self.first

        def share(begin: Index, end: Index) -> None:
            at = b.times(begin, PACKED_PITCH)
            self.pack_rows(
                x, (begin, b.minus(end, begin)), self.address(to, at, self.step.first_size), self.rows
            )

        self.ranges(self.rows, share, MOVED_NANOSECONDS, self.depth)
        return lambda r, top, rows: self.row(to, b.plus(b.times(r, self.rows), top))

    def pack_rows(self, x: Factor, rows: tuple[Index, Index], to: Value, apart: Index) -> None:
        """Some rows of the first operand, the first of them and how many; those of a round so many rows from
        those of the one before.
        """
        b = self.b

        def one(r: Index, _: Any) -> None:
            at = self.address(to, b.times(b.times(r, apart), PACKED_PITCH), self.step.first_size)
            self.pack_round(x, r, rows, at)

        self.each(self.rounds, one)

    def pack_round(self, x: Factor, r: Index, rows: tuple[Index, Index], to: Value) -> None:
        """What a round reads of some rows of the first operand, the first of them and how many."""
        b, (top, count), kind = self.b, rows, self.step.first
        k = b.times(r, self.deep)
        k, deep = self.numbers(k, b.smaller(self.deep, b.minus(self.depth, k)))
        if x.is_transposed:
            pitch = self.rows if x.pitch is None else x.pitch
            place, sizes = b.plus(b.times(k, pitch), top), (deep, count)
        else:
            pitch = self.length if x.pitch is None else x.pitch
            place, sizes = b.plus(b.times(top, pitch), k), (count, deep)
        self.pack(x, kind, place, pitch, to, PACKED_PITCH, sizes, 0, x.is_transposed)

    def pack_blocks(self, x: Factor) -> First:
        """Rows of the first operand, a round of a block when it is computed: they stay in the cache."""
        b = self.b

        def first(r: Index, top: Index, rows: Index) -> Value:
            to = b.stack((ROWS + self.height) * PACKED_PITCH * self.step.first_size)
            self.pack_round(x, r, (top, rows), to)
            return to

        return first

    def pack_second(self, y: Factor) -> Second:
        """The panels of the second operand; where a row of one begins, and how far the next row is."""
        if self.is_packed_late(y):
            return self.pack_late(y)
        if not self.is_read_in_place(y):
            return self.pack_panels(y)
        b, to = self.b, self.second
        if self.is_cut(y):
            self.reads_part = not self.is_full
        whole = self.panels if self.is_cut(y) else b.quotient(self.columns, self.width)
        if whole != self.panels:
            assert to is not None
            self.pack_panel(y, whole, to, (0, self.depth))

        def place(p: Index, k: Index) -> tuple[Value, Index]:
            here = b.plus(b.times(k, self.columns), b.times(p, self.width))
            inside = self.address(y.data, here, self.step.second_size)
            if to is None or whole == self.panels:
                return inside, self.columns
            is_last = b.is_same(p, whole)
            last = self.address(to, b.times(k, self.width), self.step.second_size)
            return b.select(is_last, last, inside), b.choose(is_last, self.width, self.columns)

        return place

    def pack_panels(self, y: Factor) -> Second:
        """All of them, moved."""
        b, to = self.b, self.second
        assert to is not None
        if y.blocks is not None:
            return self.pack_decoded(y.blocks, to)
        size = b.times(self.depth, self.width)

        def panel(p: Index, _: Any) -> None:
            self.pack_panel(y, p, self.address(to, b.times(p, size), self.step.second_size), (0, self.depth))

        def strip(s: Index, _: Any) -> None:
            k = b.times(s, STRIP_ROWS)
            rows = b.smaller(STRIP_ROWS, b.minus(self.depth, k))

            def part(p: Index, _: Any) -> None:
                at = b.plus(b.times(p, size), b.times(k, self.width))
                self.pack_panel(y, p, self.address(to, at, self.step.second_size), (k, rows))

            self.each(self.panels, part)

        if y.is_transposed:
            self.shared(self.panels, b.times(self.depth, self.width), panel)
        else:
            self.shared(self.parts(self.depth, STRIP_ROWS), b.times(STRIP_ROWS, self.columns), strip)
        return self.packed(to)

    def pack_late(self, y: Factor) -> Second:
        """A round of a panel when rows go over it, in the cache."""
        b, deep = self.b, self.deep
        assert isinstance(deep, int), "the summed dimension is known where rows are read in place"
        self.packs_late = True

        def place(p: Index, k: Index) -> tuple[Value, Index]:
            to = b.stack(deep * self.width * self.step.second_size)
            self.pack_panel(y, p, to, (k, b.smaller(deep, b.minus(self.depth, k))))
            return to, self.width

        return place

    def pack_decoded(self, y: BlockMatrix, to: Value) -> Second:
        """All of them: the rows that are the columns of a panel are decoded, and then moved."""
        b, width, size = self.b, self.width, self.b.times(self.depth, self.width)

        def share(begin: Index, end: Index, rows: Value) -> None:
            def panel(i: Index, _: Any) -> None:
                p = b.plus(begin, i)
                j = b.times(p, width)
                n = b.smaller(width, b.minus(self.columns, j))
                y.decode(b, j, n, rows)
                panel = self.address(to, b.times(p, size), self.size)
                decoded = Factor(rows, "float32", is_transposed=True)
                self.pack(decoded, "float32", 0, self.length, panel, width, (n, self.length), width)

            self.each(b.minus(end, begin), panel)

        whole = b.times(width, self.length)
        ranges_with_buffer(b, self.panels, share, ("float32", whole), DECODED_NANOSECONDS, whole)
        return self.packed(to)

    def pack_panel(self, y: Factor, p: Index, to: Value, rows: tuple[Index, Index]) -> None:
        """Some rows of a panel, the first of them and how many."""
        b, (k, count) = self.b, self.numbers(*rows)
        j, kind = b.times(p, self.width), self.step.second
        n = b.smaller(self.width, b.minus(self.columns, j))
        if y.is_transposed:
            pitch = self.length if y.pitch is None else y.pitch
            self.pack(y, kind, b.plus(b.times(j, pitch), k), pitch, to, self.width, (n, count), self.width)
        else:
            pitch = self.columns if y.pitch is None else y.pitch
            place = b.plus(b.times(k, pitch), j)
            self.pack(y, kind, place, pitch, to, self.width, (count, n), self.width, True)

    def packed(self, data: Value) -> Second:
        """Where a row of a panel begins, and how far the next row is."""
        b = self.b

        def place(p: Index, k: Index) -> tuple[Value, Index]:
            row = b.plus(b.times(p, self.depth), k)
            return self.address(data, b.times(row, self.width), self.step.second_size), self.width

        return place

    def row(self, first: Value, i: Index) -> Value:
        """Where a row begins, as tiles read it."""
        packed = PACKED_PITCH if self.lines is None else self.lines.pitch
        pitch = packed if self.first_pitch is None else self.first_pitch
        return self.address(first, self.b.times(i, pitch), self.step.first_size)

    def each(self, n: Index, body: Callable[[Index, Any], None]) -> None:
        """Run `body(i, ())` for `i` from 0 to `n`; without a loop where that is once."""
        if n == 1:
            body(0, ())
        elif n != 0:
            self.b.loop(n, (), body)

    def shared(self, n: Index, moved: Index, body: Callable[[Index, Any], None]) -> None:
        """Run `body(i, ())` for `i` from 0 to `n` on several threads; each moves so many numbers."""
        b = self.b

        def share(begin: Index, end: Index) -> None:
            self.each(b.minus(end, begin), lambda i, _: body(b.plus(begin, i), ()))

        self.ranges(n, share, MOVED_NANOSECONDS, moved)

    def ranges(self, n: Index, body: Callable[[Index, Index], None], takes: float, inner: Index) -> None:
        """Run `body(begin, end)` for ranges that make up the one from 0 to `n`, on several threads if these
        share a product; one of the iterations takes so many nanoseconds, `inner` times.
        """
        if self.is_shared:
            ranges(self.b, n, body, takes, inner)
        elif n != 0:
            body(0, n)
