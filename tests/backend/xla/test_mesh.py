"""Programs over a mesh of eight devices beside the same on one."""

from typing import Any

import numpy as np
import pytest

import relay
from backend.xla.training_steps import training_step

pytestmark = pytest.mark.extras
jax = pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")

MLP = """
attributes @step {
  mesh: {"data": 4, "model": 2},
  shard: {
    "w1": ("model", None), "b1": ("model",), "w2": (None, "model"), "x": ("data", None), "y": ("data", None)
  },
  donate: ("w1", "b1", "w2")
}
def @loss(
  %w1: Tensor[(16, 8), float32], %b1: Tensor[(16,), float32], %w2: Tensor[(4, 16), float32],
  %x: Tensor[(n, 8), float32], %y: Tensor[(n, 4), float32]
) {
  let %h = shard(tanh(nn.bias_add(nn.dense(%x, %w1), %b1)), spec=("data", "model"));
  mean(power(nn.dense(%h, %w2) - %y, 2f))
}
def @step(
  %w1: Tensor[(16, 8), float32], %b1: Tensor[(16,), float32], %w2: Tensor[(4, 16), float32],
  %x: Tensor[(n, 8), float32], %y: Tensor[(n, 4), float32]
) {
  let (%l, (%g1, %gb, %g2, _, _)) = grad(@loss)(%w1, %b1, %w2, %x, %y);
  (%l, %w1 - 0.1f * %g1, %b1 - 0.1f * %gb, %w2 - 0.1f * %g2)
}
"""


def numbers(*shape: int) -> Any:
    return np.random.default_rng(shape).standard_normal(shape).astype("float32")


def mlp_arguments() -> list[Any]:
    return [numbers(16, 8), numbers(16), numbers(4, 16), numbers(32, 8), numbers(32, 4)]


@pytest.mark.parametrize("name", ["mlp", "resnet", "transformer"])
def test_twenty_training_steps_by_data_are_those_of_one_device(name: str) -> None:
    mod, weights, args = training_step(name)
    shard = {k: ("data",) for k in args if k not in weights}
    one = relay.build(mod, "xla cpu", entries="step")
    many = relay.build(mod, "xla cpu", entries="step", mesh={"data": 8}, shard=shard, donate=weights)
    a, b = dict(args), {**args, **{w: many.put(**{w: args[w]}) for w in weights}}
    for _ in range(20):
        wanted, new = one(a)
        found, there = many(b, on_device=True)
        a.update(zip(weights, new, strict=True))
        b.update(zip(weights, there, strict=True))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    # What is zero but for rounding, such as the derivative by the bias of keys, is so beside the others.
    near = 1e-12 * max([np.abs(x).max() for x in new])
    for x, y in zip(there, new, strict=True):
        assert len(x.addressable_shards) == 8
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=near)


def test_by_data_and_by_layers_takes_two_all_reduces() -> None:
    mod = relay.parse(MLP)
    step, native = relay.build(mod, "xla cpu", entries="step"), relay.build(mod, entries="step")
    w1, b1, w2, x, y = mlp_arguments()
    weights: Any = step.put(w1=w1, b1=b1, w2=w2)
    wanted: Any = (w1, b1, w2)
    for _ in range(20):
        found, *weights = step(*weights, x, y, on_device=True)
        loss, *wanted = native(*[w.copy() for w in wanted], x, y)
    np.testing.assert_allclose(found, loss, rtol=1e-6)
    for a, b in zip(weights, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    specs = [tuple(w.sharding.spec) for w in weights]
    assert specs == [("model", None), ("model",), (None, "model")]
    assert str(step.report()) == "@step: whole over data 4 by model 2 (2 all-reduce), 29 operators"
    assert repr(step) == "<for data 4 by model 2: @step>"


def test_the_state_of_an_optimizer_is_split_where_its_sizes_divide() -> None:
    text = """
    type State { State { w: Tensor[(8, 4), float32], b: Tensor[(3,), float32], step: int32 } }
    attributes @step { mesh: {"data": 8}, shard: {"m": ("data",), "x": ("data", None)} }
    def @step(%w: Tensor[(8, 4), float32], %m: State, %x: Tensor[(16, 4), float32]) {
      let %g = grad(fn(%w: Tensor[(8, 4), float32]) { mean(power(nn.dense(%x, %w), 2f)) })(%w).1.0;
      let %new = %m with { w: %m.w * 0.9f + shard(%g, spec=("data",)), step: %m.step + 1 };
      (shard(%w - %new.w, spec=()), %new)
    }"""
    mod = relay.parse(text)
    step = relay.build(mod, "xla cpu")
    (constructor,) = mod.type_definitions[relay.GlobalTypeVar("State")].constructors
    state = relay.ConstructorValue(constructor, (numbers(8, 4), numbers(3), np.int32(0)))
    w, x = numbers(8, 4), numbers(16, 4)
    there = step.put(m=state)
    assert [tuple(f.sharding.spec) for f in there.fields] == [("data",), (), ()]
    assert there.fields[0].addressable_shards[0].data.shape == (1, 4)
    found, new = step(w, there, x, on_device=True)
    wanted, state = relay.build(mod)(w, state, x)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(new.fields[0], state.fields[0], rtol=1e-5, atol=1e-6)
    assert new.fields[0].addressable_shards[0].data.shape == (1, 4)
    assert new.fields[2] == 1
    assert found.sharding.is_fully_replicated


def test_an_array_that_was_given_up_is_not_taken_again() -> None:
    step = relay.build(relay.parse(MLP), "xla cpu", entries="step")
    w1, b1, w2, x, y = mlp_arguments()
    there = step.put(w1=w1)
    step(there, b1, w2, x, y)
    with pytest.raises(relay.RelayError) as error:
        step(there, b1, w2, x, y)
    assert error.value.codes == ("donated",)
    assert "`%w1` of `@step`" in str(error.value)


def test_arrays_are_given_up_on_one_device() -> None:
    text = "def @main(%w: Tensor[(100,), float32], %x: Tensor[(100,), float32]) { %w + %x }"
    built = relay.build(relay.parse(text), "xla cpu", donate="w")
    w, x = built.put(w=np.ones(100, "float32"), x=np.ones(100, "float32"))
    found = built(w, x, on_device=True)
    assert (w.is_deleted(), x.is_deleted(), float(found[0])) == (True, False, 2.0)


def test_what_fails_with_arrays_that_are_given_up_has_its_diagnostic() -> None:
    text = "def @main(%w: Tensor[(100,), int32], %k: int32) { %w / %k }"
    built = relay.build(relay.parse(text), "xla cpu", donate="w")
    w = built.put(w=np.ones(100, "int32"))
    with pytest.raises(relay.RelayError) as error:
        built(w, 0)
    assert error.value.codes == ("divide-by-zero",)


def refused(mod: relay.IRModule, *args: Any, **options: Any) -> tuple[str, str]:
    """The code and the text of what a build or a call says."""
    with pytest.raises(relay.RelayError) as error:
        relay.build(mod, "xla cpu", **options)(*args)
    return error.value.codes[0], str(error.value)


def test_a_mesh_has_at_most_the_devices_that_there_are() -> None:
    code, said = refused(relay.parse("def @main(%x: float32) { %x }"), 1.0, mesh={"data": 16})
    assert code == "bad-mesh"
    assert "has 16 devices, and JAX finds 8 cpu devices" in said
    assert "XLA_FLAGS=--xla_force_host_platform_device_count=16" in said


def test_shard_in_a_program_is_checked_against_the_mesh() -> None:
    mod = relay.parse('def @main(%x: Tensor[(n, 3), float32]) { shard(%x, spec=("data", None)) }')
    code, said = refused(mod, mesh={"model": 8})
    assert (code, "the mesh has no axis `data`" in said) == ("bad-sharding", True)
    code, said = refused(mod, numbers(9, 3), mesh={"data": 8})
    assert (code, "the size 9 of axis 0 is not a multiple" in said) == ("bad-sharding", True)
    mod = relay.parse('def @main(%x: Tensor[(n, 3), float32]) { shard(%x, spec=(None, "data")) }')
    code, said = refused(mod, mesh={"data": 8})
    assert (code, "the size 3 of axis 1 is not a multiple" in said) == ("bad-sharding", True)
    assert relay.build(mod, "xla cpu")(numbers(1, 3)).shape == (1, 3)


def test_a_mesh_computes_a_program_as_a_whole() -> None:
    mod = relay.parse("def @main(%x: Tensor[(8,), float32]) { argwhere(%x) }")
    for options in ({"mesh": {"data": 8}}, {"host": False}):
        code, said = refused(mod, numbers(8), **options)
        assert code == "xla-unsupported"
        assert "`argwhere`: values decide the shape of the result" in said
        assert "1:40" in said


def test_a_python_function_trains_over_a_mesh_with_arrays_that_stay_there() -> None:
    rule = relay.optim.adam(0.1)

    def distance(params: Any, x: Any, y: Any) -> Any:
        return ((x @ params["w"] + params["b"] - y) ** 2).mean()

    def step(params: Any, state: Any, x: Any, y: Any) -> Any:
        value, slope = relay.value_and_grad(distance, 0)(params, x, y)
        return value, *relay.optim.apply_rule(rule, params, slope, state)

    shard = {"x": ("data",), "y": ("data",), "state": ("data",)}
    options: Any = {"mesh": {"data": 8}, "shard": shard, "donate": ("params", "state")}
    over_mesh, native = relay.build(step, "xla cpu", **options), relay.compile(step)
    x, y = numbers(16, 24), numbers(16, 1)
    params = {"w": numbers(24, 1), "b": np.zeros(1, "float32")}
    there, state = params, relay.optim.initial_state(rule, params)
    state_there = state
    for _ in range(20):
        before = there
        found, there, state_there = over_mesh(there, state_there, x, y, on_device=True)
        wanted, params, state = native(params, state, x, y)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    np.testing.assert_allclose(there["w"], params["w"], rtol=1e-5, atol=1e-5)
    assert len(there["w"].addressable_shards) == 8
    with pytest.raises(relay.RelayError, match="was given up in an earlier call"):
        over_mesh(before, state_there, x, y)
    np.testing.assert_allclose(native(there, state, x, y)[0], found, rtol=0.5)


def test_a_python_function_is_split_by_a_dict_and_parts_make_a_whole() -> None:
    for shard in ("x", 3, ["x"]):
        made = relay.build(lambda x: x * 2, "xla cpu", mesh={"data": 8}, shard=shard)
        with pytest.raises(relay.RelayError) as error:
            made(numbers(8, 2))
        assert error.value.codes == ("bad-sharding",)
    mod = relay.parse("def @main(%x: Tensor[(n, 2), float32]) { %x }")
    built = relay.build(mod, "xla cpu", mesh={"data": 8}, shard={"x": ("data",)})
    assert built(built.put_local(x=numbers(8, 2))).shape == (8, 2)
    with pytest.raises(relay.RelayError, match="parts of `%x` cannot be joined"):
        built.put_local(x=numbers(7, 2))
