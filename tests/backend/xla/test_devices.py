"""Programs over several devices: machine code for the control flow, XLA for regions; beside one device."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.diagnostic import RelayError

pytestmark = pytest.mark.extras
jax = pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")

DEVICES = {"cpu": "native", "one": "xla cpu:1", "two": "xla cpu:2"}
NETWORK = """
def @loss(
  %w1: Tensor[(16, 8), float32], %w2: Tensor[(4, 16), float32], %x: Tensor[(n, 8), float32],
  %y: Tensor[(n, 4), float32]
) {
  let %h = on_device(tanh(nn.dense(%x, %w1)), virtual_device="one");
  let %o = on_device(nn.dense(%h, %w2), virtual_device="two");
  mean(power(%o - %y, 2f))
}
def @main(
  %w1: Tensor[(16, 8), float32], %w2: Tensor[(4, 16), float32], %x: Tensor[(n, 8), float32],
  %y: Tensor[(n, 4), float32]
) {
  let (%l, (%g1, %g2, _, _)) = grad(@loss)(%w1, %w2, %x, %y);
  (%l, %w1 - 0.1f * %g1, %w2 - 0.1f * %g2)
}
"""
TREE = """
type Tree { Leaf(Tensor[(1, 4), float32]), Node(Tree, Tree) }
def @state(%t: Tree, %w: Tensor[(4, 4), float32]) -> Tensor[(1, 4), float32] {
  match (%t) {
    Leaf(%x) => %x,
    Node(%l, %r) => on_device(tanh(nn.dense(@state(%l, %w) * @state(%r, %w), %w)), virtual_device="one"),
  }
}
def @grow(%n: int32, %x: Tensor[(1, 4), float32]) -> Tree {
  if (%n == 0) { Leaf(%x) } else { Node(@grow(%n - 1, %x), Leaf(%x)) }
}
def @main(%n: int32, %x: Tensor[(1, 4), float32], %w: Tensor[(4, 4), float32]) { @state(@grow(%n, %x), %w) }
"""


def numbers(*shape: int) -> Any:
    return np.random.default_rng(shape).standard_normal(shape).astype("float32")


def assert_same(found: Any, expected: Any) -> None:
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.fixture
def dispatched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The devices that regions are computed on, in order."""
    from relay.backend.xla import whole

    found: list[str] = []
    run = whole.Whole.__call__

    def noted(self: Any, *args: Any, **options: Any) -> Any:
        found.append(str(self.layout.device))
        return run(self, *args, **options)

    monkeypatch.setattr(whole.Whole, "__call__", noted)
    return found


def test_a_training_step_over_three_devices(dispatched: list[str]) -> None:
    mod = relay.parse(NETWORK)
    args = numbers(16, 8), numbers(4, 16), numbers(5, 8), numbers(5, 4)
    expected = mod.evaluate("main", *args)
    assert_same(relay.build(mod, DEVICES)(*args), expected)
    assert [d[-1] for d in dispatched] == ["1", "2", "2", "1", "2"]
    assert_same(relay.create_executor("native", mod, target=DEVICES).evaluate()(*args), expected)


def test_recursion_over_data_is_machine_code_and_its_operators_are_on_the_device(
    dispatched: list[str],
) -> None:
    mod = relay.parse(TREE)
    args = np.int32(3), numbers(1, 4), numbers(4, 4)
    assert_same(relay.build(mod, {"cpu": "native", "one": "xla cpu:1"})(*args), mod.evaluate("main", *args))
    assert len(dispatched) == 3


def test_all_that_is_not_placed_is_on_the_first_device(dispatched: list[str]) -> None:
    mod = relay.parse("def @main(%x: Tensor[(3,), float32]) { sum(exp(%x)) + 1f }")
    built = relay.build(mod, {"one": "xla cpu:1"})
    assert_same(built(numbers(3)), mod.evaluate("main", numbers(3)))
    assert len(dispatched) == 1


def test_a_file_of_such_a_program(tmp_path: Any, dispatched: list[str]) -> None:
    mod = relay.parse(NETWORK)
    args = numbers(16, 8), numbers(4, 16), numbers(5, 8), numbers(5, 4)
    relay.build(mod, DEVICES).export_library(tmp_path / "step.rlo")
    assert_same(relay.load_module(tmp_path / "step.rlo")(*args), mod.evaluate("main", *args))
    assert len(dispatched) == 5


def test_a_failure_on_a_device_is_the_usual_diagnostic() -> None:
    text = """def @main(%x: Tensor[(2,), int32], %y: Tensor[(2,), int32]) {
      on_device(%x / %y, virtual_device="one")
    }"""
    built = relay.build(relay.parse(text), DEVICES)
    one = np.ones(2, "int32")
    assert built(one, one).tolist() == [1, 1]
    with pytest.raises(RelayError) as failure:
        built(one, 0 * one)
    assert failure.value.codes == ("divide-by-zero",)
    assert "<string>:2:17" in str(failure.value)


def test_rows_and_functions_of_python() -> None:
    def f(x: Any) -> Any:
        return relay.on_device(relay.exp(x), virtual_device="one") * x

    built = relay.build(f, DEVICES)
    assert_same(built(numbers(3)), np.exp(numbers(3)) * numbers(3))
    mod = relay.parse("""
    def @f(%x: Tensor[(2,), float32]) { on_device(exp(%x), virtual_device="one") * %x }
    def @main(%x: Tensor[(3, 2), float32]) { vmap(@f)(%x) }
    """)
    assert_same(relay.build(mod, DEVICES)(numbers(3, 2)), mod.evaluate("main", numbers(3, 2)))


@pytest.mark.parametrize(
    ("target", "code", "said"),
    [
        ({}, "unknown-target", "no device to run on"),
        ({"one": "xla cpu:1", "cpu": "native"}, "unknown-device", "`two`"),
        ({"one": "xla cpu:99", "two": "native"}, "unknown-target", "XLA_FLAGS"),
        ({"one": "xla cpu:x", "two": "native"}, "unknown-target", "`xla cpu`"),
        ({"one": "xla rubbish", "two": "native"}, "unknown-target", "xla"),
        ({"one": "native", "two": "x86-64-v3"}, "unknown-target", "one target"),
        ({"one": "natve", "two": "xla"}, "unknown-target", "native"),
    ],
    ids=["none", "missing", "number", "word", "kind", "two", "near"],
)
def test_wrong_devices(target: Any, code: str, said: str) -> None:
    with pytest.raises(RelayError) as failure:
        relay.build(relay.parse(NETWORK), target)
    assert failure.value.codes == (code,)
    assert said in str(failure.value)


def test_executors_of_one_device_refuse_several() -> None:
    for kind in ("interpreter", "xla"):
        with pytest.raises(RelayError) as failure:
            relay.create_executor(kind, relay.parse(NETWORK), target=DEVICES)
        assert failure.value.codes == ("unknown-target",)


def test_a_device_by_its_number() -> None:
    mod = relay.parse("def @main(%x: Tensor[(3,), float32]) { exp(%x) }")
    found = relay.build(mod, "xla cpu:3")(numbers(3), on_device=True)
    assert found.devices() == {jax.devices("cpu")[3]}
    with pytest.raises(RelayError) as failure:
        relay.build(mod, "xla cpu:3", mesh={"data": 2})
    assert failure.value.codes == ("bad-mesh",)
