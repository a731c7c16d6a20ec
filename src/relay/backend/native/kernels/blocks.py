"""Products of matrices, block by block: which tiles are computed, in what order, by which threads.

The second operand is read as panels of as many columns as a tile has, the first as rows of at most
`MAX_TILE_DEPTH` numbers, which stay in the second level of the cache while all panels of a block go over
them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from relay.backend.native.kernels.block_shape import COLUMNS
from relay.backend.native.kernels.operands import MOVED_NANOSECONDS, First, Operands, Second
from relay.backend.native.kernels.sums import Tail
from relay.backend.native.kernels.tile import CACHE_LINE_BYTES, Tile, sets_for
from relay.backend.native.loops.nodes import Buffer, Index, Value
from relay.backend.native.loops.parallelize import ONE_RANGE_EACH

PRODUCT_NANOSECONDS = 0.02
"""Nanoseconds for a product that is added."""
Rest = tuple[Index, Index, Value, Index, Index, Value]
"""What a stack of tiles takes besides: the pitch of a panel, its depth, the result, the pitch of that, the
columns that are left, and whether sums add to what is there.
"""


class Blocks(Operands):
    """The computation of a product."""

    def multiply(self, first: First, second: Second, out: Value, tail: Tail | None) -> None:
        """Write a product; each part of it goes to `tail` when it is complete."""
        b = self.b
        groups = self.parts(self.columns, COLUMNS)
        most = b.larger(1, self.parts(self.panels, b.larger(1, groups)))
        self.back = self.alternation() if self.streams else None

        if self.kept_panels:
            most = b.smaller(most, self.kept_panels)

        def part(top: Index, rows: Index, left: Index, panels: Index) -> None:
            to, sums = (out, None) if not self.kept_panels else self.kept(top, left)
            self.block(first, second, to, (top, rows), (left, panels))
            if tail is not None:
                tail(top, rows, *self.columns_of(left, panels), sums)

        def block(top: Index, rows: Index, left: Index, panels: Index) -> None:
            count = self.parts(panels, most)

            def group(g: Index, _: Any) -> None:
                done = b.times(self.in_turn(g, count), most)
                part(top, rows, b.plus(left, done), b.smaller(most, b.minus(panels, done)))

            self.each(count, group)

        self.share_out(block, *self.takes(self.high))

    def kept(self, top: Index, left: Index) -> tuple[Value, Buffer]:
        """Memory for the sums of a part: where the result would begin, and they."""
        b, rows = self.b, self.most_rows
        assert isinstance(rows, int), "sums are kept of blocks of known size"
        assert isinstance(self.pitch, int), "sums are kept of blocks of known size"
        data = b.stack(rows * self.pitch * self.size)
        before = b.plus(b.times(top, self.pitch), b.times(left, self.width))
        return self.address(data, b.minus(0, before), self.size), Buffer(data, self.dtype, (rows, self.pitch))

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
                following = data if self.packs_late else second(*self.following(left, p, panels, r))[0]
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
        shape = Tile(
            self.machine, self.step, height, vectors, is_packed,
            is_full=self.is_full, reads_part=self.reads_part,
        )  # fmt: skip
        if self.lines is None:
            return replace(shape, sets=sets_for(height, self.vectors))
        return replace(shape, pitch=self.lines.pitch, has_runs=True)
