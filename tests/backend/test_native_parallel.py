"""Loops on several threads: bodies become functions, with what they need of the function around them."""

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from relay.backend.native.llvm.builder import CONTEXT, POINTER, VOID, Code, Value, integer
from relay.backend.native.llvm.codegen import Optimised
from relay.backend.native.llvm.jit import Compiled
from relay.backend.native.loops.parallel import grain_for, parallel
from relay.backend.native.memory.layout import SITE_OFFSET, THREADS_OFFSET
from relay.backend.native.memory.tensors import loop, set_element
from relay.backend.native.runtime.runtime_library import runtime_library
from relay.backend.native.runtime.source import inlined

TRY = """
declare i32 @relay_try(ptr, ptr, ptr, i64, i64, i64)
define i32 @run(ptr %ctx, ptr %data, i64 %n, i64 %scale) {
  %r = call i32 @relay_try(ptr %ctx, ptr @go, ptr %data, i64 %n, i64 %scale, i64 0)
  ret i32 %r
}
"""
DATA, N, SCALE = Value(POINTER, "%data"), Value("i64", "%n"), Value("i64", "%scale")


class Program:
    """Code that works on the numbers at `%data`, of which there are `%n`."""

    def __init__(self, write: Any) -> None:
        self.pieces: list[str] = []
        self.declared: dict[str, None] = {}
        code = Code("go", VOID, [DATA, N, SCALE], "internal")
        write(self, code)
        code.do("ret void")
        runtime_library()
        text = "\n".join([inlined(), TRY, *self.declared, *self.pieces, code.text()])
        self.code = Compiled([Optimised(text).code()])
        kinds = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
        self.run = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(self.code.address("run"))
        self.context = ctypes.create_string_buffer(4096)
        self.threads = ctypes.c_int64.from_buffer(self.context, THREADS_OFFSET)

    def declare(self, text: str) -> None:
        self.declared.setdefault(text)

    def __call__(self, a: Any, scale: int = 1) -> int | None:
        failed = self.run(ctypes.addressof(self.context), a.ctypes.data, a.size, scale)
        return int.from_bytes(self.context[SITE_OFFSET : SITE_OFFSET + 8], "little") if failed else None


def scaled(program: Any, code: Code) -> None:
    """Each number is its place, times the scale, plus one; the first of all is captured as a flag."""
    is_odd = code.cast("trunc", SCALE, "i1")
    numbers = code.set("<2 x i64>", f"insertelement <2 x i64> <i64 1, i64 1>, {SCALE}, i64 0")

    def body(begin: Value, end: Value, lane: Value) -> None:
        factor = code.set("i64", f"extractelement {numbers}, i64 0")
        one = code.set("i64", f"extractelement {numbers}, i64 1")

        def step(j: Value, _: list[Value]) -> list[Value]:
            i = code.op("add", begin, j)
            v = code.op("add", code.op("mul", i, factor), one)
            set_element(code, DATA, i, code.select(is_odd, v, code.op("sub", integer(0), v)))
            return []

        loop(code, code.op("sub", end, begin), [], step)

    parallel(program, code, N, 16, body)


@pytest.mark.parametrize("threads", [0, 1, 2, 5])
def test_a_body_takes_along_what_it_needs(threads: int) -> None:
    run = Program(scaled)
    run.threads.value = threads
    for n in (0, 1, 31, 32, 1000, 100_003):
        a = np.zeros(n, "int64")
        for scale in (3, 4):
            assert run(a, scale) is None
            np.testing.assert_array_equal(a, (np.arange(n) * scale + 1) * (1 if scale % 2 else -1))


def nested(program: Any, code: Code) -> None:
    """As many rows of 100 as there are: in each the row, the column and the scale together."""
    rows = code.op("sdiv", N, integer(100))

    def row(begin: Value, end: Value, lane: Value) -> None:
        def one(j: Value, _: list[Value]) -> list[Value]:
            i = code.op("add", begin, j)

            def columns(first: Value, last: Value, lane: Value) -> None:
                def step(k: Value, _: list[Value]) -> list[Value]:
                    at = code.op("add", code.op("mul", i, integer(100)), code.op("add", first, k))
                    set_element(code, DATA, at, code.op("add", at, SCALE))
                    return []

                loop(code, code.op("sub", last, first), [], step)

            parallel(program, code, 100, 1, columns)
            return []

        loop(code, code.op("sub", end, begin), [], one)

    parallel(program, code, rows, 1, row)


def test_loops_inside_of_loops() -> None:
    run = Program(nested)
    run.threads.value = 3
    a = np.zeros(5000, "int64")
    assert run(a, 7) is None
    np.testing.assert_array_equal(a, np.arange(5000) + 7)


def failing(program: Any, code: Code) -> None:
    """Fails from the place on that the scale names."""

    def body(begin: Value, end: Value, lane: Value) -> None:
        def step(j: Value, _: list[Value]) -> list[Value]:
            i = code.op("add", begin, j)
            bad, fine = code.label(), code.label()
            code.branch(code.compare("icmp sge", i, SCALE), bad, fine)
            code.block(bad)
            code.do(f"call void @relay.fail({CONTEXT}, {i})")
            code.do("unreachable")
            code.block(fine)
            return []

        loop(code, code.op("sub", end, begin), [], step)

    parallel(program, code, N, 8, body)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_first_iteration_that_fails(threads: int) -> None:
    run, a = Program(failing), np.zeros(4000, "int64")
    run.threads.value = threads
    for place in (0, 1, 999, 3999, 77):
        assert run(a, place) == place
    assert run(a, 4000) is None


def test_iterations_of_a_chunk() -> None:
    b = SimpleNamespace()
    assert grain_for(b, 1.0) == 10_000
    assert grain_for(b, 1.0, 100) == 100
    assert grain_for(b, 1.0, 1_000_000) == 1
    assert grain_for(b, 1e9) == 1
