"""Order as machine code: lines of every length, equal elements, NaN, both directions."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host.native_program import NativeProgram
from relay.interpreter.machine import Interpreter

rng = np.random.default_rng(0)


def numbers(dtype: str, *shape: int) -> Any:
    """Few different numbers, of which some are NaN, infinite, and zeros of both signs."""
    x = rng.integers(-20, 20, shape).astype(dtype)
    if dtype.startswith("float"):
        drawn = rng.random(shape)
        for i, special in enumerate((np.nan, np.inf, -np.inf, -0.0)):
            x[(drawn > 0.05 * i) & (drawn < 0.05 * (i + 1))] = special
    return x


def agree(body: str, x: Any) -> None:
    mod = relay.parse(f"def @main(%x: Tensor[{x.shape}, {x.dtype}]) {{ {body} }}")
    mod = relay.transform.InferType()(mod)
    wanted = Interpreter(mod).evaluate("main", x)
    for threads in (1, 2):
        found = NativeProgram(mod, threads=threads).function("main")(x)
        for a, b in zip(*[y if isinstance(y, tuple) else (y,) for y in (found, wanted)], strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("k", [1, 3, 25])
def test_the_first_few(k: int, ascending: bool) -> None:
    agree(f"topk(%x, k={k}, is_ascend={ascending})", numbers("float32", 5, 101))
    agree(f"topk(%x, k={k}, axis=0, is_ascend={ascending})", numbers("int32", 101, 6))


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int8", "int32", "uint16", "int64", "uint64"]
)
def test_long_lines(dtype: str, ascending: bool) -> None:
    x = numbers("float32", 2, 300).astype(dtype) if dtype == "float16" else numbers(dtype.lstrip("u"), 2, 300)
    agree(f"(argsort(%x, is_ascend={ascending}), sort(%x, is_ascend={ascending}))", x.astype(dtype))


def test_longer_lines() -> None:
    agree("(argsort(%x), sort(%x, axis=0, is_ascend=False))", numbers("float32", 9001))
    agree("unique(%x)", rng.integers(-(2**60), 2**60, 9001))
    agree("unique(%x)", rng.integers(0, 99, 700))
