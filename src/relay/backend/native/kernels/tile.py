"""The innermost part of a matrix product: a tile of the result in registers.

A tile has `rows` rows of `width` vectors.  For each number of the summed dimension it reads a row of vectors
of the second operand, and one number a row of the first, which it multiplies them with.  A low tile has
several sets of sums, so that one addition need not wait for the other.

Where sums are int32, what it reads are pairs of int16, neighbours along the summed dimension: both products
of a pair are added at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from relay.backend.native.llvm.builder import POINTER, VOID, Code, Value, integer
from relay.backend.native.llvm.machine import Machine
from relay.backend.native.llvm.vectors import lanes_of, suffix
from relay.backend.native.memory.representation import SIZES

CHAINS = 8
"""Sums that keep the multipliers busy: two a cycle, of four cycles each."""
LINE = 64
"""Bytes of a cache line."""
FAR = 4096
"""Bytes ahead of what is read that a low tile fetches."""
PITCH = 208
"""Numbers between two rows of the first operand: rows begin in different sets of the cache."""
DEEPEST = 192
"""The most of the summed dimension that a tile goes through, which its rows have room for."""


@dataclass(frozen=True)
class Tile:
    """A shape of tile, of float or double, or of i32 and pairs, for a machine."""

    machine: Machine
    kind: str
    rows: int
    width: int
    is_packed: bool = True
    """Whether rows of the first operand are `pitch` numbers apart; else as far as a call says."""
    pitch: int = PITCH
    has_runs: bool = False
    """Whether rows of the first operand are runs of numbers with gaps between them; a call says how long."""

    @property
    def name(self) -> str:
        """Of its code."""
        how = f".runs.{self.pitch}" if self.has_runs else "" if self.is_packed else ".open"
        return f"relay.tile.{self.kind}.{self.rows}x{self.width}{how}"

    @property
    def lanes(self) -> int:
        """Numbers in a vector."""
        return self.machine.lanes(self.kind)

    @property
    def vector(self) -> str:
        """The LLVM type of a vector."""
        return f"<{self.lanes} x {self.kind}>"

    @property
    def sets(self) -> int:
        """How many sets of sums there are."""
        return 1 if self.has_runs else max(1, CHAINS // (self.rows * self.width))

    @property
    def columns(self) -> int:
        """Numbers in a row."""
        return self.width * self.lanes

    def text(self) -> str:
        """The code: `(first, second, pitch, depth, out, out_pitch, columns, adds, ahead)`, pitches in bytes,
        and the pitch of the first operand if that is not packed, or the numbers of its runs and the bytes
        between two of them.

        A cache line of `ahead` is fetched for each number of the summed dimension.
        """
        return Writing(self).text()


class Writing:
    """A tile on its way to LLVM IR."""

    def __init__(self, tile: Tile) -> None:
        """Its code so far."""
        self.tile = tile
        kinds = [POINTER, POINTER, "i64", "i64", POINTER, "i64", "i64", "i1", POINTER]
        names = ["a", "b", "pitch", "depth", "c", "out_pitch", "columns", "adds", "ahead"]
        params = [Value(kind, f"%{name}") for kind, name in zip(kinds, names, strict=True)]
        self.open_pitch = Value("i64", "%open_pitch")
        (
            self.a,
            self.b,
            self.pitch,
            self.depth,
            self.c,
            self.out_pitch,
            self.columns,
            self.adds,
            self.ahead,
        ) = params
        self.align = SIZES[tile.kind]
        self.suffix = f"{suffix(tile.vector)}.p0"
        self.plus = "add" if tile.kind == "i32" else "fadd"
        traits = 'nounwind noinline "prefer-vector-width"="512"'
        self.run, self.gap = Value("i64", "%run"), Value("i64", "%gap")
        more = [self.run, self.gap] if tile.has_runs else [] if tile.is_packed else [self.open_pitch]
        given = [*params, *more]
        self.code = Code(tile.name, VOID, given, traits=traits)
        self.rows = self.find_rows()

    def find_rows(self) -> list[Value]:
        """Where the rows of the first operand begin.

        LLVM is not told how those lie that are not packed: it would add their pitch up from row to row, again
        and again, instead of keeping addresses.
        """
        code, n = self.code, self.tile.rows
        if self.tile.is_packed:
            return [code.at(self.a, r * self.tile.pitch * SIZES[self.tile.kind]) for r in range(n)]
        places = [code.at(self.a, code.op("mul", self.open_pitch, integer(r))) for r in range(n)]
        return [code.set(POINTER, f'call ptr asm "", "=r,0"({p})') for p in places]

    def text(self) -> str:
        """The whole function."""
        tile, code = self.tile, self.code
        count = tile.rows * tile.width
        zero = Value(tile.vector, "zeroinitializer")
        sums = [zero] * (count * tile.sets)
        a, b, done = integer(0), self.b, integer(0)
        self.expect_results()
        if tile.sets > 1:
            whole = code.op("udiv", self.depth, integer(tile.sets))
            a, b, sums = self.along(whole, a, b, sums, tile.sets)
            sums = self.together(sums)
            done = code.op("mul", whole, integer(tile.sets))
        _, _, sums = self.along(code.op("sub", self.depth, done), a, b, sums[:count], 1)
        self.write(sums)
        code.do("ret void")
        return code.text()

    def along(
        self, n: Value, a: Value, b: Value, sums: list[Value], steps: int
    ) -> tuple[Value, Value, list[Value]]:
        """Add `n` times `steps` products to each sum, a step to each set; `a` is how far rows of the first
        operand have been read, in bytes, and `b` the next row of the second.
        """
        code = self.code
        start, head, after = code.here, code.label(), code.label()
        entering = code.label()
        code.branch(code.compare("icmp ne", n, integer(0)), entering, after)
        code.block(entering)
        code.jump(head)
        code.block(head)
        at = len(code.lines)
        i = Value("i64", code.fresh())
        inner_a, inner_b = Value("i64", code.fresh()), Value(POINTER, code.fresh())
        inner = [Value(v.type, code.fresh()) for v in sums]
        new: list[Value] = []
        self.fetch(i, inner_b)
        count = self.tile.rows * self.tile.width
        row = inner_b
        for s in range(steps):
            new += self.step(inner_a, s, row, inner[s * count : (s + 1) * count])
            row = code.at(row, self.pitch)
        next_a = code.op("add", inner_a, integer(SIZES[self.tile.kind] * steps))
        rest, more = Value("i64", code.fresh()), self.run
        if self.tile.has_runs:
            is_last = code.compare("icmp eq", rest, integer(1))
            next_a = code.op("add", next_a, code.select(is_last, self.gap, integer(0)))
            more = code.select(is_last, self.run, code.op("sub", rest, integer(1)))
        left = code.op("sub", i, integer(1))
        end = code.here
        code.branch(code.compare("icmp ne", left, integer(0)), head, after)
        rounds = [(i, n, left), (inner_a, a, next_a), (inner_b, b, row), *zip(inner, sums, new, strict=True)]
        rounds += [(rest, self.run, more)] if self.tile.has_runs else []
        code.lines[at:at] = [
            f"  {v.ref} = phi {v.type} [{first.ref}, %{entering}], [{then.ref}, %{end}]"
            for v, first, then in rounds
        ]
        code.block(after)
        arrivals = [([a, b, *sums], start), ([next_a, row, *new], end)]
        found = code.join(arrivals)
        return found[0], found[1], found[2:]

    def expect_results(self) -> None:
        """Fetch the places of the result."""
        row = self.c
        for _ in range(self.tile.rows):
            for j in range(self.tile.width):
                self.prefetch(self.code.at(row, j * self.tile.machine.vector), level=3)
            row = self.code.at(row, self.out_pitch)

    def fetch(self, i: Value, row: Value) -> None:
        """Fetch what is needed later: of the same panel if there is hardly a computation to wait for, else
        of the next one.
        """
        code = self.code
        if self.tile.sets > 1:
            for j in range(self.tile.width * self.tile.sets):
                self.prefetch(code.at(row, FAR + j * LINE), level=3)
        else:
            line = code.op("mul", i, integer(LINE))
            self.prefetch(code.at(self.ahead, line), level=2)

    def prefetch(self, p: Value, level: int) -> None:
        """Bring a cache line in."""
        self.code.do(f"call void @llvm.prefetch.p0({p}, i32 0, i32 {level}, i32 1)")

    def step(self, a: Value, k: int, row: Value, sums: list[Value]) -> list[Value]:
        """The sums with one product more each."""
        tile, code = self.tile, self.code
        size = SIZES[tile.kind]
        parts = [
            self.factors(code.load(tile.vector, code.at(row, j * tile.machine.vector), f", align {size}"))
            for j in range(tile.width)
        ]
        found: list[Value] = []
        for r in range(tile.rows):
            x = code.load(tile.kind, code.at(code.at(self.rows[r], a), k * size))
            several = [self.spread(one) for one in self.factors(x)]
            for part, s in zip(parts, sums[r * tile.width : (r + 1) * tile.width], strict=True):
                total = s
                for one, other in zip(several, part, strict=True):
                    total = self.with_product(total, one, other)
                found.append(total)
        return found

    def factors(self, v: Value) -> list[Value]:
        """What is read, as it is multiplied: pairs as their halves if nothing multiplies both."""
        code = self.code
        if self.tile.kind != "i32" or self.tile.machine.pairs:
            return [v]
        by = Value(v.type, "splat (i32 16)" if lanes_of(v.type) else "16")
        return [code.op("ashr", code.op("shl", v, by), by), code.op("ashr", v, by)]

    def with_product(self, total: Value, x: Value, part: Value) -> Value:
        """`total + x * part`, where both may be pairs."""
        code, kind = self.code, total.type
        if self.tile.kind != "i32":
            return code.intrinsic("fmuladd", x, part, total)
        if not self.tile.machine.pairs:
            return code.op("add", total, code.op("mul", x, part))
        halves = f"<{2 * self.tile.lanes} x i16>"
        several = [code.set(halves, f"bitcast {v} to {halves}") for v in (x, part)]
        name = f"@llvm.x86.{self.tile.machine.pairs}"
        return code.op("add", total, code.set(kind, f"call {kind} {name}({several[0]}, {several[1]})"))

    def spread(self, x: Value) -> Value:
        """A vector of one number."""
        code, vector, n = self.code, self.tile.vector, self.tile.lanes
        one = code.set(vector, f"insertelement {vector} poison, {x}, i32 0")
        return code.set(vector, f"shufflevector {one}, {vector} poison, <{n} x i32> zeroinitializer")

    def together(self, sums: list[Value]) -> list[Value]:
        """The sets added up."""
        count = self.tile.rows * self.tile.width
        sets = [sums[i : i + count] for i in range(0, len(sums), count)]
        while len(sets) > 1:
            half = len(sets) // 2
            pairs = [
                [self.code.op(self.plus, x, y) for x, y in zip(a, b, strict=True)]
                for a, b in zip(sets[:half], sets[half : 2 * half], strict=True)
            ]
            sets = pairs + sets[2 * half :]
        return sets[0]

    # --- results ---

    def write(self, sums: list[Value]) -> None:
        """Write the sums: as many columns as are asked for."""
        code = self.code
        if self.tile.machine.has_masks:
            self.put(sums, self.masks())
            return
        whole, part, after = code.label(), code.label(), code.label()
        code.branch(code.compare("icmp uge", self.columns, integer(self.tile.columns)), whole, part)
        for label in (whole, part):
            code.block(label)
            self.put(sums, self.masks() if label == part else [None] * self.tile.width)
            code.jump(after)
        code.block(after)

    def put(self, sums: list[Value], masks: Sequence[Value | None]) -> None:
        """Write the sums, added to what is there if that is asked for."""
        code = self.code
        adding, after = code.label(), code.label()
        start = code.here
        code.branch(self.adds, adding, after)
        code.block(adding)
        added = [
            code.op(self.plus, self.loaded(p, mask), v)
            for v, (p, mask) in zip(sums, self.places(masks), strict=True)
        ]
        code.jump(after)
        code.block(after)
        sums = code.join([(sums, start), (added, adding)])
        for v, (p, mask) in zip(sums, self.places(masks), strict=True):
            self.store(v, p, mask)

    def places(self, masks: Sequence[Value | None]) -> Iterator[tuple[Value, Value | None]]:
        """The address of each vector of the result, and which of its columns are asked for."""
        row = self.c
        for _ in range(self.tile.rows):
            for j, mask in enumerate(masks):
                yield self.code.at(row, j * self.tile.machine.vector), mask
            row = self.code.at(row, self.out_pitch)

    def loaded(self, p: Value, mask: Value | None) -> Value:
        """A vector of the result."""
        found = self.tile.vector
        if mask is None:
            return self.code.load(found, p, f", align {self.align}")
        args = f"{p}, i32 {self.align}, {mask}, {found} zeroinitializer"
        return self.code.set(found, f"call {found} @llvm.masked.load.{self.suffix}({args})")

    def store(self, v: Value, p: Value, mask: Value | None) -> None:
        """Write a vector of the result."""
        if mask is None:
            self.code.store(v, p, f", align {self.align}")
        else:
            args = f"{v}, {p}, i32 {self.align}, {mask}"
            self.code.do(f"call void @llvm.masked.store.{self.suffix}({args})")

    def masks(self) -> list[Value]:
        """Which columns of each vector are asked for."""
        code, n = self.code, self.tile.lanes
        kind = f"<{n} x i64>"
        one = code.set(kind, f"insertelement {kind} poison, {self.columns}, i32 0")
        wanted = code.set(kind, f"shufflevector {one}, {kind} poison, <{n} x i32> zeroinitializer")
        found: list[Value] = []
        for j in range(self.tile.width):
            places = Value(kind, f"<{', '.join([f'i64 {j * n + i}' for i in range(n)])}>")
            found.append(code.set(f"<{n} x i1>", f"icmp ult {places}, {wanted.ref}"))
        return found
