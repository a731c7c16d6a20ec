"""Operators of `com.microsoft`: ONNX Runtime says what their results are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the onnx extra")
pytest.importorskip("onnxruntime", reason="needs ONNX Runtime")

from onnx import TensorProto, helper, numpy_helper

import relay
from relay.frontend import from_onnx
from relay.frontend.onnx import registry

pytestmark = pytest.mark.onnx

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 3, 4, 4)).astype("float32")
ROWS = RNG.normal(size=(3, 8)).astype("float32")
BYTES = RNG.integers(0, 255, (2, 3, 4, 4)).astype("uint8")
OTHER = RNG.integers(0, 255, (3, 1, 4)).astype("uint8")
WEIGHT = RNG.integers(-100, 100, (8, 5)).astype("int8")
ACTS = RNG.integers(0, 255, (3, 8)).astype("uint8")
A = np.float32(0.02), np.uint8(120)
B = np.float32(0.03), np.uint8(3)
Y = np.float32(0.05), np.uint8(100)
W = np.float32(0.01), np.int8(2)
ADDED = RNG.integers(-500, 500, 5).astype("int32")
ROW = RNG.normal(size=8).astype("float32")
CASES: list[Any] = [
    ("QLinearAdd", (BYTES, *A, OTHER, *B, *Y), {}),
    ("QLinearMul", (BYTES, *A, OTHER, *B, *Y), {}),
    ("QLinearSigmoid", (BYTES, *A, np.float32(1 / 256), np.uint8(0)), {}),
    ("QLinearLeakyRelu", (BYTES, *A, *Y), {"alpha": 0.2}),
    ("QLinearSoftmax", (BYTES, *A, np.float32(1 / 256), np.uint8(0)), {"axis": -1, "opset": 13}),
    ("QLinearSoftmax", (BYTES, *A, np.float32(1 / 256), np.uint8(0)), {"axis": 1, "opset": 11}),
    ("QLinearAveragePool", (BYTES, *A, *Y), {"kernel_shape": [2, 3], "pads": [0, 1, 0, 1]}),
    ("QLinearGlobalAveragePool", (BYTES, *A, *Y), {"channels_last": 0}),
    ("QLinearConcat", (*Y, BYTES, *A, BYTES[:, :1], *B), {"axis": 1}),
    ("QGemm", (ACTS, *A, WEIGHT, *W, ADDED, *Y), {}),
    ("QGemm", (ACTS, *A, WEIGHT.T.copy(), *W), {"transB": 1, "alpha": 0.5}),
    ("MatMulIntegerToFloat", (ACTS, WEIGHT, A[0], W[0], A[1], W[1], ROW[:5]), {}),
    ("Gelu", (X,), {}),
    ("BiasGelu", (ROWS, ROW), {}),
    ("FastGelu", (ROWS, ROW), {}),
    ("QuickGelu", (X,), {"alpha": 1.5}),
    ("FusedMatMul", (X, X), {"transB": 1, "alpha": 0.25}),
    ("Inverse", (X,), {}),
    ("SkipLayerNormalization", (ROWS[None], ROWS[None] * 2, ROW, ROW + 1, ROW - 1), {"epsilon": 1e-5}),
]


def model(kind: str, operands: Any, attributes: dict[str, Any]) -> Any:
    """One node of the first operand and constants."""
    first, *rest = (np.asarray(v) for v in operands)
    names = [f"v{k}" for k in range(len(rest))]
    node = helper.make_node(kind, ["x", *names], ["y"], domain="com.microsoft", **attributes)
    x = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(first.dtype), first.shape)
    is_bytes = kind.startswith("Q") and kind not in ("QuickGelu",) and not attributes.get("transB")
    y = helper.make_tensor_value_info("y", TensorProto.UINT8 if is_bytes else TensorProto.FLOAT, None)
    weights = [numpy_helper.from_array(v, n) for n, v in zip(names, rest, strict=True)]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "one", [x], [y], weights)
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("case", CASES, ids=[f"{k}-{name}" for k, (name, *_) in enumerate(CASES)])
def test_a_contributed_operator_gives_what_onnx_runtime_gives(case: Any) -> None:
    import onnxruntime

    kind, operands, attributes = case
    proto = model(kind, operands, attributes)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": np.asarray(operands[0])})
    mod, _ = from_onnx(proto)
    found = relay.create_executor("debug", mod).evaluate("main")(np.asarray(operands[0]))
    found = np.asarray(found[0] if isinstance(found, tuple) else found)
    assert found.dtype == expected.dtype
    apart = 1 if expected.dtype.kind == "u" else 2e-5 if kind != "FastGelu" else 1e-4
    np.testing.assert_allclose(found.astype("float64"), expected.astype("float64"), rtol=1e-5, atol=apart)


def test_the_page_names_each_operator_that_is_not_supported() -> None:
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

    registry.load_families()
    text = (Path(__file__).parents[2] / "docs" / "onnx.md").read_text()
    known = {s.name for s in get_all_operator_schema() if s.domain == registry.CONTRIBUTED}
    converted = {name for domain, name in registry.converters if domain == registry.CONTRIBUTED}
    assert not [name for name in sorted(known - converted) if f"`{name}`" not in text]
