"""Tracebacks of errors in traced functions."""
# ruff: noqa: F821 - annotations in quotes are Relay types

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from relay.diagnostic import RelayError
from relay.tracing import function as traced_functions

SOURCE = Path(relay.__file__).parent

X = np.ones((2, 3), "float32")


def helper(x: Any) -> Any:
    return x.dtypes


def asks_for_an_attribute(x: Any) -> Any:
    return helper(x)


def divides_by_zero(x: Any) -> Any:
    return x * (1 // 0)


def multiplies(x: Any) -> Any:
    return x @ relay.ones((7, 3), "float32")


def frames(f: Callable[..., Any], error: type[Exception]) -> list[str]:
    """Return the names of the functions in the traceback of a call that fails, the test's left out."""
    with pytest.raises(error) as info:
        f(X)
    return [s.name for s in traceback.extract_tb(info.value.__traceback__)[1:]]


@pytest.mark.parametrize("wrap", [relay.function, relay.compile])
@pytest.mark.parametrize(
    ("python", "error", "names"),
    [
        (asks_for_an_attribute, AttributeError, ["asks_for_an_attribute", "helper"]),
        (divides_by_zero, ZeroDivisionError, ["divides_by_zero"]),
        (multiplies, RelayError, []),
    ],
)
def test_own_frames_are_left_out(wrap: Any, python: Any, error: type[Exception], names: list[str]) -> None:
    assert frames(wrap(python), error) == names


def test_inner_traced_functions_leave_no_frames() -> None:
    inner = relay.function(asks_for_an_attribute)
    assert frames(relay.function(lambda x: inner(x)), AttributeError) == [
        "<lambda>",
        "asks_for_an_attribute",
        "helper",
    ]


def test_all_frames_are_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAY_TRACEBACK", "full")
    assert "__call__" in frames(relay.function(asks_for_an_attribute), AttributeError)


def test_a_fault_of_relay_keeps_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "def trace(*_):\n    return {}['missing']\n"
    namespace = {"__name__": "relay.tracing.trace"}
    exec(source, namespace)
    monkeypatch.setattr(traced_functions, "trace", namespace["trace"])
    assert frames(relay.function(lambda x: x + 1.0), KeyError)[-1] == "trace"


def test_an_error_in_an_annotation_is_at_its_text() -> None:
    def misspelt(
        x: "Tensor[(n, 3), float32]",
        y: "Tensr[(n, 3), float32]",
    ):
        return x

    found = shown(lambda: relay.function(misspelt))
    assert found.span.source_name.name == __file__
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[found.span.line - 1]
    assert line[found.span.column - 1 : found.span.end_column - 1] == "Tensr"


@pytest.mark.parametrize("wrap", [relay.function, relay.compile])
@pytest.mark.parametrize("annotation", ["Tensor[(3,), float32]", "Tensor[(n,), float32]", dict])
def test_a_call_that_does_not_fit_is_at_the_line_of_the_caller(wrap: Any, annotation: Any) -> None:
    def double(x):
        return 2.0 * x

    double.__annotations__["x"] = annotation
    f: Any = wrap(double)
    calls = [lambda: f(), lambda: f(X, X), lambda: f(z=X)]  # fmt: skip
    for call in calls if annotation is dict else [*calls, lambda: f(X)]:
        found = shown(call)
        assert found.span.source_name.name == __file__
        assert found.span.line == call.__code__.co_firstlineno
        assert [n.span.line for n in found.notes] == [double.__code__.co_firstlineno]
        assert "@main" not in found.message or found.code == "argument-count"


@pytest.mark.parametrize(
    "call", [lambda: relay.optim.adam("fast"), lambda: relay.parse("fn ("), lambda: relay.nn.relu(spin=1)]
)
def test_public_functions_leave_no_frames(call: Any) -> None:
    with pytest.raises(RelayError) as info:
        call()
    assert [s.name for s in traceback.extract_tb(info.value.__traceback__)[1:]] == ["<lambda>"]


def shown(call: Callable[[], Any]) -> Any:
    """Return the diagnostic of a call whose traceback has no frame of Relay."""
    with pytest.raises(RelayError) as info:
        call()
    entries = traceback.extract_tb(info.value.__traceback__)
    assert not any(Path(e.filename).is_relative_to(SOURCE) for e in entries)
    return info.value.diagnostics[0]
