"""Operators as values that a branch decides between: each is polymorphic, the value is one instance."""

import pytest

import relay

PROGRAMS = {
    "called": "(if (%b) { nn.relu } else { negative })([1.0, -2.0])",
    "called with a match": "(if (%b) { nn.relu } else { negative })(match (%n) { _ => [1.0, -2.0] })",
    "in a tuple first": "(if (%b) { (tanh,) } else { (fn (%x: float32) { %x },) }).0(1.0)",
    "in a tuple last": "(if (%b) { (fn (%x: float32) { %x },) } else { (tanh,) }).0(1.0)",
    "in a tuple, both": "(if (%b) { (nn.relu, 1) } else { (tanh, 2) }).0(1.0)",
    "of clauses": "(match (%n) { _ => ((tanh,),), _ => ((fn (%x: float32) { %x },),) }).0.0(1.0)",
}


@pytest.mark.parametrize("body", PROGRAMS.values(), ids=list(PROGRAMS))
def test_a_chosen_operator_is_checked_as_one_instance(body):
    mod = relay.infer(relay.parse(f"def @f(%b: bool, %n: int32) {{ {body} }}"))
    relay.check(mod)
    assert relay.infer(mod) is mod


def test_functions_of_different_types_are_no_branches():
    with pytest.raises(relay.RelayError) as caught:
        relay.infer(
            relay.parse("def @f(%b: bool) { if (%b) { (tanh,) } else { (fn (%x: (int32, bool)) { %x },) } }")
        )
    assert set(caught.value.codes) == {"type-mismatch"}
