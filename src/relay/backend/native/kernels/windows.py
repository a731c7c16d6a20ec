"""What the windows of a convolution see, as rows of numbers that tiles multiply with filters.

A row is a place of the result: its numbers are those of the data below the taps of the window, tap after tap,
zeros where a tap is on padding.  The channels of a tap lie beside each other in memory; those of several taps
do too, if these are neighbours on the last axis: together they are a run, which is moved in one go.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Generic, TypeVar

from relay.backend.native.code import POINTER, VOID, Code, Value, integer
from relay.backend.native.kernels.machine import Machine
from relay.backend.native.kernels.moves import Moves
from relay.backend.native.kernels.tile import PITCH
from relay.backend.native.representation import SIZES, scalar
from relay.backend.native.tensors import loop

T = TypeVar("T")
AXES = 3
"""Spatial axes; those that data does not have are of size 1."""


@dataclass(frozen=True)
class Geometry(Generic[T]):
    """How windows lie on data, axis by axis, as the code reads it from memory: whole numbers of 64 bits.

    Place `i` of the result sees with tap `k` what is at `i * step + begin + k * tap_step`, divided by
    `divisor` where that leaves nothing; if it leaves something, padding.
    """

    result: Sequence[T]
    data: Sequence[T]
    step: Sequence[T]
    begin: Sequence[T]
    tap_step: Sequence[T]
    taps: Sequence[T]
    """How many there are, those in a run as one."""
    divisor: Sequence[T]
    pitch: Sequence[T]
    """Bytes from an element of the data to the next one."""
    others: Sequence[T]
    """Bytes of an image; taps in a run; channels of a tap."""

    def words(self) -> list[T]:
        """All of it."""
        return [x for f in fields(self) for x in getattr(self, f.name)]

    @staticmethod
    def read(code: Code, p: Value) -> "Geometry[Value]":
        """As the code finds it."""
        places = iter(range(len(fields(Geometry)) * AXES))
        return Geometry(
            *[[code.load("i64", code.at(p, 8 * next(places))) for _ in range(AXES)] for _ in fields(Geometry)]
        )


@dataclass(frozen=True)
class Windows:
    """A way of moving what windows see: `(data, to, geometry, first, rows, begin, count)`, numbers from
    `begin` on of some rows.
    """

    machine: Machine
    dtype: str
    kind: str
    is_spread: bool
    """Whether there are divisors that are not 1."""

    @property
    def name(self) -> str:
        """Of its code."""
        return f"relay.windows.{'spread.' if self.is_spread else ''}{self.dtype}.{self.kind}"

    def text(self) -> str:
        """The code."""
        return Writing(self).text()


@dataclass(frozen=True)
class Segment:
    """A part of a run: where it begins in the run, how long it is, and where it goes in a row, in bytes."""

    begin: Value
    count: Value
    to: Value
    places: Sequence[Value]
    """What its taps see at the first place of the result, before division."""


class Writing:
    """A way of moving windows on its way to LLVM IR."""

    def __init__(self, how: Windows) -> None:
        """Its code so far."""
        self.how = how
        self.size, self.from_size = SIZES[how.kind], SIZES[scalar(how.dtype)]
        names = ["data", "to", "geometry", "first", "rows", "begin", "count"]
        kinds = [POINTER, POINTER, POINTER, "i64", "i64", "i64", "i64"]
        params = [Value(k, f"%{n}") for k, n in zip(kinds, names, strict=True)]
        self.data, self.to, self.given, self.first, self.rows, self.begin, self.count = params
        declared = [Value(f"{v.type} noalias" if v.type == POINTER else v.type, v.ref) for v in params]
        self.code = Code(how.name, VOID, declared, traits='nounwind noinline "prefer-vector-width"="512"')
        self.moves = Moves(self.code, how.machine, how.dtype, how.kind)

    def text(self) -> str:
        """The whole function."""
        code = self.code
        g = self.geometry = Geometry.read(code, self.given)
        self.image, self.together, self.channels = g.others
        self.run = code.op("mul", self.together, self.channels)
        place, index = self.first, list[Value]()
        for n in reversed(g.result):
            index.insert(0, code.op("urem", place, n))
            place = code.op("udiv", place, n)
        self.start = [place, *index]
        before = code.op("udiv", self.begin, self.run)
        last = code.op("sub", code.op("add", self.begin, self.count), integer(1))
        several = code.op("sub", code.op("udiv", last, self.run), before)

        def one(i: Value, _: Sequence[Value]) -> list[Value]:
            self.moved(self.segment(code.op("add", before, i)))
            return []

        loop(code, code.op("add", several, integer(1)), (), one)
        code.do("ret void")
        return code.text()

    def segment(self, number: Value) -> Segment:
        """What is wanted of a run."""
        code, g = self.code, self.geometry
        start = code.op("mul", number, self.run)
        begin = self.larger(self.begin, start)
        end = self.smaller(code.op("add", self.begin, self.count), code.op("add", start, self.run))
        to = code.op("mul", code.op("sub", begin, self.begin), integer(self.size))
        places: list[Value] = []
        for n, first, step in zip(reversed(g.taps), reversed(g.begin), reversed(g.tap_step), strict=True):
            tap = code.op("urem", number, n)
            number = code.op("udiv", number, n)
            places.insert(0, code.op("add", first, code.op("mul", tap, step)))
        return Segment(code.op("sub", begin, start), code.op("sub", end, begin), to, places)

    def moved(self, s: Segment) -> None:
        """A part of a run, for row after row."""
        code = self.code
        to = code.at(self.to, s.to)

        def row(_: Value, index: list[Value]) -> list[Value]:
            *index, out = index
            self.row(s, index, out)
            return [*self.next(index), code.at(out, PITCH * self.size)]

        loop(code, self.rows, [*self.start, to], row)

    def next(self, index: Sequence[Value]) -> list[Value]:
        """The place after a place."""
        code, found, step = self.code, list[Value](), integer(1)
        for i, n in zip(reversed(index[1:]), reversed(self.geometry.result), strict=True):
            more = code.op("add", i, step)
            is_over = code.compare("icmp uge", more, n)
            found.insert(0, code.select(is_over, integer(0), more))
            step = code.cast("zext", is_over, "i64")
        return [code.op("add", index[0], step), *found]

    def row(self, s: Segment, index: Sequence[Value], out: Value) -> None:
        """A part of a run that one place sees."""
        code, g = self.code, self.geometry
        p = code.at(self.data, code.op("mul", index[0], self.image))
        fits: list[Value] = []
        places: list[Value] = []
        for a in range(AXES):
            at = code.op("add", s.places[a], code.op("mul", index[a + 1], g.step[a]))
            if self.how.is_spread:
                fits.append(code.compare("icmp eq", code.op("srem", at, g.divisor[a]), integer(0)))
                at = code.op("sdiv", at, g.divisor[a])
            places.append(at)
            p = code.at(p, code.op("mul", at, g.pitch[a]))
        *outer, at = places
        fits += [code.compare("icmp ult", i, n) for i, n in zip(outer, g.data[:-1], strict=True)]
        first = self.clamped(code.op("sub", integer(0), at), self.together)
        last = self.clamped(code.op("sub", g.data[-1], at), self.together)
        is_there = fits[0]
        for c in fits[1:]:
            is_there = code.op("and", is_there, c)
        low, high = [
            self.clamped(code.op("sub", code.op("mul", n, self.channels), s.begin), s.count)
            for n in (first, code.select(is_there, last, integer(0)))
        ]
        source = code.at(p, code.op("mul", s.begin, integer(self.from_size)))
        self.either(
            code.op(
                "and",
                code.compare("icmp eq", low, integer(0)),
                code.compare("icmp eq", high, s.count),
            ),
            lambda: self.moves.move(source, out, integer(0), s.count),
            lambda: self.partly(source, out, (low, high), s.count),
        )

    def partly(self, source: Value, out: Value, inside: tuple[Value, Value], count: Value) -> None:
        """Zeros, but for what is on the data."""
        self.moves.clear(out, count)
        low, high = inside
        self.moves.move(source, out, low, self.larger(low, high))

    def either(self, c: Value, yes: Callable[[], None], no: Callable[[], None]) -> None:
        """One of two things to do."""
        code = self.code
        labels = code.label(), code.label()
        after = code.label()
        code.branch(c, *labels)
        for label, do in zip(labels, (yes, no), strict=True):
            code.block(label)
            do()
            code.jump(after)
        code.block(after)

    # --- whole numbers ---

    def smaller(self, a: Value, b: Value) -> Value:
        """The smaller of two."""
        return self.code.select(self.code.compare("icmp slt", a, b), a, b)

    def larger(self, a: Value, b: Value) -> Value:
        """The larger of two."""
        return self.code.select(self.code.compare("icmp sgt", a, b), a, b)

    def clamped(self, a: Value, most: Value) -> Value:
        """The number from 0 to `most` that is nearest."""
        return self.larger(self.smaller(a, most), integer(0))
