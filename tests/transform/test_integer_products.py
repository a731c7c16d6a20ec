"""Products of dequantised bytes in integers: what a program becomes, and that its value stays."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.transform.passes.dead_code import dead_code
from relay.transform.passes.integer_products import integer_products

rng = np.random.default_rng(5)
SCALES = "[0.5f, 0.25f, 0.125f, 1f]"
X = "qnn.dequantize(%x, 0.125f, 117u8)"
LAYERS = {
    "one zero point": f"nn.dense({X}, qnn.dequantize(%w, 0.5f, 3i8))",
    "scales of channels": f"nn.dense({X}, qnn.dequantize(%w, {SCALES}, [0i8, 0i8, 0i8, 0i8], axis=0))",
    "zero points of channels": f"nn.dense({X}, qnn.dequantize(%w, {SCALES}, [1i8, 0i8, -3i8, 9i8], axis=0))",
    "matmul": f"nn.matmul({X}, qnn.dequantize(%w, 0.5f, 0i8), transpose_b=True)",
    "bias and relu": "qnn.quantize(nn.relu(nn.bias_add("
    f"nn.dense({X}, qnn.dequantize(%w, 0.5f, 0i8)), {SCALES})), 3f, 9u8, out_dtype=uint8)",
}


def drawn(t: Any) -> Any:
    """Random numbers of a type, whose open sizes are 3."""
    shape = [d if isinstance(d, int) else 3 for d in t.shape]
    if t.dtype == "float32":
        return rng.standard_normal(shape).astype("float32")
    info = np.iinfo(t.dtype)
    return rng.integers(info.min, info.max, shape, t.dtype, endpoint=True)


def check(text: str) -> str:
    """The program after the pass, whose value, also compiled, is that of the floats before it."""
    mod = relay.infer(relay.parse(text))
    made = integer_products(mod)
    args = [drawn(p.type_annotation) for p in mod["main"].params]
    wanted = np.asarray(mod.evaluate("main", *args)).astype("float64")
    for found in (made.evaluate("main", *args), relay.build(mod)(*args)):
        assert np.asarray(found).dtype == np.asarray(mod.evaluate("main", *args)).dtype
        np.testing.assert_allclose(np.asarray(found).astype("float64"), wanted, rtol=1e-6, atol=1e-6)
    return str(dead_code(made))


@pytest.mark.parametrize("layer", list(LAYERS))
@pytest.mark.parametrize("rows", ["5", "n"])
def test_matrices(layer: str, rows: str) -> None:
    head = f"def @main(%x: Tensor[({rows}, 9), uint8], %w: Tensor[(4, 9), int8])"
    assert "out_dtype=int32" in check(f"{head} {{ {LAYERS[layer]} }}")


@pytest.mark.parametrize(
    ("rank", "attrs"),
    [
        (1, "strides=2, padding=1"),
        (2, "padding=(1, 0, 2, 1), dilation=(2, 1)"),
        (2, "groups=2, padding=1"),
        (3, "padding=1"),
    ],
)
def test_convolutions(rank: int, attrs: str) -> None:
    channels = 2 if "groups" in attrs else 4
    data, weight = ", ".join(["6"] * rank), ", ".join(["3"] * rank)
    w = f"qnn.dequantize(%w, {SCALES}, [0i8, 0i8, 0i8, 0i8], axis=0)"
    text = check(
        f"def @main(%x: Tensor[(2, 4, {data}), uint8], %w: Tensor[(4, {channels}, {weight}), int8]) "
        f"{{ nn.conv{rank}d({X}, {w}, {attrs}) }}"
    )
    assert "out_dtype=int32" in text


def test_transposed_convolutions() -> None:
    text = check(
        "def @main(%x: Tensor[(1, 4, 5, 5), uint8], %w: Tensor[(4, 3, 3, 3), int8]) { nn.conv2d_transpose("
        f"{X}, qnn.dequantize(%w, [0.5f, 0.25f, 1f], [0i8, 0i8, 0i8], axis=1), strides=(2, 2)) }}"
    )
    assert "out_dtype=int32" in text


def test_a_network_keeps_integers_between_its_layers() -> None:
    text = check(
        "def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), int8]) {"
        "  let %q = qnn.quantize(%x, 0.02f, 128u8, out_dtype=uint8);"
        "  let %w = qnn.dequantize(%w, 0.01f, 0i8);"
        "  let %a = nn.conv2d(qnn.dequantize(%q, 0.02f, 128u8), %w, padding=(1, 1));"
        "  let %b = qnn.dequantize(qnn.quantize(nn.relu(%a), 0.5f, 0u8, out_dtype=uint8), 0.5f, 0u8);"
        "  let %c = nn.max_pool2d(%b, pool_size=(2, 2), strides=(2, 2));"
        "  let %d = qnn.dequantize(qnn.quantize(%c, 0.5f, 0u8, out_dtype=uint8), 0.5f, 0u8);"
        "  qnn.quantize(nn.conv2d(%d, %w) + %c[:, :, 1:3, 1:3], 4f, 0u8, out_dtype=uint8)"
        "}"
    )
    assert text.count("out_dtype=int32") == 2
    assert "qnn.dequantize" not in text
    assert text.count("out_dtype=int32") == 2
    assert "uint8] = qnn" not in text


@pytest.mark.parametrize(
    "body",
    [
        "nn.dense(qnn.dequantize(%x, 0.5f, 0u8), %f)",
        "nn.dense(qnn.dequantize(%x, [0.5f, 1f, 2f], [0u8, 0u8, 0u8], axis=0), qnn.dequantize(%w, 1f, 0i8))",
        "nn.dense(qnn.dequantize(%x, 0.5f, 0u8), qnn.dequantize(%w, [0.5f, 1f], [0i8, 0i8], axis=1))",
    ],
)
def test_other_products_stay(body: str) -> None:
    head = "%x: Tensor[(3, 2), uint8], %w: Tensor[(4, 2), int8], %f: Tensor[(4, 2), float32]"
    mod = relay.infer(relay.parse(f"def @main({head}) {{ {body} }}"))
    assert integer_products(mod) is mod


def test_sums_that_may_not_fit_stay_floats() -> None:
    head = "%x: Tensor[(1, 70000), uint8], %w: Tensor[(1, 70000), int8]"
    body = "nn.dense(qnn.dequantize(%x, 0.5f, 0u8), qnn.dequantize(%w, 0.5f, 0i8))"
    mod = relay.infer(relay.parse(f"def @main({head}) {{ {body} }}"))
    assert integer_products(mod) is mod
