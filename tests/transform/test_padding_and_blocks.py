"""Borders and blocks that convolutions take over: the same values with less to do."""

import numpy as np
import pytest

import relay.transform as passes
from relay.interpreter.machine import Interpreter
from transform.cases import program, verified

BORDER = "pad_width=((0, 0), (0, 0), (1, 0), (2, 1))"
FOLDED = {
    "convolution": (
        f"nn.conv2d(nn.pad(%x, {BORDER}), %w, padding=(0, 1, 1, 0), strides=(2, 1), dilation=(1, 2))",
        "nn.conv2d(%x, %w, strides=(2, 1), padding=(1, 3, 1, 1), dilation=(1, 2))",
    ),
    "greatest": (
        f"nn.max_pool2d(nn.pad(%x, -inf, {BORDER}), pool_size=(3, 2))",
        "nn.max_pool2d(%x, pool_size=(3, 2), padding=(1, 2, 0, 1))",
    ),
    "mean": (
        f"nn.avg_pool2d(nn.pad(%x, {BORDER}), pool_size=(3, 2))",
        "nn.avg_pool2d(%x, pool_size=(3, 2), padding=(1, 2, 0, 1), count_include_pad=True)",
    ),
}
KEPT = {
    "another value": f"nn.conv2d(nn.pad(%x, 1f, {BORDER}), %w)",
    "zeros before the greatest": f"nn.max_pool2d(nn.pad(%x, {BORDER}), pool_size=(3, 2))",
    "minus zero": f"nn.conv2d(nn.pad(%x, -0f, {BORDER}), %w)",
    "more channels": "nn.conv2d(nn.pad(%x, pad_width=((0, 0), (0, 1), (0, 0), (0, 0))), %v)",
    "mirrored": f'nn.conv2d(nn.pad(%x, {BORDER}, pad_mode="reflect"), %w)',
    "rounded up": f"nn.avg_pool2d(nn.pad(%x, {BORDER}), pool_size=(3, 2), ceil_mode=True)",
    "padding that does not count": f"nn.avg_pool2d(nn.pad(%x, {BORDER}), pool_size=(3, 2), padding=(1, 1))",
}
HEAD = (
    "def @main(%x: Tensor[(2, 3, 7, 8), f32], %w: Tensor[(4, 3, 3, 3), f32], %v: Tensor[(4, 4, 3, 3), f32]) "
)


def values():
    random = np.random.default_rng(0)
    return [random.normal(size=s).astype("float32") for s in ((2, 3, 7, 8), (4, 3, 3, 3), (4, 4, 3, 3))]


def agree(before, after, args):
    verified(after)
    one, other = (Interpreter(m).evaluate("main", *args) for m in (before, after))
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", FOLDED)
def test_a_border_is_laid_by_what_reads_it(name):
    text, expected = FOLDED[name]
    mod = program(f"{HEAD} {{ {text} }}")
    for form in (mod, passes.to_anf(mod)):
        out = passes.dead_code(passes.fold_explicit_padding(form))
        assert expected in str(passes.to_graph_normal_form(out))
        agree(mod, out, values())


@pytest.mark.parametrize("name", KEPT)
def test_another_border_stays(name):
    mod = program(f"{HEAD} {{ {KEPT[name]} }}")
    assert passes.fold_explicit_padding(mod) is mod


def test_a_border_of_the_zero_point_is_the_padding_of_a_quantised_convolution():
    mod = program("""
    def @main(%x: Tensor[(1, 2, 5, 5), uint8], %w: Tensor[(3, 2, 3, 3), int8]) {
      %0 = nn.pad(%x, cast(3, dtype=uint8), pad_width=((0, 0), (0, 0), (1, 1), (1, 1)));
      qnn.conv2d(%0, %w, 3, 0, 0.5, 0.25)
    }""")
    out = passes.fold_explicit_padding(mod)
    assert "nn.pad" not in str(out)
    random = np.random.default_rng(0)
    args = [
        random.integers(0, 255, (1, 2, 5, 5)).astype("uint8"),
        random.integers(-9, 9, (3, 2, 3, 3)).astype("int8"),
    ]
    agree(mod, out, args)
    other = program(str(mod).replace("%0, %w, 3i32", "%0, %w, 4i32"))
    assert passes.fold_explicit_padding(other) is other


BLOCKS = """
def @main(%x: Tensor[(2, 9, 10, 3), f32], %w: Tensor[(3, 2, 3, 4), f32]) {{
  %0 = nn.space_to_batch_nd(%x, block_shape=({b}), paddings=({p}));
  %1 = nn.conv2d(%0, %w, data_layout="NHWC", kernel_layout="HWIO", {more});
  nn.batch_to_space_nd(%1, block_shape=({b}), crops=({c}))
}}"""


@pytest.mark.parametrize(
    ("b", "p", "c", "more", "found"),
    [
        ("2, 3", "(2, 1), (1, 4)", "(0, 0), (0, 0)", "padding=(0, 0)",
         "padding=(2, 1, 1, 4), dilation=(2, 3)"),
        ("2, 3", "(2, 3), (1, 4)", "(1, 0), (1, 2)", "padding=(0, 0)",
         "padding=(1, 0, 3, 2), dilation=(2, 3)"),
        ("2, 1", "(1, 0), (0, 0)", "(1, 2), (0, 0)", "padding=(1, 0), strides=(1, 2), dilation=(1, 2)",
         "strides=(1, 2), padding=(2, 0, 0, 0), dilation=(2, 2)"),
        ("2, 3", "(2, 1), (1, 4)", "(3, 0), (0, 0)", "padding=(0, 0)", ""),
        ("2, 2", "(2, 1), (1, 1)", "(0, 0), (0, 0)", "padding=(0, 0), strides=(2, 1)", ""),
    ],
)  # fmt: skip
def test_blocks_around_a_convolution_are_dilation(b, p, c, more, found):
    mod = program(BLOCKS.format(b=b, p=p, c=c, more=more))
    out = passes.flatten_atrous_conv(mod)
    if not found:
        assert out is mod
        return
    assert found in str(out)
    assert "batch" not in str(out)
    random = np.random.default_rng(0)
    agree(mod, out, [random.normal(size=s).astype("float32") for s in ((2, 9, 10, 3), (3, 2, 3, 4))])


def test_blocks_of_other_sizes_or_values_stay():
    text = BLOCKS.format(b="2, 3", p="(2, 1), (1, 4)", c="(0, 0), (0, 0)", more="padding=(0, 0)")
    for other in (
        text.replace("4)))", "4)), pad_value=1.0)"),
        text.replace("(%1, block_shape=(2, 3)", "(%1, block_shape=(3, 2)"),
    ):
        mod = program(other)
        assert passes.flatten_atrous_conv(mod) is mod
