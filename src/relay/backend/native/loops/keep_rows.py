"""Keeps what several loops over a row compute alike, in a buffer that lies in the cache.

    for j in n { s = s + exp(x[j]) }              for j in n { let e = exp(x[j]); row[j] = e; s = s + e }
    for j in n { out[j] = exp(x[j]) / s }    =>   for j in n { out[j] = row[j] / s }

Loops of a block are over a row if they have the same extents.  A value is kept if it is longer to compute
than to read.  While the first loop fills a buffer, it fetches ahead what lies further away than in the cache:
the next row of what it reads, and the places of this one that the last loop writes.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from relay.backend.native.loops import nodes as ir
from relay.backend.native.loops.cost import NOT_NUMBERS, cost_of
from relay.backend.native.loops.free_values import free_values
from relay.backend.native.memory.representation import SIZES, memory, scalar

ROW_BYTES, ROWS_BYTES = 1 << 18, (1 << 20) - (1 << 14)
"""The most bytes kept of a row, for one value and for all: it lies in the cache, on a thread's stack, where
sums of blocks have the rest of a MiB.
"""
PADDED_ELEMENTS = 64
"""Elements that what is kept is a multiple of: the most lanes."""
NEAR_BYTES = 1 << 20
"""What one core's cache may hold."""
WORTH_KEEPING_COST = 3
"""What a value costs that is rather kept than computed again."""


def keep_rows(block: ir.Block, around: ir.For | None = None) -> ir.Block:
    """The block with what its loops share computed once; `around` is the loop that it is the body of."""
    found: list[ir.Statement] = []
    for s in block.statements:
        if isinstance(s, ir.For):
            found.append(ir.with_blocks(s, [keep_rows(s.body, s)]))
        else:
            found.append(ir.with_blocks(s, [keep_rows(x) for x in ir.blocks(s)]) if ir.blocks(s) else s)
    lanes = 0 if around is None else around.lanes
    for same in runs(found):
        if len(same) > 1 and all(bool(s.lanes) != bool(lanes) for s in same):
            kept = Keeping(same, around).kept()
            found = [y for s in found for y in kept.get(s, [s])]
    unchanged = len(found) == len(block.statements) and all(map(is_same, found, block.statements))
    return block if unchanged else ir.Block(tuple(found), block.yields)


def is_same(x: object, y: object) -> bool:
    """Whether two statements are one."""
    return x is y


def runs(block: Sequence[ir.Statement]) -> list[list[ir.For]]:
    """The loops over one row, between which nothing else writes memory."""
    found: list[list[ir.For]] = [[]]
    if sum(isinstance(s, ir.For) and is_row(s) for s in block) < 2:
        return found
    for s in block:
        if isinstance(s, ir.For) and is_row(s) and (not found[-1] or s.extents == found[-1][0].extents):
            found[-1].append(s)
        elif writes(s):
            found.append([s] if isinstance(s, ir.For) and is_row(s) else [])
    return found


def writes(s: ir.Statement) -> bool:
    """Whether a statement may write memory."""
    return any(
        isinstance(x, ir.Store | ir.Invoke | ir.CallRoutine | ir.Transpose)
        for x in ir.statements(ir.Block((s,)))
    )


def is_row(s: ir.For) -> bool:
    """Whether a loop is over a row: it writes results, or reduces."""
    return (s.any_order or s.reduction is not None) and len(s.indices) == 1 and s.extents != (1,)


class Keeping:
    """The loops over a row, and what each of their values is but for the index."""

    def __init__(self, loops: Sequence[ir.For], around: ir.For | None) -> None:
        """`around` is the loop over the rows."""
        self.loops = loops
        self.around = around
        self.numbers: dict[Any, int] = {}
        """A number for each form of value."""
        self.number_of: list[dict[ir.Value, int]] = []
        """The numbers of the values of each loop."""
        self.costs: dict[int, int] = {}
        # What the last loop writes may be read before, in its place too.
        written = {
            s.buffer.data for loop in loops[:-1] for s in ir.statements(loop.body) if isinstance(s, ir.Store)
        }
        for loop in loops:
            self.number_of.append(self.numbered(loop, written))
        self.lanes = 0 if around is None else around.lanes
        self.left = ROWS_BYTES
        self.scratch = list(around.scratch) if around is not None else []

    def numbered(self, loop: ir.For, written: set[ir.Value]) -> dict[ir.Value, int]:
        """The numbers of a loop's values; equal where these are equal at each index."""
        found: dict[ir.Value, int] = {loop.indices[0]: 0}

        def form(x: ir.Operand) -> object:
            return ("number", found[x]) if not isinstance(x, int) and x in found else x

        for s in loop.body.statements:
            if isinstance(s, ir.Apply):
                key: Any = (s.op, s.dtype, *map(form, s.args))
            elif isinstance(s, ir.Load) and s.buffer.data not in written:
                key = (s.buffer.data, *map(form, s.buffer.sizes), None, *map(form, s.index))
            else:
                continue
            number = self.numbers.setdefault(key, len(self.numbers) + 1)
            found[s] = number
            read = [found[x] for x in ir.operands(s) if not isinstance(x, int) and x in found]
            self.costs.setdefault(
                number, max(cost_of(s), 0) + isinstance(s, ir.Load) + sum(map(self.cost, read))
            )
        return found

    def cost(self, number: int) -> int:
        """What a value costs with all that it is computed from."""
        return self.costs.get(number, 0)

    def kept(self) -> dict[ir.Statement, list[ir.Statement]]:
        """The statements in place of each loop, where something is kept."""
        first: dict[int, int] = {}
        stacks: list[ir.Statement] = []
        buffers: dict[int, ir.Buffer] = {}
        reads: list[dict[ir.Statement, int]] = []
        for loop, numbers in zip(self.loops, self.number_of, strict=True):
            again = [
                s
                for s in self.repeated(loop, numbers, first)
                if self.has_buffer(s, numbers[s], buffers, stacks)
            ]
            reads.append({s: numbers[s] for s in again})
            for n in numbers.values():
                first.setdefault(n, len(reads) - 1)
        if not buffers:
            return {}
        ahead = min([first[n] for n in buffers])
        found: dict[ir.Statement, list[ir.Statement]] = {}
        for k, loop in enumerate(self.loops):
            body: list[ir.Statement] = []
            puts = {n: buffer for n, buffer in buffers.items() if first[n] == k}
            for s in loop.body.statements:
                if s in reads[k]:
                    body += self.get(s, buffers[reads[k][s]], loop)
                    continue
                body.append(s)
                n = self.number_of[k].get(s, -1) if isinstance(s, ir.Apply | ir.Load) else -1
                if n in puts:
                    body += self.put(s, puts.pop(n), loop)
                    if k == ahead:
                        body += self.fetches(loop)
                        ahead = -1
            found[loop] = [*stacks, replace(loop, body=ir.Block(tuple(body), loop.body.yields))]
            stacks = []
        return found

    def repeated(self, loop: ir.For, numbers: dict[ir.Value, int], first: dict[int, int]) -> list[Any]:
        """The values of a loop that loops before compute too, and that are worth keeping; not what only these
        are computed from.
        """
        needed: set[Any] = set(loop.body.yields)
        found: list[Any] = []
        for s in reversed(loop.body.statements):
            if isinstance(s, ir.Apply | ir.Load):
                if s not in needed:
                    continue
                n = numbers.get(s)
                is_number = s.dtype not in NOT_NUMBERS
                if (
                    n in first
                    and is_number
                    and self.costs[n] >= WORTH_KEEPING_COST
                    and isinstance(s, ir.Apply)
                ):
                    found.append(s)
                    continue
            needed.update(ir.operands(s))
            for inner in ir.blocks(s):
                needed.update(free_values(inner))
        return found

    # --- buffers ---

    def has_buffer(self, s: Any, n: int, buffers: dict[int, ir.Buffer], stacks: list[ir.Statement]) -> bool:
        """Whether a value has a buffer, or there is memory for one."""
        if n in buffers:
            return True
        count = self.loops[0].extents[0]
        lanes = max(1, self.lanes)
        if isinstance(count, int):
            padded = -(-count // PADDED_ELEMENTS) * PADDED_ELEMENTS
            size = padded * SIZES[memory(scalar(s.dtype))] * lanes
            if size > min(self.left, ROW_BYTES):
                return False
            self.left -= size
            data: ir.Value = ir.Stack(size)
            stacks.append(data)
        elif self.scratch:
            data = self.scratch.pop(0)
        else:
            return False
        sizes = (count, lanes) if lanes > 1 else (count,)
        buffers[n] = ir.Buffer(data, s.dtype, sizes, f"row{len(buffers)}")
        return True

    def place(self, loop: ir.For) -> tuple[list[ir.Statement], tuple[ir.Index, ...]]:
        """The index of a kept element; neighbouring rows lie side by side if lanes go along these."""
        if not self.lanes or self.around is None:
            return [], loop.indices
        lane = ir.Apply("lane", (self.around.indices[-1],), ir.INDEX)
        return [lane], (*loop.indices, lane)

    def put(self, s: Any, buffer: ir.Buffer, loop: ir.For) -> list[ir.Statement]:
        """Keep a value."""
        lane, place = self.place(loop)
        return [*lane, ir.Store(buffer, place, s)]

    def get(self, s: Any, buffer: ir.Buffer, loop: ir.For) -> list[ir.Statement]:
        """Take a value that has been kept."""
        lane, place = self.place(loop)
        read = ir.Load(buffer, place)
        return [*lane, read, ir.Let(s, read)]

    # --- the next row ---

    def fetches(self, loop: ir.For) -> list[ir.Statement]:
        """What the loop that fills buffers fetches of large tensors: results of this row, operands of the
        next.  Processors foresee no more than the rest of a page.
        """
        if self.lanes or not loop.lanes:
            return []
        (index,), (count,) = loop.indices, loop.extents
        found: dict[ir.Value, ir.Statement] = {}
        for other in self.loops:
            for s in other.body.statements:
                is_access = isinstance(s, ir.Load | ir.Store) and s.index and s.index[-1] is other.indices[0]
                if isinstance(s, ir.Load | ir.Store) and is_access and not is_near(s.buffer):
                    is_written = isinstance(s, ir.Store)
                    at = (*s.index[:-1], index)
                    found.setdefault(
                        s.buffer.data, ir.Prefetch(s.buffer, at, 0 if is_written else count, is_written)
                    )
        return list(found.values())


def is_near(buffer: ir.Buffer) -> bool:
    """Whether a tensor may well lie in the cache of a core."""
    known = [d for d in buffer.sizes if isinstance(d, int)]
    is_known = len(known) == len(buffer.sizes)
    return is_known and prod(known) * SIZES[memory(scalar(buffer.dtype))] <= NEAR_BYTES
