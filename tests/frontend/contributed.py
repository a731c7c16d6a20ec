"""One node of `com.microsoft`, by ONNX Runtime and by Relay."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import relay
from relay.frontend import from_onnx

EXECUTORS = ("debug", "native")
FLOAT = 1


def array(x: Any, dtype: str = "float32") -> Any:
    """An array of a dtype."""
    return np.array(x, dtype)


def one_node(
    kind: str, operands: Sequence[Any], attributes: dict[str, Any], *, results: Sequence[int] = (FLOAT,),
    constants: Sequence[int] = (), sizes: dict[int, Any] | None = None, domain: str = "com.microsoft",
    opset: int = 17,
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """A model of one node and its inputs: operands that are None are left out, and `results` have the numbers
    of dtypes (0: left out); `sizes` replaces shapes of inputs.
    """
    from onnx import helper, numpy_helper

    names = ["" if x is None else f"x{k}" for k, x in enumerate(operands)]
    outputs = [f"y{k}" if t else "" for k, t in enumerate(results)]
    given = {n: x for k, (n, x) in enumerate(zip(names, operands, strict=True)) if n and k not in constants}
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype),
                                      (sizes or {}).get(int(n[1:]), x.shape))
        for n, x in given.items()
    ]  # fmt: skip
    graph = helper.make_graph(
        [helper.make_node(kind, names, outputs, domain=domain, **attributes)], "one", inputs,
        [helper.make_tensor_value_info(o, t, None) for o, t in zip(outputs, results, strict=True) if t],
        [numpy_helper.from_array(operands[k], names[k]) for k in constants],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), given


def by_onnx_runtime(proto: Any, given: dict[str, Any]) -> list[Any]:
    """The results of ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"])
    return list(session.run(None, given))


def by_relay(proto: Any, given: dict[str, Any], executor: str = "debug") -> list[Any]:
    """The results of Relay."""
    found = relay.create_executor(executor, mod=from_onnx(proto)[0]).evaluate()(**given)
    return list(found) if isinstance(found, tuple) else [found]


def check(
    kind: str, operands: Sequence[Any], attributes: dict[str, Any], *, atol: float = 2e-5,
    executors: Sequence[str] = EXECUTORS, rows: int | None = None, **how: Any,
) -> None:  # fmt: skip
    """Demand the results of ONNX Runtime; of caches the first so many rows."""
    proto, given = one_node(kind, operands, attributes, **how)
    wanted = by_onnx_runtime(proto, given)
    for executor in executors:
        for ours, theirs in zip(by_relay(proto, given, executor), wanted, strict=True):
            found = np.asarray(ours)
            assert (found.shape, found.dtype) == (theirs.shape, theirs.dtype)
            if rows is not None and found.ndim == 4:
                found, theirs = found[:, :, :rows], theirs[:, :, :rows]
            np.testing.assert_allclose(
                found.astype("float64"), theirs.astype("float64"), rtol=1e-5, atol=atol
            )


def refusal(kind: str, operands: Sequence[Any], attributes: dict[str, Any], **how: Any) -> str:
    """The diagnostic of an import."""
    try:
        from_onnx(one_node(kind, operands, attributes, **how)[0])
    except relay.RelayError as error:
        return str(error)
    raise AssertionError("it is imported")
