"""Layouts: convolutions with the channels last, what goes along with them, and what does not."""

import re

import numpy as np
import pytest

import relay
import relay.testing.mobilenet
import relay.testing.resnet
import relay.testing.squeezenet
import relay.transform as passes
from relay.diagnostic import RelayError
from relay.interpreter.machine import Interpreter
from relay.ir.module import IRModule
from transform.cases import program, verified

CONV = "nn.conv2d(%x, %w, padding=(1, 1))"
HEAD = "%x: Tensor[(2, 4, 6, 6), float64], %w: Tensor[(4, 4, 3, 3), float64], %c: Tensor[(4,), float64]"
ALONG = [
    "%y + nn.relu(%y) * reshape(%c, newshape=(4, 1, 1))",
    "%y + %x",
    "%y + [[[1.5]], [[2.0]], [[0.5]], [[4.0]]]",
    "%y * 2.0 + nn.bias_add(%y, %c)",
    "where(%y > 0.0, %y, exp(%y))",
    "nn.prelu(%y, %c)",
    "nn.batch_norm(%y, %c, %c, %c, %c * %c).0",
    "nn.layer_norm(%y, %c, %c, axis=1)",
    "nn.instance_norm(%y, %c, %c)",
    "nn.group_norm(%y, %c, %c, num_groups=2)",
    "nn.lrn(%y)",
    "nn.softmax(%y, axis=1) + nn.log_softmax(%y, axis=-1)",
    "cumsum(%y, axis=2)",
    "nn.dropout(%y).0",
    "sum(%y, axis=(2, 3))",
    "mean(%y, axis=(2, 3), keepdims=True) * %y",
    "sum(%y, axis=1, exclude=True)",
    "max(%y, axis=0)",
    "argmax(%y, axis=1)",
    "argmax(%y, axis=(1, 2))",
    "sum(%y)",
    "collapse_sum_to(%y, shape=(1, 4, 1, 1)) * %y",
    "collapse_sum_to(%y, shape=(4, 1, 6))",
    "collapse_sum_to(%y, shape=(2, 4, 6, 6)) + collapse_sum_to(%y, shape=())",
    "concatenate((%y, %x, %y), axis=1)",
    "{ let %p = split(%y, indices_or_sections=2, axis=1); %p.1 * %p.0 }",
    "nn.pad(%y, 1.0, pad_width=((0, 0), (1, 2), (0, 3), (1, 0)))",
    'nn.mirror_pad(%y, pad_width=((0, 0), (0, 0), (1, 2), (1, 0)))',
    "strided_slice(%y, begin=(0, 1), end=(2, 3))",
    "strided_slice(%y, begin=(0,), end=(2, 3), strides=(1, 2))",
    "strided_slice(%y, begin=(1,), end=(5,), strides=(2,), axes=(-1,))",
    "slice_like(%y, strided_slice(%y, begin=(1,), end=(5,), axes=(3,)))",
    "transpose(%y, axes=(0, 2, 3, 1))",
    "transpose(reshape(%y, newshape=(2, 4, 36)), axes=(0, 2, 1))",
    "reshape(%y, newshape=(2, 2, 2, 6, 3, 2))",
    "reshape(%y, newshape=(2, 24, 6))",
    "nn.batch_flatten(nn.global_avg_pool2d(%y))",
    "squeeze(nn.global_max_pool2d(%y))",
    "expand_dims(%y, axis=2)",
    "nn.max_pool2d(%y, pool_size=(3, 2), strides=2, padding=(1, 1), ceil_mode=True)",
    "nn.avg_pool2d(%y, pool_size=(3, 2), padding=(1, 0), count_include_pad=True)",
    'nn.max_pool2d(%y, pool_size=(2, 2), out_layout="NHWC")',
    "nn.adaptive_avg_pool2d(%y, output_size=(3, 2))",
    "nn.upsampling(%y, scale_h=2.0, scale_w=2.0)",
    "nn.space_to_depth(%y, block_size=2)",
    'nn.depth_to_space(%y, block_size=2, mode="CRD")',
    "nn.conv2d(nn.relu(%y), %w, strides=2, groups=1)",
    "nn.conv2d(%y, strided_slice(%w, begin=(0, 0), end=(4, 1)), groups=4)",
    "nn.conv2d(%y, strided_slice(%w, begin=(0, 0), end=(4, 2)), groups=4)",
    "nn.conv2d(%y, strided_slice(%w, begin=(0, 0), end=(4, 2)), groups=2)",
    "nn.conv2d_transpose(%y, %w, strides=2)",
    'nn.conv2d(transpose(%y, axes=(0, 2, 3, 1)), %w, data_layout="NHWC", out_layout="NCHW")',
    "if (sum(%x) > 0.0) { nn.relu(%y) } else { %y - 1.0 }",
    "(%y, nn.relu(%y))",
]  # fmt: skip


def same(before: IRModule, after: IRModule, args: list) -> None:
    old, new = (Interpreter(m).evaluate("main", *args) for m in (before, after))
    for a, b in zip(*[x if isinstance(x, tuple) else (x,) for x in (old, new)], strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("body", ALONG)
def test_what_goes_along_has_its_value(body: str) -> None:
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(s) for s in ((2, 4, 6, 6), (4, 4, 3, 3), (4,))]
    mod = program(f"def @main({HEAD}) {{ let %y = {CONV}; {body} }}")
    for form in (mod, passes.to_graph_normal_form(mod), passes.to_anf(mod)):
        out = verified(passes.convert_layout(form))
        assert 'data_layout="NHWC"' in str(out)
        same(mod, out, args)


@pytest.mark.parametrize("body", ALONG[:6])
def test_gradients_are_turned_too(body: str) -> None:
    rng = np.random.default_rng(1)
    args = [rng.standard_normal(s) for s in ((2, 4, 6, 6), (4, 4, 3, 3), (4,))]
    text = (
        f"def @f({HEAD}) {{ let %y = {CONV}; sum({body}) }}\ndef @main({HEAD}) {{ grad(@f)(%x, %w, %c).1 }}"
    )
    mod = passes.expand_grad(program(text))
    out = verified(passes.convert_layout(mod))
    assert 'grad_layout="NHWC"' in str(out)
    same(mod, out, args)


def test_other_ranks() -> None:
    text = """def @main(%x: Tensor[(1, 2, 9), float64], %w: Tensor[(4, 2, 3), float64],
                        %z: Tensor[(1, 2, 4, 5, 6), float64], %v: Tensor[(4, 2, 3, 3, 3), float64]) {
      (nn.relu(nn.conv1d(%x, %w)), nn.max_pool3d(nn.conv3d(%z, %v), pool_size=2),
       nn.conv1d_transpose(nn.conv1d(%x, %w), %w), nn.conv3d_transpose(nn.conv3d(%z, %v), %v))
    }"""
    rng = np.random.default_rng(2)
    shapes = ((1, 2, 9), (4, 2, 3), (1, 2, 4, 5, 6), (4, 2, 3, 3, 3))
    mod = program(text)
    out = verified(passes.convert_layout(mod))
    assert {"NWC", "NDHWC"} <= set(re.findall(r'layout="(\w+)"', str(out)))
    same(mod, out, [rng.standard_normal(s) for s in shapes])


@pytest.mark.parametrize("network", [relay.testing.resnet, relay.testing.mobilenet, relay.testing.squeezenet])
def test_a_network_is_turned_at_its_edges_alone(network) -> None:
    mod, params = network.get_workload(batch_size=1)
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    out = passes.convert_layout(passes.simplify_inference(passes.infer_type(mod)))
    convolutions = str(out).count("nn.conv2d(")
    assert convolutions > 15
    assert str(out).count('kernel_layout="HWIO"') == convolutions
    assert str(out).count("transpose(") == 1


IMAGE = "%x: Tensor[(2, 4, 6, 6), float64]"
ROIS = "[[0.0, 1.0, 0.0, 4.0, 5.0], [1.0, 0.0, 2.0, 3.0, 3.0]]"
NAMED = {
    "nn.max_pool2d": "nn.max_pool2d(%x, pool_size=(3, 2), strides=(2, 1), padding=(1, 0))",
    "nn.avg_pool2d": "nn.relu(nn.avg_pool2d(%x, pool_size=(2, 2)))",
    "nn.global_avg_pool2d": "nn.global_avg_pool2d(%x)",
    "nn.adaptive_max_pool2d": "nn.adaptive_max_pool2d(%x, output_size=(3, 2))",
    "nn.upsampling": "nn.upsampling(%x, scale_h=2.0, scale_w=2.0)",
    "image.resize2d": 'exp(image.resize2d(%x, size=(4, 9), method="linear"))',
    "vision.roi_align": f"vision.roi_align(%x, {ROIS}, pooled_size=(2, 3), sample_ratio=2)",
    "vision.roi_pool": f"vision.roi_pool(%x, {ROIS}, pooled_size=(2, 3))",
    "image.crop_and_resize": "image.crop_and_resize(%x, [[0.0, 0.1, 0.5, 1.2]], [1], crop_size=(3, 4))",
    "nn.deformable_conv2d": 'nn.deformable_conv2d(%x, cast(full(0.3, shape=(2, 8, 5, 5)), dtype="float64"), '
    'cast(full(0.5, shape=(3, 4, 2, 2)), dtype="float64"))',
    "nn.conv2d_transpose": 'nn.conv2d_transpose(%x, ones(shape=(4, 3, 2, 2), dtype="float64"), strides=2)',
}
"""Programs by the operator whose layout is asked for."""


@pytest.mark.parametrize("name", NAMED)
def test_every_operator_with_a_layout_is_brought_to_another(name: str) -> None:
    mod = program(f"def @main({IMAGE}) {{ {NAMED[name]} }}")
    out = verified(passes.ConvertLayout({name: ["NHWC", "default"]})(mod))
    assert 'ayout="NHWC"' in str(out)
    same(mod, out, [np.random.default_rng(0).standard_normal((2, 4, 6, 6))])
    back = passes.ConvertLayout({name: ["NCHW", "default"]})(out)
    assert "NHWC" not in str(passes.fold_constants(back))
    same(mod, back, [np.random.default_rng(0).standard_normal((2, 4, 6, 6))])


QUANTISED = [
    "%y",
    "qnn.requantize(%y, [0.25, 0.5, 0.125, 1.0], [0, 0, 0, 0], 0.5, 3, axis=1)",
    "qnn.dequantize(%y, [0.25, 0.5, 0.125, 1.0], [0, 0, 0, 0], axis=1)",
    "qnn.add(%q, %q, [0.25, 0.5, 0.125, 1.0], [1, 2, 3, 4], 0.5, 1, 0.3, 2, lhs_axis=1)",
    "qnn.mul(%q, %q, 0.25, 1, 0.5, 1, 0.3, 2)",
    "qnn.concatenate((%q, %q), (0.25, 0.5), (1, 2), 0.3, 0, axis=1)",
    'qnn.avg_pool2d(%q, 0.5, 1, 0.25, 0, pool_size=(2, 2), layout="NCHW")',
    "qnn.tanh(%q, 0.5, 1, 0.1, 0)",
    "qnn.leaky_relu(%q, 0.5, 1, 0.1, 0, alpha=0.3)",
    "qnn.softmax(%q, 0.05, 1, 0.01, 0, axis=1)",
]


@pytest.mark.parametrize("body", QUANTISED)
@pytest.mark.parametrize("layouts", [["NHWC", "default"], ["NHWC", "OHWI"], ["NHCW", "HWIO"]])
def test_quantised_convolutions_and_what_goes_along_with_them(body: str, layouts: list[str]) -> None:
    mod = program(f"""def @main(%x: Tensor[(2, 3, 6, 5), int8], %w: Tensor[(4, 3, 2, 3), int8]) {{
      let %y = qnn.conv2d(%x, %w, 3, [1, -2, 0, 4], 0.5, [0.1, 0.2, 0.3, 0.4], padding=(1, 1));
      let %q = qnn.requantize(%y, 0.02, 0, 0.5, 1);
      {body}
    }}""")
    out = verified(passes.ConvertLayout({"qnn.conv2d": layouts})(mod))
    assert str(passes.dead_code(out)).count("transpose(") <= 3
    rng = np.random.default_rng(0)
    args = [rng.integers(-99, 99, s).astype("int8") for s in ((2, 3, 6, 5), (4, 3, 2, 3))]
    same(mod, out, args)


def test_a_program_without_convolutions_stays() -> None:
    mod = program("def @main(%x: Tensor[(1, 2, 4, 4), f32]) { nn.max_pool2d(nn.relu(%x), pool_size=(2, 2)) }")
    assert passes.convert_layout(mod) is mod


def test_a_field_of_a_parameter_is_turned_once() -> None:
    mod = program("""def @main(%p: (Tensor[(4, 4, 3, 3), float64],), %x: Tensor[(2, 4, 6, 6), float64]) {
      let %w = %p.0;
      let %y = nn.relu(nn.conv2d(%x, %w, padding=(1, 1)));
      let %v = %p.0;
      nn.conv2d(%y, %v, padding=(1, 1))
    }""")
    out = verified(passes.convert_layout(mod))
    assert str(out).count("axes=(2, 3, 1, 0)") == 1
    rng = np.random.default_rng(3)
    same(mod, out, [(rng.standard_normal((4, 4, 3, 3)),), rng.standard_normal((2, 4, 6, 6))])


def test_layouts_may_be_given() -> None:
    text = f"def @main({HEAD}) {{ nn.relu({CONV}) }}"
    out = passes.ConvertLayout({"nn.conv2d": ["NHWC", "OHWI"]})(program(text))
    assert 'kernel_layout="OHWI"' in str(out)
    assert "NHWC" not in str(passes.ConvertLayout({"nn.conv1d": ["NWC"]})(program(text)))
    back = passes.ConvertLayout({"nn.conv2d": ["NCHW", "default"]})(out)
    assert "layout" not in str(back)
    with pytest.raises(RelayError) as error:
        passes.ConvertLayout({"nn.conv2d": ["NHC"]})(program(text))
    assert error.value.diagnostics[0].code == "bad-layout"


def test_a_weight_of_one_place_stays_unless_layouts_are_given() -> None:
    text = """def @main(
        %x: Tensor[(1, 3, 8, 8), f32], %w: Tensor[(4, 3, 1, 1), f32], %v: Tensor[(4, 3, 2, 2), f32]
    ) { (nn.conv2d(%x, %w), nn.conv2d(%x, %v)) }"""
    mod = relay.infer(relay.parse(text))
    for given, turned in ((None, 1), ({"nn.conv2d": ["NHWC", "default"]}, 2)):
        assert str(passes.ConvertLayout(given)(mod)).count('kernel_layout="HWIO"') == turned


def test_levels() -> None:
    """The native backend chooses layouts from level 2 on."""
    from relay.pipelines import optimize_for_native

    mod = program(f"def @main({HEAD}) {{ nn.relu({CONV}) }}")
    for level in range(4):
        assert ("NHWC" in str(optimize_for_native(mod, ["main"], level))) == (level >= 2)
    with passes.PassContext(disabled_pass=["ConvertLayout"]):
        assert "NHWC" not in str(optimize_for_native(mod, ["main"]))


@pytest.mark.parametrize("layouts", [[], "NHWC", None, [3], ["NHWC", "HWIO", "NC"]])
def test_what_is_no_list_of_layouts_is_a_diagnostic(layouts) -> None:
    mod = program(f"def @main({HEAD}) {{ {CONV} }}")
    with pytest.raises(RelayError, match="cannot have the layouts") as caught:
        passes.ConvertLayout({"nn.conv2d": layouts})(mod)
    assert caught.value.codes == ("bad-layout",)
