"""Calls that take long: Ctrl-C ends them, signals are handled meanwhile; recursion without end is refused."""

import mmap
import os
import signal
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host.context import KEPT
from relay.backend.native.host.native_program import NativeProgram

PROGRAMS = """
def @loop(%n: int64, %x: float32) -> float32 {
    if (%n < 1) { %x } else { @loop(%n - 1, %x * (3.7f - 3.7f * %x)) }
}
def @fib(%n: int32) -> int32 { if (%n < 2) { %n } else { @fib(%n - 1) + @fib(%n - 2) } }
def @deep(%n: int64) -> float64 { if (%n < 1) { 0f64 } else { 1f64 + @deep(%n - 1) } }
def @endless(%n: int64) -> int64 { 1i64 + @endless(%n) }
def @pair(%n: int64) -> (int64, float32) { (%n, @loop(%n, 0.3f)) }
def @knot(%n: int64) -> int64 {
    let %r = ref(fn (%k: int64) -> int64 { %k });
    ref_write(%r, fn (%k: int64) -> int64 { if (%k < 1) { 0i64 } else { ref_read(%r)(%k - 1) } });
    ref_read(%r)(%n)
}
"""
LONG: dict[str, tuple[Any, ...]] = {
    "loop": (10**10, 0.3), "fib": (48,), "endless": (1,), "pair": (10**10,), "knot": (10**10,),
}  # fmt: skip
"""Calls of half a minute and more."""


@pytest.fixture(autouse=True)
def _ctrl_c_is_heard() -> Generator[None, None, None]:
    """Python ignores Ctrl-C where it was started in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def program() -> NativeProgram:
    names = ("loop", "fib", "deep", "endless", "pair", "knot")
    return NativeProgram(relay.parse(PROGRAMS), names, direct=True)


@pytest.fixture
def alarms() -> Generator[list[int], None, None]:
    """How often the clock has rung, every 50 ms."""
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    yield rung
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", list(LONG))
def test_ctrl_c_ends_a_long_call(program: NativeProgram, name: str) -> None:
    f, sent = program.function(name), [0.0]

    def send() -> None:
        time.sleep(0.2)
        sent[0] = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        f(*LONG[name])
    waited = time.perf_counter() - sent[0]
    sender.join()
    assert waited < 2  # 0.2 on a machine that does nothing else
    assert program.function("fib")(10) == 55


def test_signals_are_handled_during_a_call(program: NativeProgram, alarms: list[int]) -> None:
    f, start = program.function("loop"), time.perf_counter()
    while time.perf_counter() - start < 1 and len(alarms) < 3:
        f(100_000_000, 0.3)
    assert len(alarms) >= 3


def test_a_handler_may_call_the_program(program: NativeProgram) -> None:
    found: list[float] = []
    fib, loop = program.function("fib"), program.function("loop")
    wanted = loop(60_000_000, 0.3)
    before = signal.signal(signal.SIGALRM, lambda *_: found.append(fib(20) + program.evaluate("pair", 5)[0]))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    assert loop(60_000_000, 0.3) == wanted
    signal.signal(signal.SIGALRM, before)
    assert found == [6770]


def test_a_handler_that_raises_ends_the_call(program: NativeProgram) -> None:
    def ring(*_: object) -> None:
        raise ArithmeticError("rung")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(ArithmeticError, match="rung"):
        program.function("fib")(48)
    signal.signal(signal.SIGALRM, before)


def test_ctrl_c_while_arrays_are_computed() -> None:
    mod = relay.parse("""
        def @main(%x: Tensor[(1000, 1000), float32], %n: int32) -> Tensor[(1000, 1000), float32] {
            if (%n < 1) { %x } else { @main(sin(%x) + 1f, %n - 1) }
        }""")
    f = NativeProgram(mod, direct=True).function("main")
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        f(np.ones((1000, 1000), "float32"), 1_000_000)


def test_recursion_a_million_deep_in_several_threads(program: NativeProgram) -> None:
    f, found = program.function("deep"), list[float]()
    threads = [threading.Thread(target=lambda: found.append(f(1_000_000))) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [1_000_000] * 3


def test_recursion_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relay.backend.native.host.context.MAX_STACK_BYTES", 64 << 20)
    program = NativeProgram(relay.parse(PROGRAMS), ("deep", "pair"), direct=True)
    for _ in range(3):
        with pytest.raises(relay.RelayError) as found:
            program.function("deep")(10**12)
        assert found.value.codes == ("recursion-limit",)
        assert program.function("deep")(1000) == 1000


def test_ctrl_c_while_a_long_line_is_sorted() -> None:
    mod = relay.parse("def @main(%x: Tensor[(n,), float32]) { sort(sort(%x)) }")
    f = NativeProgram(mod, direct=True).function("main")
    x = np.random.default_rng(0).random(3_000_000, "float32")
    sent: list[float] = []

    def send() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.2, send).start()
    with pytest.raises(KeyboardInterrupt):
        f(x)
    assert time.perf_counter() - sent[0] < 1


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads how much memory a process has")
def test_what_a_deep_call_has_used_of_the_stack_goes_back(program: NativeProgram) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    f = program.function("deep")
    f(10)
    before = resident()
    assert f(10_000_000) == 10_000_000
    assert resident() < before + KEPT + (32 << 20)
    assert f(1_000_000) == 1_000_000
