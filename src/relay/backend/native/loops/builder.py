"""Builds the loop IR: what the rules of operators speak to, one element at a time.

`Builder` is a `relay.op.native.Loops`: an operator calls its methods, and each adds nodes to the block.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from relay.backend.native.loops import nodes as ir
from relay.backend.native.loops.value_builder import ValueBuilder
from relay.backend.native.loops.views import View, new_output
from relay.backend.native.memory.representation import SIZES, scalar
from relay.ir.expr import constant
from relay.ir.type import TensorType
from relay.op.reduce import Sum

PRECISIONS = {"float32": "s", "float64": "d"}
"""How the names of LAPACK's routines begin."""
SHORT_SUM = 64
"""Terms that are added up one after the other."""
POLL_ITERATIONS = 1 << 16
"""Iterations of a long loop after which it looks whether the call has been interrupted."""


class Builder(ValueBuilder):
    """Values, loops and memory, at one call."""

    # --- choices ---

    def where(self, c: ir.Value, yes: Callable[[], ir.Value], no: Callable[[], ir.Value]) -> ir.Value:
        """The number that one of two computes; the other does not run."""
        return self.among([(c, yes)], no)

    def among(
        self, ways: Sequence[tuple[ir.Value, Callable[[], ir.Value]]], otherwise: Callable[[], ir.Value]
    ) -> ir.Value:
        """The number that the first way computes whose condition holds; the others do not run."""
        conditions: list[ir.Value] = []
        made: list[Callable[[], ir.Value]] = []
        for c, make in ways:
            if isinstance(c, ir.Const):
                if c.value:
                    otherwise = make
                    break
                continue
            conditions.append(c)
            made.append(make)
        if not conditions:
            return otherwise()
        blocks: list[ir.Block] = []
        for make in (*made, otherwise):
            with self.region() as block:
                found = make()
            blocks.append(ir.Block(tuple(block), (found,)))
        result = ir.Var(blocks[0].yields[0].dtype, self.scope.name("v"))
        self.add_statement(ir.Branch(tuple(conditions), tuple(blocks), (result,)))
        return result

    def when(
        self, c: ir.Value, body: Callable[[], None], otherwise: Callable[[], None] = lambda: None
    ) -> None:
        """Run `body()` where `c`, else `otherwise()`."""
        if isinstance(c, ir.Const):
            (body if c.value else otherwise)()
            return
        blocks = tuple([ir.Block(self.added(run)) for run in (body, otherwise)])
        self.add_statement(ir.Branch((c,), blocks))

    # --- loops ---

    def for_each(
        self,
        extents: Sequence[ir.Index],
        totals: Sequence[ir.Operand],
        body: Callable[[tuple[ir.Index, ...], list[Any]], Sequence[ir.Operand] | None],
        *,
        any_order: bool = False,
        reduction: ir.Combining | None = None,
        lanes: int = 0,
        is_whole: bool = False,
        unroll: int = 0,
        scratch: tuple[ir.Value, ...] = (),
    ) -> list[Any]:
        """Run `body(index, totals)` for every index of a shape, which returns the next totals."""
        scope = self.scope
        indices = tuple([ir.Var(ir.INDEX, scope.name("i")) for _ in extents])
        scope.extents.update(zip(indices, extents, strict=True))
        totals = [self.as_value(x) for x in totals]
        carried = tuple([ir.Var(x.dtype, scope.name("t")) for x in totals])
        with self.region() as block:
            new = [self.as_value(x) for x in body(indices, list(carried)) or ()]
        results = tuple([ir.Var(x.dtype, scope.name("r")) for x in totals])
        made = ir.Block(tuple(block), tuple(new))
        self.add_statement(
            ir.For(indices, tuple(extents), made, tuple(totals), carried, results, any_order, reduction,
                lanes, is_whole, unroll, scope.is_rolled, self.origin, scratch)
        )  # fmt: skip
        return list(results)

    def loop(
        self,
        n: ir.Index,
        totals: Sequence[ir.Operand],
        body: Callable[[ir.Index, list[Any]], Sequence[ir.Operand] | None],
    ) -> list[Any]:
        """Run `body(i, totals)` for `i` from 0 to `n`, which returns the totals of the next round."""
        return self.for_each([n], totals, lambda index, inner: body(index[0], inner))

    def unrolled(self, n: int, body: Callable[[ir.Index], None]) -> None:
        """Run `body(i)` for `i` from 0 to `n`, written so many times."""
        if n == 1:
            body(0)
        else:
            self.for_each([n], (), lambda index, _: body(index[0]), unroll=n)

    def vector_loop(
        self,
        n: ir.Index,
        lanes: int,
        body: Callable[[ir.Index], None],
        vectors: int = 0,
        is_whole: bool = False,
    ) -> None:
        """Run `body(i)` for `i` from 0 to `n`, so many at once: as vectors one after the other if it says how
        many there are at most; `is_whole` if they are known to be full.
        """
        self.for_each(
            [n], (), lambda index, _: body(index[0]), any_order=True, lanes=lanes, is_whole=is_whole,
            unroll=vectors,
        )  # fmt: skip

    def vector(self, lanes: int, body: Callable[[ir.Index], None]) -> None:
        """Run `body(i)` for the lanes `i` of one vector."""
        self.vector_loop(lanes, lanes, body, vectors=1, is_whole=True)

    def long_loop(
        self,
        n: ir.Index,
        totals: Sequence[ir.Value],
        body: Callable[[ir.Index, list[Any]], Sequence[ir.Value] | None],
    ) -> list[Any]:
        """A loop that polls for interrupts every so many iterations."""
        if isinstance(n, int) and n <= POLL_ITERATIONS:
            return self.loop(n, totals, body)

        def stretch(k: ir.Index, found: list[Any]) -> list[Any]:
            self.add_statement(ir.Poll())
            begin = self.times(k, POLL_ITERATIONS)
            count = self.smaller(self.minus(n, begin), POLL_ITERATIONS)
            return self.loop(count, found, lambda i, inner: body(self.plus(begin, i), inner))

        return self.loop(self.quotient(self.plus(n, POLL_ITERATIONS - 1), POLL_ITERATIONS), totals, stretch)

    def nest(self, sizes: Sequence[ir.Index], body: Callable[[tuple[ir.Index, ...]], None]) -> None:
        """Run `body(index)` for every index of a shape, in the order of memory."""
        if sizes:
            self.for_each(sizes, (), lambda index, _: body(index))
        else:
            body(())

    def fold(
        self,
        sizes: Sequence[ir.Index],
        totals: Sequence[ir.Value],
        body: Callable[[tuple[ir.Index, ...], Sequence[ir.Value]], Sequence[ir.Value]],
    ) -> Sequence[ir.Value]:
        """Run `body(index, totals)` for every index of a shape, which returns the next totals."""
        return self.for_each(sizes, totals, body) if sizes else body((), totals)

    def add_up(
        self, sizes: Sequence[ir.Index], zero: ir.Value, term: Callable[[tuple[ir.Index, ...]], ir.Value]
    ) -> ir.Value:
        """Return the sum of `term(index)` over all indices of a shape, added up in blocks if it is large."""
        if not sizes:
            return self.add(zero, term(()))
        counts = [n for n in sizes if isinstance(n, int)]
        is_short = len(counts) == len(sizes) and prod(counts) <= SHORT_SUM

        def add_term(index: tuple[ir.Index, ...], totals: Sequence[ir.Value]) -> list[ir.Value]:
            return [self.add(totals[0], term(index))]

        (total,) = self.for_each(sizes, [zero], add_term, reduction=None if is_short else Sum())
        return total

    def fill(self, out: Any, element: Callable[[tuple[ir.Index, ...]], ir.Value]) -> None:
        """Write `element(index)` to each index of a tensor, in any order."""

        def move(index: tuple[ir.Index, ...], _: Any) -> None:
            out.put(index, element(index))

        if out.sizes:
            self.for_each(out.sizes, (), move, any_order=True)
        else:
            move((), ())

    def reshape_to(self, out: View, x: View) -> None:
        """Write the elements of `x` to a tensor of as many, in order; none if that has taken its place."""
        assert out.data is not None
        assert x.data is not None

        def move(index: tuple[ir.Index, ...], _: Any) -> None:
            out.put_place(index, x.sizes, x.at(index))

        def copy() -> None:
            self.for_each(x.sizes, (), move, any_order=True)

        self.when(self.apply("apart", "bool", out.data, x.data), copy)

    def begin_as(self, out: Any, x: Any, element: Callable[[Any], ir.Value] | None = None) -> None:
        """Write the elements of `x`, or what becomes of them, to a tensor of its shape; without `element`,
        nothing if that has taken the place of `x`.
        """

        def move(index: tuple[ir.Index, ...]) -> ir.Value:
            return x.at(index) if element is None else element(x.at(index))

        if element is None and isinstance(x, View) and x.data is not None:
            self.when(self.apply("apart", "bool", out.data, x.data), lambda: self.fill(out, move))
        else:
            self.fill(out, move)

    def each(
        self, sizes: Sequence[ir.Index], body: Callable[[tuple[ir.Index, ...]], None], lanes: int = 0
    ) -> None:
        """Run `body(index)` for every index of a shape, in any order."""
        if sizes:
            self.for_each(sizes, (), lambda index, _: body(index), any_order=True, lanes=lanes)
        else:
            body(())

    # --- memory ---

    def tensor(self, t: TensorType, sizes: Sequence[ir.Index]) -> ir.Var:
        """A new tensor."""
        made = ir.Var(ir.OBJECT, self.scope.name("out"))
        self.add_statement(ir.NewTensor(made, t, tuple(sizes)))
        return made

    def table(self, values: Any) -> View:
        """An array that is known, in memory."""
        made = constant(values)
        assert made.type is not None, "an array has a dtype"
        return View(self, made.type, self.constant(made), is_in_memory=True)

    def room(self, dtype: str, sizes: Sequence[ir.Index]) -> View:
        """A tensor to work in, which ends with the operator."""
        made = new_output(self, TensorType(self.dims(sizes), dtype), sizes)
        self.scratch.append(made.found)
        return made

    def done(self) -> None:
        """Give up what there was to work in."""
        for x in self.scratch:
            self.add_statement(ir.Release(x))
        self.scratch.clear()

    def stack(self, size: int) -> ir.Stack:
        """Memory of the function, in bytes."""
        return self.add_statement(ir.Stack(size))

    def registers(self, dtype: str, sizes: Sequence[int], name: str = "") -> ir.Buffer:
        """Numbers that LLVM keeps in registers."""
        size = prod(sizes) * SIZES[scalar(dtype)]
        return ir.Buffer(self.add_statement(ir.Registers(size)), dtype, tuple(sizes), name)

    def constant(self, constant: Any) -> ir.Value:
        """A constant tensor of the program, or one that is packed for a kernel."""
        with self.at_the_beginning():
            return self.once(("constant", constant), lambda: self.add_statement(ir.Global(constant)))

    def data(self, x: ir.Value) -> ir.Value:
        """Where the elements of a tensor are."""
        return self.apply("data", ir.ADDRESS, x)

    def address(self, base: ir.Value, offset: ir.Index) -> ir.Value:
        """A place in memory some bytes further on."""
        return base if offset == 0 else self.apply("offset", ir.ADDRESS, base, offset)

    def invoke(self, callee: ir.Callee, *args: ir.Operand) -> None:
        """Call a kernel."""
        self.add_statement(ir.Invoke(callee, args))

    def routine(self, name: str, *args: Any) -> ir.Value:
        """Call a routine of LAPACK; what it says of how it went, 0 where all is well."""
        words = [ord(x) if isinstance(x, str) else x for x in args if not isinstance(x, View)]
        p = self.write_words([*words, 0])
        given: list[ir.Value] = []
        at = 0
        for x in args:
            if isinstance(x, View):
                assert x.data is not None
                given.append(x.data)
            else:
                given.append(self.address(p, 8 * at))
                at += 1
        info = self.address(p, 8 * at)
        letter = PRECISIONS[next(x.dtype for x in args if isinstance(x, View))]
        self.add_statement(ir.CallRoutine(letter + name, (*given, info)))
        return self.read(ir.Buffer(info, "int32", (1,), "info"), (0,))

    def write_words(self, words: Sequence[ir.Index]) -> ir.Value:
        """A row of words on the stack."""
        p = self.stack(8 * len(words))
        buffer = ir.Buffer(p, "int64", (len(words),), "words")
        for i, n in enumerate(words):
            self.add_statement(ir.Store(buffer, (i,), self.as_number(n, "int64")))
        return p

    def prefetch(self, p: ir.Value, level: int) -> None:
        """Have a level of the cache fetch the line of an address."""
        self.add_statement(ir.Prefetch(ir.Buffer(p, "uint8", (1,)), (0,), 0, is_written=False, level=level))

    def transpose(self, buffer: ir.Buffer) -> None:
        """Put the elements of a matrix in registers in the order of its columns."""
        self.add_statement(ir.Transpose(buffer))

    def write(self, buffer: ir.Buffer, index: Sequence[ir.Index], x: ir.Value) -> None:
        """Write an element of a buffer."""
        self.add_statement(ir.Store(buffer, tuple(index), x))

    def read(self, buffer: ir.Buffer, index: Sequence[ir.Index]) -> ir.Load:
        """An element of a buffer."""
        return self.add_statement(ir.Load(buffer, tuple(index)))

    # --- threads ---

    def at_reshaped(self, x: Any, index: Sequence[ir.Index], sizes: Sequence[ir.Index]) -> ir.Value:
        """The element of a tensor that has `index` in the shape `sizes`."""
        if isinstance(x, View):
            return x.at_place(index, sizes)
        return x.at(self.reshaped(index, sizes, x.sizes))

    def parallel(
        self, count: ir.Index, grain: ir.Index, body: Callable[[ir.Index, ir.Index, ir.Index], None]
    ) -> None:
        """Run `body(begin, end, lane)` on ranges that make up [0, count), on several threads."""
        begin, end, lane = (ir.Var(ir.INDEX, self.scope.name(name)) for name in ("begin", "end", "lane"))
        with self.region() as block:
            body(begin, end, lane)
        self.add_statement(ir.Parallel(count, grain, begin, end, lane, ir.Block(tuple(block))))

    def added(self, build: Callable[[], None]) -> tuple[ir.Statement, ...]:
        """The statements that `build()` makes, in place of adding them."""
        with self.region() as block:
            build()
        return tuple(block)

    def threads(self) -> ir.Index:
        """How many lanes there are at most."""
        return self.apply("threads", ir.INDEX)
