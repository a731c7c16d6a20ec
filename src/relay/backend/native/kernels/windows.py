"""What the windows of a convolution see, as rows of numbers that tiles multiply with filters.

A row is a place of the result: its numbers are those of the data below the taps of the window, tap after tap,
zeros where a tap is on padding.  The channels of a tap lie beside each other in memory; those of several taps
do too, if these are neighbours on the last axis: together they are a run, which is moved in one go.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Generic, TypeVar

from relay.backend.native.kernels.moves import FEW, TRAITS, Moves
from relay.backend.native.kernels.tile import PITCH
from relay.backend.native.llvm.builder import POINTER, VOID, Code, Value, integer
from relay.backend.native.llvm.machine import Machine
from relay.backend.native.memory.representation import SIZES, scalar
from relay.backend.native.memory.tensors import loop

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
        self.code = Code(how.name, VOID, declared, traits=TRAITS)
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
        """A part of a run, for line after line of places."""
        code, n = self.code, self.geometry.result[-1]
        to = code.at(self.to, s.to)
        end = code.op("add", self.start[-1], self.rows)
        lines = code.op("udiv", code.op("add", end, code.op("sub", n, integer(1))), n)

        def line(_: Value, carried: list[Value]) -> list[Value]:
            *index, x, left, out = carried
            count = self.smaller(left, code.op("sub", n, x))
            self.line(s, index, (x, count), out)
            further = code.op("mul", count, integer(PITCH * self.size))
            return [*self.next(index), integer(0), code.op("sub", left, count), code.at(out, further)]

        loop(code, lines, [*self.start, self.rows, to], line)

    def next(self, index: Sequence[Value]) -> list[Value]:
        """The line after a line."""
        code, found, step = self.code, list[Value](), integer(1)
        for i, n in zip(reversed(index[1:]), reversed(self.geometry.result[:-1]), strict=True):
            more = code.op("add", i, step)
            is_over = code.compare("icmp uge", more, n)
            found.insert(0, code.select(is_over, integer(0), more))
            step = code.cast("zext", is_over, "i64")
        return [code.op("add", index[0], step), *found]

    def seen(self, s: Segment, axis: int, i: Value) -> tuple[Value, list[Value]]:
        """What the first tap of a segment sees on an axis, and what has to hold for that."""
        code, g = self.code, self.geometry
        at = code.op("add", s.places[axis], code.op("mul", i, g.step[axis]))
        if not self.how.is_spread:
            return at, []
        fits = code.compare("icmp eq", code.op("srem", at, g.divisor[axis]), integer(0))
        return code.op("sdiv", at, g.divisor[axis]), [fits]

    def line(self, s: Segment, index: Sequence[Value], along: tuple[Value, Value], out: Value) -> None:
        """A part of a run that the places of a line see, from one on."""
        code, g = self.code, self.geometry
        image, *outer = index
        p = code.at(self.data, code.op("mul", image, self.image))
        fits: list[Value] = []
        for a, i in enumerate(outer):
            at, conditions = self.seen(s, a, i)
            fits += [*conditions, code.compare("icmp ult", at, g.data[a])]
            p = code.at(p, code.op("mul", at, g.pitch[a]))
        is_there = self.all(fits)
        p = code.at(p, code.op("mul", s.begin, integer(self.from_size)))
        first, count = along
        inside = code.select(is_there, code.op("sub", g.data[-1], self.together), integer(-1))

        def place(i: Value, carried: list[Value]) -> list[Value]:
            (to,) = carried
            at, conditions = self.seen(s, AXES - 1, code.op("add", first, i))
            source = code.at(p, code.op("mul", at, g.pitch[-1]))
            whole = [code.compare("icmp sge", at, integer(0)), code.compare("icmp sle", at, inside)]
            self.either(
                self.all([*conditions, *whole]),
                lambda: self.whole(source, to, s.count),
                lambda: self.partly(s, source, to, at, self.all([is_there, *conditions])),
            )
            return [code.at(to, PITCH * self.size)]

        loop(code, count, [out], place)

    def whole(self, source: Value, to: Value, count: Value) -> None:
        """All of a part of a run."""
        if not self.moves.has_masks:
            self.moves.move(source, to, integer(0), count)
            return
        self.either(
            self.code.compare("icmp ule", count, integer(FEW * self.moves.lanes)),
            lambda: self.moves.move_few(source, to, count),
            lambda: self.moves.move(source, to, integer(0), count),
        )

    def all(self, conditions: Sequence[Value]) -> Value:
        """Whether all of some conditions hold."""
        found, *others = conditions
        for c in others:
            found = self.code.op("and", found, c)
        return found

    def partly(self, s: Segment, source: Value, out: Value, at: Value, is_there: Value) -> None:
        """Zeros, but for what is on the data."""
        code = self.code
        first = self.clamped(code.op("sub", integer(0), at), self.together)
        last = self.clamped(code.op("sub", self.geometry.data[-1], at), self.together)
        low, high = [
            self.clamped(code.op("sub", code.op("mul", n, self.channels), s.begin), s.count)
            for n in (first, code.select(is_there, last, integer(0)))
        ]
        self.moves.clear(out, s.count)
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
