"""Which values blocks read: those that are defined outside, and all of them; what is not read is dead."""

from relay.backend.native.loops.nodes import (
    VALUES,
    Block,
    Const,
    Let,
    Statement,
    Value,
    Var,
    blocks,
    bound,
    operands,
    results,
    with_blocks,
)  # fmt: skip

PURE = frozenset([*VALUES, Let])
"""Statements that do nothing but define a value."""


def used_values(block: Block) -> set[Value]:
    """The values that the yields and statements with an effect need: what is not among them is dead."""
    used: set[Value] = set()
    _mark(block, used)
    return used


def _mark(block: Block, used: set[Value]) -> None:
    """Note what a block needs, from its end on."""
    used.update(block.yields)
    for s in reversed(block.statements):
        if type(s) in PURE and results(s)[0] not in used:
            continue
        for inner in blocks(s):
            _mark(inner, used)
        used.update([x for x in operands(s) if not isinstance(x, int)])


def without_dead_values(block: Block) -> Block:
    """The block without values that nothing reads."""
    return _without(block, used_values(block))


def _without(block: Block, used: set[Value]) -> Block:
    found: list[Statement] = []
    for s in block.statements:
        own = results(s)
        if type(s) in PURE and own[0] not in used:
            continue
        inner = blocks(s)
        found.append(with_blocks(s, [_without(x, used) for x in inner]) if inner else s)
    is_same = len(found) == len(block.statements) and all(
        x is y for x, y in zip(found, block.statements, strict=True)
    )
    return block if is_same else Block(tuple(found), block.yields)


def free_values(block: Block, *defined: Var) -> list[Value]:
    """The values that a block reads and does not define, in the order in which it does."""
    inside: set[Value] = set(defined)
    found: dict[Value, None] = {}
    _free(block, inside, found)
    return list(found)


def _free(block: Block, inside: set[Value], found: dict[Value, None]) -> None:
    for s in block.statements:
        for x in operands(s):
            if not isinstance(x, int | Const) and x not in inside:
                found.setdefault(x)
        inside.update(bound(s))
        for inner in blocks(s):
            _free(inner, inside, found)
        inside.update(results(s))
    for x in block.yields:
        if not isinstance(x, Const) and x not in inside:
            found.setdefault(x)
