"""Small ONNX models for tests."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest


def model(
    nodes: Sequence[Any],
    inputs: dict[str, Any],
    outputs: Sequence[str],
    weights: dict[str, Any] | None = None,
    opset: int = 21,
    functions: Sequence[Any] = (),
) -> Any:
    """A model; inputs are arrays, or pairs of a dtype and sizes that may be names."""
    pytest.importorskip("onnx", reason="needs the onnx extra")
    from onnx import helper, numpy_helper

    def declared(name: str, what: Any) -> Any:
        if isinstance(what, tuple):
            dtype, shape = what
            return helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape
            )
        array = np.asarray(what)
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

    graph = helper.make_graph(
        list(nodes),
        "test",
        [declared(n, w) for n, w in inputs.items()],
        [helper.make_empty_tensor_value_info(n) for n in outputs],
        [numpy_helper.from_array(np.asarray(w), n) for n, w in (weights or {}).items()],
    )
    opsets = [helper.make_opsetid("", opset), *[helper.make_opsetid(f.domain, 1) for f in functions]]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions))


def node(kind: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> Any:
    """A node."""
    pytest.importorskip("onnx", reason="needs the onnx extra")
    from onnx import helper

    return helper.make_node(kind, list(inputs), list(outputs), **attributes)
