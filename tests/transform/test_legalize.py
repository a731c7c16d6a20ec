"""Attributes of operators, and passes that replace calls as functions say that are registered so."""

import numpy as np
import pytest

import relay
import relay.transform as passes
from relay.diagnostic import RelayError
from relay.interpreter.machine import Interpreter
from relay.op import OpPattern
from relay.op.op import register_pattern
from relay.testing import count_ops
from relay.testing.temp_op_attr import TempOpAttr
from transform.cases import program, verified

CONV = """
def @main(%x: Tensor[(1, 8, 6, 6), f32], %w: Tensor[(8, 8, 3, 3), f32], %v: Tensor[(8, 8, 1, 1), f32]) {
  let %y = nn.relu(nn.conv2d(%x, %w, padding=(1, 1)));
  nn.conv2d(tanh(%y) + %y, %v)
}
"""


def images():
    random = np.random.default_rng(0)
    shapes = (1, 8, 6, 6), (8, 8, 3, 3), (8, 8, 1, 1)
    return [random.normal(size=s).astype("float32") for s in shapes]


def in_layout(data, kernel, op=relay.nn.conv2d, **more):
    def alter(attrs, inputs, types, result):
        assert [t.dtype for t in (*types, result)] == ["float32"] * 3
        given = {"padding": attrs.padding, "kernel_size": types[1].shape[2:], "channels": types[1].shape[0]}
        return op(*inputs, **given, data_layout=data, kernel_layout=kernel, **more)

    return alter


def test_attributes_are_kept_by_level():
    op = relay.op.get("nn.relu")
    assert op.get_attr("MyKey") is None
    assert not op.has_attr("MyKey")
    op.set_attr("MyKey", "first")
    relay.register_op_attr("nn.relu", "MyKey", "second", level=11)
    op.set_attr("MyKey", "third", plevel=5)
    assert op.get_attr("MyKey") == "second"
    with pytest.raises(RelayError, match="at level 11 already"):
        relay.ir.register_op_attr("nn.relu", "MyKey", "fourth", 11)
    op.reset_attr("MyKey")
    assert op.get_attr("MyKey") is None

    @relay.register_op_attr("nn.relu", "MyKey")
    def function():
        """A function is a value as others are."""

    assert op.get_attr("MyKey") is function
    with TempOpAttr("nn.relu", "MyKey", 7):
        assert op.get_attr("MyKey") == 7
    assert op.get_attr("MyKey") is function
    op.reset_attr("MyKey")
    with pytest.raises(RelayError, match="there is no operator"):
        relay.register_op_attr("nn.reul", "MyKey", 1)


def test_what_classes_say_has_known_names():
    get = relay.op.get
    assert get("nn.relu").get_attr("TOpPattern") == OpPattern.ELEMWISE
    assert get("add").get_attr("TOpPattern") == OpPattern.BROADCAST
    assert get("transpose").get_attr("TOpPattern") == OpPattern.INJECTIVE
    assert get("sum").get_attr("TOpPattern") == OpPattern.COMM_REDUCE
    assert get("nn.dense").get_attr("TOpPattern") == OpPattern.OUT_ELEMWISE_FUSABLE
    assert get("trace").get_attr("TOpIsStateful") is True
    register_pattern("nn.relu", OpPattern.OPAQUE)
    assert get("nn.relu").get_attr("TOpPattern") == OpPattern.OPAQUE
    get("nn.relu").reset_attr("TOpPattern")
    assert get("nn.relu").get_attr("TOpPattern") == OpPattern.ELEMWISE


def test_calls_are_replaced_once():
    asked = []

    def again(attrs, inputs, types):
        asked.append([str(t) for t in types])
        return relay.nn.relu(relay.nn.relu(inputs[0]))

    mod = program("def @main(%x: Tensor[(2,), f32]) { nn.relu(tanh(nn.relu(%x))) }")
    with TempOpAttr("nn.relu", "FTVMLegalize", again):
        out = verified(passes.Legalize()(mod))
    assert count_ops(out) == {"nn.relu": 4, "tanh": 1}
    assert asked == [["Tensor[(2,), float32]"] * 2] * 2
    assert passes.Legalize()(mod) is mod
    assert passes.Legalize("FTVMOther")(mod) is mod


@pytest.mark.parametrize("wrong", [lambda *given: relay.const(1.0), lambda *given: 3])
def test_another_type_is_an_error(wrong):
    mod = program("def @main(%x: Tensor[(2,), f32]) { nn.relu(%x) }")
    with TempOpAttr("nn.relu", "FTVMLegalize", wrong), pytest.raises(RelayError) as failure:
        passes.Legalize()(mod)
    assert failure.value.codes == ("type-mismatch",)


@pytest.mark.parametrize(
    ("alter", "transforms"),
    [
        # x, w, v and the result; what is in between stays
        (in_layout("NHWC", "HWIO"), 4),
        (in_layout("NCHW4c", "OIHW4i4o", relay.nn.contrib_conv2d_nchwc, out_layout="NCHW4c"), 4),
        (in_layout("NCHW", "OIHW"), 0),
        (lambda *given: None, 0),
    ],
)
def test_layouts_are_those_that_are_asked_for(alter, transforms):
    mod = program(CONV)
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter):
        out = verified(passes.AlterOpLayout()(mod))
    assert count_ops(out).get("layout_transform", 0) == transforms
    before, after = (Interpreter(m).evaluate("main", *images()) for m in (mod, out))
    np.testing.assert_allclose(before, after, rtol=1e-4, atol=1e-4)


def test_what_has_no_layouts_is_replaced_as_it_is():
    def alter(attrs, inputs, types, result):
        return relay.maximum(inputs[0], relay.const(0.0))

    mod = program("def @main(%x: Tensor[(2,), f32]) { nn.relu(%x) }")
    with TempOpAttr("nn.relu", "FTVMAlterOpLayout", alter):
        assert count_ops(passes.AlterOpLayout()(mod)) == {"maximum": 1}


@pytest.mark.parametrize(("most", "joins"), [(2, 9), (3, 5), (4, 4), (10, 1)])
def test_joins_take_a_few_at_a_time(most, joins):
    parts = ", ".join([f"%x * {i}f" for i in range(10)])
    mod = program(f"def @main(%x: Tensor[(2,), f32]) {{ concatenate(({parts})) }}")
    out = verified(passes.SplitArgs(most)(mod))
    assert count_ops(out)["concatenate"] == joins
    expected = np.concatenate([np.ones(2) * i for i in range(10)])
    np.testing.assert_array_equal(out.evaluate("main", np.ones(2, "float32")), expected)
    with pytest.raises(RelayError, match="2 tensors or more"):
        passes.SplitArgs(1)(mod)
