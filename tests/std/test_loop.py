"""`std/loop`: values against Python, derivatives against differences, compiled programs."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host.native_program import NativeProgram

NETWORK = """import "std/loop"
def @rnn(%w: Tensor[(3, 3), float64], %xs: Tensor[(n, 3), float64]) {
  let %step = fn (%h, %x) { let %next = tanh(%w @ %h + %x); (%next, %next * 2.0) };
  @scan(%step, zeros(shape=(3,), dtype=float64), %xs)
}
def @loss(%w: Tensor[(3, 3), float64], %xs: Tensor[(n, 3), float64]) -> float64 {
  let (%h, %ys) = @rnn(%w, %xs);
  let %power = @fori(0i64, 3, fn (%i, %a) { %a * (sum(%w) + cast(%i, float64)) }, 1.0);
  let %grown = @while_loop(fn (%a) { %a < 50.0f64 }, fn (%a) { %a * 1.5 + sum(%xs) }, sum(%w) + 1.0);
  sum(%ys * %ys) + sum(%h) + %power + %grown
}
def @main(%w: Tensor[(3, 3), float64], %xs: Tensor[(n, 3), float64]) {
  (@rnn(%w, %xs), grad(@loss)(%w, %xs))
}
"""


def operands(count: int) -> tuple[Any, Any]:
    """A weight, and as many rows."""
    random = np.random.default_rng(count)
    return random.random((3, 3)) * 0.4, random.random((count, 3)) * 0.3


@pytest.mark.parametrize("count", [1, 2, 7])
def test_a_scan_gives_the_last_carry_and_all_results(count: int) -> None:
    w, xs = operands(count)
    h, rows = np.zeros(3), []
    for x in xs:
        h = np.tanh(w @ h + x)
        rows.append(2 * h)
    (last, found), _ = relay.parse(NETWORK).evaluate("main", w, xs)
    np.testing.assert_allclose(last, h)
    np.testing.assert_allclose(found, rows)


def test_derivatives_of_loops_are_those_of_their_rounds() -> None:
    mod = relay.parse(NETWORK)
    w, xs = operands(4)
    _, (_, gradients) = mod.evaluate("main", w, xs)
    for k, x in enumerate((w, xs)):
        for i in np.ndindex(x.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [w.copy(), xs.copy()]
                moved[k][i] += step
                ends.append(mod.evaluate("loss", *moved))
            np.testing.assert_allclose(gradients[k][i], (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-6)


def test_compiled_loops_give_what_the_interpreter_gives() -> None:
    mod = relay.parse(NETWORK)
    program = NativeProgram(mod)
    for count in (1, 5):
        (last, rows), (loss, gradients) = mod.evaluate("main", *operands(count))
        (found_last, found_rows), (found_loss, found) = program(*operands(count))
        for a, b in zip(
            (last, rows, loss, *gradients), (found_last, found_rows, found_loss, *found), strict=True
        ):
            np.testing.assert_allclose(b, a, rtol=1e-12)


def test_a_scan_has_as_many_results_as_rows() -> None:
    assert str(relay.infer(relay.parse(NETWORK))["rnn"].ret_type.fields[1]) == "Tensor[(n, 3), float64]"


def test_a_scan_of_no_rows_is_an_error() -> None:
    w, xs = operands(3)
    for evaluate in (
        lambda *x: relay.parse(NETWORK).evaluate("main", *x),
        NativeProgram(relay.parse(NETWORK)),
    ):
        with pytest.raises(relay.RelayError, match="axis of size 0"):
            evaluate(w, xs[:0])


def test_loops_take_constant_space() -> None:
    text = """import "std/loop"
    def @main(%n: int64) {
      let %sum = @fori(0, %n, fn (%i, %s) { %s + %i }, 0i64);
      (%sum, @while_loop(fn (%k) { %k < %n }, fn (%k) { %k + 1 }, 0i64))
    }"""
    assert NativeProgram(relay.parse(text))(np.int64(10**6)) == (499999500000, 10**6)
    assert relay.parse(text).evaluate("main", np.int64(3000)) == (4498500, 3000)


def test_a_loop_carries_what_is_no_tensor() -> None:
    text = """import "std/loop" import "std/list"
    def @main() {
      let %digits = @while_loop(
        fn ((%n, _)) { %n > 0 }, fn ((%n, %l)) { (%n / 10, Cons(%n % 10, %l)) }, (1234, (Nil: List[int32]))
      ).1;
      @scan(fn (%l, %x) { (Cons(%x, %l), %x * %x) }, %digits, [7, 8])
    }"""
    found: Any = relay.parse(text).evaluate("main")
    assert found[1].tolist() == [49, 64]
    assert str(found[0]) == str(NativeProgram(relay.parse(text))()[0])


def test_stacked_lists_are_compiled_and_differentiated_at_open_sizes() -> None:
    text = """import "std/tensor_list"
    def @squares(%x: Tensor[(n, 3), float64]) -> float64 {
      sum(@tensor_array_stack(@map(fn (%r) { %r * %r }, @tensor_array_unstack(%x))))
    }
    def @main(%x: Tensor[(n, 3), float64]) { grad(@squares)(%x) }"""
    mod = relay.parse(text)
    x = operands(4)[1]
    for value, (gradient,) in (mod.evaluate("main", x), NativeProgram(mod)(x)):
        np.testing.assert_allclose(value, np.sum(x * x))
        np.testing.assert_allclose(gradient, 2 * x)
