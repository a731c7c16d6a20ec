"""Derivatives that the program itself has a say in."""

import numpy as np
import pytest

import relay


def run(text: str, *args: float) -> object:
    mod = relay.parse(text)
    return relay.run(mod, "main", [np.float64(a) for a in args])


def test_stop_gradient() -> None:
    text = "def @main(%x: float64) { grad(fn(%x: float64) { stop_gradient(%x * %x) * %x })(%x) }"
    assert run(text, 3.0) == (27.0, (9.0,))


CLIPPED = """
import "std/autodiff"
def @square(%x: float64) -> float64 { %x * %x }
def @clipped(%x: float64, %y: float64, %g: float64) -> (float64,) { (minimum(2.0 * %x * %g, 1.0),) }
def @f(%x: float64) { @custom_vjp(@square, @clipped, %x) }
"""


def test_a_function_may_have_a_rule_of_its_own() -> None:
    text = CLIPPED + "def @main(%x: float64) { grad(fn(%x: float64) { 3.0 * @f(%x) })(%x).1.0 }"
    assert run(text, 0.1) == pytest.approx(0.6)
    assert run(text, 5.0) == 1.0


def test_forward_mode_differentiates_the_function() -> None:
    text = CLIPPED + "def @main(%x: float64) { jvp(@f)((%x,), (1.0,)).1 }"
    assert run(text, 5.0) == 10.0


def test_a_rule_may_be_a_closure() -> None:
    text = """
        import "std/autodiff"
        def @main(%x: float64) {
          let %f = fn(%a: float64, %b: float64) { %a * %b };
          let %rule = fn(%a: float64, %b: float64, %y: float64, %g: float64) { (%x * %g, %y * %g) };
          grad(fn(%a: float64, %b: float64) { @custom_vjp2(%f, %rule, %a, %b) })(2.0, 3.0).1
        }
    """
    assert run(text, 7.0) == (7.0, 6.0)


def test_a_rule_is_given_from_python() -> None:
    f = relay.parse_expr("fn(%x: float64) -> float64 { %x }")
    rule = relay.parse_expr("fn(%x: float64, %y: float64, %g: float64) { (7.0 * %g,) }")
    run_it = relay.create_executor("debug").evaluate(relay.value_and_grad(relay.custom_vjp(f, rule)))
    assert run_it(np.float64(1.0)) == (1.0, (7.0,))


def test_second_derivatives_go_through_the_rule() -> None:
    text = (
        CLIPPED
        + """
        def @main(%x: float64) { grad(fn(%x: float64) { grad(@f)(%x).1.0 })(%x).1.0 }
    """
    )
    assert run(text, 0.1) == 2.0
    assert run(text, 5.0) == 0.0


def test_a_checkpoint_runs_again() -> None:
    text = """
        def @main(%x: float64) {
          let %calls = ref(0);
          let %f = fn(%y: float64, checkpoint=1) -> float64 {
            ref_write(%calls, ref_read(%calls) + 1);
            tanh(%y * %x) * %y
          };
          (grad(fn(%x: float64) { %f(%x) * %f(2.0 * %x) })(%x).1.0, ref_read(%calls))
        }
    """

    def f(y: float, x: float = 0.4) -> float:
        return float(np.tanh(y * x) * y)

    def df(y: float, x: float = 0.4) -> float:
        return float(np.tanh(y * x) + y * x * (1 - np.tanh(y * x) ** 2))

    slope, calls = run(text, 0.4)  # type: ignore[misc]
    np.testing.assert_allclose(slope, df(0.4) * f(0.8) + 2 * f(0.4) * df(0.8))
    assert calls == 4


def test_checkpoints_and_rules_nest_in_second_derivatives() -> None:
    text = """
        def @f(%x: float64) -> float64 { let %g = fn(%y: float64, checkpoint=1) { %y * %y * %y }; %g(%x) }
        def @main(%x: float64) { grad(fn(%x: float64) { grad(@f)(%x).1.0 })(%x).1.0 }
    """
    assert run(text, 2.0) == pytest.approx(12.0)
