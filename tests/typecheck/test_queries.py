"""`type_of` of the parts of a module that nobody annotated."""

import time

import relay
from relay.ir.expr import Op
from relay.ir.walk import post_order

PROGRAM = """
def @main(%x: Tensor[(4,), float32]) {
  let %a = add(%x, %x);
  let rec %f = fn (%y) { %g(%y) } and %g = fn (%z) { %z };
  let %b = (%f(%a), %a);
  %b.0
}
"""


def parts(mod):
    return [e for e in post_order(mod["main"]) if not isinstance(e, Op)]


def test_every_part_has_the_type_that_the_annotated_program_says():
    mod = relay.parse(PROGRAM)
    found = relay.infer(mod)
    types = relay.Types(found)
    for e, annotated in zip(parts(mod), parts(found), strict=True):
        t = types.type_of(annotated)
        assert t.flags & relay.ir.type.HAS_VAR or mod.type_of(e) is t, e


def test_a_chain_is_inferred_once_however_often_it_is_asked():
    lines = [f"let %a{i + 1} = add(%a{i}, %a0);" for i in range(300)]
    mod = relay.parse(f"def @main(%a0: Tensor[(4,), float32]) {{ {' '.join(lines)} %a300 }}")
    asked = parts(mod)
    mod.type_of(asked[1])
    started = time.process_time()
    assert {str(mod.type_of(e)) for e in asked[:-1]} == {"Tensor[(4,), float32]"}
    assert (time.process_time() - started) / len(asked) < 0.002


def test_the_type_of_an_operator_does_not_depend_on_what_was_asked_before():
    mod = relay.parse("def @main(%x: Tensor[(2,), float32]) { let %y = exp(%x); %y + 1 }")
    parts = list(post_order(mod["main"]))
    first = [str(mod.type_of(e)) for e in parts]
    assert [str(mod.type_of(e)) for e in parts] == first
    assert str(mod.type_of(relay.Op.get("exp"))).startswith("fn<")
