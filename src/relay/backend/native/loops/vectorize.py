"""Chooses the loops that go along the lanes of vectors, and proves that they may.

A loop may if its iterations may run in any order, or combine what a reduction combines, and if each statement
has a form for several elements: what is written lies side by side, integers are not divided, loops inside run
as often for each.  It is the innermost one, unless a loop around it accesses more of memory side by side.
"""

from dataclasses import replace
from enum import Enum
from math import prod
from typing import Any

from relay.backend.native.loops import nodes as ir
from relay.backend.native.loops.cost import lanes_for
from relay.ir.dtype import is_float


class Kind(Enum):
    """How a value differs from lane to lane, where that is not by a known step."""

    VARYING = "varying"


VARYING = Kind.VARYING
Step = int | Kind
"""How far a value is from lane to lane; 0 is the same value for all."""


class Lanes:
    """What is known of values along the lanes of a loop."""

    def __init__(self, index: ir.Var) -> None:
        """`index` goes along the lanes."""
        self.steps: dict[Any, Step] = {index: 1}
        self.is_legal = True
        self.scattered = 0
        """Accesses to memory of other steps than 0 and 1."""

    def step(self, x: object) -> Step:
        """How far a value is from lane to lane."""
        return self.steps.get(x, 0)

    def block(self, block: ir.Block) -> None:
        """What is known of the values of a block."""
        for s in block.statements:
            self.statement(s)

    def statement(self, s: ir.Statement) -> None:
        """What is known of the values of a statement, and whether it has a form for several lanes."""
        match s:
            case ir.Apply():
                step = self.of_apply(s)
                if step != 0:
                    self.steps[s] = step
            case ir.Let():
                self.steps[s.result] = self.step(s.value)
            case ir.Load():
                if self.access(s) != 0:
                    self.steps[s] = VARYING
            case ir.Store():
                self.is_legal = self.is_legal and self.access(s) == 1
            case ir.For():
                self.is_legal = self.is_legal and not s.lanes and all(self.step(n) == 0 for n in s.extents)
                self.steps.update(dict.fromkeys((*s.carried, *s.results), VARYING))
                self.block(s.body)
            case ir.Branch():
                is_value = bool(s.results)
                self.is_legal = self.is_legal and is_value
                self.steps.update(dict.fromkeys(s.results, VARYING))
                for inner in s.blocks:
                    self.block(inner)
                    self.is_legal = self.is_legal and not any(
                        isinstance(x, ir.Store) for x in inner.statements
                    )
            case ir.Check() | ir.Prefetch() | ir.Global() | ir.Stack() | ir.Registers():
                pass
            case _:
                self.is_legal = False

    def of_apply(self, s: ir.Apply) -> Step:
        """How far a function of others is from lane to lane."""
        steps = [self.step(x) for x in s.args]
        if all(step == 0 for step in steps):
            return 0
        is_division = s.op in ("divide", "remainder") and not is_float(s.dtype)
        is_text = s.dtype == "string" or any(
            isinstance(x, ir.Var | ir.Const | ir.Apply | ir.Load) and x.dtype == "string" for x in s.args
        )
        if is_division or is_text:
            self.is_legal = False
        if s.op == "lane":
            return 1
        if s.op in ("plus", "minus"):
            a, b = steps
            if isinstance(a, int) and isinstance(b, int):
                return a + b if s.op == "plus" else a - b
        if s.op == "times":
            for step, by in ((steps[0], s.args[1]), (steps[1], s.args[0])):
                if isinstance(step, int) and isinstance(by, int):
                    return step * by
        return VARYING

    def access(self, s: ir.Load | ir.Store) -> Step:
        """How far apart elements are in memory."""
        total = 0
        sizes = s.buffer.sizes
        for k, (i, d) in enumerate(zip(s.index, sizes, strict=True)):
            step = 0 if d == 1 else self.step(i)
            if step == 0:
                continue
            inner = sizes[k + 1 :]
            if not isinstance(step, int) or not all(isinstance(n, int) for n in inner):
                self.scattered += 1
                return VARYING
            total += step * prod([n for n in inner if isinstance(n, int)])
        self.scattered += total not in (0, 1)
        return total


def along(s: ir.For) -> Lanes:
    """What is known along the last index of a nest."""
    lanes = Lanes(s.indices[-1])
    lanes.steps.update(dict.fromkeys(s.carried, VARYING))
    lanes.block(s.body)
    return lanes


def vectorize(block: ir.Block) -> ir.Block:
    """The block with lanes for its loops."""
    return vectorized(block)[0]


def vectorized(block: ir.Block) -> tuple[ir.Block, int]:
    """The block with lanes for its loops, and how many accesses of these are scattered."""
    found: list[ir.Statement] = []
    scattered = 0
    is_changed = False
    for s in block.statements:
        new = s
        if isinstance(s, ir.For):
            new, own = of_loop(s)
            scattered += own
        elif ir.blocks(s):
            made = [vectorized(inner) for inner in ir.blocks(s)]
            scattered += sum([own for _, own in made])
            new = ir.with_blocks(s, [inner for inner, _ in made])
        is_changed = is_changed or new is not s
        found.append(new)
    return (ir.Block(tuple(found), block.yields) if is_changed else block), scattered


def of_loop(s: ir.For) -> tuple[ir.For, int]:
    """A loop with lanes, or with loops inside that have."""
    if s.lanes:
        own = along(s)
        return (s if own.is_legal else replace(s, lanes=0)), own.scattered
    inner, scattered = vectorized(s.body)
    may_own = (s.any_order and not s.carried) or (s.reduction is not None and may_combine(s))
    if may_own and s.extents[-1] != 1:
        own = along(s)
        has_loops = inner is not s.body
        if own.is_legal and (not has_loops or own.scattered < scattered):
            return replace(s, lanes=lanes_for(s.body, s.extents[-1])), own.scattered
        if not has_loops:
            scattered = own.scattered
    return (s if inner is s.body else replace(s, body=inner)), scattered


def may_combine(s: ir.For) -> bool:
    """Whether lanes can each combine a part: of several totals, those of one loop."""
    return len(s.carried) == 1 or len(s.indices) == 1
