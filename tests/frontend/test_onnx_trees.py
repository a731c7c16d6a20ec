"""Ensembles of trees, also of any number of rows: what ONNX Runtime gives."""

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the onnx extra")
pytest.importorskip("onnxruntime", reason="needs ONNX Runtime")

from onnx import TensorProto, helper, numpy_helper

import relay
from frontend.contributed import by_onnx_runtime
from relay.frontend import from_onnx

pytestmark = pytest.mark.onnx


@pytest.mark.parametrize("rows", ["n", 3])
def test_trees_of_any_number_of_rows(rows: str | int) -> None:
    modes, splits, weights = (
        numpy_helper.from_array(np.array(v, t))
        for v, t in (([0, 0, 4], "uint8"), ([0.5, 0, 1], "float32"), ([1, 2, 3, 4], "float32"))
    )
    node = helper.make_node(
        "TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", n_targets=2, aggregate_function=1,
        post_transform=0, tree_roots=[0, 2], nodes_modes=modes, nodes_featureids=[0, 1, 0],
        nodes_splits=splits, nodes_truenodeids=[1, 0, 3],
        nodes_trueleafs=[0, 1, 1], nodes_falsenodeids=[2, 1, 2],
        nodes_falseleafs=[1, 1, 1], leaf_targetids=[0, 1, 0, 1], leaf_weights=weights,
    )  # fmt: skip
    x_info = helper.make_tensor_value_info("x", TensorProto.FLOAT, (rows, 2))
    y_info = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "trees", [x_info], [y_info])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 5)]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    x = np.array([[0, -1], [0, 1], [1, 1]], "float32")
    (wanted,) = by_onnx_runtime(proto, {"x": x})
    for executor in ("debug", "native"):
        found = relay.create_executor(executor, from_onnx(proto)[0]).evaluate()(x)
        np.testing.assert_array_equal(found, wanted)
