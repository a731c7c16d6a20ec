"""Nodes and models through the standard backend of ONNX, beside what ONNX's own tests run."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the onnx extra")

from onnx import TensorProto, helper

import relay.frontend
from relay.diagnostic import RelayError
from relay.frontend.onnx import control
from relay.frontend.onnx.backend import RelayRep, run_node

pytestmark = pytest.mark.onnx


def test_a_loop_that_carries_a_sequence_ends_by_itself_or_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [
        helper.make_node("SequenceInsert", ["s", "x"], ["s2"]),
        helper.make_node("Add", ["k", "one"], ["k2"]),
        helper.make_node("Less", ["k2", "most"], ["again"]),
    ]
    sequence = helper.make_tensor_sequence_value_info
    scalars = [helper.make_tensor_value_info(*of, []) for of in (("i", 7), ("c", 9), ("k", 7), ("k2", 7))]
    i, c, k, k2 = scalars
    again = helper.make_tensor_value_info("again", TensorProto.BOOL, [])
    body = helper.make_graph(
        nodes, "body", [i, c, sequence("s", 1, None), k], [again, sequence("s2", 1, None), k2]
    )
    outer = [
        helper.make_node("SequenceEmpty", [], ["none"], dtype=1),
        helper.make_node("Loop", ["", "", "none", "zero"], ["all", "rounds"], body=body),
        helper.make_node("SequenceLength", ["all"], ["n"]),
    ]

    def model(most: int) -> Any:
        numbers = [helper.make_tensor(n, 7, [], [v]) for n, v in (("one", 1), ("zero", 0), ("most", most))]
        n = helper.make_tensor_value_info("n", 7, [])
        x = helper.make_tensor_value_info("x", 1, [1])
        return helper.make_model(helper.make_graph(outer, "g", [x], [n], numbers))

    assert RelayRep(model(5)).run([np.ones(1, "float32")])[0] == 5
    monkeypatch.setattr(control, "MAX_UNROLLED_ROUNDS", 64)
    with pytest.raises(RelayError, match="more than 64 rounds"):
        relay.frontend.from_onnx(model(70))


def test_one_node_is_run() -> None:
    x = np.array([-1, 1], "float32")
    clip = helper.make_node("Clip", ["x", "", "most"], ["y"])
    assert run_node(clip, [x, np.float32(0)])[0].tolist() == [-1, 0]
    assert run_node(helper.make_node("Add", ["x", "x"], ["y"]), [x, x])[0].tolist() == [-2, 2]


@pytest.mark.parametrize("kind", ["NONE", "SOFTMAX", "LOGISTIC", "PROBIT"])
def test_what_becomes_of_a_linear_function(kind: str) -> None:
    how: dict[str, Any] = {"coefficients": [1.0, 2.0, 3.0, 4.0], "targets": 2, "post_transform": kind}
    node = helper.make_node("LinearRegressor", ["x"], ["y"], domain="ai.onnx.ml", **how)
    x = np.array([[0.5, -0.25]], "float32")
    shapes = [helper.make_tensor_value_info(n, 1, [1, 2]) for n in ("x", "y")]
    opsets = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 21)]
    graph = helper.make_graph([node], "g", shapes[:1], shapes[1:])
    model = helper.make_model(graph, opset_imports=opsets)
    if kind == "PROBIT":
        with pytest.raises(RelayError, match="PROBIT"):
            relay.frontend.from_onnx(model)
        return
    line = np.array([[0.0, 0.5]])
    e = np.exp(line)
    expected = {"NONE": line, "SOFTMAX": e / e.sum(), "LOGISTIC": e / (1 + e)}[kind]
    np.testing.assert_allclose(RelayRep(model).run([x])[0], expected, rtol=1e-6)
