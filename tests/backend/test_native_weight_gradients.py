"""Cotangents of the weights of convolutions by kernels, against the interpreter."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host.native_program import NativeProgram
from relay.backend.native.kernels import weight_gradients
from relay.interpreter.machine import Interpreter
from relay.ir.dtype import to_numpy

TOLERANCE = {"float32": 1e-5, "float64": 1e-13, "float16": 2e-3}
LAYOUTS = {1: ("NWC", "W"), 2: ("NHWC", "HW"), 3: ("NDHWC", "DHW")}
CASES: dict[str, tuple[str, str, int, dict[str, Any]]] = {
    "same size": ("2x9x9x16", "3x3", 32, {"padding": 1}),
    "odd": ("2x7x11x13", "3x2", 5, {"padding": (0, 1, 2, 0)}),
    "strides": ("1x15x14x20", "3x3", 40, {"padding": 1, "strides": 2}),
    "a tap": ("3x6x5x19", "1x1", 33, {}),
    "a tap, apart": ("1x9x9x16", "1x1", 8, {"strides": 2}),
    "the first layer": ("1x31x31x3", "7x7", 24, {"padding": 3, "strides": 2}),
    "many channels": ("1x5x5x100", "3x3", 70, {"padding": 1}),
    "dilated": ("1x11x13x9", "3x3", 8, {"dilation": (2, 3), "padding": (2, 3)}),
    "one channel": ("1x8x8x1", "3x3", 1, {}),
    "no images": ("0x5x5x4", "3x3", 4, {}),
    "one axis": ("2x300x6", "5", 17, {"padding": 2}),
    "three axes": ("1x5x6x7x4", "3x3x3", 10, {"padding": 1, "strides": (1, 2, 1)}),
}
rng = np.random.default_rng(0)


def gradient(name: str, dtype: str) -> tuple[Any, list[Any]]:
    """The cotangent of the weight, doubled, and arguments."""
    data, window, filters, attrs = CASES[name]
    sizes = [int(n) for n in data.split("x")]
    taps = [int(n) for n in window.split("x")]
    layout, space = LAYOUTS[len(taps)]
    call = getattr(relay.nn, f"conv{len(taps)}d")
    x = relay.var("x", shape=sizes, dtype=dtype)
    w = relay.var("w", shape=(*taps, sizes[-1], filters), dtype=dtype)
    forward = call(x, w, data_layout=layout, kernel_layout=space + "IO", **attrs)
    mod = relay.transform.InferType()(relay.IRModule.from_expr(relay.Function([x, w], forward)))
    shape = mod["main"].ret_type.concrete_shape
    g = relay.var("g", shape=shape, dtype=dtype)
    back = getattr(relay.nn, f"conv{len(taps)}d_backward_weight")
    y = back(g, x, kernel_size=tuple(taps), grad_layout=layout, data_layout=layout,
             kernel_layout=space + "IO", **attrs)  # fmt: skip
    mod = relay.IRModule.from_expr(relay.Function([g, x], y + y))
    made = [rng.standard_normal(s).astype(to_numpy(dtype)) for s in (shape, sizes)]
    return relay.transform.InferType()(mod), made


@pytest.mark.parametrize("name", CASES)
def test_it_is_what_the_interpreter_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, found = weight_gradients.WeightGradients, []
    monkeypatch.setattr(kernel, "write", lambda *args, f=kernel.write: (found.append(args), f(*args)))
    for dtype in TOLERANCE if name in ("same size", "odd") else ("float32",):
        mod, args = gradient(name, dtype)
        wanted = np.asarray(Interpreter(mod).evaluate("main", *args)).astype("float64")
        results = [NativeProgram(mod, threads=n).function("main")(*args) for n in (1, 2)]
        assert found
        assert results[0].tobytes() == results[1].tobytes()
        error = np.abs(results[0].astype("float64") - wanted).max(initial=0)
        assert error <= TOLERANCE[dtype] * max(1, np.abs(wanted).max(initial=0)), dtype
