"""Programs whose control flow the host runs, and whose operators XLA computes in segments."""

from typing import Any

import numpy as np
import pytest

import relay
from backend.xla.near import assert_near
from relay.backend.xla.built import XlaModule
from relay.interpreter.value import RefValue

pytestmark = pytest.mark.extras
pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")

X = np.random.default_rng(0).standard_normal((20, 20)).astype("float32")
POWER = """
def @power(%n: int32, %x: Tensor[(20, 20), float32]) -> Tensor[(20, 20), float32] {
  if (%n < 2) { %x } else {
    let %parts = split(tanh(@power(%n - 1, %x)) * %x, indices_or_sections=2);
    concatenate((%parts.1, %parts.0))
  }
}
"""


def built(text: str, *args: Any) -> XlaModule:
    """A program that has been called, and has given the value of the interpreter."""
    mod = relay.infer(relay.parse(text))
    made = relay.build(mod, "xla")
    found = made(*args)
    assert made.by_name["main"].not_whole
    assert_near(found, relay.create_executor("debug", mod).evaluate()(*args))
    return made


def test_recursion_is_the_hosts_and_its_operators_are_compiled_once() -> None:
    text = POWER + "def @main(%n: int32, %x: Tensor[(20, 20), float32]) { sum(@power(%n, %x)) }"
    made = built(text, 10, X)
    assert made.report().segments == 2
    made(30, X)
    assert made.report().segments == 2
    assert made.report().host == {}


def test_few_numbers_are_computed_by_the_host() -> None:
    fib = "def @main(%n: int32) -> int32 { if (%n < 2) { %n } else { @main(%n - 1) + @main(%n - 2) } }"
    assert built(fib, 10).report().segments == 0


def test_an_operator_without_a_form_for_xla_is_the_hosts_between_two_segments() -> None:
    text = """def @main(%x: Tensor[(200,), float32]) {
      let %y = %x * 2f;
      let %z = argwhere(%y > 0f);
      trace("done");
      (%z * 3, tanh(%y))
    }"""
    made = built(text, X.reshape(-1)[:200])
    assert made.report().host == {"argwhere": "values decide the shape of the result"}
    assert str(made.report()).splitlines() == [
        "@main: in segments, since `argwhere`: values decide the shape of the result",
        f"segments compiled: {made.report().segments}",
        f"dispatches: {made.report().dispatches}",
        "on the host: argwhere (values decide the shape of the result)",
    ]


def test_a_long_program_is_cut() -> None:
    x = relay.var("x", shape=(100,), dtype="float32")
    body = x
    for _ in range(3_000):
        body = relay.tanh(body)
    made = relay.build(relay.Function([x], body), "xla", opt_level=0)
    data = np.ones(100, "float32")
    assert_near(made(data), relay.create_executor("debug").evaluate(relay.Function([x], body))(data))
    assert made.by_name["main"].not_whole == "there are more than 2,000 operators"
    assert made.report().segments == 2  # of 256 operators, and what is left over


def test_functions_go_in_and_out() -> None:
    text = """def @main(%x: Tensor[(20, 20), float32], %f: fn(Tensor[(20, 20), float32]) -> float32) {
      let %y = tanh(%x);
      fn(%k: float32) { (%f(%y) * %k, %y) }
    }"""
    made = relay.build(relay.parse(text), "xla")
    given: list[Any] = []

    def total(x: Any) -> Any:
        given.append(x)
        return np.float32(x.sum())

    value, y = made(X, total)(2.0)
    np.testing.assert_allclose(value, np.tanh(X).sum() * 2, rtol=1e-4)
    np.testing.assert_allclose(y, np.tanh(X), rtol=1e-5)
    assert type(y) is np.ndarray
    assert all(isinstance(x, np.ndarray) for x in given)


def test_references_that_are_given_are_changed() -> None:
    text = """def @main(%r: ref(Tensor[(20, 20), float32]), %x: Tensor[(20, 20), float32]) {
      ref_write(%r, ref_read(%r) + %x);
      ref_read(%r) * 2f
    }"""
    cell = RefValue(X)
    found = relay.build(relay.parse(text), "xla")(cell, X)
    assert_near(cell.value, X + X)
    assert_near(found, X * 4)


@pytest.mark.parametrize("at", [5, 300])
def test_what_fails_in_a_segment_is_the_diagnostic_of_the_interpreter(at: int) -> None:
    text = """def @pick(%x: Tensor[(200,), float32], %i: Tensor[(200,), int32]) -> float32 {
      let %y = tanh(%x) * 2f;
      sum(take(%y, %i, mode="fast"))
    }
    def @main(%x: Tensor[(200,), float32], %i: Tensor[(200,), int32]) { trace("pick"); @pick(%x, %i) }"""
    args = (np.ones(200, "float32"), np.full(200, at, "int32"))
    if at < 200:
        built(text, *args)
        return
    mod = relay.infer(relay.parse(text))
    with pytest.raises(relay.RelayError) as wanted:
        relay.create_executor("debug", mod).evaluate()(*args)
    with pytest.raises(relay.RelayError) as found:
        relay.build(mod, "xla")(*args)
    assert str(found.value) == str(wanted.value)


def test_tuples_of_other_values_are_the_hosts() -> None:
    text = (
        POWER
        + """def @main(%n: int32, %x: Tensor[(20, 20), float32]) {
      let %pair = (tanh(@power(%n, %x)), fn(%y: Tensor[(20, 20), float32]) { %y * %x });
      (%pair.1)(%pair.0 + 1f)
    }"""
    )
    built(text, 3, X)
