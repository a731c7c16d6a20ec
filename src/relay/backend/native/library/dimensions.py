"""Sizes of inputs that are computed from others, as operations on a stack of numbers (`library.h`)."""

from collections.abc import Mapping
from enum import IntEnum

from relay.ir.type import Dim, DimCall, DimExpr, TypeVar

STACK_DEPTH = 64
"""Numbers on the stack at once, at most: `SIZES_DEPTH_MAX` in C."""


class Operation(IntEnum):
    """What is done with the numbers on the stack; a number or that of a symbol follows the first two."""

    NUMBER = 0
    SYMBOL = 1
    ADD = 2
    MULTIPLY = 3
    DIVIDE = 4
    MIN = 5
    MAX = 6
    BROADCAST = 7
    END = 8


CALLS = {
    "/": Operation.DIVIDE,
    "min": Operation.MIN,
    "max": Operation.MAX,
    "broadcast": Operation.BROADCAST,
}


def size_code(d: Dim, symbols: Mapping[TypeVar, int]) -> list[int] | None:
    """The operations that compute a size; None if a symbol is bound nowhere, or it takes too deep a stack."""
    code: list[int] = []
    depth = most = 0
    pending: list[Dim | Operation] = [d]
    while pending:
        item = pending.pop()
        if isinstance(item, Operation):
            code.append(item)
            depth -= 1
        elif isinstance(item, int):
            code += (Operation.NUMBER, item)
            depth += 1
        elif isinstance(item, TypeVar) and item in symbols:
            code += (Operation.SYMBOL, symbols[item])
            depth += 1
        elif isinstance(item, DimExpr):
            pending += reversed(polynomial(item))
        elif isinstance(item, DimCall):
            pending += reversed(in_turn(item.args, CALLS[item.op]))
        else:
            return None
        most = max(most, depth)
    return [*code, Operation.END] if most <= STACK_DEPTH else None


def polynomial(d: DimExpr) -> list[Dim | Operation]:
    """A sum of products, in the order in which it is computed."""
    found: list[Dim | Operation] = [d.constant]
    for monomial, factor in d.terms:
        found += [*in_turn((factor, *monomial), Operation.MULTIPLY), Operation.ADD]
    return found


def in_turn(args: tuple[Dim, ...], operation: Operation) -> list[Dim | Operation]:
    """The first argument, then each other one with the operation behind it."""
    found: list[Dim | Operation] = [args[0]]
    for a in args[1:]:
        found += [a, operation]
    return found
