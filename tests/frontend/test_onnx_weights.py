"""Quantised weights, experts and fused operators of `com.microsoft`: what ONNX Runtime gives."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the onnx extra")
pytest.importorskip("onnxruntime", reason="needs ONNX Runtime")

import ml_dtypes

from frontend.contributed import array, by_relay, check, one_node, refusal
from relay.frontend import from_onnx

pytestmark = pytest.mark.onnx
RNG = np.random.default_rng(0)
INTERPRETED = ("debug",)


def drawn(*shape: int) -> Any:
    return RNG.normal(size=shape).astype("float32")


def scales(*shape: int) -> Any:
    return RNG.uniform(0.01, 0.05, shape).astype("float32")


def data(*shape: int) -> Any:
    return RNG.integers(0, 256, shape).astype("uint8")


def weights(*shape: int) -> Any:
    """Of 7 bits: sums of two products of 8 bits overflow in ONNX Runtime where there is no VNNI."""
    return RNG.integers(-60, 60, shape).astype("int8")


def constants(operands: list[Any], first: int = 1) -> list[int]:
    return [k for k in range(first, len(operands)) if operands[k] is not None]


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize(("depth", "block"), [(64, 16), (50, 32)])
@pytest.mark.parametrize("points", ["none", "packed", "float"])
def test_products_with_weights_in_groups(bits: int, depth: int, block: int, points: str) -> None:
    if (bits, points) == (8, "float"):
        pytest.skip("ONNX Runtime has no zero points of floats for 8 bits")
    columns, groups = 24, -(-depth // block)
    zero: dict[str, Any] = {
        "none": None,
        "packed": data(columns, (groups * bits + 7) // 8),
        "float": RNG.uniform(0, 2**bits, (columns, groups)).astype("float32"),
    }
    weight = data(columns, groups, block * bits // 8)
    operands = [drawn(2, 3, depth), weight, scales(columns, groups), zero[points], None, drawn(columns)]
    how = {"K": depth, "N": columns, "bits": bits, "block_size": block}
    executors = ("native",) if points == "packed" and block == 32 else INTERPRETED
    check("MatMulNBits", operands, how, constants=constants(operands), atol=5e-3, executors=executors)


def test_a_weight_in_groups_stays_packed_and_may_name_the_group_of_each_row() -> None:
    operands = [drawn(3, 64), data(24, 4, 16 * 8 // 8), scales(24, 4)]
    how = {"K": 64, "N": 24, "bits": 8, "block_size": 16}
    mod, _ = from_onnx(one_node("MatMulNBits", operands, how, constants=(1, 2), sizes={0: ["n", 64]})[0])
    assert "dequantize_groups(" in str(mod)
    index = RNG.integers(0, 4, 64).astype("int32")
    operands = [drawn(3, 64), data(24, 4, 8), scales(24, 4), None, index]
    check("MatMulNBits", operands, how | {"bits": 4}, constants=(1, 2, 4), atol=1e-4)
    for more, message in (
        ({"bits": 3}, "its numbers have 3 bits"),
        ({"K": 96}, "its weight of shape (24, 4, 16) is not (N, groups, bytes)"),
        ({"weight_prepacked": 1}, "laid out for another device"),
    ):
        operands = [drawn(3, 64), data(24, 4, 16), scales(24, 4)]
        assert message in refusal("MatMulNBits", operands, how | more, constants=(1, 2))


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("rows", [1, 6])
def test_data_are_rounded_where_the_accuracy_level_says_so(bits: int, rows: int) -> None:
    operands = [drawn(rows, 96), data(24, 3, 32 * bits // 8), scales(24, 3)]
    how = {"K": 96, "N": 24, "bits": bits, "block_size": 32, "accuracy_level": 4}
    check("MatMulNBits", operands, how, constants=(1, 2), atol=1e-3)
    for block, level, rounds in ((32, 4, True), (32, 1, False), (16, 4, False)):
        operands = [drawn(rows, 96), data(24, 96 // block, block * bits // 8), scales(24, 96 // block)]
        how |= {"block_size": block, "accuracy_level": level}
        mod, _ = from_onnx(one_node("MatMulNBits", operands, how, constants=(1, 2))[0])
        assert ("round_groups(" in str(mod)) == rounds


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("block", [16, 32])
def test_rows_of_tables_in_groups(bits: int, block: int) -> None:
    groups, rows = -(-48 // block), array([[1, 3], [9, 0]], "int64")
    zero = data(10, (groups * bits + 7) // 8)
    how = {"bits": bits, "block_size": block, "quantize_axis": 1}
    for points in (None, zero):
        operands = [data(10, 48 * bits // 8), rows, scales(10, groups), *([] if points is None else [points])]
        check(
            "GatherBlockQuantized",
            operands,
            how,
            constants=(0, *range(2, len(operands))),
            executors=INTERPRETED,
        )


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
def test_rows_of_tables_of_4_bits(dtype: Any) -> None:
    table = RNG.integers(0, 8, (10, 32)).astype(dtype)
    rows, zero = array([[1, 3], [9, 0]], "int64"), RNG.integers(0, 8, (10, 2)).astype(dtype)
    operands = [table, rows, scales(10, 2), zero]
    how = {"block_size": 16, "quantize_axis": 1}
    check("GatherBlockQuantized", operands, how, constants=(0, 2, 3), opset=21, executors=INTERPRETED)
    other = [table, rows, scales(1, 32)]
    how = {"block_size": 16, "quantize_axis": 0, "gather_axis": 1}
    check("GatherBlockQuantized", other, how, constants=(0, 2), opset=21, executors=INTERPRETED)


def test_data_that_are_quantised_as_they_come() -> None:
    for points in (None, array(3, "int8"), weights(24)):
        each = scales(24) if points is not None and points.ndim else array(0.02)
        operands = [drawn(2, 3, 16), weights(16, 24), each, points, drawn(24)]
        check("DynamicQuantizeMatMul", operands, {}, constants=(1,), atol=1e-4, executors=INTERPRETED)


@pytest.mark.parametrize(("direction", "count"), [("forward", 1), ("reverse", 1), ("bidirectional", 2)])
@pytest.mark.parametrize("each", [False, True])
def test_recurrent_networks_of_quantised_weights(direction: str, count: int, each: bool) -> None:
    size = 8
    shape = (count, 4 * size) if each else (count,)
    fine = [scales(*shape) / 5 for _ in range(2)]
    points = [np.zeros(shape, "int8") for _ in range(2)]
    states = [drawn(count, 1, size) for _ in range(2)]
    matrices = [weights(count, 12, 4 * size), weights(count, size, 4 * size)]
    bias = drawn(count, 8 * size)
    operands = [drawn(5, 1, 12), *matrices, bias, None, *states, None, fine[0], points[0], fine[1], points[1]]
    how = {"hidden_size": size, "direction": direction}
    executors = ("native",) if each and count == 2 else INTERPRETED
    check("DynamicQuantizeLSTM", operands, how, results=(1, 1, 1), atol=2e-3, executors=executors,
          constants=(1, 2, 3, 8, 9, 10, 11))  # fmt: skip


ROWS, WIDTH, INNER, EXPERTS = 6, 32, 48, 4


@pytest.mark.parametrize("kind", ["relu", "gelu", "silu", "identity", "swiglu"])
def test_mixtures_of_experts(kind: str) -> None:
    fused = 2 if kind == "swiglu" else 1
    first, second = drawn(EXPERTS, fused * INNER, WIDTH) / 10, drawn(EXPERTS, WIDTH, INNER) / 10
    how: dict[str, Any] = {"k": 2, "activation_type": kind, "normalize_routing_weights": kind == "silu"}
    if kind == "swiglu":
        how |= {"swiglu_fusion": 1, "activation_alpha": 1.7, "activation_beta": 1.0, "swiglu_limit": 2.0}
    for rows in (1, ROWS):
        x, scores = drawn(rows, WIDTH), drawn(rows, EXPERTS)
        operands = [x, scores, first, drawn(EXPERTS, fused * INNER), second, drawn(EXPERTS, WIDTH)]
        check("MoE", operands, how, constants=(2, 3, 4, 5), atol=1e-4, executors=INTERPRETED)
    if kind == "relu":
        open_rows = {0: ["rows", WIDTH], 1: ["rows", EXPERTS]}
        check("MoE", operands, how, constants=(2, 3, 4, 5), atol=1e-4, sizes=open_rows, executors=("native",))


def test_layouts_of_gates_of_experts() -> None:
    """ONNX Runtime's CPU has neighbours only, which others are compared with."""
    gate, line = drawn(EXPERTS, INNER, WIDTH), drawn(EXPERTS, INNER, WIDTH)
    x, scores, last = drawn(2, 3, WIDTH), drawn(ROWS, EXPERTS), drawn(EXPERTS, WIDTH, INNER) / 10
    how = {"k": 2, "activation_type": "swiglu"}
    near = np.stack([gate, line], 2).reshape(EXPERTS, 2 * INNER, WIDTH)
    behind = np.concatenate([gate, line], 1)
    cases = (([near, None, last], 1), ([behind, None, last], 2), ([gate, None, last, None, line], 0))
    found = [by_relay(*one_node("MoE", [x, scores, *o], how | {"swiglu_fusion": f}))[0] for o, f in cases]
    np.testing.assert_allclose(found[1], found[0], atol=1e-4)
    np.testing.assert_allclose(found[2], found[0], atol=1e-4)
    refused = refusal("MoE", [x, scores, gate, None, last], {"k": 1, "activation_type": "swish"})
    assert "there is no activation `swish`" in refused
    mixed = refusal("MoE", [x, scores, gate, None, last], {"k": 1, "use_sparse_mixer": 1})
    assert "it mixes sparsely" in mixed


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("block", [0, 16])
def test_mixtures_of_experts_of_few_bits(bits: int, block: int) -> None:
    each = 8 // bits
    per = [(WIDTH // block,), (INNER // block,)] if block else [(), ()]
    first, second = data(EXPERTS, 2 * INNER, WIDTH // each), data(EXPERTS, WIDTH, INNER // each)
    steps = [scales(EXPERTS, 2 * INNER, *per[0]) / 5, scales(EXPERTS, WIDTH, *per[1]) / 5]
    points = [data(EXPERTS, 2 * INNER // each), data(EXPERTS, WIDTH // each)]
    if block:
        points = [data(*s.shape[:2], -(-s.shape[2] // each)) for s in steps]
    how: dict[str, Any] = {
        "k": 2,
        "activation_type": "swiglu",
        "swiglu_fusion": 1,
        "expert_weight_bits": bits,
    }
    how |= {"normalize_routing_weights": 1, "activation_alpha": 1.7, "swiglu_limit": 7.0}
    how |= {"block_size": block} if block else {}
    # Data, up to 300 behind the first layer, are quantised too for blocks of 8 bits in ONNX Runtime.
    atol = 8.0 if bits == 8 and block else 2e-3
    for rows, zero in ((1, [None, None]), (ROWS, points)):
        biases = drawn(EXPERTS, 2 * INNER), drawn(EXPERTS, WIDTH)
        layers = [first, steps[0], biases[0], second, steps[1], biases[1], None, None, None, *zero]
        operands = [drawn(rows, WIDTH), drawn(rows, EXPERTS), *layers][: 8 if zero[0] is None else None]
        check("QMoE", operands, how, constants=constants(operands, 2), atol=atol, executors=INTERPRETED)
    refused = refusal("QMoE", operands, how | {"quant_type": "fp8"}, constants=constants(operands, 2))
    assert "its weights are not integers" in refused


POINT = array(120, "uint8")
IMAGE, KERNEL = drawn(1, 4, 6, 6), drawn(8, 4, 3, 3)
LINEAR = [array(0.02), POINT, weights(8, 4, 3, 3), array(0.01), array(0, "int8"), array(0.1), POINT]
PADS = [1, 1, 1, 1]
FIXED: dict[str, Any] = {"results": (2,), "constants": range(1, 8)}
SHORT = RNG.integers(-99, 99, (3, 4)).astype("int16")
FUSED: list[Any] = [
    ("FusedGemm", [drawn(3, 4), drawn(4, 5), drawn(5)],
     {"activation": "LeakyRelu", "activation_alpha": 0.2, "alpha": 0.5}, {}),
    ("FusedConv", [IMAGE, drawn(8, 2, 3, 3), drawn(8)], {"activation": "Relu", "group": 2, "pads": PADS}, {}),
    ("FusedConv", [IMAGE, KERNEL, drawn(8), drawn(1, 8, 4, 4)], {"activation": "Relu"}, {}),
    ("FusedConv", [IMAGE, KERNEL], {"activation": "Clip", "activation_params": [-0.5, 0.5]}, {}),
    ("FusedConv", [IMAGE, KERNEL], {"activation": "HardSigmoid", "activation_params": [0.1, 0.4]}, {}),
    ("NhwcMaxPool", [data(1, 6, 6, 4)], {"kernel_shape": [2, 2], "strides": [2, 2]}, {"results": (2,)}),
    ("QLinearWhere", [array([[True], [False]], "bool"), data(2, 4), array(0.02), POINT, data(2, 4),
                      array(0.03), POINT, array(0.05), POINT], {},
     {"results": (2,), "constants": (2, 3, 5, 6, 7, 8)}),
    ("QLinearConv", [data(1, 4, 6, 6), *LINEAR], {"pads": PADS}, FIXED),
    ("QLinearConv", [data(1, 6, 6, 4), *LINEAR], {"pads": PADS, "channels_last": 1},
     FIXED),
    ("MatMulInteger16", [SHORT, SHORT.T.copy()], {}, {"results": (6,)}),
    ("QuantizeLinear", [drawn(3, 4), array(0.01), array(3, "int16")], {}, {"results": (5,)}),
    ("DequantizeLinear", [SHORT, array(0.01), array(3, "int16")], {}, {}),
    ("Trilu", [drawn(3, 4)], {}, {}),
    ("GatherND", [drawn(3, 4), array([[0, 1], [2, 3]], "int64")], {}, {}),
    ("FusedMatMul", [drawn(3, 2, 4), drawn(2, 4, 5)], {"transBatchA": 1}, {}),
    ("FusedMatMul", [drawn(4, 2, 3), drawn(2, 4, 5)], {"transBatchA": 1, "transA": 1}, {}),
    ("FusedMatMul", [drawn(2, 3, 4), drawn(4, 2, 5)], {"transBatchB": 1, "alpha": 0.5}, {}),
    ("TransposeMatMul", [drawn(2, 4, 3), drawn(2, 4, 5)], {"transA": 1}, {}),
]  # fmt: skip


@pytest.mark.parametrize("case", FUSED, ids=[f"{k}-{case[0]}" for k, case in enumerate(FUSED)])
def test_fused_operators(case: Any) -> None:
    kind, operands, attributes, how = case
    check(
        kind,
        operands,
        attributes,
        atol=1 if kind.startswith("QLinear") else 2e-5,
        executors=INTERPRETED,
        **how,
    )


def test_fused_operators_of_other_processors() -> None:
    """ONNX Runtime's CPU has none of them."""
    x, bias = drawn(2, 4, 8), drawn(8)
    np.testing.assert_allclose(by_relay(*one_node("BiasAdd", [x, bias, x], {}))[0], x + bias + x, atol=1e-6)
    (found,) = by_relay(*one_node("BiasSplitGelu", [x, bias], {}))
    left, right = np.split(x + bias, 2, 2)
    (gelu,) = by_relay(*one_node("Gelu", [right], {}))
    np.testing.assert_allclose(found, left * gelu, atol=1e-6)
    last = one_node("NhwcConv", [IMAGE.transpose(0, 2, 3, 1), KERNEL.transpose(0, 2, 3, 1)], {})
    first = one_node("FusedConv", [IMAGE, KERNEL], {})
    np.testing.assert_allclose(by_relay(*last)[0].transpose(0, 3, 1, 2), by_relay(*first)[0], atol=1e-5)
    rows = one_node("BiasSoftmax", [x, x], {"axis": 2, "is_inner_broadcast": 1})
    e = np.exp(2 * x)
    np.testing.assert_allclose(by_relay(*rows)[0], e / e.sum(2, keepdims=True), atol=1e-6)
    assert "there is no activation `Swoosh`" in refusal(
        "FusedConv", [IMAGE, KERNEL], {"activation": "Swoosh"}
    )
