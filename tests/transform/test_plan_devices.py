"""Devices for values: by what is said of some, with copies in between."""

import pytest

import relay
import relay.transform as passes
from relay.diagnostic import RelayError
from relay.ir.walk import post_order
from relay.op.annotation import DeviceCopy, OnDevice
from transform.cases import program, verified


def copies(text, **options):
    """The copies that a planned program makes, in order."""
    mod = verified(passes.PlanDevices(**options)(program(text)))
    calls = [e for f in mod.functions.values() for e in post_order(f) if isinstance(e, relay.Call)]
    assert not any(isinstance(e.attrs, OnDevice) for e in calls)
    assert mod.evaluate("main", 0.5) == program(text).evaluate("main", 0.5)
    return [(e.attrs.src_device, e.attrs.dst_device) for e in calls if isinstance(e.attrs, DeviceCopy)]


def test_a_value_is_copied_to_who_reads_it():
    text = 'def @main(%x: f32) { tanh(on_device(exp(%x), virtual_device="gpu")) }'
    assert copies(text) == [("gpu", "cpu")]
    assert copies(text, default_device="gpu") == []


def test_what_an_operator_reads_is_where_it_is():
    text = 'def @main(%x: f32) { on_device(tanh(exp(%x)) + %x, virtual_device="gpu", constrain_result=True) }'
    assert copies(text) == []


def test_devices_go_through_variables_branches_tuples_and_calls():
    text = """
    def @f(%a: f32) { let %t = (%a, exp(%a)); if (%a > 0f) { %t.0 } else { %t.1 } }
    def @main(%x: f32) { tanh(on_device(@f(on_device(%x, virtual_device="cpu")), virtual_device="gpu")) }
    """
    assert sorted(copies(text)) == [("cpu", "gpu"), ("gpu", "cpu")]


def test_copies_that_are_there_say_where_values_are():
    text = """def @main(%x: f32) {
      exp(on_device(tanh(device_copy(%x, src_device="cpu", dst_device="gpu")), virtual_device="gpu"))
    }"""
    assert copies(text, default_device="gpu") == [("cpu", "gpu")]
    assert copies(text, default_device="cpu") == [("cpu", "gpu"), ("gpu", "cpu")]


def test_constants_are_on_each_device():
    text = 'def @main(%x: f32) { let %c = 2f; on_device(%x * 2f, virtual_device="gpu") + 2f }'
    assert copies(text) == [("gpu", "cpu")]


def test_two_devices_for_a_value_are_an_error():
    text = """def @main(%x: f32) {
      on_device(exp(%x), virtual_device="cpu", constrain_result=True)
        + on_device(exp(%x), virtual_device="gpu", constrain_result=True)
    }"""
    with pytest.raises(RelayError) as failure:
        passes.PlanDevices()(program(text))
    assert failure.value.codes == ("device-conflict",)


def test_a_program_without_devices_stays_the_same():
    mod = program("def @main(%x: f32) { exp(%x) }")
    assert passes.PlanDevices()(mod) is mod
