"""Matrices of small integers moved to where tiles read them as pairs: int16 numbers, two neighbours along the
summed dimension side by side, the first of them lower.

After an odd number of them comes a zero.
"""

from dataclasses import dataclass

from relay.backend.native.kernels.packing import Moving, Packing
from relay.backend.native.llvm.builder import Value, integer
from relay.backend.native.memory.representation import is_signed, scalar


@dataclass(frozen=True)
class PairPacking(Packing):
    """A way of moving a matrix of small integers: also, whether pairs are neighbours in a column."""

    is_across: bool

    @property
    def name(self) -> str:
        return f"{super().name}.{'across' if self.is_across else 'along'}"

    def text(self) -> str:
        return MovingPairs(self).text()


class MovingPairs(Moving):
    """That way of moving on its way to LLVM IR: `rows`, `columns` and places are those of pairs."""

    def __init__(self, packing: PairPacking) -> None:
        """Its code so far."""
        super().__init__(packing)
        self.is_across = packing.is_across
        self.dtype = packing.dtype
        self.numbers = self.rows if self.is_across else self.columns
        """How many there are to make pairs of."""
        pairs = self.code.op("udiv", self.code.op("add", self.numbers, integer(1)), integer(2))
        if self.is_across:
            self.rows = pairs
        else:
            self.columns, self.full = pairs, self.code.op("udiv", self.numbers, integer(2))

    def read(self, row: Value, column: Value, n: int) -> Value:
        """Some pairs."""
        code = self.code
        if n > 1 and not self.is_across:
            v = self.widened(row, code.op("shl", column, integer(1)), 2 * n, "i16")
            return code.set(f"<{n} x i32>", f"bitcast {v} to <{n} x i32>")
        first = code.op("shl", row if self.is_across else column, integer(1))
        further = code.op("add", first, integer(1))
        is_there = code.compare("icmp ult", further, self.numbers)
        second = code.select(is_there, further, first)
        low, high = (
            self.widened(i, column, n, "i32") if self.is_across else self.widened(row, i, n, "i32")
            for i in (first, second)
        )
        upper = code.op("shl", high, same(16, n))
        upper = code.select(is_there, upper, same(0, n))
        return code.op("or", code.op("and", low, same(0xFFFF, n)), upper)

    def widened(self, row: Value, column: Value, n: int, kind: str) -> Value:
        """Some numbers of the source, of a wider type."""
        own = scalar(self.dtype)
        p = self.place(self.source, self.source_pitch, row, column, self.from_size)
        v = self.code.load(own if n == 1 else f"<{n} x {own}>", p, f", align {self.from_size}")
        return self.code.cast("sext" if is_signed(self.dtype) else "zext", v, kind)


def same(x: int, n: int) -> Value:
    """`n` times an i32."""
    return integer(x, 32) if n == 1 else Value(f"<{n} x i32>", f"splat (i32 {x})")
