"""Which values blocks read: those that are defined outside, and all of them; what is not read is dead."""

from relay.backend.native.loops import nodes as ir

PURE = (*ir.VALUES, ir.Let)
"""Statements that do nothing but define a value."""


def used_values(block: ir.Block) -> set[ir.Value]:
    """The values that the yields and statements with an effect need: what is not among them is dead."""
    used: set[ir.Value] = set()
    _mark(block, used)
    return used


def _mark(block: ir.Block, used: set[ir.Value]) -> None:
    """Note what a block needs, from its end on."""
    used.update(block.yields)
    for s in reversed(block.statements):
        if isinstance(s, PURE) and ir.results(s)[0] not in used:
            continue
        for inner in ir.blocks(s):
            _mark(inner, used)
        used.update([x for x in ir.operands(s) if not isinstance(x, int)])


def without_dead_values(block: ir.Block) -> ir.Block:
    """The block without values that nothing reads."""
    return _without(block, used_values(block))


def _without(block: ir.Block, used: set[ir.Value]) -> ir.Block:
    found: list[ir.Statement] = []
    for s in block.statements:
        own = ir.results(s)
        if isinstance(s, PURE) and own[0] not in used:
            continue
        inner = ir.blocks(s)
        found.append(ir.with_blocks(s, [_without(x, used) for x in inner]) if inner else s)
    is_same = len(found) == len(block.statements) and all(
        x is y for x, y in zip(found, block.statements, strict=True)
    )
    return block if is_same else ir.Block(tuple(found), block.yields)


def free_values(block: ir.Block, *defined: ir.Var) -> list[ir.Value]:
    """The values that a block reads and does not define, in the order in which it does."""
    inside: set[ir.Value] = set(defined)
    found: dict[ir.Value, None] = {}
    _free(block, inside, found)
    return list(found)


def _free(block: ir.Block, inside: set[ir.Value], found: dict[ir.Value, None]) -> None:
    for s in block.statements:
        for x in ir.operands(s):
            if not isinstance(x, int | ir.Const) and x not in inside:
                found.setdefault(x)
        inside.update(ir.bound(s))
        for inner in ir.blocks(s):
            _free(inner, inside, found)
        inside.update(ir.results(s))
    for x in block.yields:
        if not isinstance(x, ir.Const) and x not in inside:
            found.setdefault(x)
