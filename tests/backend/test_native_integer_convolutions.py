"""Convolutions of small integers by kernels, which add up in int32, against float64, which is exact."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.llvm.machine import shaped_for
from relay.pipelines import lower_to_native, optimize_for_native

rng = np.random.default_rng(2)
CASES: dict[str, tuple[Any, ...]] = {
    "1x1 where it is": ((1, 7, 9, 64), (1, 1, 64, 40), "int16", "int8", {}),
    "1x1 of odd channels": ((2, 5, 4, 33), (1, 1, 33, 21), "uint8", "int8", {}),
    "1x1 with strides": ((1, 9, 9, 16), (1, 1, 16, 48), "int16", "int8", {"strides": (2, 2)}),
    "3x3": ((2, 9, 11, 7), (3, 3, 7, 33), "uint8", "int8", {"padding": (1, 1)}),
    "3x3 with strides": (
        (1, 9, 9, 16),
        (3, 3, 16, 24),
        "int16",
        "int8",
        {"strides": (2, 2), "padding": (1, 1)},
    ),
    "few channels": ((1, 23, 22, 3), (7, 7, 3, 16), "uint8", "int8", {"strides": (2, 2), "padding": (3, 3)}),
    "grouped": ((1, 6, 7, 32), (3, 3, 16, 32), "uint8", "int8", {"groups": 2, "padding": (1, 1)}),
    "depthwise": ((1, 8, 9, 24), (3, 3, 1, 24), "uint8", "int8", {"groups": 24, "padding": (1, 1)}),
    "dilated": ((1, 9, 9, 16), (3, 3, 16, 24), "int8", "int8", {"dilation": (2, 2), "padding": (2, 2)}),
    "1d": ((2, 30, 5), (3, 5, 16), "int8", "int8", {"strides": 2, "padding": 1}),
    "3d": ((1, 5, 6, 7, 3), (3, 3, 3, 3, 8), "uint8", "uint8", {"padding": 1}),
}
TRANSPOSED = {
    "in phases": ((1, 5, 5, 16), (4, 4, 16, 24), "uint8", "int8", {"strides": (2, 2), "padding": (1, 1)}),
    "in one": ((1, 7, 7, 16), (3, 3, 16, 24), "int16", "int8", {"padding": (1, 1)}),
}


def numbers(*shape: int, dtype: str) -> Any:
    """Random numbers of all of a dtype, its extremes among them; int16 as far as bytes from zero points."""
    info = np.iinfo(dtype)
    low, high = (-255, 255) if dtype == "int16" else (info.min, info.max)
    found = rng.integers(low, high, shape, dtype, endpoint=True)
    found.reshape(-1)[: found.size // 3] = rng.choice([low, high], found.size // 3)
    return found


def check(case: tuple[Any, ...], kind: str = "", *, is_constant: bool, threads: int = 1) -> None:
    """The value of a convolution, compiled."""
    data, kernel, dtype, other, attrs = case
    rank = len(data) - 2
    axes = "DHW"[3 - rank :]
    conv = getattr(relay.nn, f"conv{rank}d{kind}")
    how = {"data_layout": f"N{axes}C", "kernel_layout": f"{axes}IO", **attrs}
    x, w = numbers(*data, dtype=dtype), numbers(*kernel, dtype=other)
    p, q = relay.var("x", shape=data, dtype=dtype), relay.var("w", shape=kernel, dtype=other)
    weight = relay.const(w) if is_constant else q
    mod = relay.IRModule.from_expr(
        relay.Function([p] if is_constant else [p, q], conv(p, weight, out_dtype="int32", **how))
    )
    wide = relay.var("x", shape=data, dtype="float64")
    exact: Any = relay.build(
        relay.IRModule.from_expr(relay.Function([wide], conv(wide, relay.const(w.astype("float64")), **how)))
    )
    built: Any = relay.build(mod, threads=threads)
    found = built(x) if is_constant else built(x, w)
    np.testing.assert_array_equal(found, np.asarray(exact(x.astype("float64"))).astype("int32"))


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize("name", list(CASES))
def test_all_kinds(name: str, is_constant: bool) -> None:
    check(CASES[name], is_constant=is_constant)


@pytest.mark.parametrize("name", list(TRANSPOSED))
def test_transposed(name: str) -> None:
    check(TRANSPOSED[name], "_transpose", is_constant=True)


@pytest.mark.parametrize(
    ("data", "kernel", "dtype", "attrs"),
    [
        ((1, 14, 14, 64), (3, 3, 64, 64), "uint8", {"padding": (1, 1)}),
        ((1, 13, 7, 511), (3, 3, 511, 40), "int8", {}),
        ((1, 16, 16, 64), (3, 3, 64, 64), "uint8", {"padding": (2, 2), "dilation": (2, 2)}),
    ],
)
def test_fewer_products_of_bytes(data: Any, kernel: Any, dtype: str, attrs: Any) -> None:
    check((data, kernel, dtype, "int8", attrs), is_constant=True, threads=2)


@pytest.mark.parametrize(("dtype", "value"), [("uint8", 255), ("int8", -128)])
def test_extremes_of_most_channels(dtype: str, value: int) -> None:
    x, w = np.full((1, 7, 7, 1024), value, dtype), np.full((3, 3, 1024, 16), -128, "int8")
    p = relay.var("x", shape=x.shape, dtype=dtype)
    how = {"data_layout": "NHWC", "kernel_layout": "HWIO", "out_dtype": "int32"}
    body = relay.nn.conv2d(p, relay.const(w), **how)
    mod = relay.IRModule.from_expr(relay.Function([p], body))
    with shaped_for("avx2"):  # with VNNI bytes are multiplied as they are
        assert "@relay.patches.2" in "".join([q.text for q in Compiler(mod).program.pieces])
    built: Any = relay.build(mod)
    np.testing.assert_array_equal(built(x), np.full((1, 5, 5, 16), 9 * 1024 * value * -128))


def test_threads() -> None:
    check(
        ((1, 40, 41, 32), (3, 3, 32, 64), "uint8", "int8", {"padding": (1, 1)}), is_constant=True, threads=2
    )


def test_sums_are_written_as_bytes_by_the_kernel_that_adds_them() -> None:
    mod = relay.parse("""def @main(%x: Tensor[(1, 8, 8, 16), int16], %w: Tensor[(1, 1, 16, 32), int8]) {
      %0 = nn.conv2d(%x, %w, data_layout="NHWC", kernel_layout="HWIO", out_dtype="int32");
      cast(clip(round(cast(%0, dtype="float32") * 0.01), a_min=0.0, a_max=255.0), dtype="uint8")
    }""")
    mod = optimize_for_native(mod, ("main",))
    assert str(lower_to_native(mod)).count("def @fused") == 1
    assert "@relay.tile.int32" in "".join([p.text for p in Compiler(mod).program.pieces])
