"""Vectors: several numbers of one type in a register, and the indices that count along them.

A value whose LLVM type is `<n x t>` is a vector of `n` lanes.  An index along the lanes is a `Run`: where the
first lane is, and how far each is from the one before it.
"""

from functools import cache
from typing import Any, NamedTuple


class Value(NamedTuple):
    """An SSA value or a constant: its LLVM type and how it is written."""

    type: str
    ref: str

    def __str__(self) -> str:
        return f"{self.type} {self.ref}"


SIZES = {
    "i1": 1,
    "i8": 1,
    "i16": 2,
    "i32": 4,
    "i64": 8,
    "half": 2,
    "bfloat": 2,
    "float": 4,
    "double": 8,
    "ptr": 8,
}
"""Bytes in memory."""


@cache
def lanes_of(kind: str) -> int:
    """How many lanes a type has; 0 if it is not a vector."""
    return int(kind[1 : kind.index(" ")]) if kind[0] == "<" else 0


@cache
def element_of(kind: str) -> str:
    """The type of a lane, or of the number itself."""
    return kind[kind.index(" x ") + 3 : -1] if kind[0] == "<" else kind


@cache
def vector_of(kind: str, lanes: int) -> str:
    """The type of so many lanes; of one number if that is 0."""
    return f"<{lanes} x {kind}>" if lanes else kind


@cache
def suffix(kind: str) -> str:
    """A type as it stands in the names of LLVM's intrinsics: `f32`, `v16i64`."""
    lanes, lane = lanes_of(kind), element_of(kind)
    short = {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}.get(lane, lane)
    return f"v{lanes}{short}" if lanes else short


@cache
def iota(kind: str, lanes: int, step: int = 1, first: int = 0) -> Value:
    """0, 1, 2, ... in the lanes, or every so many, from a first number on."""
    ends = ", ".join([f"{kind} {first + step * i}" for i in range(lanes)])
    return Value(vector_of(kind, lanes), f"<{ends}>")


class Run(NamedTuple):
    """An index along the lanes."""

    code: Any
    first: Any
    """Where the first lane is: a number, or a value."""
    step: int
    """How far each lane is from the one before it."""

    def vector(self) -> Value:
        """The index of each lane."""
        code = self.code
        first = Value("i64", str(self.first)) if isinstance(self.first, int) else self.first
        return code.op("add", code.spread(first), iota("i64", code.lanes, self.step))
