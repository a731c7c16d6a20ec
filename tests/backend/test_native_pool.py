"""The pool of threads by itself: every iteration once, the first failure, forks, several callers."""

import ctypes
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.llvm.codegen import Optimised
from relay.backend.native.llvm.jit import LoadedCode
from relay.backend.native.memory.layout import SITE_OFFSET, THREADS_MAX
from relay.backend.native.runtime.runtime_library import runtime_library
from relay.backend.native.runtime.threads import available_cores, cgroup_cores, default_threads, thread_count

COUNTING = f"""
declare void @relay_parallel(ptr, ptr, ptr, i64, i64, i64)
declare i32 @relay_try(ptr, ptr, ptr, i64, i64, i64)
declare void @relay_fail(ptr) noreturn
define internal void @count(ptr %ctx, ptr %env, i64 %begin, i64 %end, i64 %lane) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %i1, %step ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %step, label %done
step:
  %p = getelementptr i64, ptr %env, i64 %i
  %x = load i64, ptr %p
  %y = add i64 %x, 1
  store i64 %y, ptr %p
  %bad = icmp sgt i64 %y, 1000
  %i1 = add i64 %i, 1
  br i1 %bad, label %fail, label %loop
fail:
  %site = getelementptr i8, ptr %ctx, i64 {SITE_OFFSET}
  store i64 %i, ptr %site
  call void @relay_fail(ptr %ctx)
  unreachable
done:
  ret void
}}
define internal void @nested(ptr %ctx, ptr %env, i64 %begin, i64 %end, i64 %lane) {{
  %p = getelementptr i64, ptr %env, i64 %begin
  %n = sub i64 %end, %begin
  call void @relay_parallel(ptr %ctx, ptr @count, ptr %p, i64 %n, i64 1, i64 4)
  ret void
}}
define internal void @plain(ptr %ctx, ptr %env, i64 %n, i64 %grain, i64 %threads) {{
  call void @relay_parallel(ptr %ctx, ptr @count, ptr %env, i64 %n, i64 %grain, i64 %threads)
  ret void
}}
define internal void @twice(ptr %ctx, ptr %env, i64 %n, i64 %grain, i64 %threads) {{
  call void @relay_parallel(ptr %ctx, ptr @nested, ptr %env, i64 %n, i64 %grain, i64 %threads)
  ret void
}}
define i32 @run(ptr %ctx, ptr %env, i64 %n, i64 %grain, i64 %threads) {{
  %r = call i32 @relay_try(ptr %ctx, ptr @plain, ptr %env, i64 %n, i64 %grain, i64 %threads)
  ret i32 %r
}}
define i32 @run_twice(ptr %ctx, ptr %env, i64 %n, i64 %grain, i64 %threads) {{
  %r = call i32 @relay_try(ptr %ctx, ptr @twice, ptr %env, i64 %n, i64 %grain, i64 %threads)
  ret i32 %r
}}
"""
"""Adds one to each number; fails at those above 1000, with the place as the site."""


class Caller:
    """Calls a loop with a context of its own."""

    def __init__(self, name: str = "run") -> None:
        runtime_library()
        self.code = LoadedCode([Optimised(COUNTING).code()])
        kinds = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64]
        self.run = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(self.code.address(name))
        self.context = ctypes.create_string_buffer(4096)

    def __call__(self, a: Any, grain: int, threads: int) -> int | None:
        """The site of a failure."""
        failed = self.run(ctypes.addressof(self.context), a.ctypes.data, a.size, grain, threads)
        return int.from_bytes(self.context[SITE_OFFSET : SITE_OFFSET + 8], "little") if failed else None


@pytest.mark.parametrize("threads", [0, 1, 2, 3, 8])
@pytest.mark.parametrize("name", ["run", "run_twice"])
def test_every_iteration_runs_once(threads: int, name: str) -> None:
    run, numbers = Caller(name), np.random.default_rng(threads)
    for _ in range(500):
        a = np.zeros(int(numbers.integers(0, 5000)), "int64")
        assert run(a, int(numbers.integers(1, 200)), threads) is None
        assert (a == 1).all()


def test_the_first_failure_is_the_one_that_counts() -> None:
    run, numbers = Caller(), np.random.default_rng(0)
    for _ in range(1000):
        a = np.zeros(int(numbers.integers(100, 5000)), "int64")
        bad = sorted(numbers.choice(a.size, 3))
        a[bad] = 1000
        assert run(a, int(numbers.integers(1, 200)), 4) == bad[0]
        assert (a[: bad[0]] == 1).all()


def test_few_iterations_make_no_threads() -> None:
    before, run = runtime_library().workers(), Caller()
    assert run(np.zeros(399, "int64"), 200, THREADS_MAX) is None
    assert runtime_library().workers() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_makes_threads_of_its_own() -> None:
    run, workers = Caller(), runtime_library().workers
    run(np.zeros(5000, "int64"), 10, 3)
    assert workers() >= 2
    child = os.fork()
    if child == 0:
        a = np.zeros(5000, "int64")
        fine = workers() == 0 and run(a, 10, 3) is None and bool((a == 1).all()) and workers() == 2
        os._exit(0 if fine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_several_callers_at_once() -> None:
    wrong: list[int] = []

    def work() -> None:
        run = Caller()
        for _ in range(1000):
            a = np.zeros(3000, "int64")
            if run(a, 10, 2) is not None or not (a == 1).all():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_how_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RELAY_NUM_THREADS", raising=False)
    assert default_threads() == available_cores() >= 1
    monkeypatch.setenv("RELAY_NUM_THREADS", " 3 ")
    assert default_threads() == 3
    monkeypatch.setenv("RELAY_NUM_THREADS", "100000")
    assert default_threads() == THREADS_MAX
    monkeypatch.setenv("RELAY_NUM_THREADS", "9" * 5000)
    assert default_threads() == THREADS_MAX


@pytest.mark.parametrize("given", ["0", "00", "", "-1", "two", "1.5", 0, -3])
def test_numbers_that_are_none(given: object) -> None:
    with pytest.raises(relay.RelayError) as found:
        thread_count(given, "threads")
    assert found.value.codes == ("thread-count",)


@pytest.mark.parametrize(
    ("text", "wanted"), [("max 100000", ()), ("150000 100000", (2,)), ("50000 100000", (1,)), ("", ())]
)
def test_time_that_a_control_group_gives(tmp_path: Path, text: str, wanted: tuple[int, ...]) -> None:
    (tmp_path / "cpu.max").write_text(text)
    assert tuple(cgroup_cores(tmp_path)) == wanted
    assert cgroup_cores(tmp_path / "none") == ()
