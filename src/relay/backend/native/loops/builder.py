"""Builds the loop IR: what the rules of operators speak to, one element at a time.

`Builder` is a `relay.op.native.Loops`: an operator calls its methods, and each adds nodes to the block.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from types import MappingProxyType
from typing import Any, NoReturn

from relay.backend.native.loops.index_arithmetic import IndexArithmetic
from relay.backend.native.loops.nodes import (
    ADDRESS,
    INDEX,
    OBJECT,
    Apply,
    Block,
    Branch,
    Buffer,
    Callee,
    Check,
    Combining,
    Const,
    For,
    Global,
    Index,
    Invoke,
    Let,
    Load,
    NewTensor,
    Operand,
    Parallel,
    Poll,
    Prefetch,
    Registers,
    Release,
    Stack,
    Statement,
    Store,
    Transpose,
    Value,
    Var,
)  # fmt: skip
from relay.backend.native.loops.views import View, new_output
from relay.backend.native.memory.representation import SIZES, scalar
from relay.diagnostic import fail
from relay.ir.dtype import integer_range, is_float, is_integer
from relay.ir.expr import Call, Expr
from relay.ir.type import Dim, TensorType
from relay.op.base import Operator

POLL_ITERATIONS = 1 << 16
"""Iterations of a long loop after which it looks whether the call has been interrupted."""
COMMUTING = frozenset({"plus", "times", "same"})


class Scope:
    """The function that is being built: its blocks so far, and what has been computed in each."""

    def __init__(self) -> None:
        """An empty function."""
        self.first: list[Statement] = []
        """What comes before everything else."""
        self.block: list[Statement] = []
        self.known: list[dict[Any, Any]] = [{}]
        """What has been computed so far, block by block: all of it is known at hand."""
        self.constants: dict[tuple[str, str], Const] = {}
        self.names = 0
        self.is_rolled = False
        self.recomputes = False
        """Whether a reduction of rows has been computed again for each element that reads it."""

    def name(self, prefix: str) -> str:
        """A new name."""
        self.names += 1
        return f"{prefix}{self.names}"

    def built(self) -> Block:
        """The function so far."""
        return Block((*self.first, *self.block))


class Builder(IndexArithmetic):
    """Numbers, indices and loops, at one call."""

    def __init__(self, program: Any, scope: Scope, call: Expr) -> None:
        """`program` knows types; `call` is where checks fail."""
        super().__init__()
        self.program = program
        self.scope = scope
        self.at = call
        op = call.attrs if isinstance(call, Call) and isinstance(call.attrs, Operator) else None
        self.origin = "" if op is None else op.name
        """The operator that loops are for."""
        self.facts = (1, False) if op is None else (op.element_cost, op.computes_in_float64)
        self.named: Mapping[Dim, Index] = MappingProxyType({})
        """What sizes are that types name."""
        self.scratch: list[Value] = []
        """The tensors to work in that `done` gives up."""

    # --- nodes ---

    def add_statement(self, s: Any) -> Any:
        """Add a statement to the block at hand."""
        self.scope.block.append(s)
        return s

    def apply(self, op: str, dtype: str, *args: Operand) -> Value:
        """A value, unless it is known."""
        key = (op, dtype, *args)
        for known in self.scope.known:
            if key in known:
                return known[key]
        found = Apply(op, args, dtype, *self.facts)
        self.scope.block.append(found)
        self.scope.known[-1][key] = found
        return found

    def const(self, value: Any, like: Any) -> Const:
        """A constant in the dtype of another number, or of the dtype that is named."""
        dtype: str = like if isinstance(like, str) else like.dtype
        if dtype == "bool":
            value = bool(value)
        elif is_integer(dtype):
            value = int(value)
        elif is_float(dtype):
            value = float(value)
        key = (dtype, repr(value))
        found = self.scope.constants.get(key)
        if found is None:
            found = self.scope.constants[key] = Const(dtype, value)
        return found

    def once(self, key: Any, compute: Callable[[], Value]) -> Value:
        """A number that has been computed under that key, or is now."""
        for known in self.scope.known:
            if key in known:
                return known[key]
        found = self.scope.known[-1][key] = compute()
        return found

    def knows(self, key: Any) -> bool:
        """Whether a number has been computed under that key."""
        return any(key in known for known in self.scope.known)

    @contextmanager
    def region(self) -> Generator[list[Statement], None, None]:
        """A block of its own; what is computed in it is not known after it."""
        scope = self.scope
        outer, scope.block = scope.block, []
        scope.known.append({})
        try:
            yield scope.block
        finally:
            scope.block = outer
            scope.known.pop()

    @contextmanager
    def at_the_beginning(self) -> Generator[None, None, None]:
        """What is made here comes before all else, and is known everywhere."""
        scope = self.scope
        block, known = scope.block, scope.known
        scope.block, scope.known = scope.first, known[:1]
        try:
            yield
        finally:
            scope.block, scope.known = block, known

    @contextmanager
    def rolled(self) -> Generator[None, None, None]:
        """LLVM leaves loops as they are that are made inside: copies would gain nothing and take time."""
        before, self.scope.is_rolled = self.scope.is_rolled, True
        try:
            yield
        finally:
            self.scope.is_rolled = before

    # --- numbers ---

    def select(self, c: Value, x: Value, y: Value) -> Value:
        """`x` where `c`, else `y`."""
        if isinstance(c, Const):
            return x if c.value else y
        return x if x is y else self.apply("select", x.dtype, c, x, y)

    def add(self, x: Value, y: Value) -> Value:
        """`x + y`."""
        return self.apply("add", x.dtype, x, y)

    def subtract(self, x: Value, y: Value) -> Value:
        """`x - y`."""
        return self.apply("subtract", x.dtype, x, y)

    def multiply(self, x: Value, y: Value) -> Value:
        """`x * y`."""
        return self.apply("multiply", x.dtype, x, y)

    def negative(self, x: Value) -> Value:
        """`-x`."""
        return self.apply("negative", x.dtype, x)

    def divide(self, x: Value, y: Value) -> Value:
        """`x / y`; integers are rounded towards 0 (`divide-by-zero`)."""
        return self._division("divide", x, y)

    def remainder(self, x: Value, y: Value) -> Value:
        """The remainder of `x / y`, rounded towards 0 (`divide-by-zero` for integers)."""
        return self._division("remainder", x, y)

    def _division(self, op: str, x: Value, y: Value) -> Value:
        if not is_float(x.dtype):
            hint = "cast to a float type for an infinite result"
            is_zero = self.compare("eq", y, self.const(0, y))
            self.refuse(is_zero, "divide-by-zero", "integer division by zero", hint)
        return self.apply(op, x.dtype, x, y)

    def compare(self, kind: str, x: Value, y: Value) -> Value:
        """`eq`, `ne`, `lt`, `le`, `gt` or `ge`; all but `ne` are False where one is NaN."""
        return self.apply(kind, "bool", x, y)

    def bits(self, name: str, x: Value, y: Value) -> Value:
        """`and`, `or`, `xor`, `shl`, `ashr` or `lshr` of integers; the first three of truth values too."""
        if x.dtype == "bool":
            if isinstance(x, Const):
                x, y = y, x
            if isinstance(y, Const) and name in ("and", "or"):
                return x if y.value == (name == "and") else y
            if isinstance(y, Const) and isinstance(x, Const):
                return self.const(x.value != y.value, "bool")
            if isinstance(y, Const) and not y.value:
                return x
        return self.apply(name, x.dtype, x, y)

    def function(self, name: str, *xs: Value) -> Value:
        """A function of floats by its name: one of `vector_math`, or an instruction that LLVM names."""
        return self.apply(name, xs[0].dtype, *xs)

    def cast(self, x: Value, dtype: str) -> Value:
        """`x` in another dtype: integers wrap, floats saturate on the way to integers and NaN gives 0."""
        return x if x.dtype == dtype else self.apply("cast", dtype, x)

    def reinterpret(self, x: Value, dtype: str) -> Value:
        """The bits of `x` as a number of another dtype, as wide."""
        return self.apply("reinterpret", dtype, x)

    def negation(self, c: Value) -> Value:
        """Whether a condition does not hold."""
        return self.bits("xor", c, self.const(True, "bool"))

    def both(self, *conditions: Value) -> Value:
        """Whether all hold."""
        found: Value = self.const(True, "bool")
        for c in conditions:
            found = self.bits("and", found, c)
        return found

    def missing(self, name: str) -> NoReturn:
        """Refuse an operator that does not say what sizes its result has (`no-native-code`)."""
        message = f"`{name}` does not say the sizes of its result in machine code"
        fail("no-native-code", message, self.at.span, hint="give the operator a rule `extent`")

    # --- indices ---

    def _index(self, op: str, i: Index, j: Index) -> Index:
        if op in COMMUTING and isinstance(i, int):
            i, j = j, i
        return self.apply(op, INDEX, i, j)

    def plus(self, i: Index, j: Index) -> Index:
        """`i + j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i + j
        return j if i == 0 else i if j == 0 else self._index("plus", i, j)

    def minus(self, i: Index, j: Index) -> Index:
        """`i - j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i - j
        return i if j == 0 else 0 if i is j else self._index("minus", i, j)

    def times(self, i: Index, j: Index) -> Index:
        """`i * j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i * j
        if i == 0 or j == 0:
            return 0
        if isinstance(j, int) and isinstance(i, Apply) and i.op == "times" and isinstance(i.args[1], int):
            return self.times(i.args[0], i.args[1] * j)
        return j if i == 1 else i if j == 1 else self._index("times", i, j)

    def quotient(self, i: Index, j: Index) -> Index:
        """`i / j` rounded towards 0; `j` is not 0."""
        if isinstance(i, int) and isinstance(j, int):
            return abs(i) // abs(j) * (1 if (i < 0) == (j < 0) else -1)
        return i if j == 1 else self._index("quotient", i, j)

    def rest(self, i: Index, j: Index) -> Index:
        """The remainder of `i / j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i - j * (abs(i) // abs(j) * (1 if (i < 0) == (j < 0) else -1))
        return 0 if j == 1 else self._index("rest", i, j)

    def is_less(self, i: Index, j: Index) -> Value:
        """Whether `i < j`."""
        if isinstance(i, int) and isinstance(j, int):
            return self.const(i < j, "bool")
        return self.apply("less", "bool", i, j)

    def is_same(self, i: Index, j: Index) -> Value:
        """Whether `i == j`."""
        if i is j or (isinstance(i, int) and isinstance(j, int)):
            return self.const(i == j, "bool")
        return self.apply("same", "bool", i, j)

    def is_within(self, i: Index, n: Index) -> Value:
        """Whether `0 <= i < n`."""
        if isinstance(i, int) and isinstance(n, int):
            return self.const(0 <= i < n, "bool")
        return self.apply("within", "bool", i, n)

    def choose(self, c: Value, i: Index, j: Index) -> Index:
        """`i` where `c`, else `j`."""
        if isinstance(c, Const):
            return i if c.value else j
        return i if i is j else self.apply("choose", INDEX, c, i, j)

    def as_index(self, x: Value) -> Index:
        """An integer as an index."""
        if isinstance(x, Const):
            return int(x.value)
        return self.apply("to_index", INDEX, x)

    def as_number(self, i: Index, dtype: str) -> Value:
        """An index as a number."""
        if isinstance(i, int) and is_integer(dtype):
            low, high = integer_range(dtype)
            if low <= i <= high:
                return self.const(i, dtype)
        return self.apply("to_number", dtype, i)

    def as_value(self, x: Operand) -> Value:
        """A value as it is, a known index as one that loops can carry."""
        if not isinstance(x, int):
            return x
        made = Var(INDEX, self.scope.name("k"))
        self.add_statement(Let(made, x))
        return made

    # --- checks ---

    def refuse(self, condition: Value, code: str, message: str, hint: str) -> None:
        """Fail where a condition holds."""
        key = ("check", condition, code, message)
        if (isinstance(condition, Const) and not condition.value) or self.knows(key):
            return
        self.scope.known[-1][key] = None
        self.add_statement(Check(condition, code, message, hint, self.at))

    def require(self, c: Value, code: str, message: str, hint: str = "") -> None:
        """Fail unless `c`."""
        self.refuse(self.negation(c), code, message, hint)

    def require_shape(self, c: Value, why: str) -> None:
        """Fail unless sizes are as the operator demands (`shape-check`)."""
        self.require(c, "shape-check", f"`{self.origin}`: {why}")

    # --- choices ---

    def where(self, c: Value, yes: Callable[[], Value], no: Callable[[], Value]) -> Value:
        """The number that one of two computes; the other does not run."""
        return self.among([(c, yes)], no)

    def among(
        self, ways: Sequence[tuple[Value, Callable[[], Value]]], otherwise: Callable[[], Value]
    ) -> Value:
        """The number that the first way computes whose condition holds; the others do not run."""
        conditions: list[Value] = []
        made: list[Callable[[], Value]] = []
        for c, make in ways:
            if isinstance(c, Const):
                if c.value:
                    otherwise = make
                    break
                continue
            conditions.append(c)
            made.append(make)
        if not conditions:
            return otherwise()
        blocks: list[Block] = []
        for make in (*made, otherwise):
            with self.region() as block:
                found = make()
            blocks.append(Block(tuple(block), (found,)))
        result = Var(blocks[0].yields[0].dtype, self.scope.name("v"))
        self.add_statement(Branch(tuple(conditions), tuple(blocks), (result,)))
        return result

    def when(self, c: Value, body: Callable[[], None], otherwise: Callable[[], None] = lambda: None) -> None:
        """Run `body()` where `c`, else `otherwise()`."""
        if isinstance(c, Const):
            (body if c.value else otherwise)()
            return
        blocks = tuple([Block(self.added(run)) for run in (body, otherwise)])
        self.add_statement(Branch((c,), blocks))

    # --- loops ---

    def for_each(
        self,
        extents: Sequence[Index],
        totals: Sequence[Operand],
        body: Callable[[tuple[Index, ...], list[Any]], Sequence[Operand] | None],
        *,
        any_order: bool = False,
        reduction: Combining | None = None,
        lanes: int = 0,
        is_whole: bool = False,
        unroll: int = 0,
        scratch: tuple[Value, ...] = (),
    ) -> list[Any]:
        """Run `body(index, totals)` for every index of a shape, which returns the next totals."""
        scope = self.scope
        indices = tuple([Var(INDEX, scope.name("i")) for _ in extents])
        totals = [self.as_value(x) for x in totals]
        carried = tuple([Var(x.dtype, scope.name("t")) for x in totals])
        with self.region() as block:
            new = [self.as_value(x) for x in body(indices, list(carried)) or ()]
        results = tuple([Var(x.dtype, scope.name("r")) for x in totals])
        made = Block(tuple(block), tuple(new))
        self.add_statement(
            For(indices, tuple(extents), made, tuple(totals), carried, results, any_order, reduction, lanes,
                is_whole, unroll, scope.is_rolled, self.origin, scratch)
        )  # fmt: skip
        return list(results)

    def loop(
        self,
        n: Index,
        totals: Sequence[Operand],
        body: Callable[[Index, list[Any]], Sequence[Operand] | None],
    ) -> list[Any]:
        """Run `body(i, totals)` for `i` from 0 to `n`, which returns the totals of the next round."""
        return self.for_each([n], totals, lambda index, inner: body(index[0], inner))

    def unrolled(self, n: int, body: Callable[[Index], None]) -> None:
        """Run `body(i)` for `i` from 0 to `n`, written so many times."""
        if n == 1:
            body(0)
        else:
            self.for_each([n], (), lambda index, _: body(index[0]), unroll=n)

    def vector_loop(
        self, n: Index, lanes: int, body: Callable[[Index], None], vectors: int = 0, is_whole: bool = False
    ) -> None:
        """Run `body(i)` for `i` from 0 to `n`, so many at once: as vectors one after the other if it says how
        many there are at most; `is_whole` if they are known to be full.
        """
        self.for_each(
            [n], (), lambda index, _: body(index[0]), any_order=True, lanes=lanes, is_whole=is_whole,
            unroll=vectors,
        )  # fmt: skip

    def long_loop(
        self,
        n: Index,
        totals: Sequence[Value],
        body: Callable[[Index, list[Any]], Sequence[Value] | None],
    ) -> list[Any]:
        """A loop that polls for interrupts every so many iterations."""
        if isinstance(n, int) and n <= POLL_ITERATIONS:
            return self.loop(n, totals, body)

        def stretch(k: Index, found: list[Any]) -> list[Any]:
            self.add_statement(Poll())
            begin = self.times(k, POLL_ITERATIONS)
            count = self.smaller(self.minus(n, begin), POLL_ITERATIONS)
            return self.loop(count, found, lambda i, inner: body(self.plus(begin, i), inner))

        return self.loop(self.quotient(self.plus(n, POLL_ITERATIONS - 1), POLL_ITERATIONS), totals, stretch)

    def nest(self, sizes: Sequence[Index], body: Callable[[tuple[Index, ...]], None]) -> None:
        """Run `body(index)` for every index of a shape, in the order of memory."""
        if sizes:
            self.for_each(sizes, (), lambda index, _: body(index))
        else:
            body(())

    def fold(
        self,
        sizes: Sequence[Index],
        totals: Sequence[Value],
        body: Callable[[tuple[Index, ...], Sequence[Value]], Sequence[Value]],
    ) -> Sequence[Value]:
        """Run `body(index, totals)` for every index of a shape, which returns the next totals."""
        return self.for_each(sizes, totals, body) if sizes else body((), totals)

    def fill(self, out: Any, element: Callable[[tuple[Index, ...]], Value]) -> None:
        """Write `element(index)` to each index of a tensor, in any order."""

        def move(index: tuple[Index, ...], _: Any) -> None:
            out.put(index, element(index))

        if out.sizes:
            self.for_each(out.sizes, (), move, any_order=True)
        else:
            move((), ())

    # --- memory ---

    def tensor(self, t: TensorType, sizes: Sequence[Index]) -> Var:
        """A new tensor."""
        made = Var(OBJECT, self.scope.name("out"))
        self.add_statement(NewTensor(made, t, tuple(sizes)))
        return made

    def room(self, dtype: str, sizes: Sequence[Index]) -> View:
        """A tensor to work in, which ends with the operator."""
        made = new_output(self, TensorType(self.dims(sizes), dtype), sizes)
        self.scratch.append(made.found)
        return made

    def done(self) -> None:
        """Give up what there was to work in."""
        for x in self.scratch:
            self.add_statement(Release(x))
        self.scratch.clear()

    def stack(self, size: int) -> Stack:
        """Memory of the function, in bytes."""
        return self.add_statement(Stack(size))

    def registers(self, dtype: str, sizes: Sequence[int], name: str = "") -> Buffer:
        """Numbers that LLVM keeps in registers."""
        size = prod(sizes) * SIZES[scalar(dtype)]
        return Buffer(self.add_statement(Registers(size)), dtype, tuple(sizes), name)

    def constant(self, constant: Any) -> Value:
        """A constant tensor of the program, or one that is packed for a kernel."""
        with self.at_the_beginning():
            return self.once(("constant", constant), lambda: self.add_statement(Global(constant)))

    def data(self, x: Value) -> Value:
        """Where the elements of a tensor are."""
        return self.apply("data", ADDRESS, x)

    def address(self, base: Value, offset: Index) -> Value:
        """A place in memory some bytes further on."""
        return base if offset == 0 else self.apply("offset", ADDRESS, base, offset)

    def invoke(self, callee: Callee, *args: Operand) -> None:
        """Call a kernel."""
        self.add_statement(Invoke(callee, args))

    def write_words(self, words: Sequence[Index]) -> Value:
        """A row of words on the stack."""
        p = self.stack(8 * len(words))
        buffer = Buffer(p, "int64", (len(words),), "words")
        for i, n in enumerate(words):
            self.add_statement(Store(buffer, (i,), self.as_number(n, "int64")))
        return p

    def prefetch(self, p: Value, level: int) -> None:
        """Have a level of the cache fetch the line of an address."""
        self.add_statement(Prefetch(Buffer(p, "uint8", (1,)), (0,), 0, is_written=False, level=level))

    def transpose(self, buffer: Buffer) -> None:
        """Put the elements of a matrix in registers in the order of its columns."""
        self.add_statement(Transpose(buffer))

    def write(self, buffer: Buffer, index: Sequence[Index], x: Value) -> None:
        """Write an element of a buffer."""
        self.add_statement(Store(buffer, tuple(index), x))

    def read(self, buffer: Buffer, index: Sequence[Index]) -> Load:
        """An element of a buffer."""
        return self.add_statement(Load(buffer, tuple(index)))

    # --- threads ---

    def parallel(self, count: Index, grain: Index, body: Callable[[Index, Index, Index], None]) -> None:
        """Run `body(begin, end, lane)` on ranges that make up [0, count), on several threads."""
        begin, end, lane = (Var(INDEX, self.scope.name(name)) for name in ("begin", "end", "lane"))
        with self.region() as block:
            body(begin, end, lane)
        self.add_statement(Parallel(count, grain, begin, end, lane, Block(tuple(block))))

    def added(self, build: Callable[[], None]) -> tuple[Statement, ...]:
        """The statements that `build()` makes, in place of adding them."""
        with self.region() as block:
            build()
        return tuple(block)

    def threads(self) -> Index:
        """How many lanes there are at most."""
        return self.apply("threads", INDEX)
