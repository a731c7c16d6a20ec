"""Segments of many calls that XLA computes together (`batch="dynamic"`), beside the interpreter."""

import threading
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import relay
from backend.test_native_batching import TREE, random_cell
from backend.xla.near import assert_near
from relay.backend.xla import host_operators, hybrid, recorder
from relay.backend.xla.built import XlaModule
from relay.interpreter.value import ConstructorValue, RefValue
from relay.testing import treelstm
from support import cli

pytestmark = pytest.mark.extras
pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")

FOLD = TREE + "def @main(%t: Tree, %w: Tensor[(4, 4), float32]) { @fold(%t, %w) }"
FOREST = (
    TREE + "def @main(%ts: List[Tree], %w: Tensor[(4, 4), float32]) { @map(fn (%t) { @fold(%t, %w) }, %ts) }"
)
ATTRIBUTE = '%w: Tensor[(4, 4), float32], batch="dynamic") { @fold(%t'
W = (np.arange(16).reshape(4, 4) % 5 / 5 - 0.4).astype("float32")
X = np.linspace(-1, 1, 100).astype("float32")


@pytest.fixture(autouse=True)
def _all_by_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have XLA compute small tensors too."""
    for module in (host_operators, hybrid):
        monkeypatch.setattr(module, "HOST_ELEMENTS", 3)


def both(text: str, *args: Any, **named: Any) -> XlaModule:
    """The batched program, after a call whose result is that of the interpreter."""
    mod = relay.infer(relay.parse(text))
    made = relay.build(mod, "xla", batch="dynamic", **named)
    assert_near(made(*args), relay.create_executor("debug", mod).evaluate()(*args))
    return made


def dispatches(made: XlaModule, *args: Any) -> tuple[int, int]:
    """How many programs ran in a call, and how many calls of segments these made."""
    before = made.report()
    made(*args)
    after = made.report()
    return after.dispatches - before.dispatches, after.calls - before.calls


def tree(mod: relay.IRModule, leaves: int, seed: int = 0) -> ConstructorValue:
    """A tree of random form."""
    rng = Random(seed)
    leaf, node = mod.get_type("Tree")[1:]
    several: list[Any] = [
        ConstructorValue(leaf, (np.float32(np.random.default_rng(seed + i).standard_normal(4)),))
        for i in range(leaves)
    ]
    while len(several) > 1:
        i = rng.randrange(len(several) - 1)
        several[i : i + 2] = [ConstructorValue(node, (several[i], several[i + 1]))]
    return several[0]


def listed(mod: relay.IRModule, values: list[Any]) -> ConstructorValue:
    """A list."""
    cons, nil = mod.get_type("List")[1:]
    found = ConstructorValue(nil)
    for x in reversed(values):
        found = ConstructorValue(cons, (x, found))
    return found


def test_a_tree_is_computed_level_by_level() -> None:
    mod = relay.infer(relay.parse(FOLD))
    made = both(FOLD, tree(mod, 40), W)
    several = [(made, tree(mod, 40, seed)) for seed in range(3)]
    for program, one in several:
        found, calls = dispatches(program, one, W)
        assert calls == 79
        assert found < 25
    assert made.report().segments == 2
    assert str(made.report()).splitlines()[0] == (
        "@main: in segments, since it is batched, and given data of a type that has several forms"
    )


def test_the_attribute_of_an_entry_batches() -> None:
    mod = relay.infer(relay.parse(FOLD.replace("%w: Tensor[(4, 4), float32]) { @fold(%t", ATTRIBUTE)))
    made = relay.build(mod, "xla")
    made(tree(mod, 20), W)
    assert made.report().dispatches < made.report().calls / 2


def test_trees_of_different_form_share_dispatches() -> None:
    mod = relay.infer(relay.parse(FOREST))
    trees = [tree(mod, n, n) for n in range(1, 20)]
    made = both(FOREST, listed(mod, trees), W)
    one, _ = dispatches(made, listed(mod, trees[-1:]), W)
    many, calls = dispatches(made, listed(mod, trees), W)
    assert calls == sum([2 * n - 1 for n in range(1, 20)])
    assert many <= one + 4


@pytest.mark.parametrize("batch", [None, "dynamic"])
def test_the_tree_lstm(batch: str | None) -> None:
    mod, weights = treelstm.get_workload(70, 70)
    one = relay.create_executor("debug", mod=mod).evaluate(treelstm.binary_tree(mod, 6, 70))
    made = relay.build(mod, "xla", params=weights, batch=batch)
    wanted = relay.create_executor("debug", mod).evaluate()(one, *weights.values())
    if batch is None:
        entry = made.by_name["main"]
        found = entry.hybrid.apply(entry.hybrid.value_of(entry.whole.name), (one,))
        assert made.report().dispatches <= 3 * 63
    else:
        found = made(one)
        assert made.report().dispatches <= 20
    assert_near(found, wanted)


def test_the_gradient_of_a_tree_is_batched() -> None:
    text = (
        TREE
        + """
    def @main(%t: Tree, %w: Tensor[(4, 4), float32]) {
      grad(fn (%w: Tensor[(4, 4), float32]) { sum(@fold(%t, %w)) })(%w)
    }"""
    )
    mod = relay.infer(relay.parse(text))
    for n in (1, 2, 40):
        made = both(text, tree(mod, n), W)
    found, calls = dispatches(made, tree(mod, 40), W)
    assert found < calls / 4


def test_a_sum_is_one_dispatch_and_takes_no_stack() -> None:
    text = """
    def @main(%n: int32, %x: Tensor[(4,), float32]) -> Tensor[(4,), float32] {
      if (%n == 0) { %x } else { let %y = @main(%n - 1, %x); %y + %x }
    }"""
    made = both(text, 50, X[:4])
    assert dispatches(made, 50, X[:4])[0] == 2  # one brings the terms
    np.testing.assert_allclose(made(100_000, X[:4]), 100_001 * X[:4], rtol=1e-4)


@pytest.mark.long
def test_a_deep_chain_takes_no_stack() -> None:
    text = """
    def @main(%n: int32, %x: Tensor[(4,), float32]) -> Tensor[(4,), float32] {
      if (%n == 0) { %x } else { let %y = @main(%n - 1, %x); %y * 0.5 + 1.0 }
    }"""
    found = relay.build(relay.parse(text), "xla", batch="dynamic")(100_000, X[:4])
    np.testing.assert_allclose(found, 2, rtol=1e-6)


def test_sums_that_are_read_in_between() -> None:
    text = """
    import "std/list"
    def @main(%xs: List[Tensor[(4,), float32]], %start: Tensor[(4,), float32]) {
      @foldl(fn (%so, %x) { let %s = %so.0 + %x; (%s, Cons(%s, %so.1)) }, (%start, Nil), %xs)
    }"""
    both(text, [X[i : i + 4] for i in range(20)], X[:4])


def test_operators_as_values_are_recorded() -> None:
    text = """
    import "std/list"
    def @main(%xs: List[Tensor[(4,), float32]], %start: Tensor[(4,), float32]) {
      let %all = @map(fn (%x) { tanh(%x) * 2f }, %xs);
      (@foldl(add, %start, %all), @map(exp, %all))
    }"""
    made = both(text, [X[i : i + 4] for i in range(30)], X[:4])
    assert made.report().dispatches < 6


def test_conditions_read_what_is_recorded() -> None:
    text = """
    def @main(%x: Tensor[(4,), float32], %n: int32) -> Tensor[(4,), float32] {
      if (%n == 0) { %x } else {
        let %y = tanh(%x) * 1.5;
        if (sum(%y) > 0.5) { @main(%y + 0.25, %n - 1) } else { 0.1 * @main(0.5 - %y, %n - 1) }
      }
    }"""
    both(text, X[:4], 40)


def test_effects_see_their_values_in_order(capfd: pytest.CaptureFixture[str]) -> None:
    text = """
    import "std/list"
    def @main(%xs: List[Tensor[(4,), float32]]) {
      @map(fn (%x) { let %y = trace("{}", %x * 2.0); let %_ = trace("{}", (%y + 1.0, %x)); %y * %y }, %xs)
    }"""
    both(text, [X[i : i + 4] for i in range(3)])
    lines = capfd.readouterr().err.splitlines()
    assert lines[:6] == lines[6:]
    assert len(lines) == 12


def test_references_and_closures_hold_what_is_recorded() -> None:
    text = """
    import "std/list"
    def @add(%a: Tensor[(4,), float32], %b: Tensor[(4,), float32]) { %a + %b * 0.5 }
    def @main(%xs: List[Tensor[(4,), float32]], %z: Tensor[(4,), float32]) {
      let %cell = ref(%z);
      let %fs = @map(fn (%x) {
        let %y = exp(%x * 0.1);
        let %_ = ref_write(%cell, ref_read(%cell) * %y);
        fn (%k: Tensor[(4,), float32]) { %k - %y }
      }, %xs);
      let %all = @map(fn (%f) { %f(%z) }, %fs);
      (ref_read(%cell), @foldl(@add, %z, %all), %all, %cell)
    }"""
    both(text, [X[i : i + 4] for i in range(12)], X[50:54])


def test_references_from_outside_are_changed_at_once() -> None:
    text = """def @main(%r: ref(Tensor[(4,), float32]), %x: Tensor[(4,), float32], %n: int32) {
      ref_write(%r, ref_read(%r) * %x);
      let %y = take(%x, reshape(%n, (1,)), mode="fast");
      ref_write(%r, ref_read(%r) + 1f);
      %y
    }"""
    made = relay.build(relay.parse(text), "xla", batch="dynamic")
    cell = RefValue(X[:4])
    with pytest.raises(relay.RelayError, match="index-out-of-range"):
        made(cell, X[:4], 9)
    assert_near(np.asarray(cell.value), X[:4] * X[:4])


def test_arrays_that_calls_have_in_common_are_told_apart() -> None:
    text = """
    import "std/list"
    def @apply(%x: Tensor[(300,), float32], %w: Tensor[(300, 300), float32]) { tanh(%w @ %x) }
    def @outer(%x: Tensor[(300,), float32]) { reshape(%x, (300, 1)) * %x }
    def @main(
      %xs: List[Tensor[(300,), float32]], %w: Tensor[(300, 300), float32], %v: Tensor[(300, 300), float32]
    ) {
      (@map(fn (%x) { @apply(%x, %w) }, %xs), @map(fn (%x) { @apply(%x, %v) }, %xs),
       @map(fn (%x) { @apply(%x, @outer(%x)) }, %xs))
    }"""
    rng = np.random.default_rng(0)
    rows = list(rng.standard_normal((10, 300)).astype("float32") / 20)
    made = both(text, rows, *rng.standard_normal((2, 300, 300)).astype("float32") / 20)
    assert made.report().dispatches < 8


def test_constants_are_computed_once() -> None:
    text = """
    import "std/list"
    def @table = (tanh([0.5, 1.0, 2.0, 3.0]), [| [1.0, 2.0, 3.0, 4.0], [3.0, 4.0, 5.0, 6.0] |])
    def @main(%x: Tensor[(4,), float32]) { @map(fn (%y) { exp(%y * %x) + @table.0 }, @table.1) }"""
    made = both(text, X[:4])
    assert_near(made(X[:4]), relay.run(relay.parse(text), "main", [X[:4]]))


def test_what_fails_in_a_batch_is_the_diagnostic_of_the_interpreter(
    capfd: pytest.CaptureFixture[str],
) -> None:
    text = """
    import "std/list"
    def @main(%xs: List[Tensor[(4,), float32]], %is: List[Tensor[(4,), int32]], %k: int32) {
      let %f = fn (%x, %i) { sum(take(%x * 2f, %i, mode="fast")) };
      let %g = fn (%x) { assert(sum(%x) < 1000f, "too much"); trace("{}", %x + 1f) };
      let %all = @zip_with(%f, %xs, %is);
      let %_ = @map(%g, %all);
      cast(7 / %k, dtype=float32)
    }
    def @zip_with(%f: fn(Tensor[(4,), float32], Tensor[(4,), int32]) -> float32,
                  %xs: List[Tensor[(4,), float32]], %is: List[Tensor[(4,), int32]]) -> List[float32] {
      match ((%xs, %is)) {
        (Cons(%x, %xt), Cons(%i, %it)) => Cons(%f(%x, %i), @zip_with(%f, %xt, %it)),
        _ => Nil,
      }
    }"""
    mod = relay.infer(relay.parse(text))
    made = relay.build(mod, "xla", batch="dynamic")
    rows = [np.full(4, i, "float32") for i in range(9)]
    good = [np.arange(4, dtype="int32")] * 9
    bad = [*good[:5], np.full(4, 7, "int32"), *good[:3]]
    large = [*rows[:3], rows[4] * 1_000, *rows[:5]]
    for args in ((rows, bad, 1), (rows, bad, 0), (rows, good, 0), (large, good, 1), (large, bad, 0)):
        messages: list[str] = []
        for run in (relay.create_executor("debug", mod).evaluate(), made):
            with pytest.raises(relay.RelayError) as error:
                run(*args)
            messages.append(str(error.value) + capfd.readouterr().err)
        assert messages[0] == messages[1]
    made(rows, good, 1)


def test_what_is_asserted_of_each_node_is_computed_with_it() -> None:
    text = FOLD.replace("let %a = @fold(%l, %w);", 'let %a = @fold(%l, %w); assert(all(%a < 2f), "small");')
    mod = relay.infer(relay.parse(text))
    one = tree(mod, 40)
    for options in ({}, {"check_nan": True}):
        made = both(text, one, W, **options)
        assert dispatches(made, one, W)[0] < 30
    made = relay.build(mod, "xla", batch="dynamic", check_nan=True)
    with pytest.raises(relay.RelayError, match="not-finite"):
        made(one, W * np.float32(3e38))


def test_much_data_is_computed_in_between() -> None:
    text = """
    def @main(%x: Tensor[(256, 256), float32], %n: int32) -> Tensor[(256, 256), float32] {
      if (%n == 0) { %x } else { @main(%x * 0.5 + 1.0, %n - 1) }
    }"""
    made = relay.build(relay.parse(text), "xla", batch="dynamic")
    entry = made.by_name["main"]
    found = entry.hybrid.apply(
        entry.hybrid.value_of(entry.whole.name), (np.zeros((256, 256), "float32"), 600)
    )
    np.testing.assert_allclose(found, 2, rtol=1e-6)


def test_what_is_large_is_computed_at_once() -> None:
    text = """
    def @main(%x: Tensor[(1024, 1024), float32], %n: int32) -> Tensor[(1024, 1024), float32] {
      if (%n == 0) { %x } else { let %y = @main(%x, %n - 1); %y * sum(%y, axis=0) / 1e3f }
    }"""
    made = both(text, np.full((1024, 1024), 0.5, "float32"), 5)
    assert dispatches(made, np.zeros((1024, 1024), "float32"), 5)[0] >= 5


def test_threads_share_a_program() -> None:
    mod = relay.infer(relay.parse(FOLD))
    made = relay.build(mod, "xla", batch="dynamic")
    plain = relay.create_executor("debug", mod).evaluate()
    wrong: list[int] = []

    def work(first: int) -> None:
        for n in range(first, first + 12):
            one = tree(mod, n, n)
            wrong.extend([n] * (not np.allclose(made(one, W), plain(one, W), 1e-5, 1e-5)))

    threads = [threading.Thread(target=work, args=(n,)) for n in (2, 9)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_programs_without_data_stay_whole() -> None:
    text = "def @main(%x: Tensor[(4,), float32]) { tanh(%x) * 2f }"
    made = both(text, X[:4])
    assert str(made.report()) == "@main: whole, 2 operators"
    attribute = 'def @main(%x: Tensor[(4,), float32], batch="dynamic") { tanh(%x) * 2f }'
    assert_near(relay.build(relay.parse(attribute), "xla")(X[:4]), np.tanh(X[:4]) * 2)
    assert_near(
        relay.create_executor("xla", relay.parse(text), batch="dynamic").evaluate()(X[:4]), made(X[:4])
    )


def test_steps_that_xla_does_not_compile_are_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    mod = relay.infer(relay.parse(FOLD))
    made = relay.build(mod, "xla", batch="dynamic")
    broken = made.by_name["main"].hybrid.jax.errors.JaxRuntimeError("no such instruction")

    def program(*_: Any, **__: Any) -> Any:
        raise broken

    monkeypatch.setattr(recorder, "calls_program", program)
    one = tree(mod, 9)
    assert_near(made(one, W), relay.create_executor("debug", mod).evaluate()(one, W))
    assert made.report().host == dict.fromkeys(
        ["nn.matmul", "tanh", "multiply", "add"], "XLA: no such instruction"
    )


def test_the_command_line_batches(tmp_path: Path) -> None:
    text = FOLD.replace("@main(%t: Tree, %w", "@main(%n: int32, %x: Tensor[(4,), float32], %w")
    file = tmp_path / "tree.relay"
    file.write_text(text.replace("@fold(%t, %w) }", "@fold(@grow(%n, %x), %w) }"))
    np.save(tmp_path / "w.npy", W)
    given = (str(file), "5", "[1.0, 2.0, 3.0, 4.0]", str(tmp_path / "w.npy"))
    ran = cli("run", "--backend", "xla", "--batch", "dynamic", *given)
    assert ran.status == 0
    assert ran.output == cli("run", "--backend", "xla", *given).output
    assert cli("run", "--backend", "debug", "--batch", "dynamic", *given).status == 2


def test_programs_that_give_functions() -> None:
    text = """def @main(%x: Tensor[(4,), float32]) {
      let %y = tanh(%x) + 1.0;
      fn (%z: Tensor[(4,), float32]) { %y * %z }
    }"""
    made = relay.build(relay.parse(text), "xla", batch="dynamic")
    np.testing.assert_allclose(made(X[:4])(np.ones(4, "float32")), np.tanh(X[:4]) + 1, rtol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_over_trees(seed: int) -> None:
    text = random_cell(Random(seed))
    values = "def @main(%n: int32, %x: Tensor[(4,), float32], %w) { @fold(@grow(%n, %x), %w) }"
    slopes = """
    def @main(%n: int32, %x: Tensor[(4,), float32], %w: Tensor[(4, 4), float32]) {
      grad(fn (%w: Tensor[(4, 4), float32]) { sum(@fold(@grow(%n, %x), %w)) })(%w)
    }"""
    for main in (values, slopes):
        mod = relay.infer(relay.parse(text + main))
        made = relay.build(mod, "xla", batch="dynamic")
        for n in (1, 2, 25):
            wanted = relay.create_executor("debug", mod).evaluate()(n, X[:4], W)
            np.testing.assert_allclose(*map(flat, (made(n, X[:4], W), wanted)), rtol=1e-3, atol=1e-4)


def flat(value: Any) -> Any:
    """The numbers in a tensor or in nested tuples of such."""
    parts = [flat(x) for x in value] if isinstance(value, tuple) else [np.ravel(value)]
    return np.concatenate(parts)
