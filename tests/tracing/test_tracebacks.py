"""Tracebacks of errors in traced functions."""

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay
from relay.diagnostic import RelayError
from relay.tracing import function as traced_functions

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
