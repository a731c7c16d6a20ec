"""Compiled programs called by several threads of Python, and called often: nothing mixed up, nothing left."""

import ctypes
import gc
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import relay
from relay.backend.native.host.native_program import NativeProgram

THREADS, CALLS = 8, 10_000
PROGRAMS = """
def @short(%x: Tensor[(16,), float32]) { %x + 1f }
def @number(%n: int64) { %n * 2i64 }
def @fib(%n: int32) -> int32 { if (%n < 2) { %n } else { @fib(%n - 1) + @fib(%n - 2) } }
def @large(%x: Tensor[(64, 64), float32]) { nn.softmax(%x * 2f) + exp(%x) }
def @fails(%x: Tensor[(8,), float32], %i: int32) -> float32 {
    let %y = %x + 1f;
    sum(%y) + @deep(%i) + cast(100 / (8 - %i), dtype="float32")
}
def @deep(%n: int32) -> float32 { if (%n < 1) { 0f } else { 1f + @deep(%n - 1) } }
def @cells(%n: int32) -> int32 {
    let %r = ref(%n);
    @count(%r, %n);
    ref_read(%r)
}
def @count(%r: ref(int32), %n: int32) -> () {
    if (%n < 1) { () } else { ref_write(%r, ref_read(%r) + 1); @count(%r, %n - 1) }
}
"""
ENTRIES = ("short", "number", "fib", "large", "fails", "cells")


def together(work: Callable[[int], None], n: int = THREADS) -> None:
    """Run something in several threads at once; what they raise is raised."""
    raised: list[BaseException] = []

    def run(i: int) -> None:
        try:
            work(i)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if raised:
        raise raised[0]


@pytest.fixture(scope="module")
def program() -> NativeProgram:
    return NativeProgram(relay.parse(PROGRAMS), ENTRIES, direct=True)


def test_one_function_that_many_threads_call(program: NativeProgram) -> None:
    f, g = program.function("short"), program.function("number")

    def work(i: int) -> None:
        x = np.full(16, i, "float32")
        for k in range(CALLS):
            assert g(k) == 2 * k
            assert f(x)[5] == i + 1

    together(work)


def test_functions_that_take_longer(program: NativeProgram) -> None:
    f, g = program.function("fib"), program.function("large")
    numbers = np.random.default_rng(0).standard_normal((THREADS, 64, 64)).astype("float32")
    wanted = [g(x) for x in numbers]

    def work(i: int) -> None:
        for _ in range(200):
            assert f(15) == 610
            np.testing.assert_array_equal(g(numbers[i]), wanted[i])

    together(work)


def test_different_functions_and_failures_at_once(program: NativeProgram) -> None:
    names = [program.function(name) for name in ENTRIES]
    x8, x16, x64 = np.arange(8, dtype="float32"), np.ones(16, "float32"), np.ones((64, 64), "float32")
    args = [(x16,), (21,), (12,), (x64,), (x8, 3), (1000,)]
    wanted = [f(*a) for f, a in zip(names, args, strict=True)]

    def work(i: int) -> None:
        for k in range(500):
            j = (i + k) % len(names)
            np.testing.assert_array_equal(names[j](*args[j]), wanted[j])
            if k % 7 == 0:
                with pytest.raises(relay.RelayError) as found:
                    names[4](x8, 8)
                assert found.value.codes == ("divide-by-zero",)

    together(work)


def test_other_threads_run_during_a_long_call(program: NativeProgram) -> None:
    f = program.function("fib")
    done = threading.Event()
    seen: list[int] = []

    def count() -> None:
        while not done.is_set():
            seen.append(1)

    other = threading.Thread(target=count)
    other.start()
    before = len(seen)
    f(36)
    after = len(seen)
    done.set()
    other.join()
    assert after > before


def test_functions_that_come_out_share_their_cells() -> None:
    program = NativeProgram(
        relay.parse("""def @main(%n: int32) -> fn(int32) -> int32 {
            let %r = ref(%n);
            fn (%k: int32) -> int32 { ref_write(%r, ref_read(%r) + %k); ref_read(%r) }
        }""")
    )
    add = program(0)

    def work(i: int) -> None:
        for _ in range(500):
            add(1)
            assert program(i)(2) == i + 2

    together(work)
    assert add(0) == 500 * THREADS


def resident() -> int:
    """Bytes of memory that the process has."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


LEAKS = {
    "arrays": 'def @main(%n: int32) { full(1f, shape=(2000,)) * cast(%n, dtype="float32") }',
    "a cycle of cells": """type Cell { Empty, Cell(ref(Cell), Tensor[(500,), float32]) }
        def @main(%n: int32) -> int32 {
            let %r = ref(Empty);
            ref_write(%r, Cell(%r, full(1f, shape=(500,))));
            %n
        }""",
    "failures": """type Pair { Pair(Tensor[(2000,), float32], Tensor[(20,), float32]) }
        def @main(%n: int32) -> float32 {
            let %x = full(cast(%n, dtype="float32"), shape=(2000,));
            @inner(Pair(%x, full(2f, shape=(20,))), %n)
        }
        def @inner(%p: Pair, %n: int32) -> float32 {
            let %k = 10 / (%n - 3);
            match (%p) { Pair(%x, %y) => sum(%x) + sum(%y) + cast(%k, dtype="float32") }
        }""",
    "functions": """def @main(%n: int32) -> fn(int32) -> int32 {
            let %r = ref(%n);
            fn (%k: int32) -> int32 { ref_read(%r) + %k }
        }""",
}


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells")
@pytest.mark.parametrize("name", list(LEAKS))
def test_nothing_is_left_behind(name: str) -> None:
    if sys.gettrace() is not None:
        pytest.skip("what traces lines, as coverage does, keeps memory of its own")
    program = NativeProgram(relay.parse(LEAKS[name]), direct=True)
    f = program.function("main")

    def calls(n: int) -> None:
        for _ in range(n):
            with pytest.raises(relay.RelayError) if name == "failures" else nullcontext():
                f(3)

    slow = name in ("failures", "functions")

    def growth() -> int:
        before = resident()
        calls(5000 if slow else 50_000)
        return resident() - before

    calls(2000)
    assert any(growth() < 1 << 20 for _ in range(3)), "what leaks grows every time"


def test_a_result_outlives_its_program() -> None:
    program = NativeProgram(relay.parse("def @main(%x: Tensor[(5000,), float32]) { %x + 1f }"), direct=True)
    found = program.function("main")(np.zeros(5000, "float32"))
    assert not found.flags.owndata
    del program
    gc.collect()
    assert (found == 1).all()
    del found


M_ML = 16
"""Offset in CPython's builtin functions of the address of their definition."""
DEFINITION_BYTES = 32


def test_a_builtin_function_has_its_definition_until_the_collector_frees_it() -> None:
    program = NativeProgram(relay.parse("def @main(%x: float32) { %x + 1f }"), direct=True)
    functions = [program.function("main") for _ in range(3)]
    places = [ctypes.c_void_p.from_address(id(f) + M_ML).value or 0 for f in functions]
    last = np.zeros(1)  # is freed, as the list is, before the functions in front of it

    def definitions() -> list[bytes]:
        return [ctypes.string_at(place, DEFINITION_BYTES) for place in places]

    seen = [definitions()]
    watched = weakref.ref(last, lambda _: seen.append(definitions()))
    vars(program)["cycle"] = [*functions, last]
    del program, functions, last
    gc.collect()
    assert watched() is None
    assert seen == 2 * seen[:1]


def test_a_function_and_its_program_may_be_one_cycle() -> None:
    """The program is older, and yet the last to go where the collector has looked at it once."""
    program = NativeProgram(relay.parse("def @main(%x: float32) { fn (%y: float32) { %x + %y } }"))
    gc.collect(0)
    add = program(np.float32(1))
    assert add(np.float32(2)) == 3
    known = weakref.ref(add)
    vars(program)["cycle"] = add
    del program, add
    gc.collect()
    assert known() is None
