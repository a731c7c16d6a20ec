"""Values of the loop IR as LLVM IR: functions of others, and elements of memory."""

from collections.abc import Callable
from typing import Any

from relay.backend.native.llvm.builder import CONTEXT, POINTER, Code, Value
from relay.backend.native.llvm.vectors import Run, lanes_of
from relay.backend.native.loops import nodes as ir
from relay.backend.native.loops.emit_indices import Index, IndexEmitter, value
from relay.backend.native.loops.emit_numbers import Number, NumberEmitter, literal
from relay.backend.native.memory.layout import TENSOR_DATA_OFFSET, TENSOR_SIZES_OFFSET, THREADS_OFFSET
from relay.backend.native.memory.representation import SIZES, memory, scalar
from relay.backend.native.memory.tensors import (
    element,
    elements,
    place_of,
    set_element,
    set_elements,
)  # fmt: skip
from relay.ir.expr import Expr

CACHE_LINE_BYTES = 64

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
        return self.function(op, *map(self.number, s.args)).value

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
        self.program.declare("declare i64 @relay_threads(i64)")
        asked = self.code.load("i64", self.code.at(CONTEXT, THREADS_OFFSET))
        return self.code.set("i64", f"call i64 @relay_threads({asked})")

    # --- memory ---

    def position_of(self, s: "ir.Load | ir.Store | ir.Prefetch") -> Index:
        """The number of an element in the order of memory."""
        sizes = [self.index(d) for d in s.buffer.sizes]
        return self.position([self.index(i) for i in s.index], sizes)

    def loaded(self, s: ir.Load) -> Value:
        """An element of memory, or one for each lane."""
        code, at, leaf = self.code, self.position_of(s), scalar(s.buffer.dtype)
        data = self.value(s.buffer.data)
        if code.is_partial and not isinstance(at, Run):
            at = code.spread(value(at))
        if isinstance(at, Run) or (isinstance(at, Value) and lanes_of(at.type)):
            return elements(code, data, leaf, at)
        return element(code, data, leaf, value(at))

    def store(self, s: ir.Store) -> None:
        """Write an element, or one for each lane."""
        at, data, x = self.position_of(s), self.value(s.buffer.data), self.value(s.value)
        if isinstance(at, Run):
            set_elements(self.code, data, at, x)
        else:
            set_element(self.code, data, value(at), x)

    def prefetch(self, s: ir.Prefetch) -> None:
        """Have the cache fetch a vector."""
        code, at = self.code, self.plus(self.position_of(s), self.index(s.beyond))
        assert isinstance(at, Run), "what is fetched ahead is read along the lanes"
        kind = memory(scalar(s.buffer.dtype))
        first = place_of(code, self.value(s.buffer.data), kind, value(at.first))
        for line in range(0, code.lanes * SIZES[kind], CACHE_LINE_BYTES):
            where = code.at(first, line)
            code.do(f"call void @llvm.prefetch.p0({where}, i32 {s.is_written:d}, i32 3, i32 1)")


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
    "cast": ValueEmitter.cast_number,
    "reinterpret": ValueEmitter.reinterpret_number, "to_number": ValueEmitter.index_to_number,
    "to_index": ValueEmitter.number_to_index, "lane": ValueEmitter.lane, "data": ValueEmitter.data_of,
    "size": ValueEmitter.size_of, "offset": ValueEmitter.offset, "threads": ValueEmitter.threads,
}  # fmt: skip
