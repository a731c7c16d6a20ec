"""Compiled programs as people hold them: `build`, `compile`, files, the cache, and the executor."""

import gc
import inspect
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host import artefact, cache
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.llvm import jit
from relay.backend.native.llvm.codegen import emit_text
from relay.backend.native.llvm.processors import processor_named
from relay.backend.native.loops import emitter
from relay.backend.native.runtime.cache_folder import VARIABLE, cache_folder
from relay.interpreter.show import show

ADD = "def @main(%x: Tensor[(3,), float32], %w: Tensor[(3,), float32]) { %x + %w }"
ONES = np.ones(3, "float32")
SHAPES = """
import "std/list"
type Shape[A] { Circle(A), Box(A, List[A]) }
def @main(%n: Tensor[(n,), float32], %s: Shape[float32]) -> (Shape[float32], fn(int32) -> int32) {
  match (%s) {
    Circle(%r) => (Box(%r, Cons(sum(%n), Nil)), fn (%i: int32) { %i + 1 }),
    Box(%a, %l) => (Circle(%a + @sum(%l)), fn (%i: int32) { 10 / %i }),
  }
}
def @other(%x: int32) { %x * 2 }
"""


def codes(call: Any) -> tuple[str, ...]:
    with pytest.raises(relay.RelayError) as error:
        call()
    assert "hint: " in str(error.value)
    return error.value.codes


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


def test_results_of_rank_0_are_numbers_of_python() -> None:
    square = relay.compile(relay.parse("def @main(%x: float32) { %x * %x }"))
    for given in (3.0, 3, np.float32(3), np.asarray(3.0, "float32")):
        assert type(square(given)) is float


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


# --- executors ----------------------------------------------------------------------------------------------


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


# --- files --------------------------------------------------------------------------------------------------


def circle(mod: relay.IRModule, r: float) -> Any:
    constructor, _ = mod.get_type("Shape")[1:]
    return relay.ConstructorValue(constructor, (np.float32(r),))


def test_a_program_is_the_same_from_a_file(tmp_path: Path) -> None:
    mod = relay.parse(SHAPES, "shapes.relay")
    path = tmp_path / "shapes.rlo"
    relay.build(mod, entries=["main", "other"]).export_library(path)
    loaded = relay.load_module(path)
    assert loaded.entries == ("main", "other")
    assert loaded["other"](4) == 8
    box, inc = loaded["main"](ONES, circle(mod, 2.0))
    assert inc(3) == 4
    again, divide = loaded(ONES, box)
    assert again == circle(mod, 5.0)
    with pytest.raises(relay.RelayError) as error:
        divide(0)
    assert error.value.codes == ("divide-by-zero",)
    assert str(error.value.diagnostics[0].span) == "shapes.relay:7:61"
    assert "10 / %i" in str(error.value)


def test_a_file_with_weights_is_the_same_and_can_be_written_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    w = rng.standard_normal((40, 50)).astype("float32")
    x = rng.standard_normal((3, 50)).astype("float32")
    mod = relay.parse(
        "def @main(%x: Tensor[(3, 50), float32], %w: Tensor[(40, 50), float32]) { nn.dense(%x, %w) }"
    )
    built = relay.build(mod, params={"w": w})
    built.export_library(tmp_path / "a.rlo")
    first = relay.load_module(tmp_path / "a.rlo")
    first.export_library(tmp_path / "b.rlo")
    second = relay.load_module(tmp_path / "b.rlo")
    np.testing.assert_allclose(second(x), x @ w.T, rtol=1e-4, atol=1e-4)
    assert (first(x) == second(x)).all()
    assert (built(x) == second(x)).all()


def test_files_that_are_not_whole_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.rlo"
    relay.build(relay.parse(ADD), params={"w": ONES}).export_library(path)
    data = path.read_bytes()
    for n in (0, 5, 20, 60, 200, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:n])
        assert codes(lambda: relay.load_module(path)) == ("bad-artefact",)
    for at in range(0, len(data), max(1, len(data) // 97)):
        changed = bytearray(data)
        changed[at] ^= 0x20
        path.write_bytes(changed)
        try:
            relay.load_module(path)
        except relay.RelayError as error:
            assert error.codes == ("bad-artefact",)  # noqa: PT017
    path.write_bytes(b"\x7fELF" + bytes(1000))
    assert codes(lambda: relay.load_module(path)) == ("bad-artefact",)
    assert codes(lambda: relay.load_module(tmp_path / "none.rlo")) == ("cannot-read",)


def test_files_of_other_versions_and_machines_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.rlo"
    relay.build(relay.parse(ADD)).export_library(path)
    with monkeypatch.context() as patch:
        patch.setattr(artefact, "version", lambda: "9.9")
        assert codes(lambda: relay.load_module(path)) == ("bad-artefact",)
    with monkeypatch.context() as patch:
        patch.setattr(jit, "features", lambda: ["sse2"])
        assert codes(lambda: relay.load_module(path)) == ("other-machine",)
    with monkeypatch.context() as patch:
        patch.setattr(jit, "triple", lambda: "riscv64")
        assert codes(lambda: relay.load_module(path)) == ("other-machine",)


LAYER = """
def @main(%x: Tensor[(7, 40), float32], %w: Tensor[(33, 40), float32]) {
  nn.softmax(nn.relu(nn.dense(%x, %w)))
}
"""


@pytest.mark.skipif(not jit.triple().startswith("x86_64"), reason="levels are those of x86-64")
def test_a_file_for_several_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s).astype("float32") for s in ((7, 40), (33, 40)))
    levels = ["x86-64-v2", "native", "x86-64-v4+avx512vnni"]
    built = relay.build(relay.parse(LAYER), levels, params={"w": w})
    wanted = relay.build(relay.parse(LAYER), params={"w": w})(x)
    np.testing.assert_array_equal(built(x), wanted)
    path = tmp_path / "a.rlo"
    built.export_library(path)
    best = relay.load_module(path)
    assert set(best.artefact.features) >= set(built.artefact.features)
    np.testing.assert_array_equal(best(x), wanted)
    old = processor_named("x86-64-v2")
    assert old is not None
    monkeypatch.setattr(jit, "features", lambda: list(old.features))
    plain = relay.load_module(path)
    assert set(plain.artefact.features) == set(old.features)
    np.testing.assert_allclose(plain(x), wanted, rtol=1e-5)
    monkeypatch.setattr(jit, "features", lambda: ["sse2"])
    assert codes(lambda: relay.load_module(path)) == ("other-machine",)


@pytest.mark.skipif(not jit.triple().startswith("x86_64"), reason="levels are those of x86-64")
def test_code_for_a_processor_has_its_vectors() -> None:
    mod = relay.infer(relay.parse(LAYER))
    registers = {"x86-64-v4": "%zmm", "x86-64-v3": "%ymm", "x86-64-v2": "%xmm"}
    wider = {"x86-64-v3": "%zmm", "x86-64-v2": "%ymm"}
    for name, register in registers.items():
        with jit.compiling_for(processor_named(name)):
            text = emit_text(Compiler(mod).modules(), "asm")
        assert register in text
        assert name not in wider or wider[name] not in text


def test_targets_that_are_not_there() -> None:
    mod = relay.parse(ADD)
    assert codes(lambda: relay.build(mod, "x86-64-v9")) == ("unknown-target",)
    assert codes(lambda: relay.build(mod, ["native", "cuda"])) == ("unknown-target",)
    assert codes(lambda: relay.build(mod, "x86-64-v3+avx1024")) == ("unknown-target",)
    assert codes(lambda: relay.build(mod, [])) == ("other-machine",)


# --- the cache ----------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_was_compiled_before_is_not_compiled_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay.build(relay.parse(ADD))
    (entry,) = folder.glob("*.rlo")
    with monkeypatch.context() as patch:
        patch.setattr(cache, "compile_uncached", None)
        assert relay.build(relay.parse(ADD))(ONES, ONES).tolist() == [2, 2, 2]
        with pytest.raises(TypeError):
            relay.build(relay.parse(ADD), cache=False)
        for other in (ADD.replace("+", "-"), ADD.replace("(3,)", "(4,)"), " " + ADD):
            with pytest.raises(TypeError):
                relay.build(relay.parse(other))
    entry.write_bytes(entry.read_bytes()[:1000])
    assert relay.build(relay.parse(ADD))(ONES, ONES).tolist() == [2, 2, 2]
    assert len(list(folder.glob("*.rlo"))) == 1
    assert entry.stat().st_size > 1000


def product(rows: int, tail: str = "") -> relay.IRModule:
    kind = f"Tensor[({rows}, 64), float32]", "Tensor[(64, 64), float32]"
    return relay.parse(f"def @main(%x: {kind[0]}, %w: {kind[1]}) {{ nn.dense(%x, %w) {tail} }}")


def test_programs_share_the_code_of_kernels(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = np.random.default_rng(0).random((2, 64, 64), "float32")
    expected = relay.build(product(64), cache=False)(x, w)
    assert not list(folder.glob("kernel-*.o"))
    relay.build(product(64))
    kernels = list(folder.glob("kernel-*.o"))
    with monkeypatch.context() as patch:
        patch.setattr(emitter, "kernel_code", None)
        np.testing.assert_array_equal(relay.build(product(64, "+ 0.0f"))(x, w), expected)
        with pytest.raises(TypeError):
            relay.build(product(64, "+ 0.0f"), cache=False)
    for path in kernels:
        path.write_bytes(path.read_bytes()[:-1])
    np.testing.assert_array_equal(relay.build(product(64, "- 0.0f"))(x, w), expected)
    assert sorted(folder.glob("kernel-*.o")) == sorted(kernels)


def test_constants_and_entries_tell_programs_apart(folder: Path) -> None:
    mod = relay.parse(ADD)
    for i in range(3):
        assert relay.build(mod, params={"w": ONES * i})(ONES).tolist() == [1 + i] * 3
    both = relay.parse("def @f() { 1 }\ndef @g() { 2 }")
    for name, value in (("f", 1), ("g", 2)):
        assert relay.build(both, entries=[name])() == value
    assert len(list(folder.glob("*.rlo"))) == 5


def test_the_cache_is_off_or_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "off")
    assert cache_folder() is None
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    if sys.platform == "linux":
        assert cache_folder() == Path("/somewhere/relay")


def test_a_folder_that_cannot_be_written_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / "cache"))
    assert relay.build(relay.parse(ADD))(ONES, ONES).tolist() == [2, 2, 2]


def test_old_entries_make_room(folder: Path) -> None:
    import os

    folder.mkdir()
    for i in range(6):
        (folder / f"{i}.rlo").write_bytes(bytes(100))
        os.utime(folder / f"{i}.rlo", (i, i))
    cache.evict_entries(folder, 250)
    assert sorted(p.name for p in folder.iterdir()) == ["4.rlo", "5.rlo"]


WORK = """
import relay
for i in range(3):
    built = relay.build(relay.parse(f"def @main(%x: int32) {{ %x + {i} }}"))
    assert built(1) == 1 + i
"""


def test_processes_share_a_folder(folder: Path) -> None:
    running = [subprocess.Popen([sys.executable, "-c", WORK]) for _ in range(4)]
    assert [p.wait() for p in running] == [0] * 4
    assert len(list(folder.glob("*.rlo"))) == 3
    assert not list(folder.glob(".*"))


KEPT = """
import sys
import relay
built = relay.build(relay.parse("def @main(%x: int32) { %x + 1 }"))
assert built(1) == 2
rooms = [f"backend.native.{room}" for room in ("program", "kernels", "loops")]
compiler = tuple([f"relay.{x}" for x in (*rooms, "pipelines", "autodiff")])
print(sorted({m for m in sys.modules if m.startswith(compiler)}))
"""


def test_a_program_from_the_cache_does_not_load_the_compiler(folder: Path) -> None:
    for is_kept in (False, True):
        loaded = subprocess.run(
            [sys.executable, "-c", KEPT], capture_output=True, text=True, check=True
        ).stdout
        assert (loaded == "[]\n") == is_kept, loaded


def test_programs_with_operators_of_the_user_are_not_kept(folder: Path) -> None:
    from relay.op.family import Elementwise
    from relay.op.kind import Derivative
    from relay.op.registry import operator

    @operator("my.twice_over")
    class Twice(Elementwise):
        """`2 x`."""

        derivative = Derivative.ZERO

        def reference(self, np: Any, x: Any) -> Any:
            return x + x

        def native(self, b: Any, x: Any) -> Any:
            return b.add(x, x)

    x = relay.var("x", shape=(), dtype="float32")
    assert relay.compile(relay.Function([x], Twice()(x)))(3) == 6
    apply = "def @apply(%f: fn(float32) -> float32, %x: float32) -> float32 { %f(%x) }"
    assert relay.build(relay.parse(apply + "def @main(%x: float32) { @apply(my.twice_over, %x) }"))(3) == 6
    assert list(folder.glob("*.rlo")) == []


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
