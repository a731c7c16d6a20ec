"""Every finite float16 and bfloat16 through functions of one number, and every place where a cast rounds.

Functions are computed in float32 or wider and rounded once: what differs from NumPy's float64, rounded, lies
within a few float32 units of the middle of two neighbours.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay
from relay.ir.dtype import FLOATS, bits, to_numpy
from relay.op.math import Smooth
from relay.op.registry import registry

FLOAT32_ERROR = 2.0**-21
"""The relative error allowed before the last rounding: four units in the last place of float32."""

NATIVE_ERROR = {"ndtr": 1e-15, "nn.gelu": 1e-14}
"""Absolute errors that machine code states: its `ndtr` of float32 is 0 below -8."""


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf, [float])(x)


def _erfc(x: Any) -> Any:
    return np.vectorize(math.erfc, [float])(x)


def _sigmoid(x: Any) -> Any:
    return np.exp(-np.logaddexp(0, -x))


UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "log2": np.log2, "log10": np.log10,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": _sigmoid, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "erf": _erf,
    "erfc": _erfc, "ndtr": lambda x: _erfc(-x / math.sqrt(2)) / 2,
    "nn.gelu": lambda x: x * _erfc(-x / math.sqrt(2)) / 2, "nn.silu": lambda x: x * _sigmoid(x),
    "nn.softplus": lambda x: np.logaddexp(0, x), "nn.mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    "nn.elu": lambda x: np.where(x > 0, x, np.expm1(x)), "nn.celu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "nn.selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
}  # fmt: skip


def every_value(dtype: str) -> Any:
    """Every finite value of a float of 16 bits or fewer, zeros of both signs included."""
    word = np.dtype("uint16" if to_numpy(dtype).itemsize == 2 else "uint8")
    found = np.arange(2 ** bits(dtype)).astype(word).view(to_numpy(dtype))
    return found[np.isfinite(found.astype("float32"))]


def both(text: str, x: Any) -> list[Any]:
    """What the interpreter and machine code make of an array."""
    mod = relay.parse(text)
    runs = [relay.create_executor(kind, mod=mod).evaluate() for kind in ("debug", "native")]
    return [np.asarray(run(x)).astype("float64") for run in runs]


def test_every_smooth_function_is_in_the_table() -> None:
    smooth = {n for n, cls in registry.items() if issubclass(cls, Smooth) and not n.startswith("fast_")}
    assert smooth <= set(UNARY)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_every_narrow_float_are_rounded_once(name: str, dtype: str) -> None:
    x = every_value(dtype)
    assert len(x) == {"float16": 63488, "bfloat16": 65280}[dtype]
    with np.errstate(all="ignore"):
        exact = UNARY[name](x.astype("float64"))
        ends = [
            (exact * (1 + e)).astype(to_numpy(dtype)).astype("float64")
            for e in (-FLOAT32_ERROR, FLOAT32_ERROR)
        ]
    low, high = np.minimum(*ends), np.maximum(*ends)
    results = both(f"def @main(%x: Tensor[({len(x)},), {dtype}]) {{ {name}(%x) }}", x)
    for found, error in zip(results, (0.0, NATIVE_ERROR.get(name, 0.0)), strict=True):
        right = ((low - error <= found) & (found <= high + error)) | (np.isnan(exact) & np.isnan(found))
        assert right.all(), (name, x[~right][:5], found[~right][:5], exact[~right][:5])


@pytest.mark.parametrize("dtype", [t for t in FLOATS if to_numpy(t).itemsize <= 2])
def test_float64_is_rounded_once(dtype: str) -> None:
    values = np.unique(every_value(dtype).astype("float64"))
    low, high = values[:-1], values[1:]
    middle = (low + high) / 2
    word = f"uint{8 * to_numpy(dtype).itemsize}"
    is_low_even = low.astype(to_numpy(dtype)).view(word) % 2 == 0
    x = np.concatenate([np.nextafter(middle, -np.inf), middle, np.nextafter(middle, np.inf)])
    wanted = np.concatenate([low, np.where(is_low_even, low, high), high])
    for found in both(f'def @main(%x: Tensor[({len(x)},), float64]) {{ cast(%x, dtype="{dtype}") }}', x):
        np.testing.assert_array_equal(found, wanted)
    near = relay.const(x, dtype).value.astype("float64")
    np.testing.assert_array_equal(near, wanted)


def test_a_literal_is_rounded_once() -> None:
    above = 1 + 2.0**-8 + 2.0**-40  # just above the middle of 1 and the next bfloat16
    text = f"def @main() {{ ({above!r}bf16, [{above!r}bf16, 1bf16]) }}"
    first, second = relay.parse(text).evaluate("main")
    assert float(first) == float(second[0]) == 1 + 2.0**-7
