"""Products of bytes less their zero point, on machines that add up products of bytes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.llvm.jit import compiling_for
from relay.backend.native.llvm.processors import processor_named
from relay.backend.native.program.byte_operands import byte_operands
from relay.pipelines import optimize_for_native
from relay.transform.rewriting.pipeline import RulePass
from relay.transform.rewriting.registry import rules
from relay.typecheck.infer import infer

rng = np.random.default_rng(0)
IMAGE, FILTERS = (1, 7, 7, 16), (3, 3, 16, 8)
Product = Callable[[Any, Any], Any]


def conv(x: Any, w: Any, **attrs: Any) -> Any:
    return relay.nn.conv2d(
        x, w, channels=8, kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWIO", out_dtype="int32",
        **attrs,
    )  # fmt: skip


def less(x: Any, point: int) -> Any:
    return relay.cast(x, "int16") - relay.const(np.int16(point))


def rounded(x: Any, low: float, high: float) -> Any:
    scaled = relay.cast(x, "float32") * relay.const(np.float32(0.9))
    return relay.cast(relay.clip(relay.round(scaled), low, high), "int16")


def pooled(x: Any) -> Any:
    return relay.nn.max_pool2d(x, pool_size=(2, 2), layout="NHWC")


CASES: dict[str, tuple[Product, tuple[int, ...], tuple[int, ...]]] = {
    "padding": (lambda x, w: conv(less(x, 7), w, padding=(1, 2), strides=(2, 2)), IMAGE, FILTERS),
    "no zero point": (lambda x, w: conv(relay.cast(x, "int16"), w, padding=(1, 1)), IMAGE, FILTERS),
    "dense": (lambda x, w: relay.nn.dense(less(x, 200), w, out_dtype="int32"), (5, 19), (6, 19)),
    "matmul": (lambda x, w: relay.nn.matmul(less(x, 200), w, out_dtype="int32"), (5, 19), (19, 6)),
    "rounded": (lambda x, w: conv(pooled(rounded(x, -100.0, 120.0)), w, padding=(1, 1)), IMAGE, FILTERS),
    "from 0 on": (lambda x, w: conv(rounded(x, 0.0, 255.0), w, padding=(1, 1)), IMAGE, FILTERS),
}


def program(name: str) -> tuple[Any, Any, Any]:
    """A module, its data, and its weight: the greatest and the least bytes among them."""
    product, shape, weight = CASES[name]
    data = rng.integers(0, 256, shape).astype("uint8")
    data.flat[::3] = 255
    w = rng.integers(-128, 128, weight).astype("int8")
    x = relay.var("x", shape=shape, dtype="uint8")
    return infer(relay.IRModule.from_expr(relay.Function([x], product(x, relay.const(w))))), data, w


@pytest.mark.parametrize("name", list(CASES))
def test_sums_are_equal(name: str) -> None:
    mod, data, _ = program(name)
    made = infer(RulePass(rules[byte_operands]).run(mod))
    assert made is not mod
    expected = relay.create_executor("debug", mod=mod).evaluate()(data)
    for executor in ("debug", "native"):
        found = relay.create_executor(executor, mod=made).evaluate()(data)
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


def test_dense_gives_what_int64_says() -> None:
    mod, data, w = program("dense")
    built: Any = relay.build(infer(RulePass(rules[byte_operands]).run(mod)))
    np.testing.assert_array_equal(built(data), (data.astype("int64") - 200) @ w.astype("int64").T)


@pytest.mark.parametrize("name", ["padding", "matmul", "rounded"])
def test_tiles_of_such_machines_multiply_bytes(name: str) -> None:
    mod, _, _ = program(name)
    with compiling_for(processor_named("x86-64-v4+avx512vnni")):
        made = Compiler(optimize_for_native(mod, ["main"]), ["main"])
    assert "@relay.tile.int32.uint8.int8" in "".join([p.text for p in made.program.pieces])


EXTREMES = {"greatest": (64, 64), "least": (-64, -64), "mixed": (-64, 64)}


def with_weights(values: tuple[int, int], point: int) -> tuple[Any, Any, Any]:
    """A product of the greatest bytes and weights of these values, its data and weight."""
    w = rng.choice(values, (37, 66)).astype("int8")
    x = relay.var("x", shape=(13, 66), dtype="uint8")
    y = relay.nn.dense(less(x, point), relay.const(w), out_dtype="int32")
    data = np.full((13, 66), 255, "uint8")
    data[1::2] = rng.integers(0, 256, data[1::2].shape)
    return infer(relay.IRModule.from_expr(relay.Function([x], y))), data, w


@pytest.mark.parametrize("point", [0, 200])
@pytest.mark.parametrize("name", list(EXTREMES))
def test_sums_of_pairs_in_int16_are_exact_where_weights_are_small(name: str, point: int) -> None:
    mod, data, w = with_weights(EXTREMES[name], point)
    built: Any = relay.build(mod)
    np.testing.assert_array_equal(built(data), (data.astype("int64") - point) @ w.astype("int64").T)


@pytest.mark.parametrize(("values", "are_small"), [((-64, 64), True), ((-65, 64), False), ((0, 65), False)])
def test_pairs_are_added_up_in_int16_only_where_no_weight_is_too_great(
    values: tuple[int, int], are_small: bool
) -> None:
    mod, _, _ = with_weights(values, 200)
    with compiling_for(processor_named("x86-64-v3")):
        made = Compiler(optimize_for_native(mod, ["main"]), ["main"])
    text = "".join([p.text for p in made.program.pieces])
    assert ("@relay.tile.int32.uint8.int8" in text) == are_small


@pytest.mark.parametrize(
    ("image", "filters", "stride", "padding", "point"),
    [((14, 3), (7, 16), 2, 3, 0), ((9, 16), (3, 24), 2, 1, 7), ((8, 18), (1, 20), 1, 0, 3)],
)
def test_convolutions_by_small_weights_are_exact(
    image: tuple[int, int], filters: tuple[int, int], stride: int, padding: int, point: int
) -> None:
    (n, channels), (k, many) = image, filters
    w = rng.choice([-64, 64, 5], (k, k, channels, many)).astype("int8")
    data = rng.integers(0, 256, (1, n, n, channels)).astype("uint8")
    data.flat[::2] = 255
    x = relay.var("x", shape=data.shape, dtype="uint8")
    y = relay.nn.conv2d(
        less(x, point), relay.const(w), channels=many, kernel_size=(k, k), strides=(stride, stride),
        padding=(padding, padding), data_layout="NHWC", kernel_layout="HWIO", out_dtype="int32",
    )  # fmt: skip
    built: Any = relay.build(infer(relay.IRModule.from_expr(relay.Function([x], y))))
    around = (padding, padding)
    padded = np.pad(data.astype("int64") - point, ((0, 0), around, around, (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (k, k), (1, 2))[:, ::stride, ::stride]
    np.testing.assert_array_equal(built(data), np.einsum("nhwcij,ijco->nhwo", windows, w.astype("int64")))


@pytest.mark.parametrize("of_integers", [True, False])
def test_what_may_be_nan_is_zero_in_bytes(of_integers: bool) -> None:
    x = relay.var("x", shape=(5,), dtype="int32" if of_integers else "float32")
    y = relay.cast(x, "float32") if of_integers else x
    y = relay.round(y * relay.const(np.float32(0.5)) + relay.const(np.float32(3)))
    mod = infer(relay.IRModule.from_expr(relay.Function([x], relay.cast(relay.clip(y, -131, 124), "int16"))))
    made = infer(RulePass(rules[byte_operands]).run(mod))
    assert ("where" in str(made)) is not of_integers
    data = np.array([1, -1000, 1000, 7, 0], x.type_annotation.dtype)
    if not of_integers:
        data[3:] = np.nan, np.inf
    expected = relay.create_executor("debug", mod=mod).evaluate()(data)
    for executor in ("debug", "native"):
        found = relay.create_executor(executor, mod=made).evaluate()(data)
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


def test_bounds_that_leave_zero_out_keep_what_may_be_nan() -> None:
    x = relay.var("x", shape=(5,), dtype="float32")
    mod = infer(relay.IRModule.from_expr(relay.Function([x], relay.cast(relay.clip(x, 3, 124), "int16"))))
    assert RulePass(rules[byte_operands]).run(mod) is mod
