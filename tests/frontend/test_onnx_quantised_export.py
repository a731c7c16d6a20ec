"""Quantised programs as ONNX models: `QuantizeLinear` and `DequantizeLinear`, which others run."""

import numpy as np
import pytest

import relay
from support import cli

pytestmark = pytest.mark.onnx
onnx = pytest.importorskip("onnx", reason="needs the onnx extra")

TEXT = """
def @main(%x: Tensor[(2, 3, 6, 6), float32], %k: Tensor[(4, 3, 3, 3), float32], %b: Tensor[(4,), float32],
          %w: Tensor[(5, 36), float32]) {
  let %y = nn.max_pool2d(nn.relu(nn.bias_add(nn.conv2d(%x, %k), %b)), pool_size=(2, 2), strides=(1, 1));
  nn.dense(nn.batch_flatten(%y), %w)
}"""


def given() -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = {"k": (4, 3, 3, 3), "b": (4,), "w": (5, 36)}
    weights = {k: rng.normal(size=s).astype("float32") for k, s in shapes.items()}
    return weights, rng.normal(size=(2, 3, 6, 6)).astype("float32")


def checked(mod: relay.IRModule) -> onnx.ModelProto:
    model = relay.frontend.to_onnx(mod)
    onnx.checker.check_model(model, full_check=True)
    return model


def kinds(model: onnx.ModelProto) -> list[str]:
    return [n.op_type for n in model.graph.node]


def by_interpreter(mod: relay.IRModule, x: np.ndarray) -> np.ndarray:
    return np.asarray(relay.create_executor("debug", mod=mod).evaluate()(x))


def agree(mod: relay.IRModule, x: np.ndarray, step: float) -> None:
    """ONNX Runtime, where it is installed, and the model read again give what the program gives."""
    model, expected = checked(mod), by_interpreter(mod, x)
    again = relay.frontend.from_onnx(model)[0]
    np.testing.assert_allclose(by_interpreter(again, x), expected, atol=1e-4)
    try:
        import onnxruntime
    except ImportError:
        return
    levels = onnxruntime.GraphOptimizationLevel
    for level, tolerance in ((levels.ORT_DISABLE_ALL, 1e-4), (levels.ORT_ENABLE_ALL, step)):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        (found,) = session.run(None, {session.get_inputs()[0].name: x})
        np.testing.assert_allclose(found, expected, atol=tolerance)


@pytest.mark.parametrize(
    "options",
    [{}, {"activations": "int8", "symmetric": True}, {"per_channel": False}, {"method": "mse"}],
)
def test_static_quantisation_is_written_as_pairs(options: dict) -> None:
    weights, x = given()
    mod = relay.quantize.quantize(relay.parse(TEXT), weights, [x], reduce_range=True, **options)
    found = kinds(checked(mod))
    assert (found.count("QuantizeLinear"), found.count("DequantizeLinear")) == (4, 6)
    agree(mod, x, 0.2)


@pytest.mark.parametrize(("bits", "symmetric"), [(4, True), (4, False), (8, True), (8, False), (2, False)])
def test_weights_in_groups_are_written_by_blocks(bits: int, symmetric: bool) -> None:
    rng = np.random.default_rng(1)
    w, x = rng.normal(size=(6, 64)).astype("float32"), rng.normal(size=(3, 64)).astype("float32")
    text = "def @main(%x: Tensor[(3, 64), float32], %w: Tensor[(6, 64), float32]) { nn.dense(%x, %w) }"
    options = {"method": "rtn", "bits": bits, "group_size": 32, "symmetric": symmetric}
    mod = relay.quantize.quantize(relay.parse(text), {"w": w}, **options)
    (node,) = [n for n in checked(mod).graph.node if n.op_type == "DequantizeLinear"]
    assert {a.name: a.i for a in node.attribute} == {"axis": 1, "block_size": 32}
    agree(mod, x, 1e-4)


@pytest.mark.parametrize(("bits", "symmetric"), [(4, True), (4, False), (8, True), (8, False), (2, False)])
@pytest.mark.parametrize("lead", [(3,), (2, 3)])
def test_weights_in_groups_are_products_of_onnx_runtime(bits: int, symmetric: bool, lead: tuple) -> None:
    rng = np.random.default_rng(1)
    w, x = rng.normal(size=(6, 64)).astype("float32"), rng.normal(size=(*lead, 64)).astype("float32")
    text = (
        f"def @main(%x: Tensor[{(*lead, 64)}, float32], %w: Tensor[(6, 64), float32]) {{ nn.dense(%x, %w) }}"
    )
    options = {"method": "rtn", "bits": bits, "group_size": 32, "symmetric": symmetric}
    mod = relay.quantize.quantize(relay.parse(text), {"w": w}, **options)
    model = relay.frontend.to_onnx(mod, contributed=True)
    onnx.checker.check_model(model, full_check=True)
    (node,) = model.graph.node
    assert (node.op_type, node.domain, len(node.input)) == ("MatMulNBits", "com.microsoft", 4 - symmetric)
    assert {a.name: a.i for a in node.attribute} == {"N": 6, "K": 64, "bits": bits, "block_size": 32}
    assert [o.domain for o in model.opset_import] == ["", "com.microsoft"]
    expected = mod.evaluate("main", x)
    again, _ = relay.frontend.from_onnx(model)
    np.testing.assert_allclose(again.evaluate("main", x), expected, atol=1e-5)
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"x": x})[0], expected, atol=2e-2 if bits == 8 else 1e-4)


def test_what_the_product_of_onnx_runtime_does_not_take_is_written_by_blocks(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    w = np.random.default_rng(1).normal(size=(6, 64)).astype("float32")
    text = "def @main(%x: Tensor[(3, 64), float32], %w: Tensor[(6, 64), float32]) { nn.dense(%x, %w) }"
    for size, kind in ((8, "DequantizeLinear"), (64, "MatMulNBits")):
        mod = relay.quantize.quantize(relay.parse(text), {"w": w}, method="rtn", group_size=size)
        relay.save(mod, "net.relay")
        assert cli("export", "net.relay", "--contributed").status == 0
        assert onnx.load("net.onnx").graph.node[0].op_type == kind


def test_sums_with_a_zero_point_and_what_cannot_be_written() -> None:
    text = "def @main(%x: Tensor[(3,), float32]) { qnn.dequantize(cast(%x, dtype=int32), 0.5, 3) }"
    agree(relay.parse(text), np.array([1, 5, -7], "float32"), 1e-6)
    text = (
        "def @main(%d: Tensor[(2, 1, 16), uint8], %s: Tensor[(2, 1), float32]) { dequantize_groups(%d, %s) }"
    )
    with pytest.raises(relay.RelayError, match="groups that are not constants"):
        relay.frontend.to_onnx(relay.parse(text))
