"""Networks that ONNX Runtime's tools have quantised: it says what their results are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the onnx extra")
pytest.importorskip("onnxruntime.quantization", reason="needs ONNX Runtime")

import onnx

from frontend.onnx_models import model, node
from relay.frontend.onnx import backend

pytestmark = pytest.mark.onnx

SHAPE = (2, 3, 8, 8)
rng = np.random.default_rng(0)


def network() -> Any:
    """A convolution, a sum, means and a product."""
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["r"]),
        node("Conv", ["r", "v"], ["d"], kernel_shape=[1, 1]),
        node("Add", ["r", "d"], ["s"]),
        node("GlobalAveragePool", ["s"], ["g"]),
        node("Flatten", ["g"], ["f"]),
        node("Gemm", ["f", "m", "n"], ["y"], transB=1),
    ]
    shapes = {"w": (4, 3, 3, 3), "b": (4,), "v": (4, 4, 1, 1), "m": (5, 4), "n": (5,)}
    weights = {n: rng.normal(size=s).astype("float32") for n, s in shapes.items()}
    found = model(nodes, {"x": ("float32", list(SHAPE))}, ["y"], weights, 13)
    found.ir_version = 8
    return onnx.shape_inference.infer_shapes(found)


@pytest.mark.parametrize(("kind", "per_channel"), [("QDQ", False), ("QDQ", True), ("QOperator", False)])
def test_quantised_networks_give_what_onnx_runtime_gives(
    kind: str, per_channel: bool, tmp_path: Path
) -> None:
    import onnxruntime
    from onnxruntime import quantization

    class Samples(quantization.CalibrationDataReader):
        """Inputs that say how large numbers get."""

        def __init__(self) -> None:
            self.left = [{"x": rng.normal(size=SHAPE).astype("float32")} for _ in range(4)]

        def get_next(self) -> Any:
            return self.left.pop() if self.left else None

    plain, quantised = tmp_path / "plain.onnx", tmp_path / "quantised.onnx"
    onnx.save(network(), plain)
    form = quantization.QuantFormat[kind]
    quantization.quantize_static(plain, quantised, Samples(), quant_format=form, per_channel=per_channel)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(quantised, options, providers=["CPUExecutionProvider"])
    x = rng.normal(size=SHAPE).astype("float32")
    (expected,) = session.run(None, {"x": x})
    for executor in ("debug", "native"):
        (found,) = backend.prepare(onnx.load(quantised), executor=executor).run([x])
        np.testing.assert_allclose(found, expected, rtol=1e-6)
