"""Runs of numbers moved from one place in memory to another, and converted on the way."""

from collections.abc import Callable, Sequence

from relay.backend.native.llvm.builder import Code, Value, integer
from relay.backend.native.llvm.machine import Machine
from relay.backend.native.llvm.vectors import counting
from relay.backend.native.memory.representation import SIZES, scalar
from relay.backend.native.memory.tensors import loop

TRAITS = 'nounwind noinline "prefer-vector-width"="512" "no-builtin-memcpy" "no-builtin-memset"'
"""Of functions that move runs: these are short, and a call of the C library for each takes longer."""
FEW = 2
"""Vectors that are moved without a loop."""


class Moves:
    """Code that moves numbers of a base type to where they are of an LLVM type, float or double."""

    def __init__(self, code: Code, machine: Machine, dtype: str, kind: str) -> None:
        """It goes into `code`."""
        self.code = code
        self.machine = machine
        self.dtype = dtype
        self.kind = kind
        self.lanes = machine.lanes(kind)
        self.size, self.from_size = SIZES[kind], SIZES[scalar(dtype)]
        self.has_masks = machine.has_masks and scalar(dtype) in ("float", "double")

    def read(self, p: Value, n: int) -> Value:
        """`n` numbers in memory, converted."""
        code = self.code

        def of(kind: str) -> str:
            return kind if n == 1 else f"<{n} x {kind}>"

        v = code.load(of(scalar(self.dtype)), p, f", align {self.from_size}")
        if self.dtype == "bfloat16":
            wide = code.cast("zext", v, "i32")
            by = "16" if n == 1 else f"<{', '.join(['i32 16'] * n)}>"
            v = code.cast("bitcast", code.op("shl", wide, Value(of("i32"), by)), "float")
        return code.cast("fpext", v, self.kind)

    def move(self, source: Value, to: Value, begin: Value, end: Value) -> None:
        """Numbers from `begin` to `end`, which is at least `begin`; both count from either place."""

        def several(i: Value) -> None:
            self.write(self.read(self.at(source, i, self.from_size), self.lanes), to, i)

        def some(i: Value, left: Value) -> None:
            with self.code.in_lanes(self.lanes):
                limit = self.code.spread(left)
                self.code.mask = self.code.compare("icmp ult", counting("i64", self.lanes), limit)
                v = self.code.load_lanes(scalar(self.dtype), self.at(source, i, self.from_size))
                self.code.store_lanes(self.code.cast("fpext", v, self.kind), self.at(to, i, self.size))

        def one(i: Value) -> None:
            self.write(self.read(self.at(source, i, self.from_size), 1), to, i)

        self.along(begin, end, several, some, one)

    def move_few(self, source: Value, to: Value, count: Value) -> None:
        """As many numbers as two vectors have, or fewer, where there are masks: without a loop."""
        code = self.code
        for part in range(FEW):
            first = integer(part * self.lanes)
            with code.in_lanes(self.lanes):
                places = code.op("add", counting("i64", self.lanes), code.spread(first))
                code.mask = code.compare("icmp ult", places, code.spread(count))
                v = code.load_lanes(scalar(self.dtype), self.at(source, first, self.from_size))
                code.store_lanes(code.cast("fpext", v, self.kind), self.at(to, first, self.size))

    def clear(self, to: Value, count: Value) -> None:
        """Zeros."""
        zeros = Value(f"<{self.lanes} x {self.kind}>", "zeroinitializer")

        def some(i: Value, left: Value) -> None:
            with self.code.in_lanes(self.lanes):
                limit = self.code.spread(left)
                self.code.mask = self.code.compare("icmp ult", counting("i64", self.lanes), limit)
                self.code.store_lanes(zeros, self.at(to, i, self.size))

        self.along(
            integer(0),
            count,
            lambda i: self.write(zeros, to, i),
            some,
            lambda i: self.write(Value(self.kind, "0.0"), to, i),
        )

    def along(
        self,
        begin: Value,
        end: Value,
        several: Callable[[Value], None],
        some: Callable[[Value, Value], None],
        one: Callable[[Value], None],
    ) -> None:
        """What is done with as many numbers as a vector has, and with those that are left over: at once if
        there are masks, else one by one.
        """
        code = self.code
        count = code.op("sub", end, begin)
        whole = code.op("and", count, integer(-self.lanes))
        rounds = code.op("udiv", count, integer(self.lanes))
        rest = code.op("add", begin, whole)

        def vector(i: Value, _: Sequence[Value]) -> list[Value]:
            several(code.op("add", begin, code.op("mul", i, integer(self.lanes))))
            return []

        def number(i: Value, _: Sequence[Value]) -> list[Value]:
            one(code.op("add", rest, i))
            return []

        loop(code, rounds, (), vector)
        left = code.op("sub", count, whole)
        if not self.has_masks:
            loop(code, left, (), number)
            return
        there, after = code.label(), code.label()
        code.branch(code.compare("icmp ne", left, integer(0)), there, after)
        code.block(there)
        some(rest, left)
        code.jump(after)
        code.block(after)

    def at(self, p: Value, i: Value, size: int) -> Value:
        """The address of a number."""
        return self.code.at(p, self.code.op("mul", i, integer(size)))

    def write(self, v: Value, to: Value, i: Value) -> None:
        """Write numbers."""
        self.code.store(v, self.at(to, i, self.size), f", align {self.size}")
