"""Calls that are recorded and made together (`batch="dynamic"`), against programs that make each at once."""

import threading
from random import Random
from runpy import run_path
from typing import Any

import numpy as np
import pytest

import relay
from relay.driver.compilation import with_batching
from relay.interpreter.value import ConstructorValue
from relay.testing import treelstm
from support import ROOT

SIZE = 4


def both(text: str, *args: Any, tolerance: float = 1e-5) -> Any:
    """The batched program, after a call whose result is that of the interpreter."""
    mod = relay.parse(text)
    built = relay.build(mod, batch="dynamic")
    close(built(*args), relay.run(mod, "main", list(args)), tolerance)
    return built


def close(found: Any, wanted: Any, tolerance: float = 1e-5) -> None:
    """Check nested values."""
    if isinstance(wanted, tuple):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            close(a, b, tolerance)
    elif isinstance(wanted, ConstructorValue):
        assert isinstance(found, ConstructorValue)
        assert found.tag == wanted.tag
        close(tuple(found.fields), tuple(wanted.fields), tolerance)
    else:
        np.testing.assert_allclose(found, wanted, tolerance, tolerance)


TREE = """
import "std/list"
type Tree { Leaf(Tensor[(4,), float32]), Node(Tree, Tree) }
def @grow(%n: int32, %x: Tensor[(4,), float32]) -> Tree {
  if (%n <= 1) { Leaf(%x) } else { Node(@grow(%n / 2, %x * 0.5), @grow(%n - %n / 2, 1.0 - %x)) }
}
def @fold(%t: Tree, %w: Tensor[(4, 4), float32]) -> Tensor[(4,), float32] {
  match (%t) {
    Leaf(%x) => tanh(%w @ %x),
    Node(%l, %r) => { let %a = @fold(%l, %w); let %b = @fold(%r, %w); tanh(%w @ (%a * %b) + %a) },
  }
}
"""
X = np.linspace(-1, 1, SIZE, dtype="float32")
W = (np.arange(SIZE * SIZE).reshape(SIZE, SIZE) % 5 / 5 - 0.4).astype("float32")


def test_a_tree_is_computed_level_by_level() -> None:
    text = TREE + "def @main(%n: int32, %x: Tensor[(4,), float32], %w) { @fold(@grow(%n, %x), %w) }"
    built = both(text, 32, X, W)
    built.launches()
    built(64, X, W)
    found = built.launches()
    assert {(r.operators, r.calls, r.launches) for r in found.rows} == {
        ("matmul tanh", 64, 1),
        ("multiply subtract", 63, 6),
        ("multiply matmul add … (4)", 63, 6),
    }
    assert str(found).splitlines()[-1].split() == ["190", "13", "in", "all"]


def test_trees_of_different_form_share_launches() -> None:
    text = (
        TREE
        + """
    def @forest(%n: int32, %x: Tensor[(4,), float32]) -> List[Tree] {
      if (%n == 0) { Nil } else { Cons(@grow(%n, %x), @forest(%n - 1, %x)) }
    }
    def @main(%n: int32, %x: Tensor[(4,), float32], %w) {
      @map(fn (%t) { @fold(%t, %w) }, @forest(%n, %x))
    }
    """
    )
    built = both(text, 9, X, W)
    built.launches()
    built(9, X, W)
    found = built.launches()
    assert found.calls == sum(3 * n - 2 for n in range(1, 10))
    assert found.launches == 16


def test_the_gradient_of_a_tree_runs_batched() -> None:
    text = (
        TREE
        + """
    def @main(%n: int32, %x: Tensor[(4,), float32], %w: Tensor[(4, 4), float32]) {
      grad(fn (%w: Tensor[(4, 4), float32]) { sum(@fold(@grow(%n, %x), %w)) })(%w)
    }
    """
    )
    for n in (3, 32):
        built = both(text, n, X, W)
    built.launches()
    built(32, X, W)
    found = built.launches()
    assert found.launches < found.calls / 4


def test_many_terms_of_a_sum_are_added_at_once() -> None:
    text = """
    import "std/list"
    def @main(%xs: List[Tensor[(3,), float32]], %start: Tensor[(3, 3), float32]) {
      @foldl(fn (%sum, %x) { %sum + reshape(%x, (3, 1)) * %x }, %start, %xs)
    }
    """
    rows = [np.array([i, 1, -i], "float32") / 10 for i in range(40)]
    built = both(text, rows, np.eye(3, dtype="float32"))
    built.launches()
    built(rows, np.eye(3, dtype="float32"))
    assert built.launches().launches == 1
    both(text, rows[:3], np.eye(3, dtype="float32"))


def test_sums_that_are_read_in_between_are_made_one_by_one() -> None:
    text = """
    import "std/list"
    def @main(%xs: List[Tensor[(3,), float32]], %start: Tensor[(3,), float32]) {
      @foldl(fn (%so, %x) { let %s = %so.0 + %x; (%s, Cons(%s, %so.1)) }, (%start, Nil), %xs)
    }
    """
    both(text, [np.array([i, 1, -i], "float32") for i in range(20)], np.ones(3, "float32"))


def test_conditions_read_what_is_recorded() -> None:
    text = """
    def @main(%x: Tensor[(4,), float32], %n: int32) {
      if (%n == 0) { %x } else {
        let %y = tanh(%x) * 1.5;
        if (sum(%y) > 0.5) { @main(%y + 0.25, %n - 1) } else { @main(0.5 - %y, %n - 1) }
      }
    }
    """
    both(text, X, 12)


def test_effects_see_their_values_in_order(capfd: pytest.CaptureFixture[str]) -> None:
    text = """
    import "std/list"
    type Pair { Pair(Tensor[(2,), float32], Tensor[(2,), float32]) }
    def @main(%xs: List[Tensor[(2,), float32]]) {
      @map(fn (%x) {
        let %y = trace("{}", %x * 2.0);
        let %_ = trace("{}", Pair(%y + 1.0, %x));
        %y * %y
      }, %xs)
    }
    """
    rows = [np.array([i, -i], "float32") for i in range(3)]
    both(text, rows)
    lines = capfd.readouterr().err.splitlines()
    assert lines[:6] == lines[6:]
    assert lines[0] == "[0.0, 0.0]"
    assert lines[3] == "Pair([3.0, -1.0], [1.0, -1.0])"


def test_references_and_closures_hold_what_is_recorded() -> None:
    text = """
    import "std/list"
    def @add(%a: Tensor[(2,), float32], %b: Tensor[(2,), float32]) { %a + %b * 0.5 }
    def @main(%xs: List[Tensor[(2,), float32]], %z: Tensor[(2,), float32]) {
      let %cell = ref(%z);
      let %fs = @map(fn (%x) {
        let %y = exp(%x * 0.1);
        let %_ = ref_write(%cell, ref_read(%cell) * %y);
        fn (%k: Tensor[(2,), float32]) { %k - %y }
      }, %xs);
      let %all = @map(fn (%f) { %f(%z) }, %fs);
      (ref_read(%cell), @foldl(@add, %z, %all), %all)
    }
    """
    both(text, [np.array([i, -i], "float32") for i in range(12)], np.ones(2, "float32"))


def test_weights_that_differ_are_told_apart() -> None:
    text = """
    import "std/list"
    def @apply(%x: Tensor[(2,), float32], %w: Tensor[(2, 2), float32]) { tanh(%w @ %x) }
    def @main(%xs: List[Tensor[(2,), float32]], %w: Tensor[(2, 2), float32], %v: Tensor[(2, 2), float32]) {
      (@map(fn (%x) { @apply(%x, %w) }, %xs), @map(fn (%x) { @apply(%x, %v) }, %xs),
       @map(fn (%x) { @apply(%x, outer(%x)) }, %xs))
    }
    def @outer(%x: Tensor[(2,), float32]) { reshape(%x, (2, 1)) * %x }
    """.replace("outer(%x))", "@outer(%x))")
    rows = [np.array([i, 1], "float32") / 5 for i in range(10)]
    both(text, rows, W[:2, :2].copy(), W[2:, 2:].copy())


def test_numbers_and_several_results() -> None:
    text = """
    import "std/list"
    def @main(%xs: List[(Tensor[(2,), float32], float32)]) {
      @map(fn (%p) {
        let (%x, %s) = %p;
        let %y = %x * %s;
        (%y, exp(%y), %s + 1.0, sum(%y * %y))
      }, %xs)
    }
    """
    both(text, [(np.array([i, 1], "float32"), np.float32(i) / 3) for i in range(10)])


def test_constants_that_are_computed_once() -> None:
    text = """
    import "std/list"
    def @table = (ref(tanh([0.5, 1.0])), [| [1.0, 2.0], [3.0, 4.0] |])
    def @main(%x: Tensor[(2,), float32]) {
      @map(fn (%y) { %y * %x + ref_read(@table.0) }, @table.1)
    }
    """
    built = both(text, X[:2].copy())
    for _ in range(3):
        close(built(X[:2].copy()), relay.run(relay.parse(text), "main", [X[:2].copy()]))


def test_programs_that_give_functions_are_left_alone() -> None:
    text = """
    def @main(%x: Tensor[(2,), float32]) {
      let %y = tanh(%x) + 1.0;
      fn (%z: Tensor[(2,), float32]) { %y * %z }
    }
    """
    built = relay.build(relay.parse(text), batch="dynamic")
    np.testing.assert_allclose(built(X[:2].copy())(np.ones(2, "float32")), np.tanh(X[:2]) + 1, rtol=1e-6)


def test_more_than_the_memory_for_records() -> None:
    text = """
    def @main(%x: Tensor[(1024, 1024), float32], %n: int32) {
      if (%n == 0) { %x } else { @main(%x * 0.5 + 1.0, %n - 1) }
    }
    """
    found = relay.build(relay.parse(text), batch="dynamic")(np.zeros((1024, 1024), "float32"), 200)
    np.testing.assert_allclose(found, 2, rtol=1e-6)


def test_deep_programs() -> None:
    text = """
    def @main(%x: Tensor[(2,), float32], %n: int32) {
      if (%n == 0) { %x } else { let %y = @main(%x, %n - 1); %y * 0.5 + 1.0 }
    }
    """
    found = relay.build(relay.parse(text), batch="dynamic")(np.zeros(2, "float32"), 100_000)
    np.testing.assert_allclose(found, 2, rtol=1e-6)


def test_threads_share_a_program() -> None:
    text = TREE + "def @main(%n: int32, %x: Tensor[(4,), float32], %w) { @fold(@grow(%n, %x), %w) }"
    mod = relay.parse(text)
    built, plain = relay.build(mod, batch="dynamic"), relay.build(mod)
    failed: list[int] = []

    def work(n: int) -> None:
        sizes = range(n, n + 20)
        failed.extend([k for k in sizes if not np.allclose(built(k, X, W), plain(k, X, W), 1e-5, 1e-5)])

    threads = [threading.Thread(target=work, args=(n,)) for n in (5, 40)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed


def test_a_call_that_fails_leaves_nothing_behind() -> None:
    text = (
        TREE
        + """
    def @main(%n: int32, %x: Tensor[(4,), float32], %w, %d: int32) {
      let %y = @fold(@grow(%n, %x), %w);
      %y * cast(7 / %d, "float32")
    }
    """.replace('"float32")', "dtype=float32)")
    )
    built = relay.build(relay.parse(text), batch="dynamic")
    for _ in range(3):
        with pytest.raises(relay.RelayError, match="divide-by-zero"):
            built(16, X, W, 0)
        assert built(16, X, W, 1).shape == (SIZE,)


def test_the_tree_lstm() -> None:
    mod, weights = treelstm.get_workload(12, 8)
    tree = relay.create_executor("debug", mod=mod).evaluate(treelstm.binary_tree(mod, 5, 12))
    built = relay.build(mod, params=weights, batch="dynamic")
    close(built(tree), relay.build(mod, params=weights)(tree))
    found = built.launches()
    assert found.launches < found.calls / 3
    closed = relay.build(mod, batch="dynamic")
    close(closed(tree, *weights.values()), built(tree))


def random_cell(rng: Random) -> str:
    """A program over trees that combines results of children in a random way."""
    lines: list[str] = []
    known = ["%a", "%b", "%c"]
    for i in range(rng.randint(2, 6)):
        x, y = rng.choice(known), rng.choice(known)
        lines.append(
            f"let %v{i} = "
            + rng.choice(
                [f"{x} + {y}", f"tanh({x} * {y})", f"%w @ {x}", f"{x} - sum({y}) * 0.1", f"nn.softmax({x})",
                 f"where({x} > {y}, {x}, 0.5 * {y})", f"concatenate(({x}[0:2], {y}[2:4]))", f"relu_of({x})"]
            ).replace("relu_of", "nn.relu")
            + ";"
        )  # fmt: skip
        known.append(f"%v{i}")
    if rng.random() < 0.4:
        last, again = known[-1], "@cell(%c, %c, %c, %w, %n - 1)"
        lines.append(f"let %s = if (max({last}) > 0.3) {{ {last} }} else {{ {again} }};")
        known.append("%s")
    if rng.random() < 0.4:
        lines.append(f"let %_ = ref_write(%r, ref_read(%r) + {known[-1]});")
    cell = "\n".join(lines)
    return f"""
    type Tree {{ Leaf(Tensor[(4,), float32]), Node(Tree, Tensor[(4,), float32], Tree) }}
    def @grow(%n: int32, %x: Tensor[(4,), float32]) -> Tree {{
      if (%n <= 1) {{ Leaf(%x) }} else {{
        Node(@grow(%n / {rng.randint(2, 3)}, %x * 0.5), %x, @grow(%n / 2, 1.0 - %x))
      }}
    }}
    def @cell(
      %a: Tensor[(4,), float32], %b: Tensor[(4,), float32], %c: Tensor[(4,), float32],
      %w: Tensor[(4, 4), float32], %n: int32
    ) -> Tensor[(4,), float32] {{
      if (%n <= 0) {{ %a * %b }} else {{
        let %r = ref(%a);
        {cell}
        {known[-1]} + ref_read(%r)
      }}
    }}
    def @fold(%t: Tree, %w: Tensor[(4, 4), float32]) -> Tensor[(4,), float32] {{
      match (%t) {{
        Leaf(%x) => %x,
        Node(%l, %x, %r) => @cell(@fold(%l, %w), %x, @fold(%r, %w), %w, 2),
      }}
    }}
    """


@pytest.mark.parametrize("part", range(4))
def test_random_programs_over_trees(part: int) -> None:
    for seed in range(3 * part, 3 * part + 3):
        text = random_cell(Random(seed))
        values = "def @main(%n: int32, %x: Tensor[(4,), float32], %w) { @fold(@grow(%n, %x), %w) }"
        slopes = """
        def @main(%n: int32, %x: Tensor[(4,), float32], %w: Tensor[(4, 4), float32]) {
          grad(fn (%w: Tensor[(4, 4), float32]) { sum(@fold(@grow(%n, %x), %w)) })(%w)
        }
        """
        for main in (values, slopes):
            mod = relay.parse(text + main)
            plain, batched = relay.build(mod), relay.build(mod, batch="dynamic")
            for n in (1, 2, 25):
                close(batched(n, X, W), plain(n, X, W), 1e-3)


def test_what_batch_may_be() -> None:
    mod = relay.parse("def @main(%x: Tensor[(2,), float32]) { tanh(%x) }")
    with pytest.raises(relay.RelayError, match="attribute-value"):
        relay.build(mod, batch="static")
    assert "no calls are recorded" in str(relay.build(mod).launches())
    assert with_batching(mod, ["main"], "dynamic")["main"].attrs["batch"] == "dynamic"


def test_the_picture_of_launches_is_current() -> None:
    found = run_path(str(ROOT / "benchmarks" / "launches_picture.py"))
    assert found["PICTURE"].read_text() == found["picture"]()
