"""The devices of values: by what is said of some, through functions, tuples, data and references."""

import pytest

import relay
from relay.analysis.devices import Devices
from relay.diagnostic import RelayError
from relay.ir.walk import post_order


def devices(text):
    """The devices of the calls of operators of `@main`, by the operator."""
    mod = relay.infer(relay.parse(text))
    known = Devices(mod)
    calls = [e for e in post_order(mod["main"]) if isinstance(e, relay.Call) and isinstance(e.op, relay.Op)]
    return {e.op.name: known.of(e) for e in calls if e.op.name not in ("on_device", "device_copy")}


def test_fields_of_a_tuple_have_devices_of_their_own():
    text = """def @main(%x: f32, %y: f32) {
      let %t = (on_device(exp(%x), virtual_device="a", constrain_result=True),
                on_device(tan(%y), virtual_device="b", constrain_result=True));
      (sin(%t.0), cos(%t.1))
    }"""
    assert devices(text) == {"exp": "a", "tan": "b", "sin": "a", "cos": "b"}


def test_a_tuple_that_an_operator_reads_is_on_one_device():
    text = """def @main(%x: Tensor[(2,), f32], %y: Tensor[(2,), f32]) {
      let %t = (exp(%x), tan(%y));
      on_device(concatenate(%t), virtual_device="a")
    }"""
    assert devices(text) == {"exp": "a", "tan": "a", "concatenate": "a"}


def test_functions_that_are_values_take_and_give_what_is_on_their_devices():
    text = """def @main(%x: f32, %y: f32) {
      let %f = fn(%a: f32, %g: fn(f32) -> f32) { %g(on_device(exp(%a), virtual_device="a")) };
      sin(%f(%x, fn(%b: f32) { on_device(tan(%b), virtual_device="b", constrain_result=True) }))
    }"""
    assert devices(text) == {"exp": "a", "tan": "b", "sin": "b"}


def test_a_tuple_is_taken_apart_by_a_function_before_it_is_made():
    text = """
    def @first(%t: (f32, f32)) { %t.0 }
    def @main(%x: f32, %y: f32) {
      let %a = on_device(exp(%x), virtual_device="a", constrain_result=True);
      let %b = on_device(tan(%y), virtual_device="b", constrain_result=True);
      sin(@first((%a, %b)))
    }"""
    assert devices(text) == {"exp": "a", "tan": "b", "sin": "a"}


def test_a_reference_is_where_its_contents_are():
    text = """def @main(%x: f32) {
      let %r = ref(on_device(exp(%x), virtual_device="a", constrain_result=True));
      let %_ = ref_write(%r, tan(%x));
      sin(ref_read(%r))
    }"""
    assert devices(text) == {"exp": "a", "tan": "a", "sin": "a"}


def test_an_instance_of_a_data_type_is_on_one_device():
    text = """
    type Pair { Pair(f32, f32) }
    def @main(%x: f32) {
      match (Pair(on_device(exp(%x), virtual_device="a", constrain_result=True), tan(2f))) {
        Pair(%p, %q) => sin(%q),
      }
    }"""
    assert devices(text) == {"exp": "a", "tan": "a", "sin": "a"}


def test_patterns_of_tuples_keep_devices_apart():
    text = """def @main(%x: f32) {
      let %a = on_device(exp(%x), virtual_device="a", constrain_result=True);
      let %b = on_device(tan(2f), virtual_device="b", constrain_result=True);
      match ((%a, %b)) { (%p, %q) => sin(%p) }
    }"""
    assert devices(text) == {"exp": "a", "tan": "b", "sin": "a"}


def test_recursion_is_on_one_device():
    text = """def @main(%n: i32, %x: f32) {
      let %go = fn(%i: i32, %a: f32) -> f32 { if (%i == 0) { %a } else { %go(%i - 1, tan(%a)) } };
      %go(%n, on_device(exp(%x), virtual_device="a", constrain_result=True))
    }"""
    assert devices(text) == {"equal": "", "subtract": "", "tan": "a", "exp": "a"}


def test_the_message_names_both_devices_and_the_place():
    text = """def @main(%x: f32) {
      on_device(exp(%x), virtual_device="a", constrain_result=True)
        + on_device(exp(%x), virtual_device="b", constrain_result=True)
    }"""
    with pytest.raises(RelayError) as failure:
        Devices(relay.infer(relay.parse(text)))
    assert failure.value.codes == ("device-conflict",)
    assert "`a`" in str(failure.value)
    assert "`b`" in str(failure.value)


@pytest.mark.parametrize("n", [30_000])
def test_the_work_is_linear(n):
    x = relay.Var("x", relay.TensorType((), "float32"))
    whole = relay.Tuple([relay.exp(x) for _ in range(300)])
    e = relay.on_device(x, virtual_device="a", constrain_result=True)
    for i in range(n):
        e = relay.add(e, relay.TupleGetItem(whole, i % 300))
    mod = relay.IRModule.from_expr(relay.Function([x], e))
    assert Devices(mod).of(mod["main"].body) == "a"
