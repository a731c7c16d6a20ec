"""Arrays that stay on the device between calls."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.interpreter.value import ConstructorValue

pytestmark = pytest.mark.extras
jax = pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")

STEP = """
def @main(%w: Tensor[(3, 2), float32], %b: Tensor[(3,), float32], %x: Tensor[(n, 2), float32]) {
  let %y = tanh(nn.bias_add(nn.dense(%x, %w), %b));
  (sum(%y), %w * 0.5f, %b - 1f)
}
"""
W, B, X = np.ones((3, 2), "float32"), np.ones(3, "float32"), np.ones((4, 2), "float32")


def test_results_stay_on_the_device_and_are_arguments_again() -> None:
    step = relay.build(relay.parse(STEP), "xla")
    w, b = step.put(w=W, b=B)
    assert isinstance(w, jax.Array)
    first, w, b = step(w, b, X, on_device=True)
    assert isinstance(first, jax.Array)
    assert isinstance(w, jax.Array)
    found = step(w, b, X)
    wanted = relay.build(relay.parse(STEP))(W * 0.5, B - 1, X)
    for a, c in zip(found, wanted, strict=True):
        assert isinstance(a, np.ndarray | np.generic)
        np.testing.assert_allclose(a, c, rtol=1e-5)
    assert isinstance(step.put(w=W), jax.Array)
    assert step(W, B, X, on_device=False)[1].flags.writeable


class OnGpu:
    """A tensor of another library on a GPU, which an array of JAX stands for here."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.dtype, self.shape = array.dtype, array.shape

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


def test_tensors_of_other_libraries_on_a_device_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[OnGpu] = []

    def from_dlpack(x: OnGpu) -> Any:
        taken.append(x)
        return x.array

    monkeypatch.setattr(jax.dlpack, "from_dlpack", from_dlpack)
    step = relay.build(relay.parse(STEP), "xla")
    w = OnGpu(jax.numpy.asarray(W))
    for a, c in zip(step(w, B, X), step(W, B, X), strict=True):
        np.testing.assert_array_equal(a, c)
    assert isinstance(step.put(w=w), jax.Array)
    assert taken == [w, w]
    with pytest.raises(relay.RelayError, match="argument-type"):
        step(OnGpu(jax.numpy.ones(5)), B, X)


def test_a_tensor_that_cannot_be_taken_is_a_diagnostic(monkeypatch: pytest.MonkeyPatch) -> None:
    def from_dlpack(x: OnGpu) -> Any:
        raise BufferError("it requires a gradient")

    monkeypatch.setattr(jax.dlpack, "from_dlpack", from_dlpack)
    step = relay.build(relay.parse(STEP), "xla")
    with pytest.raises(relay.RelayError, match="argument-type"):
        step(OnGpu(jax.numpy.asarray(W)), B, X)


def test_a_tensor_that_is_nowhere_is_a_diagnostic() -> None:
    class Nowhere(OnGpu):
        def __dlpack_device__(self) -> tuple[int, int]:
            raise ValueError("a tensor without memory")

    step = relay.build(relay.parse(STEP), "xla")
    with pytest.raises(relay.RelayError, match="argument-type"):
        step(Nowhere(jax.numpy.asarray(W)), B, X)


def test_arrays_on_the_device_are_checked_by_their_types() -> None:
    step = relay.build(relay.parse(STEP), "xla")
    w, b = step.put(w=W, b=B)

    def refused(*args: Any, **named: Any) -> str:
        with pytest.raises(relay.RelayError) as error:
            step(*args, **named)
        return str(error.value)

    assert "parameter `%w` of `@main` is Tensor[(3, 2), float32]" in refused(b, b, X)
    assert "its dtype is int32, not float32" in refused(w, jax.numpy.ones(3, "int32"), X)
    with pytest.raises(relay.RelayError) as error:
        step.put(w=W, bias=B)
    assert error.value.codes == ("unknown-input",)
    with pytest.raises(relay.RelayError) as error:
        step.put(w=X)
    assert error.value.codes == ("argument-type",)


def test_data_of_arrays_on_the_device_and_programs_in_segments() -> None:
    text = """
    type List { Nil, Cons(Tensor[(100,), float32], List) }
    def @sum(%l: List, %x: Tensor[(100,), float32]) -> Tensor[(100,), float32] {
      match (%l) { Nil => %x, Cons(%h, %t) => if (sum(%h) > 0f) { @sum(%t, %h + %x) } else { %x } }
    }
    def @grow(%n: int32, %x: Tensor[(100,), float32]) -> List {
      if (%n == 0) { Nil } else { Cons(%x * cast(%n, dtype="float32"), @grow(%n - 1, %x)) }
    }
    def @main(%l: List, %x: Tensor[(100,), float32]) { @sum(%l, %x) }"""
    mod = relay.parse(text)
    nil, cons = mod.type_definitions[relay.GlobalTypeVar("List")].constructors
    x = np.ones(100, "float32")
    value = ConstructorValue(cons, (jax.numpy.asarray(x), ConstructorValue(nil)))
    built = relay.build(mod, "xla", entries=["main", "grow"])
    np.testing.assert_array_equal(built(value, x), x * 2)
    np.testing.assert_array_equal(built(value, jax.numpy.asarray(x), on_device=True), x * 2)
    grown = built["grow"](2, jax.numpy.asarray(x), on_device=True)
    assert "in segments" in str(built.report())
    assert isinstance(grown.fields[0], jax.Array)
    np.testing.assert_array_equal(grown.fields[0], x * 2)


def test_a_parameter_may_be_called_on_device() -> None:
    built = relay.build(relay.parse("def @main(%on_device: bool) { !%on_device }"), "xla")
    assert not built(on_device=True)


def test_a_module_that_changes_later_leaves_the_program_as_it_is() -> None:
    mod = relay.parse("def @main(%x: int32, %y: int32) { %x / %y }")
    built = relay.build(mod, "xla")
    mod["main"] = relay.parse("def @main(%x: int32) { %x }")["main"]
    assert built(6, 2) == 3
    with pytest.raises(relay.RelayError, match="division by zero"):
        built(6, 0)


def test_types_that_were_seen_before_are_those_of_the_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
    type Pair { Pair { a: Tensor[(2,), float32], b: float32 } }
    def @main(%p: Pair, %q: (float32, Tensor[(n,), int32])) { (%p.a * %p.b + %q.0, sum(%q.1)) }"""
    built = relay.build(relay.parse(text), "xla")
    looked: list[Any] = []
    convert = relay.backend.xla.parameters.convert_arguments
    monkeypatch.setattr(
        relay.backend.xla.parameters, "convert_arguments", lambda *a: looked.append(a) or convert(*a)
    )
    pair = {"a": np.ones(2, "float32"), "b": 2.0}
    for numbers in (np.arange(3, dtype="int32"), jax.numpy.arange(3, dtype="int32")) * 2:
        first, second = built(pair, (1, numbers))
        np.testing.assert_array_equal(first, [3, 3])
        assert second == 3
    assert len(looked) == 4, "a dict is no instance, and a number no array"
    on_device = built.put(p=pair, q=(1, np.arange(3, dtype="int32")))
    for _ in range(3):
        np.testing.assert_array_equal(built(*on_device)[0], [3, 3])
    assert len(looked) == 5
    with pytest.raises(relay.RelayError) as error:
        built(on_device[0], (on_device[1][0], jax.numpy.arange(3.0)))
    assert error.value.codes == ("argument-type",)
