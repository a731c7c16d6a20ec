"""Arithmetic on indices as LLVM IR, folded where they are known; along lanes, an index for each."""

from typing import Any

from relay.backend.native.llvm.builder import Code, Value, integer
from relay.backend.native.llvm.vectors import Run, lanes_of
from relay.backend.native.loops.emit_numbers import Number, NumberEmitter
from relay.backend.native.loops.index_arithmetic import IndexArithmetic
from relay.ir.expr import Expr

Index = int | Value | Run
"""A known number, or one that the code computes; along lanes, one for each."""


def value(i: Index) -> Value:
    """An index as the code has it."""
    if isinstance(i, Value):
        return i
    return integer(i) if isinstance(i, int) else i.vector()


def first_and_step(i: Index) -> tuple[Any, int]:
    """The index of the first lane, and how far it is from lane to lane."""
    return (i.first, i.step) if isinstance(i, Run) else (i, 0)


class IndexEmitter(NumberEmitter, IndexArithmetic):
    """Numbers and indices at one expression, written to the code of a function."""

    def __init__(self, program: Any, code: Code, at: Expr) -> None:
        """As `NumberEmitter`."""
        NumberEmitter.__init__(self, program, code, at)
        IndexArithmetic.__init__(self)

    def _both(self, name: str, i: Index, j: Index) -> Value:
        return self.code.op(name, value(i), value(j))

    def plus(self, i: Index, j: Index) -> Index:
        """`i + j`."""
        if isinstance(i, int):
            if isinstance(j, int):
                return i + j
            if isinstance(j, Run) and isinstance(j.first, int):
                return Run(j.code, i + j.first, j.step)
        if isinstance(i, Run) or isinstance(j, Run):
            return self._of_runs("add", i, j)
        return j if i == 0 else i if j == 0 else self._both("add", i, j)

    def _of_runs(self, name: str, i: Index, j: Index) -> Index:
        """`i + j` or `i - j` where one is a run."""
        (first, step), (other, away) = first_and_step(i), first_and_step(j)
        if any(isinstance(x, Value) and lanes_of(x.type) for x in (first, other)):
            return self._both(name, i, j)
        if name == "add":
            return self.run(self.plus(first, other), step + away)
        return self.run(self.minus(first, other), step - away)

    def run(self, first: Index, step: int) -> Index:
        """An index along the lanes."""
        return Run(self.code, first, step) if step else first

    def minus(self, i: Index, j: Index) -> Index:
        """`i - j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i - j
        if isinstance(i, Run) or isinstance(j, Run):
            return self._of_runs("sub", i, j)
        return i if j == 0 else self._both("sub", i, j)

    def times(self, i: Index, j: Index) -> Index:
        """`i * j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i * j
        if i == 0 or j == 0:
            return 0
        for along, by in ((i, j), (j, i)):
            if isinstance(along, Run) and isinstance(by, int):
                return self.run(self.times(along.first, by), along.step * by)
        return j if i == 1 else i if j == 1 else self._both("mul", i, j)

    def quotient(self, i: Index, j: Index) -> Index:
        """`i / j` rounded towards 0; `j` is not 0."""
        if isinstance(i, int) and isinstance(j, int):
            return abs(i) // abs(j) * (1 if (i < 0) == (j < 0) else -1)
        return i if j == 1 else self._both("sdiv", i, j)

    def rest(self, i: Index, j: Index) -> Index:
        """The remainder of `i / j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i - j * (abs(i) // abs(j) * (1 if (i < 0) == (j < 0) else -1))
        return 0 if j == 1 else self._both("srem", i, j)

    def is_less(self, i: Index, j: Index) -> Number:
        """Whether `i < j`."""
        return Number("bool", self.code.compare("icmp slt", value(i), value(j)))

    def is_same(self, i: Index, j: Index) -> Number:
        """Whether `i == j`."""
        return Number("bool", self.code.compare("icmp eq", value(i), value(j)))

    def is_within(self, i: Index, n: Index) -> Number:
        """Whether `0 <= i < n`."""
        return Number("bool", self.code.compare("icmp ult", value(i), value(n)))

    def choose(self, c: Number, i: Index, j: Index) -> Index:
        """`i` where `c`, else `j`."""
        return self.code.select(c.value, value(i), value(j))

    def require(self, c: Number, code: str, message: str, hint: str = "") -> None:
        """Fail unless `c`."""
        self.refuse(self.code.op("xor", c.value, Value("i1", "true")), code, message, hint)

    def require_shape(self, c: Number, why: str) -> None:
        """Fail unless sizes are as they should be (`shape-check`)."""
        self.require(c, "shape-check", why)
