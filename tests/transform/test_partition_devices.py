"""Regions on devices as definitions for the compilers of these, which here note that they are called."""

import numpy as np
import pytest

import relay
import relay.transform as passes
from relay.diagnostic import RelayError
from transform.cases import program, verified

COPIED = 'device_copy(%b, src_device="cpu", dst_device="gpu")'
COMPILERS = {"cpu": "", "gpu": "noting gpu"}
X = np.asarray([0.5, -1.0], "float32")


@pytest.fixture
def called():
    """The regions that were computed, in order; each by its own body."""
    found = []

    @relay.backend.register_compiler("noting")
    def generate(function):
        own = relay.IRModule.from_expr(function.without_attr("Compiler").without_attr("Primitive"))

        def run(*args):
            found.append(function.attrs["global_symbol"])
            return own.evaluate("main", *args)

        return run

    yield found
    del relay.interpreter.regions.generators["noting"]


def values(text, *args, **options):
    """The value of a program with regions, the same on both evaluators and without them."""
    mod = program(text)
    parted = verified(passes.PartitionDevices(compilers=COMPILERS, **options)(mod))
    found = parted.evaluate("main", *args)
    np.testing.assert_allclose(found, mod.evaluate("main", *args), rtol=1e-6)
    np.testing.assert_allclose(relay.build(parted)(*args), found, rtol=1e-6)
    return found


def test_what_is_on_a_device_is_one_region(called):
    text = """def @main(%x: Tensor[(2,), f32]) {
      let %y = on_device(%x, virtual_device="cpu");
      let %z = on_device(tanh(exp(%y) * 2f), virtual_device="gpu");
      sum(sin(%z))
    }"""
    values(text, X)
    assert called == ["default_noting_gpu_main_0"] * 2


def test_what_is_not_placed_is_on_the_default_device(called):
    values("def @main(%x: Tensor[(2,), f32]) { sin(%x) }", X)
    assert called == []
    values("def @main(%x: Tensor[(2,), f32]) { sin(%x) }", X, default_device="gpu")
    assert len(called) == 2


def test_counters_and_conditions_stay_with_the_control_flow(called):
    text = """def @main(%n: i32, %x: Tensor[(2,), f32]) {
      let %go = fn(%i: i32, %a: Tensor[(2,), f32]) -> Tensor[(2,), f32] {
        if (%i == 0) { %a } else { %go(%i - 1, tanh(%a)) }
      };
      %go(%n, %x)
    }"""
    values(text, np.int32(3), X, default_device="gpu")
    assert len(called) == 6


def test_effects_stay_in_order(called, capsys):
    text = """def @main(%x: Tensor[(2,), f32]) {
      let %y = trace(exp(%x), label="first");
      trace(tanh(%y), label="second")
    }"""
    values(text, X, default_device="gpu")
    said = capsys.readouterr().err
    assert said.index("first") < said.index("second")
    assert len(called) == 4


def test_what_waits_for_another_device_is_a_region_of_its_own(called):
    text = """def @main(%x: Tensor[(2,), f32]) {
      let %a = on_device(exp(%x), virtual_device="gpu");
      let %b = on_device(tanh(%a), virtual_device="cpu", constrain_result=True);
      let %c = device_copy(%b, src_device="cpu", dst_device="gpu");
      on_device(sin(%c) + %c * %a0, virtual_device="gpu")
    }""".replace("%a0", 'device_copy(%a, src_device="cpu", dst_device="gpu")')
    with pytest.raises(RelayError) as failure:
        values(text.replace(COPIED, "%b"), X)
    assert failure.value.codes == ("device-conflict",)
    values(text, X)
    assert len(called) == 4


def test_derivatives_are_computed_where_values_are(called):
    text = """
    def @loss(%w: Tensor[(2,), f32], %x: Tensor[(2,), f32]) {
      let %h = on_device(tanh(%w * %x), virtual_device="gpu");
      sum(%h * %h)
    }
    def @main(%w: Tensor[(2,), f32], %x: Tensor[(2,), f32]) { grad(@loss)(%w, %x).1.0 }
    """
    mod = passes.ExpandGrad()(program(text))
    parted = verified(passes.PartitionDevices(compilers=COMPILERS)(mod))
    np.testing.assert_allclose(parted.evaluate("main", X, X), program(text).evaluate("main", X, X), rtol=1e-6)
    made = [v.name_hint for v, f in parted.functions.items() if f.attrs.get("Compiler") == "noting gpu"]
    assert any("vjp" in name for name in called)
    assert set(called) <= set(made)


def test_regions_beside_calls_that_are_batched(called):
    text = """
    def @region(%a: Tensor[(2,), f32], %b: Tensor[(2,), f32], Compiler="noting", global_symbol="region") {
      %a + %b * 0.5f
    }
    def @f(%n: i32, %x: Tensor[(2,), f32]) -> Tensor[(2,), f32] {
      if (%n == 0) { %x } else { let %y = @f(%n - 1, %x); @region(tanh(%y) * %y, sin(%y)) }
    }
    def @main(%n: i32, %x: Tensor[(2,), f32]) { @f(%n, %x) }
    """
    found = relay.build(program(text), batch="dynamic")(np.int32(2), X)
    np.testing.assert_allclose(found, program(text).evaluate("main", np.int32(2), X), rtol=1e-6)
    assert called == ["region"] * 4


@pytest.mark.parametrize(("source", "target"), [("cpu", "gpu"), ("gpu", "cpu")])
def test_cotangents_go_back(source, target):
    copy = f'device_copy(%x, src_device="{source}", dst_device="{target}")'
    mod = passes.ExpandGrad()(program(f"def @main(%x: f32) {{ grad(fn (%x) {{ sin({copy}) }})(%x) }}"))
    assert f'src_device="{target}", dst_device="{source}"' in str(mod)


def test_a_compiler_is_a_name():
    with pytest.raises(RelayError) as failure:
        passes.PartitionDevices(compilers={"gpu": 3})(program("def @main(%x: f32) { exp(%x) }"))
    assert failure.value.codes == ("option-value",)


def test_a_device_without_a_compiler_is_an_error():
    text = 'def @main(%x: f32) { on_device(exp(%x), virtual_device="tpu") }'
    with pytest.raises(RelayError) as failure:
        passes.PartitionDevices(compilers=COMPILERS)(program(text))
    assert failure.value.codes == ("unknown-device",)
    assert "`tpu`" in str(failure.value)
