"""What the windows of a convolution see, as rows of numbers that tiles multiply with filters.

A row is a place of the result: its numbers are those of the data below the taps of the window, tap after tap,
zeros where a tap is on padding.  The channels of a tap lie beside each other in memory; those of several taps
do too, if these are neighbours on the last axis: together they are a run, which is moved in one go.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Generic, TypeVar

from relay.backend.native.kernels.tile import PACKED_PITCH
from relay.backend.native.kernels.vector_loops import has_masks, vector_loop
from relay.backend.native.llvm.machine import Machine
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.functions import kernel_function
from relay.backend.native.loops.nodes import ADDRESS, INDEX, Buffer, Function, Index, Value
from relay.backend.native.memory.representation import SIZES, scalar

T = TypeVar("T")
AXES = 3
"""Spatial axes; those that data does not have are of size 1."""
FEW_VECTORS = 2
"""Vectors that are moved without a loop."""
PARAMS = (
    ("data", ADDRESS), ("to", ADDRESS), ("geometry", ADDRESS), ("first", INDEX), ("rows", INDEX),
    ("begin", INDEX), ("count", INDEX),
)  # fmt: skip
"""Where the data is, where rows go, how windows lie, the first row and how many, the first number of these
and how many.
"""


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
    def read(b: Builder, p: Value) -> "Geometry[Value]":
        """As a kernel finds it."""
        count = len(fields(Geometry))
        words = Buffer(p, INDEX, (count, AXES), "geometry")
        return Geometry(*[[b.read(words, (i, axis)) for axis in range(AXES)] for i in range(count)])


@dataclass(frozen=True)
class Windows:
    """A way of moving what windows see: of some rows, some numbers."""

    machine: Machine
    dtype: str
    to: str
    """The dtype to convert to."""
    is_spread: bool
    """Whether there are divisors that are not 1."""
    group: int = 1
    """How many numbers an element has that tiles read; the last ones of a row may be zeros."""

    @property
    def name(self) -> str:
        """The symbol of its code."""
        each = "" if self.group == 1 else f"x{self.group}"
        return f"relay.windows.{'spread.' if self.is_spread else ''}{self.dtype}.{self.to}{each}"

    def function(self) -> Function:
        """Its loops."""
        return kernel_function(self.name, PARAMS, lambda b, given: WindowsBuilder(b, self, given).build())


@dataclass(frozen=True)
class Segment:
    """A part of a run: where it begins in the run, how long it is, and where it goes in a row."""

    begin: Index
    count: Index
    to: Index
    places: Sequence[Index]
    """What its taps see at the first place of the result, before division."""


class WindowsBuilder:
    """The loops that move what windows see."""

    def __init__(self, b: Builder, how: Windows, given: Sequence[Value]) -> None:
        """`given` are its parameters."""
        self.b, self.how = b, how
        self.data, self.to, geometry, self.first, self.rows, self.begin, self.count = given
        self.size, self.from_size = SIZES[scalar(how.to)], SIZES[scalar(how.dtype)]
        self.pitch = PACKED_PITCH * how.group * self.size
        self.geometry = Geometry.read(b, geometry)
        self.image, self.together, self.channels = self.geometry.others
        self.run = b.times(self.together, self.channels)
        self.start = b.unravelled(self.first, [0, *self.geometry.result])
        """The image, and the place of the result, of the first row."""

    def build(self) -> None:
        """Run after run."""
        b = self.b
        before = b.quotient(self.begin, self.run)
        last = b.minus(b.plus(self.begin, self.count), 1)
        several = b.plus(b.minus(b.quotient(last, self.run), before), 1)
        b.loop(several, (), lambda i, _: self.move_segment(self.segment(b.plus(before, i))))
        if self.how.group > 1:
            self.complete_rows()

    def complete_rows(self) -> None:
        """Zeros up to the end of the last element of each row."""
        b, n = self.b, self.how.group
        missing = b.minus(b.times(b.quotient(b.plus(self.count, n - 1), n), n), self.count)
        end, zero = b.address(self.to, b.times(self.count, self.size)), b.const(0, self.how.to)

        def row(i: Index, _: object) -> None:
            put = Buffer(b.address(end, b.times(i, self.pitch)), self.how.to, (missing,))
            b.loop(missing, (), lambda j, _: b.write(put, (j,), zero))

        b.loop(self.rows, (), row)

    def segment(self, number: Index) -> Segment:
        """What is wanted of a run."""
        b, g = self.b, self.geometry
        start = b.times(number, self.run)
        begin = b.larger(self.begin, start)
        end = b.smaller(b.plus(self.begin, self.count), b.plus(start, self.run))
        _, *taps = b.unravelled(number, [0, *g.taps])
        places = [
            b.plus(first, b.times(tap, step))
            for tap, first, step in zip(taps, g.begin, g.tap_step, strict=True)
        ]
        return Segment(b.minus(begin, start), b.minus(end, begin), b.minus(begin, self.begin), places)

    def move_segment(self, s: Segment) -> None:
        """A part of a run, for line after line of places."""
        b, n = self.b, self.geometry.result[-1]
        end = b.plus(self.start[-1], self.rows)
        lines = b.quotient(b.plus(end, b.minus(n, 1)), n)
        to = b.address(self.to, b.times(s.to, self.size))

        def line(_: Index, carried: Sequence[Value]) -> list[Value | int]:
            *index, x, left, out = carried
            count = b.smaller(left, b.minus(n, x))
            self.move_line(s, index, (x, count), out)
            further = b.address(out, b.times(count, self.pitch))
            return [*self.next_line(index), 0, b.minus(left, count), further]

        b.loop(lines, [*self.start, self.rows, to], line)

    def next_line(self, index: Sequence[Value]) -> list[Index]:
        """The line after a line."""
        b, found, step = self.b, list[Index](), 1
        for i, n in zip(reversed(index[1:]), reversed(self.geometry.result[:-1]), strict=True):
            more = b.plus(i, step)
            is_over = b.negation(b.is_less(more, n))
            found.insert(0, b.choose(is_over, 0, more))
            step = b.choose(is_over, 1, 0)
        return [b.plus(index[0], step), *found]

    def seen(self, s: Segment, axis: int, i: Index) -> tuple[Index, list[Value]]:
        """What the first tap of a segment sees on an axis, and what has to hold for that."""
        b, g = self.b, self.geometry
        at = b.plus(s.places[axis], b.times(i, g.step[axis]))
        if not self.how.is_spread:
            return at, []
        divisor = g.divisor[axis]
        return b.quotient(at, divisor), [b.is_same(b.rest(at, divisor), 0)]

    def move_line(self, s: Segment, index: Sequence[Index], along: tuple[Index, Index], out: Value) -> None:
        """A part of a run that the places of a line see, from one on."""
        b, g = self.b, self.geometry
        image, *outer = index
        p = b.address(self.data, b.times(image, self.image))
        fits: list[Value] = []
        for a, i in enumerate(outer):
            at, conditions = self.seen(s, a, i)
            fits += [*conditions, b.is_within(at, g.data[a])]
            p = b.address(p, b.times(at, g.pitch[a]))
        is_there = b.both(*fits)
        p = b.address(p, b.times(s.begin, self.from_size))
        first, count = along
        inside = b.choose(is_there, b.minus(g.data[-1], self.together), -1)

        def place(i: Index, carried: Sequence[Value]) -> list[Value]:
            (to,) = carried
            at, conditions = self.seen(s, AXES - 1, b.plus(first, i))
            source = b.address(p, b.times(at, g.pitch[-1]))
            inner = b.both(*conditions, b.negation(b.is_less(at, 0)), b.negation(b.is_less(inside, at)))
            b.when(
                inner,
                lambda: self.move_all(source, to, s.count),
                lambda: self.move_part(s, source, to, at, b.both(is_there, *conditions)),
            )
            return [b.address(to, self.pitch)]

        b.loop(count, [out], place)

    # --- numbers ---

    def move(self, source: Value, to: Value, begin: Index, count: Index, vectors: int = 0) -> None:
        """Some numbers from `begin` on, converted; no more than fill `vectors`, if it says how many."""
        b, how = self.b, self.how
        taken, put = Buffer(source, how.dtype, (count,)), Buffer(to, how.to, (count,))

        def one(i: Index) -> None:
            at = (b.plus(begin, i),)
            b.write(put, at, b.cast(b.read(taken, at), how.to))

        if vectors:
            b.vector_loop(count, how.machine.lanes(scalar(how.to)), one, vectors)
        else:
            vector_loop(b, how.machine, (how.dtype, how.to), count, one)

    def move_all(self, source: Value, to: Value, count: Index) -> None:
        """All of a part of a run."""
        b, how = self.b, self.how
        if not has_masks(how.machine, (how.dtype, how.to)):
            self.move(source, to, 0, count)
            return
        few = FEW_VECTORS * how.machine.lanes(scalar(how.to))
        b.when(
            b.is_less(few, count),
            lambda: self.move(source, to, 0, count),
            lambda: self.move(source, to, 0, count, FEW_VECTORS),
        )

    def move_part(self, s: Segment, source: Value, to: Value, at: Index, is_there: Value) -> None:
        """Zeros, but for what is on the data."""
        b, how = self.b, self.how
        put, zero = Buffer(to, how.to, (s.count,)), b.const(0, how.to)
        first = self.clamped(b.minus(0, at), self.together)
        last = self.clamped(b.minus(self.geometry.data[-1], at), self.together)
        low, high = [
            self.clamped(b.minus(b.times(n, self.channels), s.begin), s.count)
            for n in (first, b.choose(is_there, last, 0))
        ]
        vector_loop(b, how.machine, (how.to,), s.count, lambda i: b.write(put, (i,), zero))
        self.move(source, to, low, b.minus(b.larger(low, high), low))

    def clamped(self, i: Index, most: Index) -> Index:
        """The number from 0 to `most` that is nearest."""
        return self.b.larger(self.b.smaller(i, most), 0)
