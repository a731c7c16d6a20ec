"""Goals that wait: for what of their types becomes known, in whatever order."""

import pytest

import relay

ONE_SHAPE = """def @h(%n: int32, %y) {
  let %t = transpose(%y);
  if (%n <= 0) { BOTH } else { @h(%n - 1, %t) }
}"""


@pytest.mark.parametrize("both", ["%t * %y", "%y * %t"])
def test_shapes_that_turn_out_to_be_one_broadcast_to_it(both):
    mod = relay.infer(relay.parse(ONE_SHAPE.replace("BOTH", both)))
    relay.check(mod)
    y, result = mod["h"].params[1].type_annotation, mod["h"].ret_type
    assert result is y


def test_sizes_that_turn_out_to_be_one_broadcast_to_it():
    mod = relay.infer(
        relay.parse(
            """def @h<n: Dim>(%v: Tensor[(n,), float32]) {
  let %f = fn (%a: Tensor[(_,), float32], %b: Tensor[(_,), float32]) {
    let %c = %a + %b;
    let %same = if (True) { %a } else { %b };
    (%c, %same)
  };
  %f(%v, %v).0
}"""
        )
    )
    relay.check(mod)
    assert mod["h"].ret_type is mod["h"].params[0].type_annotation
