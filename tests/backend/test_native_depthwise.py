"""Depthwise convolutions in strips, against the interpreter; at any number of threads the same."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host.native_program import NativeProgram
from relay.backend.native.kernels import depthwise
from relay.backend.native.loops.deferred import Deferred
from relay.interpreter.machine import Interpreter
from relay.ir.dtype import to_numpy

TOLERANCE = {"float32": 3e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1.6e-2, "int8": 0}
LAYOUTS = {1: ("NWC", "W"), 2: ("NHWC", "HW"), 3: ("NDHWC", "DHW")}
CASES: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "same size": ("1x9x9x32", "3x3x32x1", "OI", {"padding": 1}),
    "inputs before outputs": ("1x9x9x32", "3x3x1x32", "IO", {"padding": 1}),
    "channels in parts": ("2x7x7x192", "3x3x192x1", "OI", {"padding": 1}),
    "odd": ("2x7x11x13", "3x3x13x1", "OI", {"padding": (0, 1, 2, 0)}),
    "strides": ("1x15x14x40", "3x3x40x1", "OI", {"padding": 1, "strides": 2}),
    "one row of places": ("1x5x5x16", "5x5x16x1", "OI", {}),
    "narrow": ("1x6x2x24", "3x3x24x1", "OI", {"padding": 1}),
    "five taps": ("1x12x25x20", "5x5x20x1", "OI", {"padding": 2}),
    "dilated": ("1x17x19x18", "3x3x18x1", "OI", {"padding": (2, 3), "dilation": (2, 3)}),
    "dilated far": ("1x15x40x16", "3x3x16x1", "OI", {"padding": 12, "dilation": 12}),
    "more padding than a strip": ("1x2x30x16", "3x3x16x1", "OI", {"padding": (1, 14)}),
    "more padding than kernel": ("1x4x4x16", "3x3x16x1", "OI", {"padding": 5, "strides": 3}),
    "uneven strides": ("1x13x16x8", "2x4x8x1", "OI", {"strides": (3, 2), "padding": (1, 2)}),
    "several filters": ("1x8x9x12", "3x3x12x2", "OI", {"padding": 1}),
    "three filters": ("1x8x9x5", "3x3x5x3", "OI", {"padding": 1, "strides": 2}),
    "no images": ("0x4x4x8", "3x3x8x1", "OI", {"padding": 1}),
    "one axis": ("2x37x24", "5x24x1", "OI", {"padding": 2}),
    "three axes": ("1x5x6x9x16", "3x3x3x16x1", "OI", {"padding": 1, "strides": (1, 2, 1)}),
}
rng = np.random.default_rng(0)


def numbers(shape: str, dtype: str) -> Any:
    sizes = [int(n) for n in shape.split("x")]
    made = rng.integers(-9, 9, sizes) if dtype == "int8" else rng.standard_normal(sizes)
    return made.astype(to_numpy(dtype))


def layer(name: str, dtype: str, is_constant: bool) -> tuple[Any, list[Any]]:
    """A convolution with a bias, a residual and a bound, and arguments."""
    data, weight, axes, attrs = CASES[name]
    x, w = numbers(data, dtype), numbers(weight, dtype)
    layout, space = LAYOUTS[x.ndim - 2]
    first = relay.var("x", shape=x.shape, dtype=dtype)
    second = relay.const(w, dtype) if is_constant else relay.var("w", shape=w.shape, dtype=dtype)
    call = getattr(relay.nn, f"conv{x.ndim - 2}d")
    y = call(first, second, groups=x.shape[-1], data_layout=layout, kernel_layout=space + axes, **attrs)
    bias = relay.const(numbers(str(w.shape[-1] * w.shape[-2]), dtype), dtype)
    y = relay.nn.relu(relay.nn.bias_add(y, bias, axis=x.ndim - 1)) + relay.exp(bias) if dtype != "int8" else y
    params = [first] if is_constant else [first, second]
    return relay.transform.InferType()(relay.IRModule.from_expr(relay.Function(params, y))), [x, w][
        : len(params)
    ]


@pytest.mark.parametrize("name", CASES)
def test_it_is_what_the_interpreter_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    monkeypatch.setattr(
        depthwise.Strips, "write", lambda s, f=depthwise.Strips.write: (found.append(s), f(s))
    )
    for dtype in TOLERANCE if name in ("same size", "odd") else ("float32",):
        for is_constant in (True, False):
            mod, args = layer(name, dtype, is_constant)
            wanted = np.asarray(Interpreter(mod).evaluate("main", *args)).astype("float64")
            results = [NativeProgram(mod, threads=n).function("main")(*args) for n in (1, 2)]
            assert found
            assert results[0].tobytes() == results[1].tobytes()
            error = np.abs(results[0].astype("float64") - wanted).max(initial=0)
            assert error <= TOLERANCE[dtype] * max(1, np.abs(wanted).max(initial=0)), dtype


@pytest.mark.parametrize("name", ["same size", "odd", "narrow"])
def test_what_follows_reads_the_sums_in_registers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    monkeypatch.setattr(
        Deferred,
        "computed",
        lambda x, i, f=Deferred.computed: (computed.append(x.call.attrs.name), f(x, i))[1],
    )
    NativeProgram(layer(name, "float32", True)[0])
    assert "nn.relu" in computed
    assert "nn.conv2d" not in computed


@pytest.mark.parametrize("stride", [1, 2])
def test_it_is_what_pytorch_says(stride: int) -> None:
    torch = pytest.importorskip("torch")
    x, w = numbers("2x112x17x96", "float32"), numbers("3x3x96x1", "float32")
    first = relay.var("x", shape=x.shape, dtype="float32")
    y = relay.nn.conv2d(first, relay.const(w, "float32"), strides=stride, padding=1, groups=96,
                        data_layout="NHWC", kernel_layout="HWOI")  # fmt: skip
    f = relay.build(relay.IRModule.from_expr(relay.Function([first], y)), threads=2)
    a, v = (torch.from_numpy(n) for n in (x.transpose(0, 3, 1, 2).copy(), w.transpose(2, 3, 0, 1).copy()))
    wanted = torch.nn.functional.conv2d(a, v, None, stride, 1, 1, 96).numpy().transpose(0, 2, 3, 1)
    np.testing.assert_allclose(f(x), wanted, rtol=1e-5, atol=1e-5)
