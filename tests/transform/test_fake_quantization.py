"""Quantised networks in integers: what the floats between gave, to the steps that are documented."""

import numpy as np
import pytest

import relay.transform as passes
from relay.diagnostic import RelayError
from relay.interpreter.machine import Interpreter
from transform.cases import program, verified

HEAD = (
    """
def @main(%x: Tensor[(1, 4, 6, 6), int8], %y: Tensor[(1, 5, 6, 6), int8], %w: Tensor[(5, 4, 3, 3), int8],
          %s: Tensor[(5,), f32], %b: Tensor[(5,), f32], %v: Tensor[(3, 5), uint8]) {
  %X = qnn.dequantize(%x, 0.05, 3);
  %Y = qnn.dequantize(%y, 0.11, -7);
  %W = qnn.dequantize(%w, %s, 0, axis=0);
  %V = qnn.dequantize(%v, 0.02, 100);
  %C = nn.conv2d(%X, %W, padding=(1, 1));
""".replace("%X", "%0")
    .replace("%Y", "%1")
    .replace("%W", "%2")
    .replace("%V", "%3")
    .replace("%C", "%4")
)
REGIONS = {
    "nothing": ("%1, 0.2, 5", 1),
    "convolution of scales by channel": ("%4, 0.09, 1", 1),
    "bias": ("nn.bias_add(%4, %b), 0.09, 1", 1),
    "bias that is a sum": ("%4 + expand_dims(%b, axis=1, num_newaxis=2), 0.09, 1", 1),
    "rectifier": ("nn.relu(nn.bias_add(%4, %b)), 0.09, -100", 1),
    "clip": ("clip(nn.bias_add(%4, %b), a_min=0.0, a_max=6.0), 0.09, -100", 1),
    "sum of branches": ("nn.relu(nn.bias_add(%4, %b) + %1), 0.15, -20", 1),
    "difference": ("%1 - %4, 0.15, 0", 1),
    "product": ("%1 * %1, 1.4, 0", 1),
    "moved": ("reshape(transpose(nn.max_pool2d(%4, pool_size=(2, 2)), axes=(0, 1, 3, 2)), newshape=(5, -1)),"
              "0.09, 1", None),
    "greatest": ("nn.max_pool2d(%4, pool_size=(2, 2), strides=(2, 2)), 0.09, 1", 1),
    "border": ("nn.pad(%1, pad_width=((0, 0), (0, 0), (1, 0), (0, 2))), 0.11, 4", 1),
    "mean": ("nn.global_avg_pool2d(%1), 0.07, -4", 1),
    "mean of windows": ("nn.avg_pool2d(%1, pool_size=(2, 3), padding=(1, 1)), 0.1, -4", 1),
    "dense": ("nn.dense(nn.batch_flatten(nn.global_avg_pool2d(%1)), %3), 0.2, 8", None),
    "dense of reshaped": ("nn.dense(reshape(nn.max_pool2d(%1, pool_size=(6, 6)), newshape=(1, 5)), %3),"
                                  "0.2, 8", 1),
    "function": ("sigmoid(%1), 0.004, -128", 1),
    "leaky rectifier": ("nn.leaky_relu(%1, alpha=0.1), 0.1, -7", 1),
    "joined": ("concatenate((%1, %1, nn.relu(%1)), axis=1), 0.13, -7", 1),
    "out of the range": ("%4 * %4, 0.01, 0", 1),
}  # fmt: skip


def values():
    random = np.random.default_rng(1)
    draw = lambda shape, low, high, dtype: random.integers(low, high, shape).astype(dtype)  # noqa: E731
    return [
        draw((1, 4, 6, 6), -128, 128, "int8"), draw((1, 5, 6, 6), -128, 128, "int8"),
        draw((5, 4, 3, 3), -30, 30, "int8"), random.uniform(0.01, 0.03, 5).astype("float32"),
        random.normal(size=5).astype("float32"), draw((3, 5), 0, 255, "uint8"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", REGIONS)
def test_integers_give_what_floats_gave(name):
    region, steps = REGIONS[name]
    mod = program(f"{HEAD} qnn.quantize({region}) }}")
    before = Interpreter(mod).evaluate("main", *values())
    for form in (mod, passes.to_anf(mod)):
        out = passes.dead_code(passes.fake_quantization_to_integer(form))
        after = Interpreter(verified(out)).evaluate("main", *values())
        if steps is None or name == "out of the range":
            assert "dequantize" in str(out)
            np.testing.assert_array_equal(before, after)
            continue
        assert "dequantize" not in str(out)
        assert before.dtype == after.dtype
        assert np.abs(before.astype(int) - after.astype(int)).max() <= steps
        assert np.mean(before != after) < 0.3


def test_optional_operators_are_taken_when_they_are_named():
    mod = program(
        "def @main(%x: Tensor[(2, 5), int8]) "
        "{ qnn.quantize(nn.softmax(qnn.dequantize(%x, 0.1, 3)), 0.01, 0) }"
    )
    assert passes.fake_quantization_to_integer(mod) is mod
    out = passes.fake_quantization_to_integer(mod, optional_qnn_ops=["nn.softmax"])
    assert "qnn.softmax(" in str(out)
    x = np.arange(10, dtype="int8").reshape(2, 5)
    np.testing.assert_array_equal(Interpreter(mod).evaluate("main", x), Interpreter(out).evaluate("main", x))


def test_what_has_no_form_in_integers_stays_or_is_an_error():
    text = f"{HEAD} qnn.quantize(cos(nn.bias_add(%4, %b)), 0.01, 0) }}"
    mod = program(text)
    assert passes.fake_quantization_to_integer(mod) is mod
    with pytest.raises(RelayError) as error:
        passes.fake_quantization_to_integer(mod, hard_fail=True)
    assert error.value.codes == ("no-integer-form",)
    plain = program("def @main(%x: Tensor[(5,), f32]) { qnn.quantize(cos(%x), 0.01, 0) }")
    assert passes.fake_quantization_to_integer(plain, hard_fail=True) is plain


def test_products_of_quantised_data_are_taken_in_integers_for_what_is_no_more():
    mod = program(f"{HEAD} cos(nn.bias_add(%4, %b)) }}")
    out = passes.dead_code(passes.fake_quantization_to_integer(mod, use_qat=True))
    assert "qnn.conv2d(%x, %w" in str(out)
    before, after = (Interpreter(m).evaluate("main", *values()) for m in (mod, verified(out)))
    np.testing.assert_allclose(before, after, rtol=0, atol=1e-4)


def test_a_value_with_other_readers_is_there_for_them():
    mod = program(f"{HEAD} (qnn.quantize(nn.relu(%4), 0.09, 0), exp(-nn.relu(%4))) }}")
    out = passes.fake_quantization_to_integer(mod)
    before, after = (Interpreter(m).evaluate("main", *values()) for m in (mod, verified(out)))
    assert np.abs(before[0].astype(int) - after[0].astype(int)).max() <= 1
    np.testing.assert_array_equal(before[1], after[1])


def test_products_that_are_halves_are_rounded_to_even_as_before():
    """Products of numbers of one half are quarters, so that many are halves of the result's step."""
    text = """
def @main(%x: Tensor[(16, 1), int8], %y: Tensor[(1, 16), int8]) {
  qnn.quantize(qnn.dequantize(%x, 0.5, 0) * qnn.dequantize(%y, 0.5, 1), 1.0, 3)
}
"""
    mod = program(text)
    done = verified(passes.fake_quantization_to_integer(mod))
    assert "qnn.mul" in str(done)
    x, y = np.arange(-8, 8, dtype="int8")[:, None], np.arange(-8, 8, dtype="int8")[None]
    wanted = np.rint(x * 0.5 * ((y - 1) * 0.5)) + 3
    for each in (mod, done):
        np.testing.assert_array_equal(Interpreter(each).evaluate("main", x, y), wanted)
