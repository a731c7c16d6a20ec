"""Straight-line runs of operators, which become programs of XLA where the interpreter runs the rest.

They are found among the instructions of a function: operators that follow one another without a jump, with
the tuples that they take and give.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relay.backend.xla.host_operators import HostOperator
from relay.diagnostic import Span
from relay.interpreter.code import (
    GET,
    OP1,
    OP2,
    OPN,
    SHAPES,
    TUPLE,
    Register,
)


@dataclass(frozen=True, slots=True)
class Step:
    """An operator on registers; the tuple of some, where it is None, or the part of one with that number."""

    does: HostOperator | int | None
    reads: tuple[Register, ...]
    out: Register
    span: Span | None


def step_of(instruction: Sequence[Any], span: Span | None) -> Step | None:
    """What an instruction does in a segment, if it can be part of one."""
    opcode, d, f, a, b = instruction
    if opcode == TUPLE:
        return Step(None, tuple(a), d, span)
    if opcode == GET:
        return Step(b, (a,), d, span)
    if opcode not in (OP1, OP2, OPN) or not isinstance(f, HostOperator) or not f.has_form:
        return None
    return Step(f, (a,) if opcode == OP1 else (a, b) if opcode == OP2 else tuple(a), d, span)


def reads_of(instruction: Sequence[Any]) -> list[Register]:
    """The registers that an instruction reads."""
    found: list[Register] = []
    for kind, x in zip(SHAPES[instruction[0]][1:], instruction[2:], strict=True):
        found += [x] if kind == "r" else x if kind == "R" else []
    return found
