"""The loop IR as LLVM IR: one pass, each statement where it stands.

What `schedule` has decided is written down: loops along lanes as vectors with a masked remainder, ranges of
threads as functions of their own.  Nothing is decided here.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, assert_never

from relay.backend.native.llvm.builder import CONTEXT, POINTER, VOID, Code, Value, integer
from relay.backend.native.llvm.vectors import Run, element_of, iota
from relay.backend.native.loops import nodes as ir
from relay.backend.native.loops.emit_indices import Index, value
from relay.backend.native.loops.emit_numbers import Number
from relay.backend.native.loops.emit_sums import adds_up, sum_rounds
from relay.backend.native.loops.emit_values import Env, Slots, ValueEmitter
from relay.backend.native.loops.free_values import free_values
from relay.backend.native.memory.layout import THREADS_OFFSET, TURN_OFFSET
from relay.backend.native.memory.objects import release
from relay.backend.native.memory.representation import SIZES, scalar
from relay.backend.native.memory.tensors import loop, tensor_in_place
from relay.ir.dtype import FLOATS
from relay.ir.expr import Expr

ENV = Value(POINTER, "%env")
"""Where the body of a parallel loop finds what it reads of the function around it."""
KERNEL_TRAITS = 'nounwind noinline "prefer-vector-width"="512" "no-builtin-memcpy" "no-builtin-memset"'
"""Of kernels: what they move is short, and a call of the C library for each takes longer."""
PARALLEL = "declare void @relay_parallel(ptr, ptr, ptr, i64, i64, i64)"


class Emitter(ValueEmitter):
    """Writes blocks to the code of a function; `env` has what values are in it."""

    def __init__(self, program: Any, code: Code, at: Expr, env: Env) -> None:
        """As `ValueEmitter`."""
        super().__init__(program, code, at, env)
        self.splatted: dict[ir.For, list[Any]] = {}
        """The numbers that loops along the lanes read from outside, which may be written several times."""
        self.has_registers = False

    def emit(self, block: ir.Block) -> None:
        """Write the statements of a block."""
        env = self.env
        for s in block.statements:
            if type(s) is ir.Apply:
                env[s] = self.applied(s)
            elif type(s) is ir.Load:
                env[s] = self.loaded(s)
            else:
                self.statement(s)

    def statement(self, s: Any) -> None:
        """Write a statement with an effect or with blocks."""
        match s:
            case ir.Let():
                self.env[s.result] = self.index(s.value)
            case ir.Store():
                self.store(s)
            case ir.For():
                self.loops(s)
            case ir.Branch():
                self.branch(s)
            case ir.Check():
                self.at = s.at
                self.refuse(self.number(s.condition).value, s.code, s.message, s.hint)
            case ir.Poll():
                self.code.do(f"call void @relay.check({CONTEXT})")
            case ir.Global():
                self.env[s] = self.program.constant(self.code, s.constant)
            case ir.Stack():
                self.env[s] = self.code.room(s.size)
            case ir.Registers():
                self.env[s], self.has_registers = {}, True
            case ir.NewTensor():
                sizes = [value(self.index(d)) for d in s.sizes]
                places = [(self.value(p.value), p.axes, p.is_reshaped) for p in s.places]
                array = (s.array.slot, s.array.axes) if s.array else None
                found = tensor_in_place(self.code, self.program.layouts, s.type, sizes, places, array)
                self.env[s.result] = found
            case ir.Release():
                release(self.code, [self.value(s.value)])
            case ir.Invoke():
                self.invoke(s)
            case ir.CallRoutine():
                self.call_routine(s)
            case ir.Prefetch():
                self.prefetch(s)
            case ir.Transpose():
                self.transpose(s)
            case ir.Parallel():
                self.parallel(s)
            case ir.Alternate():
                self.alternate(s)
            case _:
                assert_never(s)

    # --- choices ---

    def branch(self, s: ir.Branch) -> None:
        """The block of the first condition that holds."""
        code = self.code
        conditions = [self.value(c) for c in s.conditions]
        if any(c.type != "i1" for c in conditions):
            self.masked(s, conditions)
            return
        end = code.label()
        arrivals: list[tuple[list[Value], str]] = []
        held = self.written_registers(s.blocks)
        before = self.registers(held)

        def arrive(block: ir.Block) -> None:
            self.put_registers(held, before)
            self.emit(block)
            yields = [code.spread(self.value(x)) for x in block.yields]
            arrivals.append(([*yields, *self.registers(held)], code.here))
            code.jump(end)

        for c, block in zip(conditions, s.blocks, strict=False):
            yes, no = code.label(), code.label()
            code.branch(c, yes, no)
            code.block(yes)
            arrive(block)
            code.block(no)
        arrive(s.blocks[-1])
        code.block(end)
        if s.results or held:
            found = code.join(arrivals)
            self.env.update(zip(s.results, found, strict=False))
            self.put_registers(held, found[len(s.results) :])

    def masked(self, s: ir.Branch, conditions: Sequence[Value]) -> None:
        """All blocks, each for the lanes that are its own; one with loops only if it has any."""
        code, before = self.code, (self.code.mask, self.code.is_partial)
        code.is_partial = True
        rest, found = code.marks(), list[tuple[Value, list[Value]]]()
        for c, block in zip(conditions, s.blocks, strict=False):
            here = code.spread(c)
            code.mask = code.op("and", rest, here)
            found.append((here, self.marked(block)))
            rest = code.op("and", rest, code.op("xor", here, Value("i1", "true")))
        code.mask = rest
        last = self.marked(s.blocks[-1])
        code.mask, code.is_partial = before
        for here, values in reversed(found):
            last = [code.select(here, x, y) for x, y in zip(values, last, strict=True)]
        self.env.update(zip(s.results, last, strict=True))

    def marked(self, block: ir.Block) -> list[Value]:
        """Return what a block yields in the lanes that count; where none does, its loops are left out."""
        code = self.code
        if not any(isinstance(s, ir.For) for s in ir.statements(block)):
            self.emit(block)
            return [self.value(x) for x in block.yields]
        some, none, end = code.label(), code.label(), code.label()
        code.branch(code.is_set(code.marks()), some, none, likely=False)
        code.block(some)
        self.emit(block)
        values = [code.spread(self.value(x)) for x in block.yields]
        last = code.here
        code.jump(end)
        code.block(none)
        code.jump(end)
        code.block(end)
        return code.join([(values, last), ([Value(v.type, "zeroinitializer") for v in values], none)])

    # --- loops ---

    def loops(self, s: ir.For) -> None:
        """A nest of loops."""
        code = self.code
        before, code.is_rolled = code.is_rolled, s.is_rolled or code.is_rolled
        inits = [self.value(x) for x in s.inits]
        if s.lanes:
            found = self.in_vectors(s, inits)
        else:
            found = self.nest(s, s.indices, [code.spread(v) for v in inits], self.body_of(s))
        code.is_rolled = before
        self.env.update(zip(s.results, found, strict=True))

    def nest(
        self, s: ir.For, indices: Sequence[ir.Var], totals: Sequence[Value], body: "Body"
    ) -> Sequence[Value]:
        """Loops over some of the indices, and a body inside of all."""
        extents = [self.index(n) for n in s.extents]
        neutral, is_sum = totals, adds_up(s)

        def along(axis: int, totals: Sequence[Value]) -> Sequence[Value]:
            if axis == len(indices):
                return body(totals)

            def step(i: Index, inner: list[Value]) -> Sequence[Value]:
                self.env[indices[axis]] = i
                return along(axis + 1, inner)

            if s.unroll and not s.lanes:
                for i in range(s.unroll):
                    totals = step(i, list(totals))
                return totals
            if is_sum:
                return sum_rounds(self, s, extents[axis], totals, neutral, step)
            held = self.written_registers([s.body])
            n = len(totals)

            def held_step(i: Value, inner: list[Value]) -> Sequence[Value]:
                self.put_registers(held, inner[n:])
                return [*step(i, inner[:n]), *self.registers(held)]

            found = loop(self.code, value(extents[axis]), [*totals, *self.registers(held)], held_step)
            self.forget_registers([s.body], held)
            self.put_registers(held, found[n:])
            return found[:n]

        return along(0, totals)

    def written_registers(self, blocks: Iterable[ir.Block]) -> list[tuple[Slots, int]]:
        """The slots that blocks write of registers from outside of them."""
        if not self.has_registers:
            return []
        written = {
            s.buffer.data: None
            for block in blocks
            for s in ir.statements(block)
            if isinstance(s, ir.Store | ir.Transpose) and isinstance(s.buffer.data, ir.Registers)
        }
        return [(self.env[x], offset) for x in written if x in self.env for offset in self.env[x]]

    def forget_registers(self, blocks: Iterable[ir.Block], held: Sequence[tuple[Slots, int]]) -> None:
        """What is only known inside of some blocks."""
        for slots, _ in self.written_registers(blocks):
            kept = [offset for own, offset in held if own is slots]
            for offset in [x for x in slots if x not in kept]:
                del slots[offset]

    def registers(self, held: Sequence[tuple[Slots, int]]) -> list[Value]:
        """What is in some slots."""
        return [slots[offset] for slots, offset in held]

    def put_registers(self, held: Sequence[tuple[Slots, int]], values: Sequence[Value]) -> None:
        """Put values in some slots."""
        for (slots, offset), v in zip(held, values, strict=True):
            slots[offset] = v

    def body_of(self, s: ir.For) -> "Body":
        """What an iteration does: it takes totals, and gives the next ones."""

        def body(totals: Sequence[Value]) -> Sequence[Value]:
            self.env.update(zip(s.carried, totals, strict=True))
            self.emit(s.body)
            return [self.code.spread(self.value(x)) for x in s.body.yields]

        return body

    def in_vectors(self, s: ir.For, inits: Sequence[Value]) -> Sequence[Value]:
        """The loops, the last of them along the lanes; totals of lanes are combined in the end."""
        code, outer = self.code, self.env
        body = self.body_of(s)
        with code.in_lanes(s.lanes):
            self.env = {**outer, **self.splats(s)}
            totals = [code.spread(v) for v in inits]
            found = self.nest(
                s, s.indices[:-1], totals, lambda inner: self.along_lanes(s, inner, totals, body)
            )
        self.env = outer
        return self.folded(s, found) if s.carried else ()

    def splats(self, s: ir.For) -> Env:
        """Numbers from outside of a body in all lanes, before the loop; divisors stay numbers, whose inverse
        is multiplied with.
        """
        found = self.splatted.get(s)
        if found is None:
            divisors = {
                x.args[1] for x in ir.statements(s.body) if isinstance(x, ir.Apply) and x.op == "divide"
            }
            free = free_values(s.body, *s.indices, *s.carried)
            found = self.splatted[s] = [x for x in free if x.dtype in FLOATS and x not in divisors]
        return {x: self.code.spread(self.value(x)) for x in found}

    def along_lanes(
        self, s: ir.For, totals: Sequence[Value], neutral: Sequence[Value], body: "Body"
    ) -> Sequence[Value]:
        """The innermost loop, as many elements at a time as there are lanes; those left over are masked."""
        code, lanes, index = self.code, s.lanes, s.indices[-1]
        n = self.index(s.extents[-1])
        if s.unroll:
            self.unrolled_vectors(s, n)
            return totals
        rounds = self.quotient(n, lanes)

        def step(i: Any, inner: Sequence[Value]) -> Sequence[Value]:
            self.env[index] = Run(code, self.times(i, lanes), 1)
            return body(inner)

        if rounds == 1:
            totals = step(0, totals)
        elif rounds != 0 and adds_up(s):
            totals = sum_rounds(self, s, rounds, totals, neutral, step)
        elif rounds != 0:
            totals = loop(code, value(rounds), totals, step)
        first = self.times(rounds, lanes)
        rest = 0 if s.is_whole else self.minus(n, first)
        if rest == 0:
            return totals
        self.env[index] = Run(code, first, 1)
        return self.remainder_of(rest, totals, body)

    def unrolled_vectors(self, s: ir.For, n: Index) -> None:
        """As many vectors as there are at most, one after the other; masked unless all are full."""
        code, lanes = self.code, s.lanes
        limit = None if s.is_whole else code.spread(code.cast("trunc", value(n), "i32"))
        for i in range(0, s.unroll * lanes, lanes):
            if limit is not None:
                code.mask = code.compare("icmp ult", iota("i32", lanes, first=i), limit)
            self.env[s.indices[-1]] = Run(code, i, 1)
            self.emit(s.body)
        code.mask = None

    def remainder_of(self, rest: Index, totals: Sequence[Value], body: "Body") -> Sequence[Value]:
        """What does not fill the lanes: the body with the others masked."""
        code = self.code
        left = rest if isinstance(rest, Value) else None
        start, some, end = code.here, code.label(), code.label()
        if left is not None:
            code.branch(code.compare("icmp ne", left, integer(0)), some, end)
            code.block(some)
        limit = integer(rest, 32) if isinstance(rest, int) else code.cast("trunc", value(rest), "i32")
        code.mask = code.compare("icmp ult", iota("i32", code.lanes), code.spread(limit))
        new = body(totals)
        kept = [code.select(code.marks(), x, y) for x, y in zip(new, totals, strict=True)]
        code.mask = None
        if left is None:
            return kept
        arrivals = [(list(totals), start), (kept, code.here)]
        code.jump(end)
        code.block(end)
        return code.join(arrivals) if totals else ()

    def folded(self, s: ir.For, found: Sequence[Value]) -> Sequence[Value]:
        """The lanes of totals combined: the first half with the second, again and again."""
        code, lanes, op = self.code, s.lanes, s.reduction
        assert op is not None, "only totals of a reduction are carried along lanes"
        totals: Any = [Number(x.dtype, v) for x, v in zip(s.carried, found, strict=True)]
        if len(totals) > 1:
            with code.in_lanes(lanes):
                totals = op.of_lane(self, totals, Number("int32", iota("i32", lanes)), lanes)
        while lanes > 1:
            lanes //= 2
            halves: list[Any] = [
                [Number(x.dtype, code.shuffled(x.value, x.value, range(k, k + lanes))) for x in totals]
                for k in (0, lanes)
            ]
            with code.in_lanes(lanes):
                totals = (
                    op.combine(self, halves[0], halves[1][0]) if len(totals) == 1 else op.merge(self, *halves)
                )
        return [code.set(element_of(x.value.type), f"extractelement {x.value}, i64 0") for x in totals]

    # --- calls ---

    def invoke(self, s: ir.Invoke) -> None:
        """Call a kernel."""
        symbol = f"@{s.callee.name}"
        self.program.add_kernel(s.callee.name, lambda: kernel_code(self.program, self.at, s.callee).piece())
        self.code.call(VOID, symbol, [self.value(x) for x in s.args])

    def call_routine(self, s: ir.CallRoutine) -> None:
        """Call what the table of routines has."""
        code = self.code
        target = code.load(POINTER, self.program.routine(code, s.name))
        code.do(f"call void {target.ref}({', '.join([str(self.value(x)) for x in s.args])})")

    def alternate(self, s: ir.Alternate) -> None:
        """A word of the context that changes each time."""
        code = self.code
        at = code.at(CONTEXT, TURN_OFFSET)
        found = code.op("xor", code.load("i64", at), integer(1))
        code.store(found, at)
        self.env[s.result] = code.cast("trunc", found, "i1")

    def parallel(self, s: ir.Parallel) -> None:
        """A function over a range of iterations, which the threads of the process call.

        It gets what it reads of the function around it in a row of words.  It fails through a context of its
        own thread, and neither makes objects nor counts references.
        """
        code, program = self.code, self.program
        code.declare(PARALLEL)
        known = self.env
        captured = [(x, known[x]) for x in free_values(s.body, s.begin, s.end, s.lane) if x in known]
        held = [(x, v) for x, v in captured if isinstance(v, Value) and v.ref[0] == "%"]
        offsets, size = places([v.type for _, v in held])
        env = code.room(size) if held else Value(POINTER, "null")
        params = [Value("i64", f"%{name}") for name in ("begin", "end", "lane")]
        function = Code("loop", VOID, [ENV, *params], "internal")
        function.is_rolled = code.is_rolled
        inner: Env = {x: v for x, v in captured if not isinstance(v, Value) or v.ref[0] != "%"}
        inner.update(zip((s.begin, s.end, s.lane), params, strict=True))
        for (x, v), offset in zip(held, offsets, strict=True):
            code.store(v, code.at(env, offset))
            inner[x] = function.load(v.type, function.at(ENV, offset))
        emitter = Emitter(program, function, self.at, inner)
        emitter.emit(s.body)
        function.do("ret void")
        function.name = f"loop.{len(program.pieces)}"
        program.pieces.append(function.piece())
        symbol = code.refer(f"@{function.name}", function.declaration())
        asked = code.load("i64", code.at(CONTEXT, THREADS_OFFSET))
        count, grain = value(self.index(s.count)), value(self.index(s.grain))
        code.do(f"call void @relay_parallel({CONTEXT}, ptr {symbol}, {env}, {count}, {grain}, {asked})")


Body = Callable[[Sequence[Value]], Sequence[Value]]


def places(kinds: Iterable[str]) -> tuple[list[int], int]:
    """Where values of some types are in a row, in bytes, and how long it is."""
    found: list[int] = []
    at = 0
    for kind in kinds:
        size = SIZES[kind]
        at = -(-at // size) * size
        found.append(at)
        at += size
    return found, at


def kernel_code(program: Any, at: Expr, callee: ir.Callee) -> Code:
    """The code of a kernel."""
    function = callee.function()
    params = [Value(scalar(x.dtype), f"%{x.name}") for x in function.params]
    declared = [Value(f"{v.type} noalias" if v.type == POINTER else v.type, v.ref) for v in params]
    code = Code(function.name, VOID, declared, traits=KERNEL_TRAITS)
    emit(program, code, at, function.body, dict(zip(function.params, params, strict=True)))
    code.do("ret void")
    return code


def emit(program: Any, code: Code, at: Expr, block: ir.Block, env: Env) -> list[Value]:
    """Write a function's block to its code; the values that it ends with."""
    emitter = Emitter(program, code, at, env)
    emitter.emit(block)
    return [emitter.value(x) for x in block.yields]
