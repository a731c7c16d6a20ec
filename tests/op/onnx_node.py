"""The value of one ONNX node by ONNX's own reference evaluator."""

from typing import Any

import numpy as np
import pytest


def onnx_node(kind: str, arrays: list[Any], *, outputs: int = 1, opset: int = 20, **attrs: Any) -> list[Any]:
    """The outputs of `kind` on arrays (None leaves an input out)."""
    pytest.importorskip("onnx", reason="needs the onnx extra")
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    given = {f"x{i}": np.asarray(a) for i, a in enumerate(arrays) if a is not None}
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(arrays)]
    outs = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(kind, names, outs, **attrs)
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in given.items()
    ]
    graph = helper.make_graph(
        [node], "one", inputs, [helper.make_tensor_value_info(o, TensorProto.UNDEFINED, None) for o in outs]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, given)
