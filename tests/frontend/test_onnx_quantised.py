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


def layers(quantised: Any) -> Any:
    """The parts of a quantised network between what is quantised: their inputs, and their output."""
    made = {name: n for n in quantised.graph.node for name in n.output}
    for n in quantised.graph.node:
        if n.op_type != "QuantizeLinear" or n.input[0] not in made:
            continue
        inputs, stack = dict[str, None](), [n.input[0]]
        while stack:
            name = stack.pop()
            if name in made and made[name].op_type == "QuantizeLinear":
                inputs[name] = None
            elif name in made:
                stack += made[name].input
        yield list(inputs), n.output[0]


@pytest.mark.parametrize("activations", ["QUInt8", "QInt8"])
def test_each_layer_gives_what_it_stands_for_within_a_step(activations: str, tmp_path: Path) -> None:
    import onnxruntime
    from onnxruntime import quantization

    class Samples(quantization.CalibrationDataReader):
        """Inputs that say how large numbers get."""

        def __init__(self) -> None:
            self.left = [{"x": rng.normal(size=SHAPE).astype("float32")} for _ in range(4)]

        def get_next(self) -> Any:
            return self.left.pop() if self.left else None

    plain, path = tmp_path / "plain.onnx", tmp_path / "quantised.onnx"
    onnx.save(network(), plain)
    quantization.quantize_static(
        plain, path, Samples(), per_channel=True, activation_type=quantization.QuantType[activations]
    )
    whole = onnx.shape_inference.infer_shapes(onnx.load(path))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    known: dict[str, Any] = {}
    x = rng.normal(size=SHAPE).astype("float32")
    parts = [(["x"], n.output[0]) for n in whole.graph.node if n.input[0] == "x"][:1] + list(layers(whole))
    for inputs, output in parts:
        part = onnx.utils.Extractor(whole).extract_model(inputs, [output])
        given = [x if name == "x" else known[name] for name in inputs]
        session = onnxruntime.InferenceSession(part.SerializeToString(), options)
        (known[output],) = session.run(None, dict(zip(inputs, given, strict=True)))
        (found,) = backend.prepare(part, executor="native").run(given)
        assert np.abs(found.astype("int32") - known[output].astype("int32")).max() <= 1, output
        assert (found == known[output]).mean() > 0.99, output
    assert len(parts) > 4
