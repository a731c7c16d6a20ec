"""What a failing program shows: the interpreter's diagnostic, with the calls that led there."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host import backtraces
from relay.diagnostic import Diagnostic

PROGRAM = """
import "std/list"
type Either { Left(int32), Right(Tensor[(2,), int32]) }
def @div(%a: int32, %b: int32) -> int32 { %a / %b }
def @sum(%n: int32) -> int32 { if (%n == 0) { @div(1, %n) + 1 } else { %n + @sum(%n - 1) } }
def @even(%n: int32) -> int32 { if (%n == 0) { 1 / %n } else { 1 + @odd(%n - 1) } }
def @odd(%n: int32) -> int32 { if (%n == 0) { 0 } else { 1 + @even(%n - 1) } }
def @twice(%f: fn(int32) -> int32, %x: int32) -> int32 { %f(%x) + 1 }
def @closures(%n: int32) -> int32 { let %g = fn (%k: int32) -> int32 { 3 * @sum(%k) }; 1 + @twice(%g, %n) }
def @rows(%x: Tensor[(n,), int32], %i: int32) -> int32 { 2 * gather_nd(%x, [%i]) }
def @picked(%x: Tensor[(n,), int32]) -> int32 { 2 * @rows(%x, 5) }
def @folded(%l: List[int32]) -> int32 { @foldl(fn (%a, %x) { %a + @div(12, %x) }, 0, %l) }
def @side(%e: Either) -> int32 { match? (%e) { Left(%x) => @div(1, %x) } }
def @loop(%n: int64, %x: int64) -> int64 { if (%n == 0) { 1 / %n } else { @loop(%n - 1, %x * 3 + 1) } }
"""
CALLS = [
    ("sum", (4,)), ("even", (40,)), ("closures", (3,)), ("picked", ([1, 2],)), ("folded", ([1, 2, 0, 4],)),
]  # fmt: skip


def said(call: Callable[[], Any]) -> str:
    """The diagnostic of a call that fails."""
    with pytest.raises(relay.RelayError) as found:
        call()
    return str(found.value)


@pytest.mark.parametrize(("entry", "args"), CALLS, ids=[entry for entry, _ in CALLS])
def test_a_failure_is_told_as_the_interpreter_tells_it(entry: str, args: tuple[Any, ...]) -> None:
    mod = relay.parse(PROGRAM, "calls.relay")
    built = relay.build(mod, entries=[entry])
    wanted = said(lambda: relay.run(mod, entry, args))
    assert "was called by" in wanted
    for _ in range(2):
        assert said(lambda: built[entry](*args)) == wanted
    assert said(lambda: relay.create_executor("native", mod).evaluate(entry)(*args)) == wanted


def test_failures_of_instances_that_no_clause_matches() -> None:
    mod = relay.parse(PROGRAM, "calls.relay")
    left, right = relay.parse(PROGRAM).get_type("Either")[1:]
    for value in (left(np.int32(0)), right(np.ones(2, "int32"))):
        given = relay.create_executor("debug", mod).evaluate(value)
        wanted = said(lambda given=given: relay.run(mod, "side", [given]))
        assert said(lambda given=given: relay.build(mod, entries=["side"])["side"](given)) == wanted


def test_a_failure_that_takes_the_interpreter_long_is_told_without_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backtraces, "MAX_SECONDS", 0.05)
    loop = relay.build(relay.parse(PROGRAM), entries=["loop"])["loop"]
    start = time.perf_counter()
    text = said(lambda: loop(3_000_000, 1))
    assert text.startswith("error[divide-by-zero]")
    assert "was called" not in text
    assert time.perf_counter() - start < 2


def test_a_program_from_a_file_shows_the_place_alone(tmp_path: Path) -> None:
    built = relay.build(relay.parse(PROGRAM, "calls.relay"), entries=["sum"])
    built.export_library(tmp_path / "calls.rlo")
    loaded = relay.load_module(tmp_path / "calls.rlo")
    text = said(lambda: loaded["sum"](3))
    assert text.startswith("error[divide-by-zero]")
    assert "calls.relay:4:" in text
    assert "was called" not in text


def test_a_failure_is_reported_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where memory has run out, which is the failure that is to be reported."""

    def no_thread(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    found = relay.RelayError(Diagnostic("out-of-memory", "out of memory"))
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    assert backtraces.with_backtrace(found, lambda: None) is found
