"""Matrices moved to where kernels read them in order: rows copied to another pitch, or written as columns.

Both functions are `(from, from_pitch, to, to_pitch, rows, columns, filled)`, pitches in bytes; numbers are
converted on the way, and each row that is written has zeros up to `filled` numbers if that is more.
"""

from collections.abc import Callable
from dataclasses import dataclass

from relay.backend.native.kernels.moves import TRAITS, Moves
from relay.backend.native.llvm.builder import POINTER, VOID, Code, Value, integer
from relay.backend.native.llvm.machine import Machine
from relay.backend.native.memory.representation import SIZES, scalar
from relay.backend.native.memory.tensors import loop


@dataclass(frozen=True)
class Packing:
    """A way of moving a matrix: its dtype, the LLVM type to convert to, and whether it is transposed."""

    machine: Machine
    dtype: str
    kind: str
    is_transposed: bool

    @property
    def name(self) -> str:
        """Of its code."""
        return f"relay.pack.{'transposed' if self.is_transposed else 'rows'}.{self.dtype}.{self.kind}"

    def text(self) -> str:
        """The code."""
        return Moving(self).text()


class Moving:
    """A way of moving a matrix on its way to LLVM IR."""

    def __init__(self, packing: Packing) -> None:
        """Its code so far."""
        self.packing = packing
        self.lanes = packing.machine.lanes(packing.kind)
        self.size, self.from_size = SIZES[packing.kind], SIZES[scalar(packing.dtype)]
        names = ["source", "source_pitch", "to", "to_pitch", "rows", "columns", "filled"]
        kinds = [POINTER, "i64", POINTER, "i64", "i64", "i64", "i64"]
        declared = [
            Value(f"{k} noalias" if k == POINTER else k, f"%{n}") for k, n in zip(kinds, names, strict=True)
        ]
        params = [Value(k, f"%{n}") for k, n in zip(kinds, names, strict=True)]
        self.source, self.source_pitch, self.to, self.to_pitch, self.rows, self.columns, self.filled = params
        self.code = Code(packing.name, VOID, declared, traits=TRAITS)
        self.moves = Moves(self.code, packing.machine, packing.dtype, packing.kind)
        self.full = self.columns
        """Columns that can be read several at a time."""

    def text(self) -> str:
        """The whole function."""
        if self.packing.is_transposed:
            self.transposed()
        else:
            self.each(integer(0), self.rows, self.copied)
        self.code.do("ret void")
        return self.code.text()

    def each(self, begin: Value, end: Value, body: Callable[[Value], None], step: int = 1) -> None:
        """Run `body(i)` for each `step`-th `i` from `begin` below `end`, which is at least `begin`."""
        code = self.code
        n = code.op("sub", end, begin)
        n = n if step == 1 else code.op("udiv", n, integer(step))

        def one(i: Value, _: list[Value]) -> list[Value]:
            scaled = i if step == 1 else code.op("mul", i, integer(step))
            body(code.op("add", scaled, begin))
            return []

        loop(code, n, (), one)

    def whole(self, n: Value) -> Value:
        """The most whole vectors below `n`, in numbers."""
        return self.code.op("and", n, integer(-self.lanes))

    # --- places ---

    def place(self, base: Value, pitch: Value, row: Value, column: Value, size: int) -> Value:
        """The address of a number."""
        code = self.code
        at = code.op("add", code.op("mul", row, pitch), code.op("mul", column, integer(size)))
        return code.at(base, at)

    def read(self, row: Value, column: Value, n: int) -> Value:
        """Some numbers of the source, converted."""
        p = self.place(self.source, self.source_pitch, row, column, self.from_size)
        return self.moves.read(p, n)

    def write(self, v: Value, row: Value, column: Value) -> None:
        """Write numbers."""
        p = self.place(self.to, self.to_pitch, row, column, self.size)
        self.code.store(v, p, f", align {self.size}")

    def fill(self, row: Value, column: Value) -> None:
        """Zeros in the rest of a row."""
        zero = Value(self.packing.kind, "zeroinitializer")
        code = self.code
        end = code.select(code.compare("icmp ugt", self.filled, column), self.filled, column)
        self.each(column, end, lambda j: self.write(zero, row, j))

    # --- the two ways ---

    def copied(self, i: Value) -> None:
        """One row as it is."""
        whole = self.whole(self.full)
        self.each(integer(0), whole, lambda j: self.write(self.read(i, j, self.lanes), i, j), self.lanes)
        self.each(whole, self.columns, lambda j: self.write(self.read(i, j, 1), i, j))
        self.fill(i, self.columns)

    def transposed(self) -> None:
        """All rows, by square blocks; what these leave over number by number."""
        none, n = integer(0), self.lanes
        rows, columns = self.whole(self.rows), self.whole(self.full)
        self.each(none, columns, lambda j: self.each(none, rows, lambda i: self.block(i, j), n), n)
        self.each(none, columns, lambda j: self.each(rows, self.rows, lambda i: self.one(i, j)))
        self.each(columns, self.columns, lambda j: self.each(none, self.rows, lambda i: self.one(i, j)))
        self.each(none, self.columns, lambda j: self.fill(j, self.rows))

    def one(self, i: Value, j: Value) -> None:
        """One number to its place."""
        self.write(self.read(i, j, 1), j, i)

    def block(self, i: Value, j: Value) -> None:
        """A square of numbers to its place."""
        code = self.code
        vectors = [self.read(code.op("add", i, integer(k)), j, self.lanes) for k in range(self.lanes)]
        for k, v in enumerate(code.transposed(vectors)):
            self.write(v, code.op("add", j, integer(k)), i)
