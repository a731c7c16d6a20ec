"""Convolutions whose channels are in blocks, what stays in blocks behind them, and what does not."""

import numpy as np
import pytest

import relay
import relay.transform as passes
from relay.diagnostic import RelayError
from relay.interpreter.machine import Interpreter
from relay.ir.module import IRModule
from relay.testing import count_ops
from transform.cases import program, verified

SHAPES = ((2, 8, 6, 6), (8, 8, 3, 3), (8,))
HEAD = "%x: Tensor[(2, 8, 6, 6), float64], %w: Tensor[(8, 8, 3, 3), float64], %c: Tensor[(8,), float64]"
CONV = "nn.conv2d(%x, %w, padding=(1, 1))"
AGAIN = "nn.conv2d({}, %w)"
LAYOUTS = [
    ["NCHW4c", "OIHW4o4i"],
    ["NCHW4c", "OIHW2i8o"],
    ["NCHW8c", "default"],
    ["NCHW2c"],
    ["NHWC4c", "HWIO4i4o"],
    ["NCHW", "OIHW4o4i"],
]


def images(*shapes: tuple[int, ...]) -> list:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(s) for s in shapes or SHAPES]


def in_blocks(mod: IRModule, *layouts: str) -> IRModule:
    return verified(passes.ConvertLayout({"nn.conv2d": list(layouts or ("NCHW4c", "OIHW4o4i"))})(mod))


def same(before: IRModule, after: IRModule, args: list) -> None:
    old, new = (Interpreter(m).evaluate("main", *args) for m in (before, after))
    assert old.dtype == new.dtype
    np.testing.assert_allclose(new, old, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("layouts", LAYOUTS, ids=" ".join)
def test_a_chain_changes_layouts_at_its_edges(layouts: list[str]) -> None:
    mod = program(f"def @main({HEAD}) {{ {AGAIN.format(f'nn.relu({CONV})')} }}")
    for form in (mod, passes.to_graph_normal_form(mod), passes.to_anf(mod)):
        out = in_blocks(form, *layouts)
        counts = count_ops(out)
        assert counts["nn.contrib_conv2d_NCHWc"] == 2
        assert "nn.conv2d" not in counts
        # both weights, and unless it is as it was, the data and the result
        assert counts["layout_transform"] == (2 if layouts[0] == "NCHW" else 4)
        same(mod, out, images())


IN_BLOCKS = {
    "nn.bias_add(%y, %c)": 5,
    "nn.bias_add(%y, %c, axis=-3)": 5,
    "%y * reshape(%c, newshape=(8, 1, 1)) + 2.0": 5,
    "2.0 * %y + reshape(%c, newshape=(1, 8, 1, 1)) * %y": 5,
    "%y * [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]": 4,
    "%y + reshape([1.5, 2.5], newshape=(2, 1, 1, 1))": 4,
    "where(%y > 0.0, %y, exp(%y))": 4,
    'cast(cast(%y, dtype="float32"), dtype="float64")': 4,
    "concatenate((%y, nn.relu(%y), %y), axis=-1)": 4,
    "strided_slice(concatenate((%y, exp(%y)), axis=1), begin=(0, 4), end=(2, 12))": 6,
    "nn.max_pool2d(%y, pool_size=(3, 2), strides=(1, 2), padding=(1, 0, 2, 1))": 4,
    "nn.max_pool2d(%y, pool_size=2, dilation=(2, 1), ceil_mode=True)": 4,
    "nn.avg_pool2d(%y, pool_size=(3, 2), padding=(1, 0))": 4,
    "nn.avg_pool2d(%y, pool_size=(3, 2), padding=1, count_include_pad=True)": 4,
    "nn.global_avg_pool2d(%y) * %y": 4,
    "nn.global_max_pool2d(%y) + %y": 4,
}
"""What stays in blocks between two convolutions, and how many tensors enter and leave."""
PLAIN = [
    "%y + %x",
    "nn.softmax(%y, axis=1)",
    "strided_slice(concatenate((%y, %x), axis=1), begin=(0, 4), end=(2, 12))",
    "concatenate((%y, strided_slice(%y, begin=(0, 0), end=(2, 0))), axis=1)",
    'transpose(nn.max_pool2d(%y, out_layout="NHWC"), axes=(0, 3, 1, 2))',
    'transpose(nn.max_pool2d(transpose(%y, axes=(0, 2, 3, 1)), layout="NHWC"), axes=(0, 3, 1, 2))',
    "(if (sum(%x) > 0.0) { nn.relu(%y) } else { %y - 1.0 })",
]


@pytest.mark.parametrize("body", [*IN_BLOCKS, *PLAIN])
def test_what_comes_behind_has_its_value(body: str) -> None:
    mod = program(f"def @main({HEAD}) {{ let %y = {CONV}; {AGAIN.format(body)} }}")
    out = in_blocks(mod)
    assert count_ops(out)["nn.contrib_conv2d_NCHWc"] == 2
    if body in IN_BLOCKS:
        assert count_ops(out)["layout_transform"] == IN_BLOCKS[body]
    same(mod, out, images())


def test_convolutions_in_other_layouts_and_with_all_attributes() -> None:
    mod = program("""def @main(%x: Tensor[(2, 7, 6, 8), float64], %w: Tensor[(3, 2, 8, 4), float64]) {
      nn.conv2d(%x, %w, strides=(2, 1), padding=(1, 0, 2, 1), dilation=(1, 2), channels=4, kernel_size=(3, 2),
        data_layout="NHWC", kernel_layout="HWIO", out_layout="NCHW")
    }""")
    out = in_blocks(mod)
    assert count_ops(out) == {"layout_transform": 3, "nn.contrib_conv2d_NCHWc": 1}
    same(mod, out, images((2, 7, 6, 8), (3, 2, 8, 4)))


@pytest.mark.parametrize(
    ("data", "weight", "groups", "layouts", "becomes"),
    [
        (8, (8, 1), 8, ["NCHW4c", "default"], "nn.contrib_depthwise_conv2d_NCHWc"),
        (8, (16, 1), 8, ["NCHW4c", "OIHW1i4o"], "nn.contrib_depthwise_conv2d_NCHWc"),
        (8, (8, 1), 8, ["NCHW4c", "OIHW4o4i"], "nn.conv2d"),
        (8, (8, 4), 2, ["NCHW4c", "OIHW4o4i"], "nn.contrib_conv2d_NCHWc"),
        (8, (8, 2), 4, ["NCHW4c", "OIHW4o4i"], "nn.conv2d"),
        (3, (8, 3), 1, ["NCHW4c", "OIHW4o4i"], "nn.conv2d"),
        (8, (6, 8), 1, ["NCHW4c", "OIHW4i2o"], "nn.conv2d"),
    ],
)
def test_groups_and_channels_that_are_not_whole_blocks(data, weight, groups, layouts, becomes) -> None:
    image, kernel = f"Tensor[(1, {data}, 5, 5), float64]", f"Tensor[{(*weight, 3, 3)}, float64]"
    mod = program(f"def @main(%x: {image}, %w: {kernel}) {{ nn.relu(nn.conv2d(%x, %w, groups={groups})) }}")
    out = in_blocks(mod, *layouts)
    assert count_ops(out)[becomes] == 1
    assert count_ops(out).get("layout_transform", 0) == (0 if becomes == "nn.conv2d" else 3)
    same(mod, out, images((1, data, 5, 5), (*weight, 3, 3)))


def test_a_batch_of_any_size() -> None:
    mod = program("""def @main(%x: Tensor[(?, 8, 6, 6), float64], %w: Tensor[(8, 8, 1, 1), float64]) {
      let %y = nn.relu(nn.conv2d(%x, %w));
      nn.conv2d(nn.global_avg_pool2d(%y) * %y, %w)
    }""")
    out = in_blocks(mod)
    assert count_ops(out)["layout_transform"] == 4
    same(mod, out, images((3, 8, 6, 6), (8, 8, 1, 1)))


def test_blocks_are_joined() -> None:
    mod = program("""def @main(%x: Tensor[(1, 8, 6, 6), float64], %w: Tensor[(4, 8, 1, 1), float64]) {
      let %y = nn.relu(nn.conv2d(%x, %w));
      let %fields = (%y, tanh(%y));
      nn.conv2d(concatenate(%fields, axis=1), %w)
    }""")
    out = in_blocks(mod)
    assert count_ops(out)["layout_transform"] == 4
    assert "axis=1" in str(out)
    same(mod, out, images((1, 8, 6, 6), (4, 8, 1, 1)))


def test_gradients_go_through_blocks() -> None:
    text = f"def @f({HEAD}) {{ sum(nn.relu(nn.bias_add({CONV}, %c)) * %x) }}"
    mod = program(f"{text}\ndef @main({HEAD}) {{ grad(@f)(%x, %w, %c).1.1 }}")
    out = passes.expand_grad(in_blocks(mod))
    same(passes.expand_grad(mod), verified(out), images())


def test_machine_code_of_blocks() -> None:
    text = f"def @main({HEAD}) {{ {AGAIN.format(f'nn.max_pool2d(nn.bias_add({CONV}, %c), pool_size=2)')} }}"
    mod, args = program(text), images()
    made = relay.create_executor("vm", mod=in_blocks(mod)).evaluate()(*args)
    np.testing.assert_allclose(np.asarray(made), Interpreter(mod).evaluate("main", *args), rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "layouts"),
    [
        ("nn.conv2d", ["NCHW4x", "default"]),
        ("nn.conv2d", ["NCH4c", "default"]),
        ("nn.conv2d", ["NCHW4h", "OIHW"]),
        ("nn.conv2d", ["NCHW4c2c", "OIHW"]),
        ("nn.conv2d", ["NCHW4c", "OIHW4o4x"]),
        ("nn.conv2d", ["NHWC", "HWI"]),
        ("nn.conv3d", ["NCDHW4c", "default"]),
        ("nn.max_pool2d", ["NCHW4c"]),
    ],
)
def test_layouts_that_are_none(name: str, layouts: list[str]) -> None:
    with pytest.raises(RelayError) as error:
        passes.ConvertLayout({name: layouts})(program(f"def @main({HEAD}) {{ {CONV} }}"))
    (said,) = error.value.diagnostics
    assert said.code == "bad-layout"
    assert "NCHW4c" in said.hint
