"""Executors as people know them, `run`, `optimize`, and `mod.evaluate`."""

import numpy as np
import pytest

import relay
from relay.driver.compilation import optimize
from relay.driver.executor import run
from relay.interpreter.machine import Interpreter


def test_expression_has_a_value() -> None:
    x = relay.const(2.0)
    assert relay.create_executor().evaluate(relay.add(x, relay.const(3.0))) == np.float32(5)


def test_function_is_something_to_call_with_arrays() -> None:
    x = relay.var("x", shape=(2,), dtype="float32")
    f = relay.create_executor("debug").evaluate(relay.Function([x], relay.multiply(x, x)))
    result = f(np.array([2, 3], "float32"))
    assert isinstance(result, np.ndarray)
    assert result.dtype == "float32"
    assert result.tolist() == [4, 9]


@pytest.mark.parametrize("kind", ["native", "interpreter", "debug", "graph", "vm", "aot"])
def test_main_is_what_is_evaluated_without_an_expression(kind: str) -> None:
    mod = relay.parse("def @main(%x: int32, %y: int32) { %x - %y }")
    run_main = relay.create_executor(kind, mod=mod).evaluate()
    assert run_main(5, 3) == 2
    assert run_main(y=5, x=3) == -2


def test_global_is_evaluated_by_variable_and_by_name() -> None:
    mod = relay.parse("def @f(%x: int32) { %x + 1 }\ndef @c = 1 + 1")
    executor = relay.create_executor(mod=mod)
    assert executor.evaluate(mod.get_global_var("f"))(1) == 2
    assert executor.evaluate("f")(1) == 2
    assert executor.evaluate("c") == 2
    assert executor.evaluate(relay.parse_expr("@f(@c)", mod=mod)) == 3


def test_free_variables_are_bound_to_values() -> None:
    x = relay.var("x", shape=(), dtype="float32")
    executor = relay.create_executor()
    assert executor.evaluate(relay.add(x, relay.const(1.0)), binds={x: 2}) == 3


def test_parameters_are_bound_by_name() -> None:
    mod = relay.parse("def @main(%x: float32, %w: Tensor[(2,), float32]) { %x * %w }")
    f = relay.create_executor("graph", mod=mod, params={"w": np.array([1, 2], "float32")}).evaluate()
    assert f(3).tolist() == [3, 6]
    assert len(mod["main"].params) == 2


def test_definition_edited_later_is_the_one_that_runs() -> None:
    mod = relay.parse("def @main(%x: int32) { %x + 1 }")
    f = relay.create_executor(mod=mod).evaluate()
    assert f(1) == 2
    mod["main"] = relay.parse("def @main(%x: int32) { %x + 2 }")["main"]
    assert f(1) == 3


def test_repeated_calls_prepare_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import relay.typecheck.infer

    mod = relay.parse("def @f(%x: int32) { %x + 1 }\ndef @main(%x: int32) { @f(%x) }")
    f = relay.create_executor(mod=mod).evaluate()
    f(1)
    monkeypatch.setattr(relay.typecheck.infer, "infer", None)
    assert f(2) == 3


def test_recursion_works_through_an_executor() -> None:
    mod = relay.parse("def @main(%n: int32) -> int32 { if (%n == 0) { 0 } else { 1 + @main(%n - 1) } }")
    assert relay.create_executor(mod=mod).evaluate()(100_000) == 100_000


def test_depth_may_be_an_option_of_the_module() -> None:
    mod = relay.parse("def @main(%n: int32) -> int32 { 1 + @main(%n) }")
    mod.options["max_depth"] = 50
    with pytest.raises(relay.RelayError) as error:
        relay.create_executor("debug", mod).evaluate()(1)
    assert error.value.codes == ("recursion-limit",)


def test_unknown_kinds_and_places_are_refused() -> None:
    with pytest.raises(relay.RelayError) as error:
        relay.create_executor("debgu")
    assert error.value.codes == ("unknown-executor",)
    assert error.value.diagnostics[0].hint == "did you mean `debug`?"
    for where in ({"target": "cuda"}, {"device": ""}, {"target": "(0)"}):
        with pytest.raises(relay.RelayError) as error:
            relay.create_executor(**where)
        assert error.value.codes == ("unknown-target",)
    relay.create_executor(target="llvm", device="cpu")


def test_run_takes_an_entry_and_arguments() -> None:
    mod = relay.parse("def @main() { 1 }\ndef @f(%x: int32, %y: int32) { %x - %y }\ndef @c = 4")
    assert run(mod) == 1
    assert run(mod, "f", (5, 3)) == 2
    assert run(mod, "f", (5,), {"y": 1}) == 4
    assert run(mod, "c", ()) == 4
    with pytest.raises(relay.RelayError) as error:
        run(mod, "g")
    assert error.value.codes == ("unknown-global",)


def test_module_evaluates_expressions_and_definitions() -> None:
    mod = relay.parse("def @f(%x: int32) { %x + 1 }")
    assert mod.evaluate("f", 1) == 2
    assert mod.evaluate(relay.parse_expr("@f(@f(1))", mod=mod)) == 3
    assert mod.evaluate(mod["f"], 4) == 5
    assert mod.copy().evaluate("f", 1) == 2


def test_optimized_module_runs_and_says_which_parameters_are_left() -> None:
    mod = relay.parse("def @main(%x: float32, %w: float32) { %x * %w }")
    done, left = optimize(mod, params={"w": np.float32(3)})
    assert left == {}
    assert Interpreter(done).evaluate("main", 2) == 6


def test_free_variables_may_be_bound_by_name() -> None:
    x = relay.var("x", shape=(), dtype="float32")
    assert relay.create_executor().evaluate(x + 1.0, {"x": 2}) == 3
    with pytest.raises(relay.RelayError) as error:
        relay.create_executor().evaluate(x + 1.0, {"xx": 2})
    assert error.value.codes == ("unknown-variable",)
    assert error.value.diagnostics[0].hint == "did you mean `x`?"


def test_parameters_are_converted_as_arguments_are() -> None:
    mod = relay.parse("def @main(%x: Tensor[(n,), float32], %w: Tensor[(n,), float32]) { %x * %w }")
    assert relay.create_executor(mod=mod, params={"w": [1, 2]}).evaluate()([3, 4]).tolist() == [3, 8]
    for wrong in ("text", np.ones(2), [[1.0]], None):
        with pytest.raises(relay.RelayError) as error:
            relay.create_executor(mod=mod, params={"w": wrong})
        assert error.value.codes == ("argument-type",)
        assert "parameter `%w` of `@main`" in error.value.diagnostics[0].message


def test_numbers_and_lists_are_expressions_and_other_things_are_not() -> None:
    assert relay.create_executor().evaluate(3) == 3
    assert relay.create_executor().evaluate([1, 2.5]) == (1, 2.5)
    with pytest.raises(TypeError, match="is not an expression"):
        relay.create_executor().evaluate({})
    with pytest.raises(TypeError, match="is not a module"):
        relay.create_executor(mod="def @main() { 1 }")


@pytest.mark.parametrize("kind", ["debug", "native"])
def test_one_dict_has_all_arguments_by_name(kind: str) -> None:
    mod = relay.parse("def @main(%x: float32, %y: Tensor[(n,), float32]) { %x * %y }")
    run = relay.create_executor(kind, mod).evaluate()
    assert run({"y": [1.0, 2.0], "x": 3.0}).tolist() == [3, 6]
    with pytest.raises(relay.RelayError) as error:
        run({"yy": [1.0, 2.0], "x": 3.0})
    assert error.value.codes == ("argument-count",)
    one = relay.parse("def @main<bt: BaseType>(%x: Tensor[(2,), bt]) { %x }")
    assert relay.create_executor(kind, one).evaluate()({"x": np.ones(2)}).tolist() == [1, 1]
    assert relay.run(mod, args={"y": [1.0], "x": 2.0}).tolist() == [2]
    assert relay.build(mod)({"y": [1.0], "x": 2.0}).tolist() == [2]
