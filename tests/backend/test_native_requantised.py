"""Sums of small integers that are rounded to small integers again, in the memory of the threads."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.program.nests import text_of_nests
from relay.pipelines import optimize_for_native
from relay.typecheck.infer import infer

rng = np.random.default_rng(0)
SHAPES = {
    "few rows": (40, 512, 640),
    "an odd depth": (37, 131, 48),
    "many rows": (400, 96, 200),
    "columns left over": (64, 64, 37),
    "one row": (1, 300, 70),
}


def requantised(sums: Any, other: Any, columns: int, dtype: str) -> Any:
    """What layers of quantised networks end in."""
    scale = relay.const(rng.uniform(1e-4, 1e-3, columns).astype("float32"))
    x = relay.cast(sums, "float32") * scale + relay.cast(other, "float32") * relay.const(np.float32(0.1))
    low, high = (0.0, 255.0) if dtype == "uint8" else (-100.0, 120.0)
    return relay.cast(relay.clip(relay.round(x), low, high), dtype)


def compare(mod: Any, inputs: list[Any], threads: int) -> None:
    """Native code gives what the interpreter does."""
    expected: Any = relay.create_executor("debug", mod=mod).evaluate()(*inputs)
    built: Any = relay.build(mod, threads=threads)
    np.testing.assert_array_equal(np.asarray(built(*inputs)), np.asarray(expected))


@pytest.mark.parametrize("dtype", ["int16", "uint8"])
@pytest.mark.parametrize("name", list(SHAPES))
def test_products(name: str, dtype: str) -> None:
    rows, depth, columns = SHAPES[name]
    x, y = (
        relay.var(n, shape=shape, dtype="int16")
        for n, shape in (("x", (rows, depth)), ("y", (rows, columns)))
    )
    w = relay.const(rng.integers(-128, 128, (columns, depth)).astype("int8"))
    out = requantised(relay.nn.dense(x, w, out_dtype="int32"), y, columns, dtype)
    mod = infer(relay.IRModule.from_expr(relay.Function([x, y], out)))
    inputs = [rng.integers(-255, 256, shape).astype("int16") for shape in ((rows, depth), (rows, columns))]
    compare(mod, inputs, threads=2)


@pytest.mark.parametrize(
    ("channels", "taps", "stride", "size"),
    [
        (3, 7, 2, 38),
        (3, 3, 2, 33),
        (4, 3, 1, 20),
        (2, 5, 2, 21),
        (32, 3, 2, 17),
        (32, 3, 1, 15),
        (64, 1, 1, 12),
    ],
)
def test_convolutions(channels: int, taps: int, stride: int, size: int) -> None:
    x = relay.var("x", shape=(2, size, size, channels), dtype="uint8")
    w = relay.const(rng.integers(-128, 128, (taps, taps, channels, 24)).astype("int8"))
    sums = relay.nn.conv2d(
        x, w, strides=(stride, stride), padding=(taps // 2, taps // 2), channels=24, kernel_size=(taps, taps),
        data_layout="NHWC", kernel_layout="HWIO", out_dtype="int32",
    )  # fmt: skip
    places = (size + 2 * (taps // 2) - taps) // stride + 1
    y = relay.var("y", shape=(2, places, places, 24), dtype="int16")
    mod = infer(relay.IRModule.from_expr(relay.Function([x, y], requantised(sums, y, 24, "int16"))))
    inputs = [
        rng.integers(0, 256, (2, size, size, channels)).astype("uint8"),
        rng.integers(-255, 256, (2, places, places, 24)).astype("int16"),
    ]
    compare(mod, inputs, threads=1)


def test_sums_have_no_tensor_of_their_own() -> None:
    x = relay.var("x", shape=(256, 64), dtype="int16")
    y = relay.var("y", shape=(256, 128), dtype="int16")
    w = relay.const(rng.integers(-128, 128, (128, 64)).astype("int8"))
    out = requantised(relay.nn.dense(x, w, out_dtype="int32"), y, 128, "int16")
    mod = optimize_for_native(infer(relay.IRModule.from_expr(relay.Function([x, y], out))), ["main"])
    text = text_of_nests(Compiler(mod, ["main"]).program.nests, False)
    assert "stack" in text
    assert "new int32" not in text


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [("int8", -128, 127), ("uint8", 0, 255), ("int16", -131, 124)]
)
def test_rounding_at_once_gives_what_its_steps_give(dtype: str, low: float, high: float) -> None:
    x = relay.var("x", shape=(37,), dtype="float32")
    whole = relay.cast(relay.clip(relay.round(x * relay.const(np.float32(0.5))), low, high), dtype)
    mod = infer(relay.IRModule.from_expr(relay.Function([x], relay.cast(whole, "float32"))))
    special = [np.nan, np.inf, -np.inf, 1e30, -1e30, 1.0, 3.0, 5.0, -1.0, -3.0, 0.99999994, -0.0]
    data = np.array([*special, *rng.normal(scale=200.0, size=25)], "float32")
    compare(mod, [data], threads=1)
