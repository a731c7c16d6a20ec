"""Loop nests: indices, loops and choices, as the rules of operators speak of them."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from relay.backend.native.llvm.builder import CONTEXT, Code, Value
from relay.backend.native.llvm.vectors import OneByOne
from relay.backend.native.loops.indices import Index, Indices, value
from relay.backend.native.loops.scalars import Number
from relay.backend.native.loops.views import View, is_several, new_output
from relay.backend.native.memory.objects import release
from relay.backend.native.memory.tensors import loop
from relay.ir.expr import Call
from relay.ir.type import TensorType

STRETCH = 1 << 16
"""Rounds of a long loop after which it looks whether somebody wants it to end."""


class Loops(Indices):
    """Indices, loops and choices, at one call."""

    def __init__(self, program: Any, code: Code, call: Call) -> None:
        """As `Scalars`."""
        super().__init__(program, code, call)
        self.rooms: list[Value] = []
        self.known: list[dict[Any, Number]] = [{}]
        """What has been computed so far, block by block: all of it is known where the code is now."""

    @contextmanager
    def inner(self) -> Generator[None, None, None]:
        """What is computed inside is not known after it."""
        self.known.append({})
        try:
            yield
        finally:
            self.known.pop()

    def mark(self) -> tuple[int, int, int, str]:
        """How far the code has come."""
        code = self.code
        return len(code.lines), len(code.rooms), len(self.known[-1]), code.here

    def rewind(self, mark: tuple[int, int, int, str]) -> None:
        """Take back what has been made since then, of which nothing is known any more."""
        code = self.code
        lines, rooms, known, code.here = mark
        del code.lines[lines:], code.rooms[rooms:]
        for key in list(self.known[-1])[known:]:
            del self.known[-1][key]

    def knows(self, key: Any) -> bool:
        """Whether a number has been computed under that key."""
        return any(key in known for known in self.known)

    def once(self, key: Any, compute: Callable[[], Number]) -> Number:
        """A number that has been computed under that key, or is now."""
        for known in self.known:
            if key in known:
                return known[key]
        found = self.known[-1][key] = compute()
        return found

    def where(self, c: Number, yes: Callable[[], Number], no: Callable[[], Number]) -> Number:
        """The number that one of two computes; the other does not run."""
        return self.among([(c, yes)], no)

    def among(
        self, ways: Sequence[tuple[Number, Callable[[], Number]]], otherwise: Callable[[], Number]
    ) -> Number:
        """The number that the first way computes whose condition holds; the others do not run."""
        code = self.code
        if any(c.value.type != "i1" for c, _ in ways):
            return self.chosen(ways, otherwise)
        end = code.label()
        arrivals: list[tuple[list[Value], str]] = []
        for c, make in ways:
            yes, no = code.label(), code.label()
            code.branch(c.value, yes, no)
            code.block(yes)
            with self.inner():
                arrivals.append(([code.spread(make().value)], code.here))
            code.jump(end)
            code.block(no)
        with self.inner():
            found = otherwise()
        arrivals.append(([code.spread(found.value)], code.here))
        code.jump(end)
        code.block(end)
        return Number(found.dtype, code.join(arrivals)[0])

    def chosen(
        self, ways: Sequence[tuple[Number, Callable[[], Number]]], otherwise: Callable[[], Number]
    ) -> Number:
        """Choose lane by lane: all branches run, each under the mask of its lanes."""
        code, before = self.code, (self.code.mask, self.code.is_partial)
        code.is_partial = True
        rest, found = code.marks(), list[tuple[Value, Number]]()
        for c, make in ways:
            here = code.spread(c.value)
            code.mask = code.op("and", rest, here)
            with self.inner():
                found.append((here, make()))
            rest = code.op("and", rest, code.op("xor", here, Value("i1", "true")))
        code.mask = rest
        with self.inner():
            last = otherwise()
        code.mask, code.is_partial = before
        for here, x in reversed(found):
            last = Number(x.dtype, code.select(here, x.value, last.value))
        return last

    def when(self, c: Number, body: Callable[[], None]) -> None:
        """Run `body()` where `c`."""
        code = self.code
        if code.lanes:
            raise OneByOne
        yes, end = code.label(), code.label()
        code.branch(c.value, yes, end)
        code.block(yes)
        with self.inner():
            body()
        code.jump(end)
        code.block(end)

    def loop(
        self,
        n: Index,
        totals: Sequence[Number],
        body: Callable[[Index, list[Number]], Sequence[Number] | None],
    ) -> list[Number]:
        """Run `body(i, totals)` for `i` from 0 to `n`, which returns the totals of the next round."""
        dtypes = [x.dtype for x in totals]
        spread, many = self.code.spread, self.code.lanes
        if is_several(n):
            raise OneByOne

        def step(i: Value, values: list[Value]) -> list[Value]:
            with self.inner():
                new = body(i, [Number(t, v) for t, v in zip(dtypes, values, strict=True)])
            return [spread(x.value) if many else x.value for x in new or ()]

        return [
            Number(t, v)
            for t, v in zip(
                dtypes, loop(self.code, value(n), [spread(x.value) for x in totals], step), strict=True
            )
        ]

    def long_loop(
        self,
        n: Index,
        totals: Sequence[Number],
        body: Callable[[Index, list[Number]], Sequence[Number] | None],
    ) -> list[Number]:
        """Run the loop in stretches, between which Ctrl-C is polled."""
        if isinstance(n, int) and n <= STRETCH:
            return self.loop(n, totals, body)

        def stretch(k: Index, found: list[Number]) -> list[Number]:
            self.code.do(f"call void @relay.check({CONTEXT})")
            begin = self.times(k, STRETCH)
            count = self.smaller(self.minus(n, begin), STRETCH)
            return self.loop(count, found, lambda i, inner: body(self.plus(begin, i), inner))

        return self.loop(self.quotient(self.plus(n, STRETCH - 1), STRETCH), totals, stretch)

    def nest(self, sizes: Sequence[Index], body: Callable[[tuple[Index, ...]], None]) -> None:
        """Run `body(index)` for every index of a shape, in the order of memory."""

        def along(axis: int, index: tuple[Index, ...]) -> None:
            if axis == len(sizes):
                body(index)
            else:
                self.loop(sizes[axis], (), lambda i, _: along(axis + 1, (*index, i)))

        along(0, ())

    def fold(
        self,
        sizes: Sequence[Index],
        totals: Sequence[Number],
        body: Callable[[tuple[Index, ...], Sequence[Number]], Sequence[Number]],
    ) -> Sequence[Number]:
        """Run `body(index, totals)` for every index of a shape, which returns the next totals."""

        def along(axis: int, index: tuple[Index, ...], totals: Sequence[Number]) -> Sequence[Number]:
            if axis == len(sizes):
                return body(index, totals)
            return self.loop(sizes[axis], totals, lambda i, inner: along(axis + 1, (*index, i), inner))

        return along(0, (), totals)

    def fill(self, out: Any, element: Callable[[tuple[Index, ...]], Number]) -> None:
        """Write `element(index)` to each index of a tensor, in any order."""
        from relay.backend.native.loops.rows import filled

        filled(self, out, element)

    def room(self, dtype: str, sizes: Sequence[Index]) -> View:
        """A tensor to work in, which ends with the operator."""
        made = new_output(self, TensorType(self.dims(sizes), dtype), sizes)
        self.rooms.append(made.found)
        return made

    def done(self) -> None:
        """Give up what there was to work in."""
        release(self.code, self.rooms)
