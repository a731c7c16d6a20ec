"""What a variable of the source stands for while its program is batched, and how calls pass it on."""

from dataclasses import dataclass
from typing import Any, TypeAlias

from relay.ir.deep import with_room
from relay.ir.expr import Expr, Function, Var
from relay.ir.type import Dim, TensorType, Type


@dataclass(frozen=True, eq=False)
class Shared:
    """A value that is the same for every row; nothing in it is batched."""

    expr: Expr
    type: Type


@dataclass(frozen=True, eq=False)
class Rows:
    """A tensor with the rows along a new first axis; `type` is that of one row."""

    expr: Expr
    type: TensorType


@dataclass(frozen=True, eq=False)
class Fields:
    """A tuple whose fields are known one by one."""

    values: "tuple[Value, ...]"


@dataclass(frozen=True, eq=False)
class Closure:
    """A function that is known: its literal, and the values of what it captures."""

    function: Function
    captured: "dict[Var, Value]"


@dataclass(frozen=True, eq=False)
class Packed:
    """A value of a data type, or a function that is not known, with all that is in it batched."""

    expr: Expr
    type: Type


@dataclass(frozen=True, eq=False)
class Cell:
    """A reference made for every row: one reference to what is batched, of `outer` rows.

    `index` says which of its rows are those of here; None if they are all.
    """

    expr: Expr
    type: Type
    outer: Dim
    index: Expr | None


Value: TypeAlias = Shared | Rows | Fields | Closure | Packed | Cell

SHARED = "shared"
ROWS = "rows"
PACKED = "packed"
WHOLE_CELL, PART_CELL = "whole cell", "part of a cell"

Pattern: TypeAlias = Any
"""What of a value is batched: one of the words above; of a tuple a tuple of patterns; of a function that is
known its literal and the patterns of what it captures.
"""


@dataclass(frozen=True)
class Known:
    """The pattern of a function that is known."""

    function: Function
    captured: tuple[tuple[Var, Pattern], ...]


@with_room
def pattern_of(value: Value) -> Pattern:
    """The pattern of a value whose tuples are spread."""
    match value:
        case Shared():
            return SHARED
        case Rows():
            return ROWS
        case Fields():
            return tuple([pattern_of(v) for v in value.values])
        case Closure():
            return Known(value.function, tuple([(v, pattern_of(x)) for v, x in value.captured.items()]))
        case Packed():
            return PACKED
        case Cell():
            return WHOLE_CELL if value.index is None else PART_CELL


def known_functions(value: Value) -> tuple[set[Function], int]:
    """The known functions in a value, and how deep they capture each other."""
    found: set[Function] = set()
    deepest = 0
    stack = [(value, 0)]
    while stack:
        v, depth = stack.pop()
        deepest = max(deepest, depth)
        if isinstance(v, Fields):
            stack += [(x, depth) for x in v.values]
        elif isinstance(v, Closure):
            found.add(v.function)
            stack += [(x, depth + 1) for x in v.captured.values()]
    return found, deepest


@with_room
def joined(a: Pattern, b: Pattern) -> Pattern:
    """What values of both patterns have in common; functions are not known any more."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple([joined(x, y) for x, y in zip(a, b, strict=True)])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if a == b == SHARED:
        return SHARED
    if {a, b} <= {SHARED, ROWS}:
        return ROWS
    return a if a == b and a in (PACKED, WHOLE_CELL, PART_CELL) else PACKED


@with_room
def settled(pattern: Pattern) -> Pattern:
    """The pattern of a result: functions are passed as values."""
    if isinstance(pattern, tuple):
        return tuple([settled(p) for p in pattern])  # pyright: ignore[reportUnknownVariableType]
    return PACKED if isinstance(pattern, Known) else pattern


@with_room
def is_unbatched(pattern: Pattern) -> bool:
    """Whether nothing in a value is batched."""
    if isinstance(pattern, tuple):
        return all(map(is_unbatched, pattern))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(pattern, Known):
        return all(is_unbatched(p) for _, p in pattern.captured)
    return pattern == SHARED
