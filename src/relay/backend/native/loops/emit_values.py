"""Values of the loop IR as LLVM IR: functions of others, and elements of memory."""

from collections.abc import Callable
from typing import Any

from relay.backend.native.llvm.builder import CONTEXT, POINTER, Code, Value
from relay.backend.native.llvm.machine import INSTRUCTIONS, Instruction
from relay.backend.native.llvm.vectors import Run, element_of, lanes_of, suffix, vector_of
from relay.backend.native.loops import nodes as ir
from relay.backend.native.loops.emit_indices import Index, IndexEmitter, value
from relay.backend.native.loops.emit_numbers import Number, NumberEmitter, literal
from relay.backend.native.memory.layout import TENSOR_DATA_OFFSET, TENSOR_SIZES_OFFSET, THREADS_OFFSET
from relay.backend.native.memory.representation import SIZES, memory, scalar
from relay.backend.native.memory.strings import STRING_FUNCTIONS
from relay.backend.native.memory.tensors import (
    element,
    elements,
    place_of,
    set_element,
    set_elements,
)  # fmt: skip
from relay.ir.expr import Expr

CACHE_LINE_BYTES = 64

Slots = dict[int, Value]
"""What is in registers, by its offset in bytes."""
Env = dict[Any, Any]
"""What values are in the code: a `Value`, a `Run` along the lanes, a known number."""


class ValueEmitter(IndexEmitter):
    """Writes values to the code of a function; `env` has what they are in it."""

    def __init__(self, program: Any, code: Code, at: Expr, env: Env) -> None:
        """`at` is where checks fail that have no place of their own."""
        super().__init__(program, code, at)
        self.env = env

    # --- values ---

    def value(self, x: Any) -> Value:
        """A value as the code has it."""
        if isinstance(x, ir.Const):
            return literal(x.dtype, x.value)
        return value(x if isinstance(x, int) else self.env[x])

    def number(self, x: Any) -> Number:
        """A number."""
        return Number(x.dtype, self.value(x))

    def index(self, i: Any) -> Index:
        """An index."""
        return i if isinstance(i, int) else self.env[i]

    def applied(self, s: ir.Apply) -> Any:
        """The value of a function of others."""
        op = s.op
        if op in OF_INDICES:
            i, j = s.args
            return OF_INDICES[op](self, self.index(i), self.index(j))
        if op in OF_NUMBERS:
            return OF_NUMBERS[op](self, *map(self.number, s.args)).value
        if op in COMPARISONS:
            x, y = s.args
            return self.compare(op, self.number(x), self.number(y)).value
        if op in BITWISE:
            x, y = s.args
            return self.bits(op, self.number(x), self.number(y)).value
        if op in CONDITIONS:
            i, j = s.args
            return CONDITIONS[op](self, self.index(i), self.index(j)).value
        if op in OTHERS:
            return OTHERS[op](self, s)
        if op in STRING_FUNCTIONS:
            return self.of_strings(op, s.dtype, *map(self.number, s.args)).value
        if op in INSTRUCTIONS:
            return self.instruction(INSTRUCTIONS[op], s)
        return self.function(op, *map(self.number, s.args)).value

    def fmuladd(self, s: ir.Apply) -> Value:
        """`x * y + z`, rounded once where the machine can."""
        return self.code.intrinsic("fmuladd", *map(self.value, s.args))

    def apart(self, s: ir.Apply) -> Value:
        """Whether two places in memory are not one."""
        p, q = map(self.value, s.args)
        return self.code.compare("icmp ne", p, q)

    def select_value(self, s: ir.Apply) -> Value:
        """One of two values."""
        c, x, y = map(self.value, s.args)
        return self.code.select(c, x, y)

    def choose_index(self, s: ir.Apply) -> Index:
        """One of two indices."""
        c, i, j = s.args
        return self.choose(self.number(c), self.index(i), self.index(j))

    def cast_number(self, s: ir.Apply) -> Value:
        """A number in another dtype."""
        return self.cast(self.number(s.args[0]), s.dtype).value

    def nearest(self, s: ir.Apply) -> Value:
        """The int32 that is nearest to a float32 between some integers, the even one of two."""
        code, x = self.code, self.value(s.args[0])
        kind = vector_of("i32", code.lanes) if x.type[0] == "<" else "i32"
        return code.set(kind, f"call {kind} @llvm.lrint.{suffix(kind)}.{suffix(x.type)}({x})")

    def reinterpret_number(self, s: ir.Apply) -> Value:
        """The bits of a number."""
        return self.reinterpret(self.number(s.args[0]), s.dtype).value

    def index_to_number(self, s: ir.Apply) -> Value:
        """An index as a number."""
        return self.cast(Number("int64", self.value(s.args[0])), s.dtype).value

    def number_to_index(self, s: ir.Apply) -> Value:
        """An integer as an index."""
        return self.cast(self.number(s.args[0]), "int64").value

    def lane(self, s: ir.Apply) -> Run:
        """The number of each lane."""
        return Run(self.code, 0, 1)

    def data_of(self, s: ir.Apply) -> Value:
        """Where the elements of a tensor are."""
        return self.code.load(POINTER, self.code.at(self.value(s.args[0]), TENSOR_DATA_OFFSET))

    def size_of(self, s: ir.Apply) -> Value:
        """A size of a tensor."""
        tensor, axis = s.args
        assert isinstance(axis, int)
        return self.code.load("i64", self.code.at(self.value(tensor), TENSOR_SIZES_OFFSET + 8 * axis))

    def offset(self, s: ir.Apply) -> Value:
        """A place in memory some bytes further on."""
        base, n = s.args
        by = self.index(n)
        return self.code.at(self.value(base), by if isinstance(by, int) else value(by))

    def threads(self, s: ir.Apply) -> Value:
        """How many threads there are at most."""
        self.code.declare("declare i64 @relay_threads(i64)")
        asked = self.code.load("i64", self.code.at(CONTEXT, THREADS_OFFSET))
        return self.code.set("i64", f"call i64 @relay_threads({asked})")

    def opaque(self, s: ir.Apply) -> Value:
        """An address of which LLVM does not know how it was computed: it keeps it, in place of computing it
        again from others.
        """
        return self.code.set(POINTER, f'call ptr asm "", "=r,0"({self.value(s.args[0])})')

    def instruction(self, how: Instruction, s: ir.Apply) -> Value:
        """An instruction of the machine, on vectors whose lanes it takes apart.

        It is declared, since LLVM changes the types of some from version to version: it adapts those.
        """
        code = self.code
        vectors = [code.spread(self.value(x)) for x in s.args]
        parts = [code.bits_of(v, leaf) for v, leaf in zip(vectors, how.operands, strict=True)]
        leaf = scalar(s.dtype)
        kind = vector_of(how.result, code.lanes * SIZES[leaf] // SIZES[how.result])
        code.declare(f"declare {kind} @{how.intrinsic}({', '.join([p.type for p in parts])})")
        return code.bits_of(
            code.set(kind, f"call {kind} @{how.intrinsic}({', '.join(map(str, parts))})"), leaf
        )

    # --- registers ---

    def register(self, buffer: ir.Buffer, at: Index) -> "tuple[Slots, int, str]":
        """The slots of registers, the offset of the one for an access, and its type."""
        leaf = scalar(buffer.dtype)
        first, lanes = (at.first, self.code.lanes) if isinstance(at, Run) else (at, 0)
        assert isinstance(first, int), "registers are accessed at known places"
        return self.env[buffer.data], first * SIZES[leaf], vector_of(leaf, lanes)

    def transpose(self, s: ir.Transpose) -> None:
        """Rows of registers as the columns."""
        slots: Slots = self.env[s.buffer.data]
        leaf, offsets = scalar(s.buffer.dtype), sorted(slots)
        rows = [self.code.bits_of(slots[i], leaf) for i in offsets]
        is_square = len(rows) == lanes_of(rows[0].type)
        made = self.code.transposed(rows) if is_square else self.code.interleaved(rows)
        slots.update(zip(offsets, made, strict=True))

    # --- memory ---

    def position_of(self, s: "ir.Load | ir.Store | ir.Prefetch") -> Index:
        """The number of an element in the order of memory."""
        env, at = self.env, 0
        for i, d in zip(s.index, s.buffer.sizes, strict=True):
            if at != 0:
                at = self.times(at, d if isinstance(d, int) else env[d])
            if d != 1:
                i = i if isinstance(i, int) else env[i]
                at = i if at == 0 else self.plus(at, i)
        return at

    def loaded(self, s: ir.Load) -> Value:
        """An element of memory, or one for each lane."""
        code, at, leaf = self.code, self.position_of(s), scalar(s.buffer.dtype)
        if isinstance(s.buffer.data, ir.Registers):
            slots, offset, kind = self.register(s.buffer, at)
            found = self.joined(slots, offset, lanes_of(kind), leaf)
            return found if found.type == kind else code.bits_of(found, leaf)
        data = self.value(s.buffer.data)
        if code.is_partial and not isinstance(at, Run):
            at = code.spread(value(at))
        if isinstance(at, Run) or (isinstance(at, Value) and lanes_of(at.type)):
            return elements(code, data, leaf, at)
        return element(code, data, leaf, value(at))

    def joined(self, slots: Slots, offset: int, lanes: int, leaf: str) -> Value:
        """What is in registers from an offset on: a part of a vector, one, or one that was written in two
        halves.
        """
        begin = offset if offset in slots else max(at for at in slots if at < offset)
        found, size = slots[begin], lanes * SIZES[leaf]
        held = lanes_of(found.type)
        if not held or not lanes:
            return found
        own = held * SIZES[element_of(found.type)]
        if size < own:
            whole, first = self.code.bits_of(found, leaf), (offset - begin) // SIZES[leaf]
            return self.code.shuffled(whole, whole, range(first, first + lanes))
        return self.code.shuffled(found, slots[offset + own], range(2 * held)) if size == 2 * own else found

    def store(self, s: ir.Store) -> None:
        """Write an element, or one for each lane."""
        at, x = self.position_of(s), self.value(s.value)
        if isinstance(s.buffer.data, ir.Registers):
            slots, offset, _ = self.register(s.buffer, at)
            slots[offset] = self.code.spread(x)
        elif isinstance(at, Run):
            set_elements(self.code, self.value(s.buffer.data), at, x)
        else:
            set_element(self.code, self.value(s.buffer.data), value(at), x)

    def prefetch(self, s: ir.Prefetch) -> None:
        """Have the cache fetch a vector."""
        code, at = self.code, self.plus(self.position_of(s), self.index(s.beyond))
        kind = memory(scalar(s.buffer.dtype))
        first, count = (at.first, code.lanes) if isinstance(at, Run) else (at, 1)
        place = place_of(code, self.value(s.buffer.data), kind, value(first))
        for line in range(0, count * SIZES[kind], CACHE_LINE_BYTES):
            where = code.at(place, line)
            code.do(f"call void @llvm.prefetch.p0({where}, i32 {s.is_written:d}, i32 {s.level}, i32 1)")


OF_INDICES: dict[str, Callable[[IndexEmitter, Index, Index], Index]] = {
    "plus": IndexEmitter.plus, "minus": IndexEmitter.minus, "times": IndexEmitter.times,
    "quotient": IndexEmitter.quotient, "rest": IndexEmitter.rest,
}  # fmt: skip
CONDITIONS: dict[str, Callable[[IndexEmitter, Index, Index], Number]] = {
    "less": IndexEmitter.is_less, "same": IndexEmitter.is_same, "within": IndexEmitter.is_within,
}  # fmt: skip
OF_NUMBERS: dict[str, Callable[..., Number]] = {
    "add": NumberEmitter.add, "subtract": NumberEmitter.subtract, "multiply": NumberEmitter.multiply,
    "negative": NumberEmitter.negative, "divide": NumberEmitter.divide, "remainder": NumberEmitter.remainder,
}  # fmt: skip
COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
BITWISE = frozenset({"and", "or", "xor", "shl", "ashr", "lshr"})
OTHERS: dict[str, Callable[[ValueEmitter, ir.Apply], Any]] = {
    "select": ValueEmitter.select_value, "choose": ValueEmitter.choose_index,
    "cast": ValueEmitter.cast_number, "fmuladd": ValueEmitter.fmuladd,
    "reinterpret": ValueEmitter.reinterpret_number, "to_number": ValueEmitter.index_to_number,
    "to_index": ValueEmitter.number_to_index, "lane": ValueEmitter.lane, "data": ValueEmitter.data_of,
    "size": ValueEmitter.size_of, "offset": ValueEmitter.offset, "opaque": ValueEmitter.opaque,
    "threads": ValueEmitter.threads, "apart": ValueEmitter.apart, "nearest": ValueEmitter.nearest,
}  # fmt: skip
