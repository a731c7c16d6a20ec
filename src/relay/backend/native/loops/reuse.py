"""Results in the memory of operands that end with the group: where that is legal, and which they are.

    out = new float32[n]                     out = new float32[n], or p if nobody else has it
    for i in n { out[i] = exp(p[i]) }   =>   for i in n { out[i] = exp(p[i]) }

Whether anybody else has the operand, its reference count says at run time (Reinking, Xie, de Moura and
Leijen, 2021).  It may give its memory to a result of its dtype and shape if each element is read before it is
written: in statements before the first that writes, or, where one statement does both, in each iteration on
its own, if iterations read and write different elements: each index of the loop stands at one axis of all
accesses.  What follows a product, part by part, is known to write each element once: there it is enough that
all accesses beside each other are those of one element.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from relay.backend.native.loops import nodes as ir
from relay.ir.type import TensorType

READ, WRITE, UNKNOWN = 1, 2, 4
"""What a statement does to a tensor: it reads elements, writes some, or has its address for anything."""
MAX_CHOICES = 3
"""Operands that a result may be written to, at most."""
MAX_RESHAPED_RANK = 5
"""Axes whose sizes there is room for in front of the elements, whatever the rank is."""
PLACES = frozenset({"data", "offset"})
"""Functions whose result is a place in the memory of their first operand."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor that a function is given, or makes."""

    value: ir.Value
    dtype: str
    sizes: Sequence[ir.Index]

    def could_be(self, other: "Tensor") -> bool:
        """Whether it may have the dtype and the shape of another."""
        return (
            self.dtype == other.dtype != "string"
            and len(self.sizes) == len(other.sizes) > 0
            and all(
                d == n or not (isinstance(d, int) and isinstance(n, int))
                for d, n in zip(self.sizes, other.sizes, strict=True)
            )
        )

    def has_room_for(self, other: "Tensor") -> bool:
        """Whether an object with its elements can have the sizes of another."""
        ranks = len(self.sizes), len(other.sizes)
        return self.dtype == other.dtype != "string" and 0 not in ranks and max(ranks) <= MAX_RESHAPED_RANK

    def place_of(self, other: "Tensor", is_copied: bool) -> ir.Place:
        """The place that another may take, which has its shape, or its elements if it `is_copied`."""
        if is_copied and list(self.sizes) != list(other.sizes):
            return ir.Place(self.value, is_reshaped=True)
        pairs = enumerate(zip(self.sizes, other.sizes, strict=True))
        return ir.Place(self.value, tuple([i for i, (d, n) in pairs if d != n]))


class Output(NamedTuple):
    """A result of the program that the caller may have an array for: the slot of the context that has it, and
    the type of the result.
    """

    slot: int
    type: TensorType

    def array_of(self, made: Tensor) -> ir.CallersArray | None:
        """The array as what a new tensor may be, unless it is of another dtype or shape."""
        dims, sizes = self.type.shape, made.sizes
        if self.type.dtype != made.dtype or not isinstance(dims, tuple) or len(dims) != len(sizes):
            return None
        known = [isinstance(d, int) and isinstance(n, int) for d, n in zip(dims, sizes, strict=True)]
        if any(k and d != n for k, d, n in zip(known, dims, sizes, strict=True)):
            return None
        return ir.CallersArray(self.slot, tuple([i for i, k in enumerate(known) if not k]))


def reuse_operands(
    block: ir.Block,
    given: Iterable[Tensor],
    outputs: Mapping[int, Output] | None = None,
    once: Set[ir.Value] = frozenset(),
) -> ir.Block:
    """A function's block, whose new tensors name those that they may take the place of, among `given` and
    those that the function makes; and the caller's arrays for what it yields, by number in `outputs`.
    Elements of those in `once` are each written once.
    """
    mine = {block.yields[i]: x for i, x in (outputs or {}).items()}
    known = [x for x in given if x.value not in block.yields]
    statements: list[ir.Statement] = []
    uses: Uses | None = None
    for s in block.statements:
        if isinstance(s, ir.NewTensor):
            made = Tensor(s.result, str(s.type.dtype), s.sizes)
            if any(x.could_be(made) or x.has_room_for(made) for x in known):
                uses = uses or Uses(block, once)
                s = replace(s, places=tuple(uses.places_for(made, known)))
            if s.result in mine:
                s = replace(s, array=mine[s.result].array_of(made))
            if made.value not in block.yields:
                known.append(made)
        elif isinstance(s, ir.Release):
            known = [x for x in known if x.value is not s.value]
        statements.append(s)
    return block if uses is None and not mine else ir.Block(tuple(statements), block.yields)


class Uses:
    """What each statement of a function does to each tensor, by the values that tensors are."""

    def __init__(self, block: ir.Block, once: Set[ir.Value]) -> None:
        """Of all statements of a function's block."""
        self.block = block
        self.once = once
        self.roots: dict[ir.Value, ir.Value] = {}
        """The tensor in whose memory an address is."""
        self.of: dict[ir.Statement, dict[ir.Value, int]] = {}
        self.positions: dict[ir.Block, dict[ir.Value, list[int]]] = {}
        """The numbers of a block's statements that use a tensor, in ascending order."""
        self.copied: dict[ir.Value, set[ir.Value]] = {}
        """The tensors that a tensor begins as a copy of."""
        self.note_all(block)
        for s in self.of:
            pair = self.copied_pair(s)
            for x in pair:
                self.copied.setdefault(x, set()).update(pair - {x})

    def note_all(self, block: ir.Block) -> dict[ir.Value, int]:
        """Note the uses of each statement of a block, and return those of all."""
        own: dict[ir.Value, int] = {}
        positions = self.positions[block] = {}
        for i, s in enumerate(block.statements):
            for x, use in self.note(s).items():
                own[x] = own.get(x, 0) | use
                positions.setdefault(x, []).append(i)
        return own

    def note(self, s: ir.Statement) -> dict[ir.Value, int]:
        """Note the uses of a statement and those inside of it, and return them."""
        own: dict[ir.Value, int] = {}
        for block in ir.blocks(s):
            for x, use in self.note_all(block).items():
                own[x] = own.get(x, 0) | use
        for block in ir.blocks(s):
            self.add(own, block.yields, UNKNOWN)
        match s:
            case ir.Apply() if s.op in PLACES and isinstance(s.args[0], ir.Value):
                self.roots[s] = self.roots.get(s.args[0], s.args[0])
            case ir.Load():
                self.add(own, (s.buffer.data,), READ)
            case ir.Store():
                self.add(own, (s.buffer.data,), WRITE)
                self.add(own, (s.value,), UNKNOWN)
            case ir.Let() if not isinstance(s.value, int):
                self.roots[s.result] = self.roots.get(s.value, s.value)
            case ir.NewTensor() | ir.Release() | ir.Prefetch() | ir.Apply(op="size" | "apart"):
                pass
            case _:
                self.add(own, ir.operands(s), UNKNOWN)
        self.of[s] = own
        return own

    def add(self, own: dict[ir.Value, int], values: Iterable[ir.Operand], use: int) -> None:
        """Note a use of those among some values that are tensors or in their memory."""
        for x in values:
            if not isinstance(x, int) and x.dtype in (ir.OBJECT, ir.ADDRESS):
                root = self.roots.get(x, x)
                own[root] = own.get(root, 0) | use

    def places_for(self, out: Tensor, known: Sequence[Tensor]) -> list[ir.Place]:
        """Return the places that `out` may take among those of `known` tensors, copied ones first."""
        copies = self.copied.get(out.value, set[ir.Value]())
        all_positions = self.positions[self.block]
        own = all_positions.get(out.value, [])
        written = own[0] if own else len(self.block.statements)
        places: list[ir.Place] = []
        for is_copied in (True, False):
            for p in known:
                if (p.value in copies) is not is_copied:
                    continue
                if not (is_copied and p.has_room_for(out)) and not p.could_be(out):
                    continue
                positions = all_positions.get(p.value, [])
                if not is_copied and positions and positions[-1] > written:
                    continue
                if self.may_take(out, p, self.block):
                    places.append(p.place_of(out, is_copied))
                    if len(places) == MAX_CHOICES:
                        return places
        return places

    def statements_of(self, out: Tensor, p: Tensor, block: ir.Block) -> list[ir.Statement]:
        """Return the statements of a block that use one of two tensors, in order."""
        positions = self.positions[block]
        return [
            block.statements[i] for i in sorted({*positions.get(out.value, ()), *positions.get(p.value, ())})
        ]

    def may_take(self, out: Tensor, p: Tensor, block: ir.Block) -> bool:
        """Return whether `out` may be in the memory of `p` as far as a block goes."""
        is_written = False
        for s in self.statements_of(out, p, block):
            if self.is_copy(s, out, p):
                is_written = True
                continue
            uses = self.of[s]
            reads, writes = uses.get(p.value, 0), uses.get(out.value, 0)
            if reads & WRITE:
                # What the function has written itself is there when it is read.
                if is_written or writes:
                    return False
                continue
            if reads and (is_written or (writes and not self.may_take_within(out, p, s))):
                return False
            is_written = is_written or bool(writes)
        return True

    def is_copy(self, s: ir.Statement, out: Tensor, p: Tensor) -> bool:
        """Return whether a statement does nothing if `out` is in the place of `p`."""
        return self.copied_pair(s) == {out.value, p.value}

    def copied_pair(self, s: ir.Statement) -> Set[ir.Value]:
        """Return the two tensors of which `s` copies one to the other unless they are in one place; none if
        `s` is not such a copy.
        """
        if not isinstance(s, ir.Branch) or s.blocks[-1].statements:
            return frozenset()
        c = s.conditions[0]
        if not isinstance(c, ir.Apply) or c.op != "apart":
            return frozenset()
        return frozenset([self.root(x) for x in c.args if isinstance(x, ir.Value)])

    def may_take_within(self, out: Tensor, p: Tensor, s: ir.Statement) -> bool:
        """Whether it may as far as one statement goes, that reads `p` and writes `out`."""
        if isinstance(s, ir.Branch):
            return all(self.may_take(out, p, block) for block in s.blocks)
        uses = self.of[s]
        if (uses[p.value] | uses[out.value]) & UNKNOWN:
            return False
        if out.value in self.once:
            return self.is_one_by_one(out, p, s)
        if not isinstance(s, ir.For):
            return False
        accesses = [x for block in self.blocks_of(out, p, s) for x in self.accesses(out, p, block)]
        shapes = {self.shape(x.buffer, out, p) for x in accesses}
        axes = range(len(accesses[0].index))
        return len(shapes) == 1 and all(
            n == 1 or any(all(x.index[a] is i for x in accesses) for a in axes)
            for i, n in zip(s.indices, s.extents, strict=True)
        ) and self.may_take(out, p, s.body)  # fmt: skip

    def is_one_by_one(self, out: Tensor, p: Tensor, s: ir.Statement) -> bool:
        """Whether each block within a statement that reads `p` or writes `out` does so at one index, and
        writes last.
        """
        for block in self.blocks_of(out, p, s):
            own = self.accesses(out, p, block)
            places = {(x.index, self.shape(x.buffer, out, p)) for x in own}
            if len(places) > 1 or (own and not isinstance(own[-1], ir.Store)):
                return False
            if any(isinstance(x, ir.Store) for x in own[:-1]):
                return False
        return True

    def blocks_of(self, out: Tensor, p: Tensor, s: ir.Statement) -> Iterator[ir.Block]:
        """Yield the blocks within a statement that use one of two tensors."""
        pending = [*ir.blocks(s)]
        while pending:
            block = pending.pop()
            yield block
            for x in self.statements_of(out, p, block):
                pending += ir.blocks(x)

    def accesses(self, out: Tensor, p: Tensor, block: ir.Block) -> list[ir.Load | ir.Store]:
        """Return the statements of a block itself that read or write an element of one of two tensors."""
        return [
            x for x in self.statements_of(out, p, block)
            if isinstance(x, ir.Load | ir.Store) and self.root(x.buffer.data) in (p.value, out.value)
        ]  # fmt: skip

    def root(self, x: ir.Value) -> ir.Value:
        """The tensor that a place in memory belongs to."""
        return self.roots.get(x, x)

    def shape(self, buffer: ir.Buffer, out: Tensor, p: Tensor) -> tuple[ir.Index, ...]:
        """In which shape elements are counted; theirs are the same where one takes the other's place."""
        is_result = self.root(buffer.data) is out.value and buffer.sizes == tuple(out.sizes)
        return tuple(p.sizes) if is_result else buffer.sizes
