"""Attention of few rows, as of a token that a language model decodes: keys and values are read in place.

Rows of keys are gone over by each row of queries, those of values once by all rows of scores.  Moving them
first, as tiles read them, would take longer than all that is computed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relay.backend.native.kernels.attention import Attending, Operand
from relay.backend.native.kernels.row_products import RowProduct
from relay.backend.native.llvm.machine import Machine, host
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.functions import kernel_function
from relay.backend.native.loops.nodes import ADDRESS, INDEX, Buffer, Function, Index, Value

DTYPE, BYTES = "float32", 4
SUMS = 12
"""Vectors of sums that stay in registers, beside what they are made of."""
MOST_VECTORS = 8
"""Vectors of a row of values at once, at most."""
PARAMS = (
    ("weights", ADDRESS), ("weight_pitch", INDEX), ("values", ADDRESS), ("pitch", INDEX), ("count", INDEX),
    ("columns", INDEX), ("out", ADDRESS), ("out_pitch", INDEX),
)  # fmt: skip
"""Rows of weights and the bytes from one to the next; the rows of values, the bytes from one to the next, how
many there are, and the numbers of one; where rows of the result go, and the bytes from one to the next.
"""


class FewRows(Attending):
    """Such attention on its way to code: a thread has memory for the scores of one matrix alone."""

    def high_blocks(self) -> tuple[Index, Index]:
        return self.count, 1

    def buffer_sizes(self) -> list[Index]:
        """How many numbers there are of scores, and of rows that are kept."""
        return [self.scores.count, *self.kept_sizes()]

    def assign_buffers(self, at: Value, sizes: Sequence[Index]) -> None:
        self.scores.data, *self.kept = self.places(at, sizes)

    def part(self, begin: Index, i: Index, operands: Sequence[Operand], out: Operand) -> None:
        """A matrix by its number."""
        b, scores = self.b, self.scores.data
        assert scores is not None
        stack = b.unravelled(b.plus(begin, i), self.stack)
        queries, keys, values, to = [
            (b.address(x.data, b.times(self.place(x, stack), BYTES)), b.times(x.pitch, BYTES))
            for x in (*operands, out)
        ]
        to_scores = (scores, b.times(self.scores.pitch, BYTES))
        self.score(queries, keys, to_scores)
        self.become(stack, 0, self.count)
        assert isinstance(self.count, int), "few rows are of known number"
        mixture = Mixture(host(), self.count)
        b.invoke(mixture, *to_scores, *values, self.keys, self.second.columns, *to)

    def score(
        self, queries: tuple[Value, Index], keys: tuple[Value, Index], scores: tuple[Value, Index]
    ) -> None:
        """The products of rows of queries and keys; of each where they begin, and the bytes of a row."""
        b, how = self.b, RowProduct(host(), DTYPE)

        def some(i: Index, _: object) -> None:
            first = b.times(i, how.rows)
            count = b.smaller(how.rows, b.minus(self.keys, first))
            begin = b.address(keys[0], b.times(first, keys[1]))

            def row(r: Index, _: object) -> None:
                given = b.address(queries[0], b.times(r, queries[1]))
                to = b.address(scores[0], b.plus(b.times(r, scores[1]), b.times(first, BYTES)))
                b.invoke(how, given, begin, keys[1], self.first.depth, count, to)

            b.loop(self.count, (), row)

        b.loop(b.quotient(b.plus(self.keys, how.rows - 1), how.rows), (), some)


@dataclass(frozen=True)
class Mixture:
    """The schedule of products of few rows of weights and a matrix that lies row by row."""

    machine: Machine
    rows: int

    @property
    def name(self) -> str:
        """The symbol of its code."""
        return f"relay.mixture.{self.rows}"

    @property
    def vectors(self) -> int:
        """Vectors of a row that are gone through at once."""
        return max(1, min(MOST_VECTORS, SUMS // self.rows))

    def function(self) -> Function:
        """Its loops."""
        return kernel_function(self.name, PARAMS, lambda b, given: MixtureBuilder(b, self, given).build())


class MixtureBuilder:
    """The loops of such products."""

    def __init__(self, b: Builder, how: Mixture, given: Sequence[Value]) -> None:
        """`given` are its parameters."""
        self.b, self.how = b, how
        weights, weight_pitch, self.values, self.pitch, self.count, self.columns, out, out_pitch = given

        def row_of(data: Value, pitch: Value, size: Value) -> Callable[[int], Buffer]:
            return lambda r: Buffer(b.address(data, b.times(pitch, r)), DTYPE, (size,))

        self.weights = [*map(row_of(weights, weight_pitch, self.count), range(how.rows))]
        self.out = [*map(row_of(out, out_pitch, self.columns), range(how.rows))]

    def build(self) -> None:
        """Columns in several vectors, in one, and one by one."""
        b, lanes = self.b, self.how.machine.lanes("float")
        done: Index = 0
        for vectors, wide in ((self.how.vectors, lanes), (1, lanes), (1, 1)):
            many = b.quotient(b.minus(self.columns, done), vectors * wide)

            def some(
                i: Index, _: object, done: Index = done, vectors: int = vectors, wide: int = wide
            ) -> None:
                self.some_columns(b.plus(done, b.times(i, vectors * wide)), vectors, wide)

            b.loop(many, (), some)
            done = b.plus(done, b.times(many, vectors * wide))

    def some_columns(self, left: Index, vectors: int, lanes: int) -> None:
        """The columns from `left` on, of all rows."""
        b, rows = self.b, range(self.how.rows)
        sums = b.registers(DTYPE, (len(rows) * vectors, lanes), "sums")

        def each(body: Callable[[int, Index], None]) -> None:
            for v in range(vectors):
                if lanes == 1:
                    body(v, 0)
                else:
                    b.vector(lanes, lambda x, v=v: body(v, x))

        def clear(v: int, x: Index) -> None:
            for r in rows:
                b.write(sums, (r * vectors + v, x), b.const(0, DTYPE))

        def add(j: Index, _: object) -> None:
            values = Buffer(b.address(self.values, b.times(j, self.pitch)), DTYPE, (self.columns,))
            weights = [b.read(self.weights[r], (j,)) for r in rows]

            def add_columns(v: int, x: Index) -> None:
                value = b.read(values, (b.plus(left, b.plus(v * lanes, x)),))
                for r in rows:
                    place = (r * vectors + v, x)
                    b.write(sums, place, b.function("fmuladd", weights[r], value, b.read(sums, place)))

            each(add_columns)

        def write(v: int, x: Index) -> None:
            for r in rows:
                at = b.plus(left, b.plus(v * lanes, x))
                b.write(self.out[r], (at,), b.read(sums, (r * vectors + v, x)))

        each(clear)
        b.loop(self.count, (), add)
        each(write)
