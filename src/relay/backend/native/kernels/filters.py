"""Filters of 3 by 3 taps as points while the program runs, where they are not known before."""

from collections.abc import Sequence
from dataclasses import dataclass

from relay.backend.native.kernels.transforms import filter_matrix
from relay.backend.native.llvm.machine import Machine
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.functions import kernel_function
from relay.backend.native.loops.nodes import ADDRESS, INDEX, Buffer, Function, Index, Value
from relay.backend.native.memory.representation import scalar

TAPS = 3
PARAMS = (
    ("source", ADDRESS), ("to", ADDRESS), ("channels", INDEX), ("filters", INDEX), ("begin", INDEX),
    ("count", INDEX),
)  # fmt: skip
"""Where filters come from and go, how many channels and filters there are, as many of these as fill vectors,
the first channel and how many.
"""


@dataclass(frozen=True)
class FilterTransform:
    """A transform of filters `(3, 3, channels, filters)` to panels of `width` columns: for each panel, point
    and channel a row.
    """

    machine: Machine
    dtype: str
    size: int
    width: int
    is_reversed: bool
    """Whether the last tap comes first."""

    @property
    def name(self) -> str:
        """The symbol of its code."""
        reversed_ = "reversed." if self.is_reversed else ""
        return f"relay.filters.{reversed_}{self.size}.{self.width}.{self.dtype}"

    def function(self) -> Function:
        """Its loops."""
        return kernel_function(self.name, PARAMS, self.build)

    def build(self, b: Builder, given: Sequence[Value]) -> None:
        """A vector of filters of one channel after the other."""
        source, to, channels, filters, begin, count = given
        lanes, points = self.machine.lanes(scalar(self.dtype)), (self.size + TAPS - 1) ** 2
        taken = Buffer(source, self.dtype, (TAPS * TAPS, channels, filters), "filters")

        def vector(channel: Index, first: Index) -> None:
            panel, column = b.quotient(first, self.width), b.rest(first, self.width)
            sizes = (b.quotient(filters, self.width), points, channels, self.width)
            put = Buffer(to, self.dtype, sizes, "points")

            def one(x: Index) -> None:
                taps: list[Value] = [
                    b.read(taken, (k, channel, b.plus(first, x))) for k in range(TAPS * TAPS)
                ]
                for k, point in enumerate(self.transformed(b, taps[::-1] if self.is_reversed else taps)):
                    b.write(put, (panel, k, channel, b.plus(column, x)), point)

            b.vector(lanes, one)

        def channel(i: Index, _: object) -> None:
            vectors = b.quotient(filters, lanes)
            b.loop(vectors, (), lambda v, _: vector(b.plus(begin, i), b.times(v, lanes)))

        b.loop(count, (), channel)

    def transformed(self, b: Builder, taps: Sequence[Value]) -> list[Value]:
        """The points of the taps of a filter."""
        lines = [taps[i : i + TAPS] for i in range(0, len(taps), TAPS)]
        half = [self.points(b, line) for line in zip(*lines, strict=True)]
        return [x for line in zip(*half, strict=True) for x in self.points(b, line)]

    def points(self, b: Builder, line: Sequence[Value]) -> list[Value]:
        """A line of taps as points."""
        found: list[Value] = []
        for factors in filter_matrix(self.size):
            total: Value = b.const(0, self.dtype)
            for c, x in zip(factors, line, strict=True):
                if c:
                    total = b.function("fmuladd", x, b.const(c, self.dtype), total)
            found.append(total)
        return found
