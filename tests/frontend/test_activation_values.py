"""Values and derivatives of imported activations at -100, -20, -1e-4, 0, 1e-4, 20 and 100 against PyTorch's.

`record_activations.py` has written them to `tests/data/activations.json`.
"""

import json
from typing import Any

import numpy as np
import pytest

import relay
from frontend.onnx_models import model, node
from relay.frontend.torch.registry import converters, load_families
from relay.frontend.value import Value
from relay.ir.dtype import dtype_name
from relay.ir.expr import Function, Var
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from support import ROOT

RECORDED: dict[str, dict[str, list[float]]] = json.loads(
    (ROOT / "tests" / "data" / "activations.json").read_text(encoding="utf-8")
)
POINTS = RECORDED["points"]["values"]
ATEN: dict[str, tuple[str, tuple[float, ...], dict[str, Any]]] = {
    "celu": ("aten.celu", (2.0,), {}), "elu": ("aten.elu", (0.5,), {}), "erf": ("aten.erf", (), {}),
    "erfc": ("aten.erfc", (), {}), "expm1": ("aten.expm1", (), {}), "gelu": ("aten.gelu", (), {}),
    "gelu_tanh": ("aten.gelu", (), {"approximate": "tanh"}), "hard_sigmoid": ("aten.hardsigmoid", (), {}),
    "hard_swish": ("aten.hardswish", (), {}), "leaky_relu": ("aten.leaky_relu", (0.25,), {}),
    "log_sigmoid": ("aten.log_sigmoid", (), {}), "mish": ("aten.mish", (), {}),
    "ndtr": ("aten.special_ndtr", (), {}), "relu": ("aten.relu", (), {}), "selu": ("aten.selu", (), {}),
    "sigmoid": ("aten.sigmoid", (), {}), "silu": ("aten.silu", (), {}),
    "softplus": ("aten.softplus", (), {}), "tanh": ("aten.tanh", (), {}),
}  # fmt: skip
ONNX: dict[str, tuple[str, dict[str, Any]]] = {
    "celu": ("Celu", {"alpha": 2.0}), "elu": ("Elu", {"alpha": 0.5}), "erf": ("Erf", {}),
    "gelu": ("Gelu", {}),
    "gelu_tanh": ("Gelu", {"approximate": "tanh"}), "hard_sigmoid": ("HardSigmoid", {"alpha": 1 / 6}),
    "hard_swish": ("HardSwish", {}), "leaky_relu": ("LeakyRelu", {"alpha": 0.25}), "mish": ("Mish", {}),
    "relu": ("Relu", {}), "selu": ("Selu", {}), "sigmoid": ("Sigmoid", {}), "silu": ("Swish", {}),
    "softplus": ("Softplus", {}), "softsign": ("Softsign", {}), "tanh": ("Tanh", {}),
}  # fmt: skip


class AtenNode:
    """What converters ask of a node, without PyTorch."""

    def __init__(self, operator: str, options: dict[str, Any], dtype: str) -> None:
        self.operator = operator + ".default"
        self.options = options
        self.dtype = dtype

    def option(self, name: str, default: Any = None) -> Any:
        return self.options.get(name, default)


def from_aten(dtype: str) -> IRModule:
    """A definition for each activation, as it is imported from PyTorch."""
    load_families()
    mod = IRModule()
    for name, (operator, arguments, options) in ATEN.items():
        x = Var("x", TensorType((len(POINTS),), dtype))
        made = converters[operator](
            AtenNode(operator, options, dtype), Value(x, TensorType((len(POINTS),), dtype)), *arguments
        )
        mod[name] = Function((x,), made.expr)
    return mod


def from_onnx(dtype: str) -> IRModule:
    """A definition for each activation, as it is imported from ONNX."""
    mod = IRModule()
    for name, (kind, attributes) in ONNX.items():
        opset = 24 if kind == "Swish" else 22
        given = model(
            [node(kind, ["x"], ["y"], **attributes)], {"x": np.zeros(len(POINTS), dtype)}, ["y"], opset=opset
        )
        mod[name] = relay.frontend.from_onnx(given)[0]["main"]
    return mod


def values_and_slopes(mod: IRModule, dtype: str, executor: str) -> dict[str, tuple[Any, Any]]:
    """What each definition gives at the points, and its derivative there."""
    names = [v.name_hint for v in mod.functions]
    t = f"Tensor[({len(POINTS)},), {dtype}]"
    each = ", ".join([f"(@{n}(%x), grad(fn(%y: {t}) {{ sum(@{n}(%y)) }})(%x).1.0)" for n in names])
    whole = relay.parse(f"{relay.infer(mod).astext()}\ndef @main(%x: {t}) {{ ({each}) }}")
    found = relay.create_executor(executor, mod=whole).evaluate()(np.asarray(POINTS, dtype))
    return {n: (np.asarray(pair[0]), np.asarray(pair[1])) for n, pair in zip(names, found, strict=True)}


@pytest.mark.parametrize("executor", ["debug", "vm"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("imported", [from_aten, from_onnx])
def test_values_and_derivatives_are_those_of_pytorch(imported: Any, dtype: str, executor: str) -> None:
    found = values_and_slopes(imported(dtype), dtype, executor)
    is_short = dtype == "float32"
    for name, (values, slopes) in found.items():
        wanted = RECORDED[name]
        assert dtype_name(values.dtype) == dtype_name(slopes.dtype) == dtype
        with np.errstate(over="ignore"):
            expected, slope = (np.asarray(wanted[k]).astype(dtype) for k in ("values", "slopes"))
        tolerance = {"rtol": 5e-6, "atol": 1e-37} if is_short else {"rtol": 1e-6, "atol": 1e-40}
        np.testing.assert_allclose(values, expected, err_msg=name, **tolerance)
        # In float32 `1 - tanh(x) ** 2` and the like are exact to the rounding of 1.
        tolerance = {"rtol": 1e-5, "atol": 2e-7} if is_short else {"rtol": 1e-6, "atol": 1e-40}
        np.testing.assert_allclose(slopes, slope, err_msg=name, **tolerance)
