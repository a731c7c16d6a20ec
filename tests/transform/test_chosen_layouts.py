"""`ConvertLayout` where users say what becomes of calls, and which stay."""

import numpy as np
import pytest

import relay
from relay.diagnostic import RelayError
from relay.ir.walk import post_order
from relay.testing.temp_op_attr import TempOpAttr
from relay.transform import ConvertLayout, LayoutConfig
from relay.transform.infer_layout_utils import InferCorrectLayoutOutput
from transform.cases import program, verified

KEY = "FTVMConvertOpLayout"
FOLLOWS = "FInferCorrectLayout"
CHAIN = """
def @main(%x: Tensor[(1, 4, 6, 6), f32], %w: Tensor[(8, 4, 3, 3), f32], %v: Tensor[(8, 8, 1, 1), f32],
          %b: Tensor[(8,), f32]) {
  let %y = nn.max_pool2d(nn.relu(nn.bias_add(nn.conv2d(%x, %w, padding=(1, 1)), %b)), pool_size=(2, 2));
  nn.conv2d(nn.conv2d(%y, %v), %v)
}
"""


def values():
    random = np.random.default_rng(0)
    return [random.normal(size=s).astype("float32") for s in ((1, 4, 6, 6), (8, 4, 3, 3), (8, 8, 1, 1), 8)]


def calls(mod, name="nn.conv2d"):
    every = [e for f in mod.functions.values() for e in post_order(f)]
    return [e for e in every if isinstance(e, relay.Call) and e.op == relay.op.get(name)]


def layouts(mod):
    return [e.attrs.data_layout for e in calls(mod)]


def converted(desired, text=CHAIN):
    """The program in these layouts, which computes the same."""
    mod = program(text)
    out = verified(ConvertLayout(desired)(mod))
    expected = mod.evaluate("main", *values())
    np.testing.assert_allclose(out.evaluate("main", *values()), expected, rtol=1e-5, atol=1e-5)
    return out


def chosen(seen, **more):
    def convert(attrs, inputs, types, desired_layouts):
        seen.append([tuple(t.shape) for t in types])
        kept = {"padding": attrs.padding, "kernel_size": types[1].shape[2:], "channels": types[1].shape[0]}
        data, kernel = desired_layouts
        return relay.nn.conv2d(*inputs, **kept, data_layout=data, kernel_layout=kernel, **more)

    return convert


def test_a_function_is_given_operands_types_and_what_is_desired():
    seen = []
    with TempOpAttr("nn.conv2d", KEY, chosen(seen)):
        out = converted({"nn.conv2d": ["NHWC", "OHWI"]})
    assert seen == [[(1, 4, 6, 6), (8, 4, 3, 3)], [(1, 8, 5, 5), (8, 8, 1, 1)], [(1, 8, 5, 5), (8, 8, 1, 1)]]
    assert [(e.attrs.data_layout, e.attrs.kernel_layout) for e in calls(out)] == [("NHWC", "OHWI")] * 3
    assert calls(out, "nn.max_pool2d")[0].attrs.layout == "NHWC"


def test_what_a_function_leaves_stays():
    def convert(attrs, inputs, types, desired_layouts):
        return chosen([])(attrs, inputs, types, desired_layouts) if types[1].shape[2] == 1 else None

    with TempOpAttr("nn.conv2d", KEY, convert):
        assert layouts(converted({"nn.conv2d": ["NHWC", "HWIO"]})) == ["NCHW", "NHWC", "NHWC"]


def test_a_function_is_asked_only_where_layouts_are_desired():
    seen = []
    with TempOpAttr("nn.conv2d", KEY, chosen(seen)):
        assert layouts(converted({"nn.max_pool2d": ["NHWC"]})) == ["NCHW"] * 3
    assert seen == []


def test_a_function_may_choose_blocks_of_channels():
    def convert(attrs, inputs, types, desired_layouts):
        window = types[1].shape[2:]
        kept = {"padding": attrs.padding, "kernel_size": window, "channels": 8}
        blocks = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i4o"}
        return relay.op.nn.contrib_conv2d_NCHWc(*inputs, **kept, **blocks)

    with TempOpAttr("nn.conv2d", KEY, convert):
        out = converted({"nn.conv2d": ["NCHW4c", "OIHW4i4o"]})
    assert len(calls(out, "nn.contrib_conv2d_NCHWc")) == 3
    moved = [e.attrs.dst_layout for e in calls(out, "layout_transform")]
    assert moved.count("NCHW4c") == 2  # the data and the bias
    assert moved.count("NCHW") == 1


def test_a_function_may_make_something_else_of_the_same_type():
    with TempOpAttr("nn.conv2d", KEY, lambda attrs, inputs, *_: attrs(*inputs) * relay.const(1.0)):
        assert len(calls(converted({"nn.conv2d": ["NHWC", "default"]}), "multiply")) == 3
    with (
        TempOpAttr("nn.conv2d", KEY, lambda attrs, inputs, *_: inputs[0]),
        pytest.raises(RelayError, match="type-mismatch"),
    ):
        ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(program(CHAIN))


def test_an_operator_without_a_layout_of_its_own_may_have_a_function():
    seen = []

    def convert(attrs, inputs, types, desired_layouts):
        seen.append(desired_layouts)
        return inputs[0] * relay.const(1.0) if desired_layouts == ["any"] else None

    with TempOpAttr("tanh", KEY, convert):
        out = verified(ConvertLayout({"tanh": ["any"]})(program("def @main(%x: f32) { tanh(%x) }")))
    assert "%x * 1f" in str(out)
    assert seen == [["any"]]


@pytest.mark.parametrize("desired", [None, {"nn.conv2d": ["NHWC", "default"]}])
def test_convolutions_are_left_by_their_numbers(desired):
    with LayoutConfig(skip_layers=[0, 2]):
        assert layouts(converted(desired)) == ["NCHW", "NHWC", "NCHW"]
    assert LayoutConfig.current is None
    assert "NCHW" not in layouts(converted(desired))


def test_blocks_and_functions_are_left_by_their_numbers_too():
    with LayoutConfig(skip_layers=[1]):
        out = converted({"nn.conv2d": ["NCHW4c", "default"]})
    assert len(calls(out)) == 1
    assert len(calls(out, "nn.contrib_conv2d_NCHWc")) == 2
    seen = []
    with TempOpAttr("nn.conv2d", KEY, chosen(seen)), LayoutConfig(skip_layers=[0]):
        assert layouts(converted({"nn.conv2d": ["NHWC", "HWIO"]})) == ["NCHW", "NHWC", "NHWC"]
    assert len(seen) == 2


def test_numbers_go_on_from_one_module_to_the_next():
    with LayoutConfig(skip_layers=[4]) as config:
        assert layouts(converted({"nn.conv2d": ["NHWC", "default"]})) == ["NHWC"] * 3
        assert layouts(converted({"nn.conv2d": ["NHWC", "default"]})) == ["NHWC", "NCHW", "NHWC"]
        with LayoutConfig(skip_layers=[0]) as inner:
            assert LayoutConfig.current is inner
        assert LayoutConfig.current is config
        config.reset()
        assert layouts(converted({"nn.conv2d": ["NHWC", "default"]})) == ["NHWC"] * 3


def test_a_function_says_how_an_operator_follows():
    seen = []

    def stays(attrs, new_in_layouts, old_in_layouts, old_in_types):
        seen.append((list(new_in_layouts), list(old_in_layouts), [t.shape for t in old_in_types]))
        return InferCorrectLayoutOutput(old_in_layouts, old_in_layouts[:1], attrs)

    def follows(attrs, new_in_layouts, old_in_layouts, old_in_types):
        return InferCorrectLayoutOutput(new_in_layouts, new_in_layouts, attrs)

    desired = {"nn.conv2d": ["NHWC", "default"]}
    moved = len(calls(converted(desired), "transpose"))
    with TempOpAttr("nn.relu", FOLLOWS, stays):
        out = converted(desired)
    assert seen == [(["NHWC"], ["NCHW"], [(1, 8, 6, 6)])]
    assert len(calls(out, "transpose")) == moved + 2
    with TempOpAttr("nn.relu", FOLLOWS, follows):
        assert str(converted(desired)) == str(converted(desired))
        assert len(calls(converted(desired), "transpose")) == moved


@pytest.mark.parametrize("said", [None, InferCorrectLayoutOutput(["NHW"], ["NHW"], None)])
def test_what_a_function_must_say_of_layouts(said):
    with TempOpAttr("nn.relu", FOLLOWS, lambda *_: said), pytest.raises(RelayError, match="bad-layout"):
        ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(program(CHAIN))
