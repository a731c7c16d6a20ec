"""Compiled programs as people hold them: `build`, `compile`, profiles, and the executor."""

import gc
import inspect
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from driver.programs import ADD, ONES, SHAPES, codes
from relay.backend.native.host.compiler import Compiler
from relay.interpreter.show import show


def test_a_module_is_called_with_arrays_by_place_or_name() -> None:
    built = relay.build(relay.parse(ADD))
    for found in (
        built(ONES, ONES),
        built(w=ONES, x=ONES),
        built(ONES, w=[1, 1, 1]),
        built["main"](ONES, ONES),
    ):
        assert found.tolist() == [2, 2, 2]
        assert found.dtype == "float32"
    assert built.entries == ("main",)
    assert codes(lambda: built(ONES)) == ("argument-count",)
    assert codes(lambda: built(ONES, y=ONES)) == ("argument-count",)
    assert codes(lambda: built["mian"]) == ("unknown-global",)


def test_an_attribute_that_is_an_entry_says_how_entries_are_reached() -> None:
    built = relay.build(relay.parse("def @train(%x: float32) { %x * 2.0 }"))
    with pytest.raises(AttributeError, match=r'its entry `@train` is `built\["train"\]`'):
        _ = built.train
    with pytest.raises(AttributeError, match=r"has no attribute `main`$"):
        _ = built.main


@pytest.mark.parametrize("use", [relay.compile, relay.hessian, lambda f: relay.grad(f)(ONES)])
def test_a_function_without_its_module_is_one_error_that_says_so(use: Any) -> None:
    rounds = "@fori(0, 3, fn (%i, %y) { %y * %x }, %x)"
    text = f'import "std/loop"\ndef @f(%x: Tensor[(3,), float32]) -> float32 {{ sum({rounds}) }}'
    with pytest.raises(relay.RelayError, match="no module is given that defines `@fori`") as error:
        use(relay.parse(text)["f"])
    assert error.value.codes == ("unknown-global",)


def test_params_become_part_of_the_program() -> None:
    mod = relay.parse(ADD)
    assert relay.build(mod, "llvm", params={"w": [1, 2, 3]})(ONES).tolist() == [2, 3, 4]
    assert codes(lambda: relay.build(mod, params={"v": ONES})) == ("unknown-input",)
    assert codes(lambda: relay.build(mod, params={"w": np.ones(2, "float32")})) == ("argument-type",)
    assert codes(lambda: relay.build(mod, params={"w": np.ones(3, "int64")})) == ("argument-type",)


def test_what_cannot_be_built_is_a_diagnostic() -> None:
    assert codes(lambda: relay.build(relay.parse(ADD), "cuda")) == ("unknown-target",)
    assert codes(lambda: relay.build(relay.IRModule())) == ("no-entry",)
    assert codes(lambda: relay.build(relay.parse(ADD), entries=["f"])) == ("unknown-global",)
    assert codes(lambda: relay.build(relay.parse("def @main[A](%x: A) { %x }"))) == ("no-native-code",)


def test_entries_are_chosen() -> None:
    mod = relay.parse("def @main(%x: int32) { %x }\ndef @f(%x: int32) { @main(%x) + @c }\ndef @c = 1 + 1")
    built = relay.build(mod, entries=["f", "@c"])
    assert built["f"](3) == built["@f"](3) == 5
    assert built["c"]() == 2
    assert relay.build(relay.parse("def @f() { 1 }\ndef @g() { 2 }")).entries == ("f", "g")


def test_functions_of_every_kind_are_compiled() -> None:
    x = relay.var("x", shape=(), dtype="float32")
    assert relay.compile(relay.Function([x], x * x))(3) == 9.0
    assert relay.compile(x + x)(3) == 6.0

    def double(x: "float32"):  # noqa: F821
        return x * 2.0

    assert relay.compile(double)(4) == 8.0
    assert relay.compile(relay.function(double))(4) == 8.0


def test_results_of_rank_0_are_numbers_of_numpy() -> None:
    square = relay.compile(relay.parse("def @main(%x: float32) { %x * %x }"))
    for given in (3.0, 3, np.float32(3), np.asarray(3.0, "float32")):
        assert type(square(given)) is np.float32


@pytest.mark.torch
def test_arrays_of_other_libraries_go_in_and_out() -> None:
    torch = pytest.importorskip("torch")
    built = relay.build(relay.parse(ADD))
    given = torch.arange(3, dtype=torch.float32)
    found = torch.from_dlpack(built(given, given * 2))
    assert torch.equal(found, given * 3)
    found += 1
    assert (
        relay.build(relay.parse("def @main(%x: Tensor[(2, 3), float32]) { %x }"))(torch.ones(3, 2).T).tolist()
        == [[1.0] * 3] * 2
    )


def test_calls_are_timed() -> None:
    built = relay.build(relay.parse(ADD))
    found = built.benchmark(ONES, ONES, repeat=5, number=3)
    assert len(found.results) == 5
    assert 0 < found.min <= found.median <= found.max
    assert found.min <= found.mean <= found.max
    assert "median" in str(found)
    assert len(built.benchmark(ONES, ONES, repeat=0, number=0).results) == 1


def test_a_profile_says_where_the_time_of_a_call_goes(tmp_path: Path) -> None:
    mod = relay.parse("""
    def @main(%x: Tensor[(32, 64), float32], %w: Tensor[(16, 64), float32]) {
      sum(nn.softmax(nn.dense(%x, %w)))
    }""")
    built = relay.build(mod)
    found = built.profile(np.ones((32, 64), "float32"), np.ones((16, 64), "float32"), repeat=3)
    product = next(row for row in found.rows if "dense" in row.group.name)
    assert product.calls == 1
    assert product.group.operations == 2 * 32 * 64 * 16
    assert product.group.bytes == 4 * (32 * 64 + 16 * 64 + 32 * 16)
    assert 0 < product.seconds <= found.seconds
    assert product.flops is not None
    assert sum([row.seconds for row in found.rows]) + found.outside == pytest.approx(found.seconds, rel=0.5)
    assert "@main" in str(found)
    assert "dense" in str(found)
    found.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len(events) == len(found.events)
    assert all(event["dur"] >= 0 <= event["ts"] for event in events)


def test_a_profile_counts_the_calls_of_a_loop() -> None:
    mod = relay.parse("""
    def @loop(%n: int32, %x: Tensor[(8,), float32]) -> Tensor[(8,), float32] {
      if (%n == 0) { %x } else { @loop(%n - 1, tanh(%x) * 2f) }
    }
    def @main(%n: int32, %x: Tensor[(8,), float32]) { @loop(%n, %x) }""")
    found = relay.build(mod).profile(7, np.ones(8, "float32"), repeat=2)
    assert sum([row.calls for row in found.rows]) == 7


def test_a_profile_counts_what_all_parts_of_a_long_program_do() -> None:
    y = x = relay.var("x", shape=(8,), dtype="float32")
    for _ in range(900):
        y = relay.cumsum(y, 0)
    found = relay.build(relay.IRModule.from_expr(relay.Function([x], y))).profile(np.zeros(8, "float32"))
    assert sum([row.calls for row in found.rows]) == 900


def test_a_program_from_a_file_is_profiled_as_a_whole(tmp_path: Path) -> None:
    relay.build(relay.parse(ADD)).export_library(tmp_path / "add.rlo")
    found = relay.load_module(tmp_path / "add.rlo").profile(ONES, ONES, repeat=2)
    assert not found.rows
    assert found.seconds > 0


def test_an_executor_compiles_what_it_is_asked_for() -> None:
    mod = relay.parse("def @main(%x: int32, %y: int32) { %x - %y }\ndef @c = 1 + 1")
    executor = relay.create_executor("native", mod)
    assert executor.evaluate()(5, 3) == executor.evaluate("main")(y=3, x=5) == 2
    assert executor.evaluate("c") == 2
    assert executor.evaluate(relay.parse_expr("@main(@c, 5)", mod=mod)) == -3
    x = relay.var("x", shape=(), dtype="float32")
    assert executor.evaluate(x + 1.0, {"x": 2}) == 3
    assert executor.evaluate(relay.Function([x], x * x))(3.0) == 9
    assert executor.evaluate(relay.Tuple([x, x]), {x: 2}) == (2, 2)
    mod["c"] = relay.const(7)
    assert executor.evaluate("c") == 7


def test_the_same_program_makes_the_same_code() -> None:
    first, second = (Compiler(relay.parse(SHAPES)).modules() for _ in range(2))
    assert first == second


def test_functions_may_outlive_their_program_in_a_cycle() -> None:
    program = relay.build(relay.parse("def @main(%x: int32) { fn (%y: int32) { %x + %y } }"))
    held = [program, program(3)]
    held.append(held)
    assert held[1](4) == 7
    del program, held
    gc.collect()


def test_an_executor_compiles_polymorphic_functions_for_what_they_get() -> None:
    text = """
    import "std/list"
    def @twice[A](%x: A) { (%x, %x) }
    def @double<s: Shape, bt: BaseType>(%x: Tensor[s, bt]) { %x + %x }
    """
    executor = relay.create_executor("native", relay.parse(text))
    assert executor.evaluate("twice")("a") == ("a", "a")
    assert executor.evaluate("twice")(1) == (1, 1)
    assert executor.evaluate("double")([1.5, 2]).tolist() == [3, 4]
    assert [executor.evaluate("length")(x) for x in ([1, 2], [], ["a"])] == [2, 0, 1]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("Nil", "Nil"),
        ("add", "fn(float32, float32) -> float32"),
        ("bitwise_and", "fn(int32, int32) -> int32"),
        ("(@id, @id(2))", "(fn(()) -> (), 2)"),
        ("let %x = 5; (fn<A>(%y: A) { (%y, %x) }, ref(Nil))", "(fn(()) -> ((), int32), ref(Nil))"),
    ],
)
def test_what_may_be_of_any_type_comes_out_as_the_simplest(body: str, text: str) -> None:
    mod = relay.parse(f'import "std/list"\ndef @id[A](%x: A) -> A {{ %x }} def @main() {{ {body} }}')
    assert show(relay.build(mod)()) == text
    assert show(relay.create_executor(mod=mod).evaluate()()) == text


def test_an_executor_follows_the_module() -> None:
    mod = relay.parse("def @main(%x: int32) { %x + 1 }")
    f = relay.create_executor("native", mod).evaluate()
    assert f(1) == 2
    mod["main"] = relay.parse("def @main(%x: int32) { %x + 2 }")["main"]
    assert f(1) == 3


def test_a_compiled_program_is_not_pickled() -> None:
    with pytest.raises(TypeError, match=r"not pickled; `export_library\(path\)` writes a file"):
        pickle.dumps(relay.build(relay.parse("def @main(%x: float32) { %x }")))


def test_entries_say_what_they_are() -> None:
    built = relay.build(relay.parse("def @main(%x: float32) -> float32 { %x }"))
    assert repr(built["main"]).startswith("<built-in method main of compiled_program object at ")
    assert built["main"].__doc__ == "Compiled `@main(%x: float32) -> float32`."


def test_help_shows_one_name_for_expressions() -> None:
    for f in (relay.infer_expr, relay.bind, relay.create_executor, relay.IRModule.from_expr):
        assert "Constant |" not in str(inspect.signature(f))


def test_a_profile_says_where_memory_goes_and_what_is_outside_of_groups() -> None:
    text = """def @double(%x: Tensor[(n,), float32]) { sort(%x) }
    def @main(%x: Tensor[(100000,), float32]) { cumsum(@double(%x)) }"""
    found = relay.build(relay.parse(text, "m.relay")).profile(np.ones(100_000, "float32"), repeat=3)
    assert found.tensor_bytes >= max(taken for *_, taken in found.events) >= 400_000
    assert len(found.outside_parts) == 3
    assert sum(t for _, t in found.outside_parts) == pytest.approx(found.outside, abs=1e-6)
    said = str(found)
    assert "before the first group" in said
    assert "MB of tensors at most, while in " in said
    assert "0.4 MB  " in said
    assert "@double 0." in said, "by definition"


def test_a_profile_lists_the_tensors_that_are_alive_at_the_peak() -> None:
    text = """def @main(%x: Tensor[(100000,), float32]) {
      let %sorted = sort(%x);
      let %sums = cumsum(%sorted);
      let %gone = sum(sort(%sums));
      let %scaled = cumsum(%sums * %gone);
      (%sorted, %sums, %scaled)
    }"""
    found = relay.build(relay.parse(text, "m.relay")).profile(np.ones(100_000, "float32"), repeat=1)
    assert sum(taken for taken, _ in found.alive) == found.tensor_bytes
    tensors = found.data().tensors
    assert [t.bytes for t in tensors] == sorted([t.bytes for t in tensors], reverse=True)
    places = {t.span.line for t in tensors if t.span is not None and 400_000 <= t.bytes <= 450_064}
    assert {2, 3} <= places, "what later lines take is alive then, whichever of them has the peak"
    assert found.running >= 0
    again = relay.build(relay.parse(text, "m.relay")).profile(np.ones(100_000, "float32"), repeat=1)
    assert sorted(again.alive) == sorted(found.alive)


def test_a_profile_lists_data_types_that_no_group_has_made() -> None:
    text = """
    type Tree { Leaf, Node(Tensor[(1000,), float64], Tree) }
    def @chain(%n: int32, %x: Tensor[(1000,), float64], %t: Tree) -> Tree {
      if (%n == 0) { %t } else { @chain(%n - 1, %x, Node(%x * cast(%n, dtype=float64), %t)) }
    }
    def @main(%n: int32, %x: Tensor[(1000,), float64]) { @chain(%n, %x, Leaf) }"""
    found = relay.build(relay.parse(text, "m.relay")).profile(7, np.ones(1000), repeat=1)
    assert sum([8000 <= taken <= 9064 for taken, _ in found.alive]) == 7
    assert {found.groups[i].span.line for _, i in found.alive if i >= 0} == {4}


def test_a_profile_is_a_page(tmp_path: Path) -> None:
    mod = relay.parse("def @main(%x: Tensor[(8,), float32]) { nn.relu(%x) + 1f }", "m.relay")
    relay.build(mod).profile(np.ones(8, "float32"), repeat=2).save_html(tmp_path / "profile.html")
    page = (tmp_path / "profile.html").read_text()
    assert '"profile":{"name":"main"' in page
    assert "m.relay:1" in page
