"""Code for float sums in blocks, whose rounding errors grow with the logarithm of the length.

A sum of n equal numbers, one after the other, is off by up to n / 2 units in the last place; in blocks, by no
more than the rounds of a block.  The blocks depend on the number of rounds and on nothing else, so a sum is
the same on any number of threads.
"""

from collections.abc import Callable, Sequence
from typing import Any

from relay.backend.native.llvm.builder import Value, integer
from relay.backend.native.llvm.vectors import element_of, lanes_of
from relay.backend.native.loops import nodes as ir
from relay.backend.native.loops.emit_indices import Index, IndexEmitter, value
from relay.backend.native.loops.emit_numbers import Number
from relay.backend.native.memory.representation import SIZES
from relay.backend.native.memory.tensors import loop
from relay.ir.dtype import is_float

BLOCK_ROUNDS, BLOCK_SUMS = 32, 16
"""Rounds that a block adds up, and sums of blocks that are added up before their sum is added to others."""
OPEN_LEVELS = 4
"""Levels of sums where the number of rounds is unknown."""
SHORT_ROUNDS = 4
"""Rounds of an inner loop that continues the sum of the loop around it."""
LINE_BYTES = 64

Step = Callable[[Any, list[Value]], Sequence[Value]]
"""A round of a loop: it takes an index and totals, and gives the next totals."""


def adds_up(s: ir.For) -> bool:
    """Return whether a nest adds up floats."""
    op = s.reduction
    return op is not None and op.adds_up and len(s.carried) == 1 and is_float(s.carried[0].dtype)


def sum_rounds(
    b: IndexEmitter, s: ir.For, n: Index, totals: Sequence[Value], neutral: Sequence[Value], step: Step
) -> Sequence[Value]:
    """Write a loop of `n` rounds of a sum; `neutral` are totals of nothing."""
    if isinstance(n, int) and n <= BLOCK_ROUNDS and (totals is neutral or n <= SHORT_ROUNDS):
        return loop(b.code, value(n), totals, step)
    blocks = Blocks(b, s, neutral[0])
    total = blocks.write(n, step)
    return [total if totals is neutral else blocks.add(totals[0], total)]


class Blocks:
    """The blocks of a loop.  Sums of blocks are in memory, so that the registers are left to the block."""

    def __init__(self, b: IndexEmitter, s: ir.For, neutral: Value) -> None:
        """`neutral` is the total of nothing."""
        self.b, self.code, self.neutral = b, b.code, neutral
        self.op: Any = s.reduction
        self.dtype = s.carried[0].dtype
        size = SIZES[element_of(neutral.type)] * (lanes_of(neutral.type) or 1)
        self.alignment = min(size, LINE_BYTES)
        self.size = -(-size // LINE_BYTES) * LINE_BYTES

    def add(self, x: Value, y: Value) -> Value:
        """Add two totals."""
        (total,) = self.op.combine(self.b, [Number(self.dtype, x)], Number(self.dtype, y))
        return total.value

    def write(self, n: Index, step: Step) -> Value:
        """Write the loop, and return its total."""
        b, code = self.b, self.code
        if isinstance(n, int) and n <= BLOCK_ROUNDS:
            return loop(code, value(n), [self.neutral], step)[0]
        memory = self.rooms(n)
        start, head, keep, after, done = (code.here, *[code.label() for _ in range(4)])
        code.jump(head)
        code.block(head)
        at = len(code.lines)
        begin = code.later("i64")
        are_full = isinstance(n, int) and n % BLOCK_ROUNDS == 0
        count = BLOCK_ROUNDS if are_full else b.smaller(b.minus(n, begin), BLOCK_ROUNDS)
        (block,) = loop(code, value(count), [self.neutral], lambda i, inner: step(b.plus(begin, i), inner))
        only = code.here
        if isinstance(n, int):
            code.jump(keep)
        else:
            is_only = code.compare("icmp ule", value(n), integer(BLOCK_ROUNDS))
            code.branch(is_only, done, keep, likely=True)
        code.block(keep)
        self.keep(memory, begin, block)
        following = code.op("add", begin, integer(BLOCK_ROUNDS))
        is_more, end = code.compare("icmp ult", following, value(n)), code.here
        code.branch(is_more, head, after)
        code.lines.insert(at, f"  {begin.ref} = phi i64 [0, %{start}], [{following.ref}, %{end}]")
        code.block(after)
        total = self.read(memory[-1])
        for p in reversed(memory[:-1]):
            total = self.add(total, self.read(p))
        if isinstance(n, int):
            return total
        arrivals = [([block], only), ([total], code.here)]
        code.jump(done)
        code.block(done)
        return code.join(arrivals)[0]

    def rooms(self, n: Index) -> list[Value]:
        """Return memory for the sums of each level."""
        levels = OPEN_LEVELS
        if isinstance(n, int):
            levels, rounds = 1, BLOCK_ROUNDS * BLOCK_SUMS
            while rounds < n:
                levels, rounds = levels + 1, rounds * BLOCK_SUMS
        p = self.code.room(levels * self.size)
        return [self.code.at(p, k * self.size) if k else p for k in range(levels)]

    def keep(self, memory: Sequence[Value], begin: Value, block: Value) -> None:
        """Add the sum of a block to that of its level, and a full one to that of the next level."""
        code = self.code
        first, later, end = code.label(), code.label(), code.label()
        code.branch(code.compare("icmp eq", begin, integer(0)), first, later, likely=False)
        code.block(first)
        for p in memory:
            self.put(p, self.neutral)
        code.jump(later)
        code.block(later)
        rounds = BLOCK_ROUNDS
        following = code.op("add", begin, integer(BLOCK_ROUNDS))
        for p in memory[:-1]:
            rounds *= BLOCK_SUMS
            block = self.add(self.read(p), block)
            full, more = code.label(), code.label()
            rest = code.op("and", following, integer(rounds - 1))
            code.branch(code.compare("icmp eq", rest, integer(0)), full, more, likely=False)
            code.block(more)
            self.put(p, block)
            code.jump(end)
            code.block(full)
            self.put(p, self.neutral)
        self.put(memory[-1], self.add(self.read(memory[-1]), block))
        code.jump(end)
        code.block(end)

    def read(self, p: Value) -> Value:
        """Read a sum.  The access is volatile: LLVM would give it registers all the same."""
        kind = self.neutral.type
        return self.code.set(kind, f"load volatile {kind}, {p}, align {self.alignment}")

    def put(self, p: Value, x: Value) -> None:
        """Write a sum."""
        self.code.do(f"store volatile {x}, {p}, align {self.alignment}")
