"""Loops on several threads: bodies become functions, with what they need of the function around them."""

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from relay.backend.native.llvm.builder import POINTER, VOID, Code, Value
from relay.backend.native.llvm.codegen import Optimised
from relay.backend.native.llvm.jit import LoadedCode
from relay.backend.native.llvm.modules import Piece, split_modules
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.emitter import emit
from relay.backend.native.loops.nodes import ADDRESS, INDEX, Buffer, Store, Var
from relay.backend.native.loops.parallelize import grain_for
from relay.backend.native.loops.value_builder import Scope
from relay.backend.native.memory.layout import SITE_OFFSET, THREADS_OFFSET
from relay.backend.native.runtime.runtime_library import runtime_library
from relay.backend.native.runtime.source import inline_bodies
from relay.ir.expr import Constant

TRY = """
declare i32 @relay_try(ptr, ptr, ptr, i64, i64, i64)
define i32 @run(ptr %ctx, ptr %data, i64 %n, i64 %scale) {
  %r = call i32 @relay_try(ptr %ctx, ptr @go, ptr %data, i64 %n, i64 %scale, i64 0)
  ret i32 %r
}
"""
DATA, N, SCALE = Value(POINTER, "%data"), Value("i64", "%n"), Value("i64", "%scale")


class Program:
    """Code that works on the numbers at `%data`, of which there are `%n`: `build(b, data, n, scale)`."""

    def __init__(self, build: Any) -> None:
        self.pieces: list[Piece] = []
        scope, at = Scope(), Constant(np.int64(0))
        n, scale, data = Var(INDEX, "n"), Var(INDEX, "scale"), Var(ADDRESS, "data")
        build(Builder(self, scope, at), Buffer(data, "int64", (n,), "data"), n, scale)  # pyright: ignore
        code = Code("go", VOID, [DATA, N, SCALE], "internal")
        emit(self, code, at, scope.built(), {data: DATA, n: N, scale: SCALE})
        code.do("ret void")
        runtime_library()
        (module,) = split_modules(inline_bodies(), [Piece(TRY), *self.pieces, code.piece()], (), (), ())
        self.code = LoadedCode([Optimised(module.text).code()])
        kinds = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
        self.run = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(self.code.address("run"))
        self.context = ctypes.create_string_buffer(4096)
        self.threads = ctypes.c_int64.from_buffer(self.context, THREADS_OFFSET)

    def site(self, code: str, message: str, at: Any, hint: str = "") -> int:
        return int(code)

    def __call__(self, a: Any, scale: int = 1) -> int | None:
        failed = self.run(ctypes.addressof(self.context), a.ctypes.data, a.size, scale)
        return int.from_bytes(self.context[SITE_OFFSET : SITE_OFFSET + 8], "little") if failed else None


def scaled(b: Builder, data: Buffer, n: Any, scale: Any) -> None:
    """Each number is its place, times the scale, plus one; negative where the scale is even."""
    is_odd = b.is_same(b.rest(scale, 2), 1)

    def body(begin: Any, end: Any, lane: Any) -> None:
        def step(j: Any, _: Any) -> None:
            i = b.plus(begin, j)
            v = b.plus(b.times(i, scale), 1)
            b.add_statement(Store(data, (i,), b.as_number(b.choose(is_odd, v, b.minus(0, v)), "int64")))

        b.loop(b.minus(end, begin), (), step)

    b.parallel(n, 16, body)


@pytest.mark.parametrize("threads", [0, 1, 2, 5])
def test_a_body_takes_along_what_it_needs(threads: int) -> None:
    run = Program(scaled)
    run.threads.value = threads
    for n in (0, 1, 31, 32, 1000, 100_003):
        a = np.zeros(n, "int64")
        for scale in (3, 4):
            assert run(a, scale) is None
            np.testing.assert_array_equal(a, (np.arange(n) * scale + 1) * (1 if scale % 2 else -1))


def nested(b: Builder, data: Buffer, n: Any, scale: Any) -> None:
    """As many rows of 100 as there are: in each the row, the column and the scale together."""

    def row(begin: Any, end: Any, lane: Any) -> None:
        def one(j: Any, _: Any) -> None:
            i = b.plus(begin, j)

            def columns(first: Any, last: Any, lane: Any) -> None:
                def step(k: Any, _: Any) -> None:
                    at = b.plus(b.times(i, 100), b.plus(first, k))
                    b.add_statement(Store(data, (at,), b.as_number(b.plus(at, scale), "int64")))

                b.loop(b.minus(last, first), (), step)

            b.parallel(100, 1, columns)

        b.loop(b.minus(end, begin), (), one)

    b.parallel(b.quotient(n, 100), 1, row)


def test_loops_inside_of_loops() -> None:
    run = Program(nested)
    run.threads.value = 3
    a = np.zeros(5000, "int64")
    assert run(a, 7) is None
    np.testing.assert_array_equal(a, np.arange(5000) + 7)


def failing(b: Builder, data: Buffer, n: Any, scale: Any) -> None:
    """Fails from the place on that the scale names, with the thousand that it is in."""

    def body(begin: Any, end: Any, lane: Any) -> None:
        def step(j: Any, _: Any) -> None:
            i = b.plus(begin, j)
            for thousand in range(4):
                is_here = b.is_same(b.quotient(i, 1000), thousand)
                fails = b.both(is_here, b.negation(b.is_less(i, scale)))
                b.refuse(fails, str(thousand + 1), f"in the thousand number {thousand}", "")

        b.loop(b.minus(end, begin), (), step)

    b.parallel(n, 8, body)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_first_iteration_that_fails(threads: int) -> None:
    run, a = Program(failing), np.zeros(4000, "int64")
    run.threads.value = threads
    for place in (0, 1, 999, 3999, 77):
        assert run(a, place) == place // 1000 + 1
    assert run(a, 4000) is None


def test_iterations_of_a_chunk() -> None:
    b: Any = SimpleNamespace()
    assert grain_for(b, 1.0) == 10_000
    assert grain_for(b, 1.0, 100) == 100
    assert grain_for(b, 1.0, 1_000_000) == 1
    assert grain_for(b, 1e9) == 1
