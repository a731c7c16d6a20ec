"""Filters of 3 by 3 taps as points while the program runs, where they are not known before."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relay.backend.native.kernels.transforms import filter_matrix
from relay.backend.native.llvm.builder import POINTER, VOID, Code, Value, integer
from relay.backend.native.llvm.machine import Machine
from relay.backend.native.llvm.vectors import suffix
from relay.backend.native.memory.representation import SIZES
from relay.backend.native.memory.tensors import loop

TAPS = 3


@dataclass(frozen=True)
class FilterTransform:
    """A transform of filters `(3, 3, channels, filters)` to panels of `width` columns: for each panel, point
    and channel a row.

    The code is `(from, to, channels, filters, begin, count)`, for `count` channels from `begin` on; there are
    as many filters as fill vectors.
    """

    machine: Machine
    kind: str
    size: int
    width: int
    is_reversed: bool
    """Whether the last tap comes first."""

    @property
    def name(self) -> str:
        """Of its code."""
        reversed_ = "reversed." if self.is_reversed else ""
        return f"relay.filters.{reversed_}{self.size}.{self.width}.{self.kind}"

    def text(self) -> str:
        """The code."""
        return Writing(self).text()


class Writing:
    """A transform of filters on its way to LLVM IR."""

    def __init__(self, how: FilterTransform) -> None:
        """Its code so far."""
        self.how = how
        self.lanes = how.machine.lanes(how.kind)
        self.bytes = SIZES[how.kind]
        self.vector = f"<{self.lanes} x {how.kind}>"
        names = ["source", "to", "channels", "filters", "begin", "count"]
        kinds = [POINTER, POINTER, "i64", "i64", "i64", "i64"]
        params = [Value(k, f"%{n}") for k, n in zip(kinds, names, strict=True)]
        self.source, self.to, self.channels, self.filters, self.begin, self.count = params
        self.code = Code(how.name, VOID, params, traits='nounwind noinline "prefer-vector-width"="512"')

    def text(self) -> str:
        """The whole function."""
        code = self.code
        rounds = code.op("udiv", self.filters, integer(self.lanes))

        def channel(i: Value, _: Sequence[Value]) -> list[Value]:
            c = code.op("add", self.begin, i)

            def several(v: Value, _: Sequence[Value]) -> list[Value]:
                self.transformed(c, code.op("mul", v, integer(self.lanes)))
                return []

            loop(code, rounds, (), several)
            return []

        loop(code, self.count, (), channel)
        code.do("ret void")
        return code.text()

    def transformed(self, channel: Value, filter_: Value) -> None:
        """A vector of filters of one channel."""
        code, n = self.code, self.how.size + TAPS - 1
        taps: list[Value] = []
        for k in range(TAPS * TAPS):
            tap = TAPS * TAPS - 1 - k if self.how.is_reversed else k
            row = code.op("add", code.op("mul", self.channels, integer(tap)), channel)
            at = code.op("add", code.op("mul", row, self.filters), filter_)
            taps.append(code.load(self.vector, self.place(self.source, at), f", align {self.bytes}"))
        lines = [taps[i : i + TAPS] for i in range(0, len(taps), TAPS)]
        half = [self.points(line) for line in zip(*lines, strict=True)]
        width = integer(self.how.width)
        panel, column = code.op("udiv", filter_, width), code.op("urem", filter_, width)
        first = code.op("mul", panel, integer(n * n))
        for i, line in enumerate(zip(*half, strict=True)):
            for j, v in enumerate(self.points(line)):
                matrix = code.op("add", first, integer(i * n + j))
                row = code.op("add", code.op("mul", matrix, self.channels), channel)
                at = code.op("add", code.op("mul", row, width), column)
                code.store(v, self.place(self.to, at), f", align {self.bytes}")

    def points(self, line: Sequence[Value]) -> list[Value]:
        """A line of taps as points."""
        return [self.sum(row, line) for row in filter_matrix(self.how.size)]

    def sum(self, factors: Sequence[float], line: Sequence[Value]) -> Value:
        """A sum of vectors, each times a number."""
        code, total = self.code, Value(self.vector, "zeroinitializer")
        for c, v in zip(factors, line, strict=True):
            if c:
                name = f"@llvm.fmuladd.{suffix(self.vector)}"
                by = self.number(c)
                total = code.set(self.vector, f"call {self.vector} {name}({v}, {by}, {total})")
        return total

    def number(self, c: float) -> Value:
        """A number in all lanes; one of float32 is written with the bits that a double has for it."""
        bits = np.float32(c) if self.how.kind == "float" else np.float64(c)
        return Value(self.vector, f"splat ({self.how.kind} 0x{np.float64(bits).view('uint64'):016X})")

    def place(self, p: Value, at: Value) -> Value:
        """Where a number is."""
        return self.code.at(p, self.code.op("mul", at, integer(self.bytes)))
