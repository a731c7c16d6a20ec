"""Products of matrices, block by block: what is packed, and which tiles are computed in what order.

The second operand is read as panels of as many columns as a tile has, the first as rows of at most `DEEPEST`
numbers, which stay in the second level of the cache while all panels of a block go over them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from relay.backend.native.kernels.block_shape import COLUMNS, Shape
from relay.backend.native.kernels.packing import Packing, PairPacking
from relay.backend.native.kernels.ranges import ranges
from relay.backend.native.kernels.sums import Tail
from relay.backend.native.kernels.tile import CACHE_LINE_BYTES, PACKED_PITCH, Tile, sets_for
from relay.backend.native.loops.nodes import Index, Value
from relay.backend.native.loops.parallelize import ONE_RANGE_EACH
from relay.backend.native.memory.representation import SIZES, scalar

STRIP_ROWS = 16
"""Rows of the second operand that are moved at once: as many streams as a processor follows."""
PRODUCT_NANOSECONDS, MOVED_NANOSECONDS = 0.02, 0.1
"""Nanoseconds for a product that is added, and for a number that is moved."""

First = Callable[[Index, Index, Index], Value]
"""Where packed rows of the first operand begin: the round, the first row, how many."""
Second = Callable[[Index, Index], tuple[Value, Index]]
"""Where a row of a panel begins, and how far the next row is: the panel, the row."""
Rest = tuple[Index, Index, Value, Index, Index, Value]
"""What a stack of tiles takes besides: the pitch of a panel, its depth, the result, the pitch of that, the
columns that are left, and whether sums add to what is there.
"""


@dataclass(frozen=True)
class Factor:
    """An operand: where its matrix begins, its dtype, and whether it is transposed in memory."""

    data: Value
    dtype: str
    is_transposed: bool
    pitch: Index | None = None
    """Numbers from a row in memory to the next one, if more than it has."""


class Blocks(Shape):
    """The computation of a product."""

    # --- packing buffers ---

    def is_row(self, x: Factor) -> bool:
        """Whether the first operand is read where it is."""
        return self.rows == 1 and x.dtype == self.dtype

    def is_read_in_place(self, y: Factor) -> bool:
        """Whether the whole panels of the second operand are read where they are: few rows do not repay
        moving them.
        """
        few = isinstance(self.rows, int) and self.rows <= 2 * self.height
        return few and not y.is_transposed and y.dtype == self.dtype

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
        panels = 1 if self.is_read_in_place(y) else self.panels
        return first, b.times(b.times(panels, self.depth), self.width)

    def allocate(self, x: Factor | None, y: Factor | None) -> None:
        """Allocate the buffers to pack operands into; outside of loops."""
        first, second = self.buffer_sizes(x, y)
        if first != 0:
            self.first = self.b.room(self.step.element_dtype, [first]).data
        if y is not None:
            self.second = self.b.room(self.step.element_dtype, [second]).data

    # --- packing ---

    def pack(
        self,
        x: Factor,
        place: Index,
        pitch: Index,
        to: Value,
        to_pitch: int,
        sizes: tuple[Index, Index],
        filled: Index,
        is_across: bool = False,
    ) -> None:
        """Move a part of an operand; `sizes` are those it has in memory, of which the first is that of the
        summed dimension if pairs of it go across rows.
        """
        b = self.b
        how = Packing(self.machine, x.dtype, self.step.number_dtype, x.is_transposed)
        if self.step.group > 1:
            how = PairPacking(self.machine, x.dtype, self.step.number_dtype, x.is_transposed, is_across)
        source = self.address(x.data, place, SIZES[scalar(x.dtype)])
        b.invoke(how, source, pitch, to, to_pitch, *sizes, filled)

    def pack_first(self, x: Factor) -> First:
        """All rows of the first operand, round after round."""
        if self.first is None:
            return lambda r, top, rows: x.data
        b, to = self.b, self.first

        def share(begin: Index, end: Index) -> None:
            at = b.times(begin, PACKED_PITCH)
            self.pack_rows(x, (begin, b.minus(end, begin)), self.address(to, at, self.size), self.rows)

        self.ranges(self.rows, share, MOVED_NANOSECONDS, self.depth)
        return lambda r, top, rows: self.row(to, b.plus(b.times(r, self.rows), top))

    def pack_rows(self, x: Factor, rows: tuple[Index, Index], to: Value, apart: Index) -> None:
        """Some rows of the first operand, the first of them and how many; those of a round so many rows from
        those of the one before.
        """
        b, (top, count) = self.b, rows

        def one(r: Index, _: Any) -> None:
            k = b.times(r, self.deep)
            k, deep = self.numbers(k, b.smaller(self.deep, b.minus(self.depth, k)))
            at = self.address(to, b.times(b.times(r, apart), PACKED_PITCH), self.size)
            if x.is_transposed:
                pitch = self.rows if x.pitch is None else x.pitch
                self.pack(x, b.plus(b.times(k, pitch), top), pitch, at, PACKED_PITCH, (deep, count), 0, True)
            else:
                pitch = self.length if x.pitch is None else x.pitch
                self.pack(x, b.plus(b.times(top, pitch), k), pitch, at, PACKED_PITCH, (count, deep), 0)

        self.each(self.rounds, one)

    def pack_second(self, y: Factor) -> Second:
        """The panels of the second operand; where a row of one begins, and how far the next row is."""
        if not self.is_read_in_place(y):
            return self.pack_panels(y)
        b, to = self.b, self.second
        assert to is not None
        whole = b.quotient(self.columns, self.width)
        if whole != self.panels:
            self.pack_panel(y, whole, to, (0, self.depth))

        def place(p: Index, k: Index) -> tuple[Value, Index]:
            here = b.plus(b.times(k, self.columns), b.times(p, self.width))
            inside = self.address(y.data, here, self.size)
            if whole == self.panels:
                return inside, self.columns
            is_last = b.is_same(p, whole)
            last = self.address(to, b.times(k, self.width), self.size)
            return b.select(is_last, last, inside), b.choose(is_last, self.width, self.columns)

        return place

    def pack_panels(self, y: Factor) -> Second:
        """All of them, moved."""
        b, to = self.b, self.second
        assert to is not None
        size = b.times(self.depth, self.width)

        def panel(p: Index, _: Any) -> None:
            self.pack_panel(y, p, self.address(to, b.times(p, size), self.size), (0, self.depth))

        def strip(s: Index, _: Any) -> None:
            k = b.times(s, STRIP_ROWS)
            rows = b.smaller(STRIP_ROWS, b.minus(self.depth, k))

            def part(p: Index, _: Any) -> None:
                at = b.plus(b.times(p, size), b.times(k, self.width))
                self.pack_panel(y, p, self.address(to, at, self.size), (k, rows))

            self.each(self.panels, part)

        if y.is_transposed:
            self.shared(self.panels, b.times(self.depth, self.width), panel)
        else:
            self.shared(self.parts(self.depth, STRIP_ROWS), b.times(STRIP_ROWS, self.columns), strip)
        return self.packed(to)

    def pack_panel(self, y: Factor, p: Index, to: Value, rows: tuple[Index, Index]) -> None:
        """Some rows of a panel, the first of them and how many."""
        b, (k, count) = self.b, self.numbers(*rows)
        j = b.times(p, self.width)
        n = b.smaller(self.width, b.minus(self.columns, j))
        if y.is_transposed:
            pitch = self.length if y.pitch is None else y.pitch
            self.pack(y, b.plus(b.times(j, pitch), k), pitch, to, self.width, (n, count), self.width)
        else:
            pitch = self.columns if y.pitch is None else y.pitch
            self.pack(y, b.plus(b.times(k, pitch), j), pitch, to, self.width, (count, n), self.width, True)

    def packed(self, data: Value) -> Second:
        """Where a row of a panel begins, and how far the next row is."""
        b = self.b

        def place(p: Index, k: Index) -> tuple[Value, Index]:
            row = b.plus(b.times(p, self.depth), k)
            return self.address(data, b.times(row, self.width), self.size), self.width

        return place

    # --- the product ---

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

    def multiply(self, first: First, second: Second, out: Value, tail: Tail | None) -> None:
        """Write a product; each part of it goes to `tail` when it is complete."""
        b = self.b
        groups = self.parts(self.columns, COLUMNS)
        most = b.larger(1, self.parts(self.panels, b.larger(1, groups)))
        self.back = self.alternation() if self.streams else None

        def part(top: Index, rows: Index, left: Index, panels: Index) -> None:
            self.block(first, second, out, (top, rows), (left, panels))
            if tail is not None:
                tail(top, rows, *self.columns_of(left, panels))

        def block(top: Index, rows: Index, left: Index, panels: Index) -> None:
            count = self.parts(panels, most)

            def group(g: Index, _: Any) -> None:
                done = b.times(self.in_turn(g, count), most)
                part(top, rows, b.plus(left, done), b.smaller(most, b.minus(panels, done)))

            self.each(count, group)

        self.share_out(block, *self.takes(self.high))

    def share_out(
        self, body: Callable[[Index, Index, Index, Index], None], takes: float, inner: Index
    ) -> None:
        """Run `body(top, rows, left, panels)` for parts of blocks that make up the result, on several
        threads; a panel of a block takes so many nanoseconds, `inner` times.
        """
        b, high, wide = self.b, self.high, self.wide
        blocks = self.parts(self.rows, high)
        pieces = b.larger(self.parts(self.panels, b.larger(wide, 1)), 1)

        def of_rows(i: Index, begin: Index, end: Index) -> None:
            top, left = b.times(i, high), b.times(begin, wide)
            rows = self.rows if blocks == 1 else b.smaller(high, b.minus(self.rows, top))
            body(top, rows, left, b.minus(b.smaller(b.times(end, wide), self.panels), left))

        def of_panels(i: Index, begin: Index, end: Index) -> None:
            top, left = b.times(begin, high), b.times(i, wide)
            rows = b.minus(b.smaller(b.times(end, high), self.rows), top)
            body(top, rows, left, b.smaller(wide, b.minus(self.panels, left)))

        takes_all = takes, b.times(inner, wide)
        if self.by_panels:
            self.pieces(pieces, blocks, of_panels, *takes_all)
        else:
            self.pieces(blocks, pieces, of_rows, *takes_all)

    def pieces(
        self, n: Index, each: Index, body: Callable[[Index, Index, Index], None], takes: float, inner: Index
    ) -> None:
        """Run `body(i, begin, end)` for ranges of the pieces that each of `n` has, on several threads."""
        b = self.b

        def share(begin: Index, end: Index) -> None:
            first = b.quotient(begin, each)

            def one(i: Index, _: Any) -> None:
                i = b.plus(first, i)
                before = b.times(i, each)
                body(i, b.larger(b.minus(begin, before), 0), b.smaller(b.minus(end, before), each))

            self.each(b.minus(self.parts(end, each), first), one)

        if self.back is None:
            self.ranges(b.times(n, each), share, takes, inner)
            return
        b.parallel(b.times(n, each), ONE_RANGE_EACH, lambda i, j, _: share(i, j))

    def takes(self, rows: Index) -> tuple[float, Index]:
        """The nanoseconds of a step along a panel, for so many rows, and how many steps there are."""
        b = self.b
        if isinstance(rows, int):
            return PRODUCT_NANOSECONDS * rows + MOVED_NANOSECONDS, b.times(self.depth, self.width)
        return PRODUCT_NANOSECONDS, b.times(rows, b.times(self.depth, self.width))

    def block(
        self,
        first: First,
        second: Second,
        out: Value,
        down: tuple[Index, Index],
        across: tuple[Index, Index],
    ) -> None:
        """The rows and panels of a block: where they begin, and how many there are."""
        b = self.b
        (top, rows), (left, panels) = down, across

        def one_round(r: Index, _: Any) -> None:
            k = b.times(r, self.deep)
            deep = b.smaller(self.deep, b.minus(self.depth, k))
            adds = b.const(False, "bool") if isinstance(r, int) else b.negation(b.is_same(r, 0))
            a = first(r, top, rows)

            def panel(p: Index, vectors: int) -> None:
                column = b.plus(left, p)
                data, pitch = second(column, k)
                following, _ = second(*self.following(left, p, panels, r))
                j = b.times(column, self.width)
                c = self.address(out, b.plus(b.times(top, self.pitch), j), self.size)
                more: Rest = (pitch, deep, c, self.pitch, b.minus(self.columns, j), adds)
                is_new = self.first_pitch is not None and not self.by_panels
                new = b.is_same(p, 0) if is_new else None
                self.stack_of_tiles((rows, vectors), a, data, following, new, more)

            last = b.is_same(b.plus(left, panels), self.panels)
            whole = b.minus(panels, b.choose(last, 1, 0)) if self.edge else panels
            if self.edge and panels == self.panels:
                whole = b.minus(panels, 1)
            self.each(whole, lambda p, _: panel(self.in_turn(p, whole), self.vectors))
            if self.edge and panels == self.panels:
                panel(whole, self.edge)
            elif self.edge:
                b.when(last, lambda: panel(whole, self.edge))

        self.each(self.rounds, one_round)

    def following(self, left: Index, p: Index, panels: Index, r: Index) -> tuple[Index, Index]:
        """The panel, and the row of it, that come after panel `p` of some from `left` on, in a round."""
        b = self.b
        following = b.plus(b.plus(left, p), 1 if self.back is None else b.choose(self.back, -1, 1))
        if self.rounds == 1:
            return following, 0
        is_end, is_last = b.is_same(b.plus(p, 1), panels), b.is_same(b.plus(r, 1), self.rounds)
        k = b.times(r, self.deep)
        further = b.choose(is_last, 0, b.plus(k, self.deep))
        again = b.choose(is_last, following, left)
        return b.choose(is_end, again, following), b.choose(is_end, further, k)

    def row(self, first: Value, i: Index) -> Value:
        """Where a row begins, as tiles read it."""
        packed = PACKED_PITCH if self.lines is None else self.lines.pitch
        pitch = packed if self.first_pitch is None else self.first_pitch
        return self.address(first, self.b.times(i, pitch), self.size)

    def stack_of_tiles(
        self,
        shape: tuple[Index, int],
        a: Value,
        data: Value,
        following: Value,
        new: Value | None,
        more: Rest,
    ) -> None:
        """The tiles below each other in a panel, the tallest first: rows in all, and vectors in each.

        They fetch the panel that follows, or the next rows where these are `new`.
        """
        b = self.b
        rows, vectors = shape

        def tile(height: int, i: Index, t: Index = 0) -> None:
            pitch, deep, c, out_pitch, columns, adds = more
            here = self.address(c, b.times(i, self.pitch), self.size)
            part = b.times(b.rest(t, self.vectors), deep)
            ahead = self.address(following, part, CACHE_LINE_BYTES)
            if new is not None:
                ahead = b.select(new, self.row(a, b.plus(i, height)), ahead)
            args = [self.row(a, i), data, pitch, deep, here, out_pitch, adds, ahead]
            if self.first_pitch is not None:
                args.append(self.first_pitch)
            if self.lines is not None:
                args += [self.lines.run, self.lines.gap]
            if not self.is_full:
                args.append(columns)
            b.invoke(self.tile(height, vectors), *args)

        whole = b.quotient(rows, self.height)
        self.each(whole, lambda t, _: tile(self.height, b.times(t, self.height), t))
        at = b.times(whole, self.height)
        rest = b.minus(rows, at)
        if isinstance(self.rows, int):
            left = self.rows % self.height
            if isinstance(rest, int) and rest:
                tile(rest, at)
            elif left and not isinstance(rest, int):
                b.when(b.is_same(rest, left), lambda: tile(left, at))
            return
        for height in [h for h in (8, 4, 2, 1) if h < self.height]:
            fits = b.negation(b.is_less(rest, height))
            b.when(fits, lambda h=height, i=at: tile(h, i))
            taken = b.choose(fits, height, 0)
            at, rest = b.plus(at, taken), b.minus(rest, taken)

    def tile(self, height: int, vectors: int) -> Tile:
        """A shape of tile."""
        is_packed = self.first_pitch is None
        shape = Tile(self.machine, self.dtype, height, vectors, is_packed, is_full=self.is_full)
        if self.lines is None:
            return replace(shape, sets=sets_for(height, self.vectors))
        return replace(shape, pitch=self.lines.pitch, has_runs=True)
