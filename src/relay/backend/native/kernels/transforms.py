"""The transforms of minimal convolutions: patches of data to points, and points to tiles of the result.

A patch of `size + 2` by `size + 2` elements gives `size` by `size` results of a filter of 3 by 3.  Both are
polynomials: their values at some points are multiplied, which takes fewer products than there are taps, and
channels are summed in between.  The points are 0, pairs `p` and `-p`, and infinity; those for tiles of 4 are
where sums in float32 lose least, less than half of what the usual 1 and 2 lose.  Source: Winograd, 1980;
Lavin and Gray, 2015.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from relay.backend.native.kernels.moves import Moves
from relay.backend.native.llvm.builder import POINTER, VOID, Code, Value, integer
from relay.backend.native.llvm.machine import Machine
from relay.backend.native.llvm.vectors import suffix
from relay.backend.native.memory.representation import SIZES
from relay.backend.native.memory.tensors import loop

PAIRS = {2: (1.0,), 4: (5 / 8, 3 / 2)}
"""The points that are positive, by the size of tiles."""
Matrix = Sequence[Sequence[float]]


def data_matrix(size: int) -> Matrix:
    """What a line of a patch is multiplied with; sums and differences of the pairs between the first and the
    last are its values at points.
    """
    whole = product([[-p * p, 0, 1] for p in PAIRS[size]])
    rows = [[*whole, 0]]
    for p in PAIRS[size]:
        others = product([[-q * q, 0, 1] for q in PAIRS[size] if q != p])
        rows += [[0, 0, *others, 0], [0, *[p * c for c in others], 0, 0]]
    return [*rows, [0, *whole]]


def result_matrix(size: int) -> Matrix:
    """What a line of values at points is multiplied with, after sums and differences have been made of those
    pairs.
    """
    rows: list[list[float]] = []
    for i in range(size):
        pairs = [c for p in PAIRS[size] for c in ((0, p**i) if i % 2 else (p**i, 0))]
        rows.append([float(i == 0), *pairs, float(i == size - 1)])
    return rows


def filter_matrix(size: int) -> Matrix:
    """What a line of a filter is multiplied with."""
    rows = [[1 / prod([-p * p for p in PAIRS[size]]), 0, 0]]
    for p in PAIRS[size]:
        by = 1 / (2 * p * p * prod([p * p - q * q for q in PAIRS[size] if q != p]))
        rows += [[by, p * by, p * p * by], [by, -p * by, p * p * by]]
    return [*rows, [0, 0, 1]]


def product(factors: Sequence[Sequence[float]]) -> list[float]:
    """The product of polynomials, as their coefficients."""
    found = np.ones(1)
    for f in factors:
        found = np.convolve(found, f)
    return [float(c) for c in found]


def filter_points(weight: Any, size: int) -> Any:
    """Filters `(3, 3, channels, filters)` as points `((size + 2) ** 2, channels, filters)`, in float64."""
    g = np.asarray(filter_matrix(size))
    both = np.einsum("ia,jb->ijab", g, g).reshape(-1, 9)
    _, _, channels, filters = weight.shape
    flat = weight.reshape(9, channels * filters).astype("float64")
    return (both @ flat).reshape(-1, channels, filters)


@dataclass(frozen=True)
class Transform:
    """A transform of float32 or float64 numbers: of data, or of the result.

    The code is `(from, to, shape, first, tiles, begin, channels)`: tiles from `first` on, counted through all
    images, and channels from `begin` on.  `shape` is in memory: whole numbers of 64 bits, as `WORDS` says.
    """

    machine: Machine
    kind: str
    size: int
    of_data: bool

    @property
    def name(self) -> str:
        """Of its code."""
        return f"relay.{'patches' if self.of_data else 'tiles'}.{self.size}.{self.kind}"

    def text(self) -> str:
        """The code."""
        return Writing(self).text()


WORDS = ("image", "row", "place", "height", "width", "down", "across", "top", "left", "point", "tile")
"""Bytes from an image, a row and a place of the tensor to the next one; its height and width; tiles below and
beside each other; padding before it; bytes from a point, and from a tile of points, to the next one.
"""


class Writing:
    """A transform on its way to LLVM IR."""

    def __init__(self, how: Transform) -> None:
        """Its code so far."""
        self.how = how
        self.lanes = how.machine.lanes(how.kind)
        self.bytes = self.lanes * SIZES[how.kind]
        self.vector = f"<{self.lanes} x {how.kind}>"
        self.points = how.size + 2
        self.edge = self.points if how.of_data else how.size
        """Elements on a side of what is read or written of the tensor."""
        names = ["source", "to", "shape", "first", "tiles", "begin", "channels"]
        kinds = [POINTER, POINTER, POINTER, "i64", "i64", "i64", "i64"]
        params = [Value(k, f"%{n}") for k, n in zip(kinds, names, strict=True)]
        self.source, self.to, self.shape, self.first, self.tiles, self.begin, self.channels = params
        self.code = Code(how.name, VOID, params, traits='nounwind noinline "prefer-vector-width"="512"')
        dtype = "float32" if how.kind == "float" else "float64"
        self.moves = Moves(self.code, how.machine, dtype, how.kind)
        self.room = self.code.room(self.edge * self.edge * self.bytes)

    def text(self) -> str:
        """The whole function."""
        code = self.code
        self.words = {n: code.load("i64", code.at(self.shape, 8 * i)) for i, n in enumerate(WORDS)}

        def tile(i: Value, _: Sequence[Value]) -> list[Value]:
            self.tile(i, code.op("add", self.first, i))
            return []

        loop(code, self.tiles, (), tile)
        code.do("ret void")
        return code.text()

    def tile(self, i: Value, number: Value) -> None:
        """One tile: all of its channels."""
        code, w = self.code, self.words
        x, rest = code.op("urem", number, w["across"]), code.op("udiv", number, w["across"])
        y, image = code.op("urem", rest, w["down"]), code.op("udiv", rest, w["down"])
        y, x = (
            code.op("sub", code.op("mul", n, integer(self.how.size)), before)
            for n, before in ((y, w["top"]), (x, w["left"]))
        )
        tensor = self.source if self.how.of_data else self.to
        for n, pitch in ((image, w["image"]), (y, w["row"]), (x, w["place"])):
            tensor = code.at(tensor, code.op("mul", n, pitch))
        tensor = code.at(tensor, code.op("mul", self.begin, integer(self.moves.size)))
        points = self.to if self.how.of_data else self.source
        points = code.at(points, code.op("mul", i, w["tile"]))
        is_inside = code.op("and", self.fits(y, w["height"]), self.fits(x, w["width"]))
        rounds = code.op("udiv", code.op("add", self.channels, integer(self.lanes - 1)), integer(self.lanes))

        def several(v: Value, _: Sequence[Value]) -> list[Value]:
            done = code.op("mul", v, integer(self.lanes))
            shift = code.op("mul", v, integer(self.bytes))
            left = code.op("sub", self.channels, done)
            is_whole = code.compare("icmp sge", left, integer(self.lanes))
            count = code.select(is_whole, integer(self.lanes), left)
            place = code.at(tensor, shift)
            is_direct = code.op("and", is_inside, is_whole)
            here = code.select(is_direct, place, self.room)
            row = code.select(is_direct, w["row"], integer(self.edge * self.bytes))
            column = code.select(is_direct, w["place"], integer(self.bytes))
            if self.how.of_data:
                self.unless(is_direct, lambda: self.each((y, x), place, count, is_read=True))
                self.forward(here, row, column, code.at(points, shift))
            else:
                self.backward(code.at(points, shift), here, row, column)
                self.unless(is_direct, lambda: self.each((y, x), place, count, is_read=False))
            return []

        loop(code, rounds, (), several)

    def fits(self, at: Value, n: Value) -> Value:
        """Whether an edge of a tile lies on the tensor."""
        code = self.code
        most = code.op("sub", n, integer(self.edge))
        return code.op("and", code.compare("icmp sge", at, integer(0)), code.compare("icmp sle", at, most))

    def unless(self, c: Value, body: Callable[[], None]) -> None:
        """Do something if a condition does not hold."""
        code = self.code
        there, after = code.label(), code.label()
        code.branch(c, after, there)
        code.block(there)
        body()
        code.jump(after)
        code.block(after)

    # --- what does not lie on the tensor, or does not fill vectors ---

    def each(self, begin: tuple[Value, Value], place: Value, count: Value, is_read: bool) -> None:
        """Move elements between the tensor, as far as they lie on it, and the room; the others are 0."""
        code, w = self.code, self.words

        def one(k: Value, _: Sequence[Value]) -> list[Value]:
            i, j = (code.op(name, k, integer(self.edge)) for name in ("udiv", "urem"))
            room = code.at(self.room, code.op("mul", k, integer(self.bytes)))
            at = code.at(code.at(place, code.op("mul", i, w["row"])), code.op("mul", j, w["place"]))
            there = [
                code.compare("icmp ult", code.op("add", first, n), w[size])
                for first, n, size in zip(begin, (i, j), ("height", "width"), strict=True)
            ]
            if is_read:
                self.moves.write(Value(self.vector, "zeroinitializer"), room, integer(0))
            source, to = (at, room) if is_read else (room, at)
            some = code.select(code.op("and", *there), count, integer(0))
            self.moves.move(source, to, integer(0), some)
            return []

        loop(code, integer(self.edge * self.edge), (), one)

    # --- transforms ---

    def forward(self, p: Value, row: Value, column: Value, to: Value) -> None:
        """A patch as points."""
        patch = self.loaded(p, row, column)
        half = [self.to_points(line) for line in zip(*patch, strict=True)]
        for i, line in enumerate(zip(*half, strict=True)):
            for j, v in enumerate(self.to_points(line)):
                self.code.store(v, self.point(to, i * self.points + j), f", align {self.moves.size}")

    def backward(self, p: Value, to: Value, row: Value, column: Value) -> None:
        """Points as a tile of the result."""
        code, n = self.code, self.points
        half = [self.of_points([self.load(self.point(p, i * n + j)) for i in range(n)]) for j in range(n)]
        for line in zip(*half, strict=True):
            at = to
            for v in self.of_points(line):
                code.store(v, at, f", align {self.moves.size}")
                at = code.at(at, column)
            to = code.at(to, row)

    def loaded(self, p: Value, row: Value, column: Value) -> list[list[Value]]:
        """A patch."""
        code, found = self.code, list[list[Value]]()
        for _ in range(self.points):
            at, line = p, list[Value]()
            for _ in range(self.points):
                line.append(self.load(at))
                at = code.at(at, column)
            found.append(line)
            p = code.at(p, row)
        return found

    def load(self, p: Value) -> Value:
        """A vector."""
        return self.code.load(self.vector, p, f", align {self.moves.size}")

    def point(self, p: Value, n: int) -> Value:
        """Where a point is."""
        return self.code.at(p, self.code.op("mul", self.words["point"], integer(n)))

    def to_points(self, line: Sequence[Value]) -> list[Value]:
        """A line of a patch, transformed."""
        return self.paired([self.sum(row, line) for row in data_matrix(self.how.size)])

    def of_points(self, line: Sequence[Value]) -> list[Value]:
        """A line of points, transformed back."""
        paired = self.paired(line)
        return [self.sum(row, paired) for row in result_matrix(self.how.size)]

    def paired(self, line: Sequence[Value]) -> list[Value]:
        """Sums and differences in place of the pairs between the first and the last."""
        first, *inner, last = line
        pairs = zip(inner[::2], inner[1::2], strict=True)
        found = [self.code.op(name, a, b) for a, b in pairs for name in ("fadd", "fsub")]
        return [first, *found, last]

    def sum(self, factors: Sequence[float], line: Sequence[Value]) -> Value:
        """A sum of vectors, each times a number."""
        code, total = self.code, None
        terms = [(c, v) for c, v in zip(factors, line, strict=True) if c]
        terms.sort(key=lambda term: abs(term[0]) != 1 or term[0] < 0)
        for c, v in terms:
            if total is None:
                total = v if c == 1 else code.op("fmul", v, self.number(c))
            elif abs(c) == 1:
                total = code.op("fadd" if c > 0 else "fsub", total, v)
            else:
                name = f"@llvm.fmuladd.{suffix(self.vector)}"
                total = code.set(self.vector, f"call {self.vector} {name}({v}, {self.number(c)}, {total})")
        assert total is not None, "a row of a matrix is not 0"
        return total

    def number(self, c: float) -> Value:
        """A number in all lanes."""
        return Value(self.vector, f"splat ({self.how.kind} {float(c)!r})")
