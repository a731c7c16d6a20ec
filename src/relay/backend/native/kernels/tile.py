"""The innermost part of a matrix product: a tile of the result in registers.

A tile has `rows` rows of `width` vectors.  For each number of the summed dimension it reads a row of vectors
of the second operand, and one number a row of the first, which it multiplies them with.  A low tile has
several sets of sums, so that one addition need not wait for the other.
"""

from dataclasses import dataclass

from relay.backend.native.code import POINTER, VOID, Code, Value, integer
from relay.backend.native.kernels.machine import Machine
from relay.backend.native.representation import SIZES

CHAINS = 8
"""Sums that keep the multipliers busy: two a cycle, of four cycles each."""
PITCH = 272
"""Numbers between two rows of the first operand: rows begin in different sets of the cache."""
DEEPEST = 256
"""The most of the summed dimension that a tile goes through, which its rows have room for."""


@dataclass(frozen=True)
class Tile:
    """A shape of tile, of float or double, for a machine."""

    machine: Machine
    kind: str
    rows: int
    width: int

    @property
    def name(self) -> str:
        """Of its code."""
        return f"relay.tile.{self.kind}.{self.rows}x{self.width}"

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
        return max(1, CHAINS // (self.rows * self.width))

    @property
    def columns(self) -> int:
        """Numbers in a row."""
        return self.width * self.lanes

    def text(self) -> str:
        """The code: `(first, second, pitch, depth, out, out_pitch, columns, adds)`, pitches in bytes."""
        return Writing(self).text()


class Writing:
    """A tile on its way to LLVM IR."""

    def __init__(self, tile: Tile) -> None:
        """Its code so far."""
        self.tile = tile
        kinds = [POINTER, POINTER, "i64", "i64", POINTER, "i64", "i64", "i1"]
        names = ["a", "b", "pitch", "depth", "c", "out_pitch", "columns", "adds"]
        params = [Value(kind, f"%{name}") for kind, name in zip(kinds, names, strict=True)]
        self.a, self.b, self.pitch, self.depth, self.c, self.out_pitch, self.columns, self.adds = params
        traits = 'nounwind noinline "prefer-vector-width"="512"'
        self.code = Code(tile.name, VOID, params, traits=traits)

    def text(self) -> str:
        """The whole function."""
        tile, code = self.tile, self.code
        count = tile.rows * tile.width
        zero = Value(tile.vector, "zeroinitializer")
        sums = [zero] * (count * tile.sets)
        a, b, done = self.a, self.b, integer(0)
        if tile.sets > 1:
            whole = code.op("udiv", self.depth, integer(tile.sets))
            a, b, sums = self.along(whole, a, b, sums, tile.sets)
            sums = self.together(sums)
            done = code.op("mul", whole, integer(tile.sets))
        _, _, sums = self.along(code.op("sub", self.depth, done), a, b, sums[:count], 1)
        self.write(sums)
        code.do("ret void")
        return "\n".join([*self.declarations(), code.text()])

    def declarations(self) -> list[str]:
        """What the code calls."""
        return []

    def along(
        self, n: Value, a: Value, b: Value, sums: list[Value], steps: int
    ) -> tuple[Value, Value, list[Value]]:
        """Add `n` times `steps` products to each sum, a step to each set."""
        code = self.code
        start, head, after = code.here, code.label(), code.label()
        entering = code.label()
        code.branch(code.compare("icmp ne", n, integer(0)), entering, after)
        code.block(entering)
        code.jump(head)
        code.block(head)
        at = len(code.lines)
        i = Value("i64", code.fresh())
        inner_a, inner_b = Value(POINTER, code.fresh()), Value(POINTER, code.fresh())
        inner = [Value(v.type, code.fresh()) for v in sums]
        new: list[Value] = []
        count = self.tile.rows * self.tile.width
        row = inner_b
        for s in range(steps):
            new += self.step(inner_a, s, row, inner[s * count : (s + 1) * count])
            row = code.at(row, self.pitch)
        next_a = code.at(inner_a, SIZES[self.tile.kind] * steps)
        left = code.op("sub", i, integer(1))
        end = code.here
        code.branch(code.compare("icmp ne", left, integer(0)), head, after)
        rounds = [(i, n, left), (inner_a, a, next_a), (inner_b, b, row), *zip(inner, sums, new, strict=True)]
        code.lines[at:at] = [
            f"  {v.ref} = phi {v.type} [{first.ref}, %{entering}], [{then.ref}, %{end}]"
            for v, first, then in rounds
        ]
        code.block(after)
        arrivals = [([a, b, *sums], start), ([next_a, row, *new], end)]
        found = code.join(arrivals)
        return found[0], found[1], found[2:]

    def step(self, a: Value, k: int, row: Value, sums: list[Value]) -> list[Value]:
        """The sums with one product more each."""
        tile, code = self.tile, self.code
        size = SIZES[tile.kind]
        parts = [
            code.load(tile.vector, code.at(row, j * tile.machine.vector), f", align {size}")
            for j in range(tile.width)
        ]
        found: list[Value] = []
        for r in range(tile.rows):
            x = code.load(tile.kind, code.at(a, (r * PITCH + k) * size))
            found += self.products(self.spread(x), parts, sums[r * tile.width : (r + 1) * tile.width])
        return found

    def products(self, x: Value, parts: list[Value], sums: list[Value]) -> list[Value]:
        """`sum + x * part` for each part of a row."""
        name = f"@llvm.fmuladd.v{self.tile.lanes}{'f32' if self.tile.kind == 'float' else 'f64'}"
        return [
            self.code.set(s.type, f"call {s.type} {name}({x}, {part}, {s})")
            for part, s in zip(parts, sums, strict=True)
        ]

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
                [self.code.op("fadd", x, y) for x, y in zip(a, b, strict=True)]
                for a, b in zip(sets[:half], sets[half : 2 * half], strict=True)
            ]
            sets = pairs + sets[2 * half :]
        return sets[0]

    # --- results ---

    def write(self, sums: list[Value]) -> None:
        """Write the sums, or add them to what is there: whole rows, or as many columns as are asked for."""
        code = self.code
        whole, part, after = code.label(), code.label(), code.label()
        code.branch(code.compare("icmp uge", self.columns, integer(self.tile.columns)), whole, part)
        code.block(whole)
        self.rows_out(sums, None)
        code.jump(after)
        code.block(part)
        self.rows_out(sums, self.masks())
        code.jump(after)
        code.block(after)

    def rows_out(self, sums: list[Value], masks: list[Value] | None) -> None:
        """Write each row, or add it to what is there."""
        code = self.code
        adding, writing, after = code.label(), code.label(), code.label()
        code.branch(self.adds, adding, writing)
        for label in (adding, writing):
            code.block(label)
            row = self.c
            for r in range(self.tile.rows):
                self.row_out(sums[r * self.tile.width :], row, masks, label == adding)
                row = code.at(row, self.out_pitch)
            code.jump(after)
        code.block(after)

    def row_out(self, sums: list[Value], row: Value, masks: list[Value] | None, adds: bool) -> None:
        """Write one row, or add it to what is there."""
        code, tile = self.code, self.tile
        align = SIZES[tile.kind]
        suffix = f"v{tile.lanes}{'f32' if tile.kind == 'float' else 'f64'}.p0"
        for j in range(tile.width):
            v, p = sums[j], code.at(row, j * tile.machine.vector)
            if masks is None:
                if adds:
                    v = code.op("fadd", code.load(tile.vector, p, f", align {align}"), v)
                code.store(v, p, f", align {align}")
                continue
            if adds:
                args = f"{p}, i32 {align}, {masks[j]}, {tile.vector} zeroinitializer"
                old = code.set(tile.vector, f"call {tile.vector} @llvm.masked.load.{suffix}({args})")
                v = code.op("fadd", old, v)
            code.do(f"call void @llvm.masked.store.{suffix}({v}, {p}, i32 {align}, {masks[j]})")

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
