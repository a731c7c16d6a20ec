"""Programs that XLA computes as a whole, beside the interpreter."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from backend.xla.near import assert_near
from relay.interpreter.value import ConstructorValue
from support import cli

pytestmark = pytest.mark.extras
pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")

LISTS = """
type List { Nil, Cons(float32, List) }
def @sum(%l: List) -> float32 { match (%l) { Nil => 0f, Cons(%h, %t) => %h + @sum(%t) } }
def @last(%l: List, %x: float32) -> float32 {
  match (%l) { Nil => %x, Cons(%h, %t) => if (%h > 5f) { %h } else { @last(%t, %h) } }
}
def @double(%l: List) -> List { match (%l) { Nil => Nil, Cons(%h, %t) => Cons(%h * 2f, @double(%t)) } }
"""
X = np.array([[1, -2, 3], [0.5, 0, -1]], "float32")


def ran_whole(text: str, *args: Any) -> Any:
    """The value of a program by XLA alone, which is that of the interpreter."""
    mod = relay.infer(relay.parse(text))
    built = relay.build(mod, "xla")
    found = built(*args)
    assert not built.by_name["main"].not_whole
    assert_near(found, relay.create_executor("debug", mod).evaluate()(*args))
    return found


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) * 2f + 1f }", (X,)),
        ("def @main(%x: Tensor[(2, 3), float32]) { split(%x, indices_or_sections=3, axis=1) }", (X,)),
        ("def @main(%x: float64) -> float64 { %x / 3f64 }", (2.0,)),
        ("def @main(%x: int64) -> int64 { %x * 4611686018427387904i64 }", (3,)),
        ("def @main(%x: float32) { if (%x > 1f) { %x * 2f } else { exp(%x) } }", (3.0,)),
        ("def @main(%x: float32) { if (%x > 1f) { (%x, 1) } else { (exp(%x), 2) } }", (0.5,)),
        ("def @main(%x: Tensor[(2, 3), float32]) { grad(fn(%y) { sum(tanh(%y) * %y) })(%x) }", (X,)),
        ("def @main(%x: float32) { let %f = fn(%y: float32) { %y * %x }; %f(%f(%x)) }", (3.0,)),
        ("def @twice(%f, %x) { %f(%f(%x)) } def @main(%x: float32) { @twice(tanh, %x) }", (3.0,)),
        ("def @c = 2f * 4f\ndef @main(%x: float32) { %x + @c * @c }", (3.0,)),
        ('def @main(%x: float32) { let %s = "a"; (%x, %s) }', (3.0,)),
        ("def @main(%x: float32) { assert(%x > 0f, \"it is positive\"); %x }", (3.0,)),
        ("def @id(%x) { %x } def @main(%x: float32) { (@id(%x), @id(2)) }", (3.0,)),
    ],
)  # fmt: skip
def test_values_are_those_of_the_interpreter(text: str, args: Any) -> None:
    ran_whole(text, *args)


def test_a_function_that_calls_itself_last_is_a_loop() -> None:
    counting = """
    def @main(%n: int32, %x: float32) {
      let %go = fn(%i: int32, %a: float32) -> float32 {
        if (%i == 0) { %a } else { if (%a > 100f) { %a * -1f } else { %go(%i - 1, %a * %x) } }
      };
      %go(%n, 1f)
    }"""
    built = relay.build(relay.parse(counting), "xla")
    assert built(3, 2.0) == 8
    assert built(300, 2.0) == -128
    assert built(0, 2.0) == 1
    assert built.by_name["main"].whole.operators < 20


def test_a_loop_changes_what_references_hold() -> None:
    text = """
    def @main(%n: int32) {
      let %r = ref(1);
      let %go = fn(%i: int32) -> int32 {
        ref_write(%r, ref_read(%r) + %i);
        if (%i == 0) { ref_read(%r) * 10 } else { %go(%i - 1) }
      };
      (%go(%n), ref_read(%r))
    }"""
    assert ran_whole(text, 4) == (110, 11)


def test_a_branch_changes_what_references_hold() -> None:
    text = """
    def @main(%x: int32) {
      let %r = ref(%x);
      if (%x > 2) { ref_write(%r, 5) } else { () };
      let %s = ref(ref_read(%r) * 2);
      (%r, %s, %r)
    }"""
    built = relay.build(relay.parse(text), "xla")
    first, second, third = built(3)
    assert (first.value, second.value) == (5, 10)
    assert first is third
    assert built(1)[0].value == 1


def test_data_is_followed_while_the_program_is_traced() -> None:
    text = LISTS + "def @main(%x: float32, %l: List) { (@sum(%l), @last(%l, %x), @double(Cons(%x, %l))) }"
    nil, cons = relay.parse(text).type_definitions[relay.GlobalTypeVar("List")].constructors
    value = ConstructorValue(nil)
    for n in (1, 7, 3):
        value = ConstructorValue(cons, (np.float32(n), value))
    ran_whole(text, 2.0, value)


def test_sizes_are_known_while_the_program_is_traced() -> None:
    text = """
    def @main(%x: Tensor[(n, 3), float32]) {
      let %flat = dyn.reshape(%x, stack((take(shape_of(%x), 0) * 3,)));
      if (take(shape_of(%x), 0) > 1) { sum(%flat) } else { 0f }
    }"""
    mod = relay.parse(text)
    built = relay.build(mod, "xla")
    assert built(np.ones((4, 3), "float32")) == 12
    assert built(np.ones((1, 3), "float32")) == 0
    assert not built.by_name["main"].not_whole


def test_large_constants_are_arguments_and_lie_on_the_device_once() -> None:
    weights = np.random.default_rng(0).standard_normal((40, 30)).astype("float32")
    x = relay.var("x", shape=(2, 30), dtype="float32")
    built = relay.build(relay.Function([x], relay.nn.dense(x, relay.const(weights))), "xla")
    data = np.ones((2, 30), "float32")
    np.testing.assert_allclose(built(data), data @ weights.T, rtol=1e-5)
    program = built.by_name["main"].whole.program
    assert [c.value.shape for c in program.constants] == [(40, 30)]
    (device,) = program.on_devices
    assert program.placed(device) is program.placed(device)


def test_products_of_float32_keep_their_digits() -> None:
    text = "def @main(%x: Tensor[(64, 64), float32], %y: Tensor[(64, 64), float32]) { nn.matmul(%x, %y) }"
    built = relay.build(relay.parse(text), "xla")
    array = np.ones((64, 64), "float32")
    built(array, array)
    whole = built.by_name["main"].whole
    (structure,) = whole.kept
    assert "HIGHEST" in whole.lowered(structure).as_text()


def test_results_may_be_written_to() -> None:
    found = relay.build(relay.parse("def @main(%x: Tensor[(2,), float32]) { (%x + 1f, 2f) }"), "xla")([1, 2])
    found[0][0] = 7
    assert type(found[1]) is np.float32


def test_the_command_line_runs_programs_by_xla(tmp_path: Path) -> None:
    file = tmp_path / "p.relay"
    file.write_text("def @main(%x: Tensor[(3,), float32], %k: float32) { sum(%x) * %k }\ndef @c = 4\n")
    assert cli("run", "--backend", "xla", str(file), "[1.0, 2.0, 3.0]", "2.0").output == "12.0\n"
    assert cli("run", "--backend", "xla", "--entry", "c", str(file)).output == "4\n"
    ran = cli("bench", "--backend", "xla", "--rounds", "1", str(file))
    assert ran.status == 0
    assert "xla" in ran.output


def test_an_executor_compiles_for_what_it_gets() -> None:
    mod = relay.parse("def @pair(%x) { (%x, %x) } def @main(%x: Tensor[(2,), float32]) { %x * 2f }")
    executor = relay.create_executor("xla", mod, device="cpu")
    np.testing.assert_array_equal(executor.evaluate()([1, 2]), [2, 4])
    assert executor.evaluate("pair")(3) == (3, 3)
    assert executor.evaluate("pair")(True) == (True, True)
    assert executor.evaluate(relay.const(1) + relay.const(2)) == 3


def test_python_functions_are_compiled_by_xla() -> None:
    @relay.function
    def f(x, y):
        return {"product": x * y}

    found = relay.build(f, "xla")(np.ones(2, "float32"), np.float32([2, 3]))
    np.testing.assert_array_equal(found["product"], [2, 3])
