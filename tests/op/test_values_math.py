"""Values of elementwise operators against NumPy in float64, Python's integers, and hand-worked cases."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import relay
from op.concrete import infer, run
from op.operands import random_array
from relay.diagnostic import RelayError
from relay.ir.dtype import bits, integer_range, is_signed, to_numpy
from relay.ir.type import TensorType
from relay.op.registry import registry

SHAPES = ((), (0, 3), (3, 5), (1, 7, 1))
EPSILON = {"float64": 1e-14, "float32": 1e-6, "float16": 2e-3, "bfloat16": 2e-2, "float8_e5m2": 0.26}
IN_DOMAIN = {
    "acosh": lambda x: np.abs(x) + 1,
    "atanh": lambda x: np.tanh(x) * 0.9,
    "log1p": np.abs,
    "asin": np.tanh,
    "acos": np.tanh,
}

UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs, "negative": np.negative, "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "erf": np.vectorize(math.erf, [float]),
    "erfc": np.vectorize(math.erfc, [float]), "expm1": np.expm1, "log1p": np.log1p,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "floor": np.floor, "ceil": np.ceil, "round": np.round,
    "trunc": np.trunc, "sign": np.sign, "copy": lambda x: x, "isnan": np.isnan, "isinf": np.isinf,
    "isfinite": np.isfinite,
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "power": np.power,
    "maximum": np.maximum, "minimum": np.minimum, "atan2": np.arctan2, "floor_divide": np.floor_divide,
    "trunc_divide": lambda x, y: np.trunc(x / y), "mod": np.fmod, "trunc_mod": np.fmod, "floor_mod": np.mod,
    "hypot": np.hypot, "logaddexp": np.logaddexp,
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal,
}  # fmt: skip


def agree(found: Any, expected: Any, dtype: str, name: str) -> None:
    """Compare within the precision of the dtype; NaN and infinities are themselves."""
    tolerance = EPSILON[dtype] * registry[name].tolerance
    np.testing.assert_allclose(np.asarray(found).astype(np.float64), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", EPSILON)
@pytest.mark.parametrize("name", UNARY)
def test_unary_functions_agree_with_numpy_in_float64(name: str, dtype: str) -> None:
    rng = np.random.default_rng(7)
    for shape in SHAPES:
        x = np.asarray(IN_DOMAIN.get(name, lambda v: v)(rng.standard_normal(shape))).astype(to_numpy(dtype))[
            ()
        ]
        wide = np.asarray(x).astype(np.float64)
        with np.errstate(all="ignore"):
            expected = UNARY[name](wide) if wide.size else wide
        if name in ("acos", "acosh", "tan") and dtype == "float8_e5m2":
            continue  # steep where a rounded argument touches the edge of the domain
        agree(run(name, x), expected, dtype, name)


@pytest.mark.parametrize("dtype", EPSILON)
@pytest.mark.parametrize("name", BINARY)
def test_binary_functions_agree_with_numpy_in_float64(name: str, dtype: str) -> None:
    rng = np.random.default_rng(11)
    for left, right in (((), ()), ((3, 5), (5,)), ((2, 1, 4), (3, 1)), ((0, 3), (1,))):
        x, y = (np.asarray(random_array(s, dtype, rng)) for s in (left, right))
        if name == "power":
            x = np.abs(x)
        wide = x.astype(np.float64), y.astype(np.float64)
        if dtype not in ("float32", "float64") and name in (
            "floor_divide",
            "trunc_divide",
            "mod",
            "trunc_mod",
            "floor_mod",
        ):
            continue  # jumps: a rounded quotient may lie on the other side
        with np.errstate(all="ignore"):
            agree(run(name, x[()], y[()]), BINARY[name](*wide), dtype, name)


INTEGERS: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y, "subtract": lambda x, y: x - y, "multiply": lambda x, y: x * y,
    "divide": lambda x, y: math.trunc(Fraction(x, y)), "trunc_divide": lambda x, y: math.trunc(Fraction(x,
    y)),
    "floor_divide": lambda x, y: x // y, "mod": lambda x, y: x - y * math.trunc(Fraction(x, y)),
    "trunc_mod": lambda x, y: x - y * math.trunc(Fraction(x, y)), "floor_mod": lambda x, y: x % y,
    "maximum": max, "minimum": min, "bitwise_and": lambda x, y: x & y, "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
}  # fmt: skip


def wrapped(value: int, dtype: str) -> int:
    """The value modulo the width of the type."""
    low = value % 2 ** bits(dtype)
    return low - 2 ** bits(dtype) if is_signed(dtype) and low >= 2 ** (bits(dtype) - 1) else low


@pytest.mark.parametrize(
    "dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64", "int4", "uint4", "int2", "uint2"]
)
@pytest.mark.parametrize("name", INTEGERS)
def test_integer_arithmetic_is_that_of_python_wrapped(name: str, dtype: str) -> None:
    low, high = integer_range(dtype)
    edge = sorted(
        {low, low + 1, -1, 0, 1, 2, high - 1, high} & set(range(max(low, -(2**63)), low + 2))
        | {v for v in (-3, -1, 0, 1, 2, 3, high - 1, high) if low <= v <= high}
    )
    pairs = [(x, y) for x in edge for y in edge if y or not any(word in name for word in ("divide", "mod"))]
    xs, ys = (
        np.array([p[i] for p in pairs], object)
        .astype("int64" if is_signed(dtype) else "uint64")
        .astype(to_numpy(dtype))
        for i in (0, 1)
    )
    expected = [wrapped(INTEGERS[name](x, y), dtype) for x, y in pairs]
    assert [int(v) for v in run(name, xs, ys)] == expected
    scalars = [int(run(name, x, y)) for x, y in zip(xs, ys, strict=True)]
    assert scalars == expected


@pytest.mark.parametrize("name", ["divide", "floor_divide", "trunc_divide", "mod", "floor_mod", "trunc_mod"])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int4"])
def test_integer_division_by_zero_is_a_diagnostic(name: str, dtype: str) -> None:
    one, zero = np.array([1, 1]).astype(to_numpy(dtype)), np.array([1, 0]).astype(to_numpy(dtype))
    for y in (zero, zero[1]):
        with pytest.raises(RelayError) as error:
            run(name, one, y)
        assert error.value.codes == ("divide-by-zero",)


@pytest.mark.parametrize("name", ["divide", "floor_divide", "trunc_mod", "floor_mod"])
def test_nothing_divided_by_zero_is_nothing(name: str) -> None:
    mod = relay.parse(f"def @main(%x: Tensor[(n,), int32], %y: int32) {{ {name}(%x, %y) }}")
    for executor in ("debug", "native"):
        call = relay.create_executor(executor, mod=mod).evaluate()
        assert call(np.zeros(0, "int32"), np.int32(0)).shape == (0,)


def test_float_division_by_zero_is_infinite_or_nan() -> None:
    found = run("divide", np.array([1.0, -1.0, 0.0], "float32"), np.float32(0))
    np.testing.assert_array_equal(found, np.array([np.inf, -np.inf, np.nan], "float32"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_power_of_a_half_is_no_square_root(dtype: str) -> None:
    bases, half = np.array([-np.inf, -0.0, 0.0, 4.0, np.inf], dtype), np.array(0.5, dtype)
    wanted = [math.pow(x, 0.5) for x in bases.tolist()]
    for found in (run("power", bases, half), [run("power", x, half[()]) for x in bases]):
        assert [(v, math.copysign(1, v)) for v in np.asarray(found).tolist()] == [(v, 1) for v in wanted]


def test_power_of_integers() -> None:
    assert run("power", np.int32(3), np.int32(4)) == 81
    assert run("power", np.uint8(2), np.uint8(9)) == 0
    bases = np.array([1, -1, -1, 2, -3], "int32")
    assert run("power", bases, np.array([-5, -2, -3, -1, -2], "int32")).tolist() == [1, 1, -1, 0, 0]
    with pytest.raises(RelayError) as error:
        run("power", np.int32(0), np.int32(-1))
    assert error.value.codes == ("divide-by-zero",)


def test_nan_propagates_through_maximum_minimum_sign_and_clip() -> None:
    nan = np.array([np.nan, 1.0], "float32")
    for name in ("maximum", "minimum"):
        assert np.isnan(run(name, nan, np.float32(0))).tolist() == [True, False]
        assert np.isnan(run(name, np.float32(0), nan)).tolist() == [True, False]
    assert np.isnan(run("sign", nan)).tolist() == [True, False]
    assert np.isnan(run("clip", nan, a_min=0.0, a_max=0.5)).tolist() == [True, False]


def test_nan_equals_nothing() -> None:
    nan = np.float32("nan")
    assert not run("equal", nan, nan)
    assert run("not_equal", nan, nan)
    assert not run("less", nan, nan)


def test_round_takes_the_even_neighbour() -> None:
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4, 2.6])
    assert run("round", halves).tolist() == [-2, -2, 0, 0, 2, 2, 2, 3]
    assert run("round", np.array([7, -7], "int8")).tolist() == [7, -7]


def test_least_integer_wraps_in_abs_and_negative() -> None:
    assert run("abs", np.int8(-128)) == -128
    assert run("negative", np.int8(-128)) == -128
    assert run("negative", np.uint8(1)) == 255
    int4 = np.array([-8, 7]).astype(to_numpy("int4"))
    assert [int(v) for v in run("abs", int4)] == [-8, 7]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "int4", "uint2"])
def test_shifts_by_the_width_or_more_give_zero_or_the_sign(dtype: str) -> None:
    low, high = integer_range(dtype)
    width = bits(dtype)
    for x in (low, high, 1):
        for y in {0, 1, min(width - 1, high), min(width, high), high}:
            a, b = (np.array(v).astype(to_numpy(dtype)) for v in (x, y))
            assert int(run("left_shift", a, b)) == wrapped(x << min(y, width), dtype)
            assert int(run("right_shift", a, b)) == x >> min(y, width)


def test_clip_bounds_beyond_the_type_are_its_own() -> None:
    assert run("clip", np.array([-5, 5, 100], "int8"), a_min=-1000.0, a_max=50.0).tolist() == [-5, 5, 50]
    assert run("clip", np.array([0, 255], "uint8"), a_min=-3.0, a_max=1e9).tolist() == [0, 255]


CASTS = [
    (
        "float32",
        "int32",
        [1.9, -1.9, 1e30, -1e30, np.nan, np.inf],
        [1, -1, 2**31 - 1, -(2**31), 0, 2**31 - 1],
    ),
    ("float64", "int64", [2.0**63, -(2.0**63), 2.0**62, 1e300], [2**63 - 1, -(2**63), 2**62, 2**63 - 1]),
    ("float64", "uint64", [2.0**64, -1.0, 2.0**63], [2**64 - 1, 0, 2**63]),
    ("float32", "uint8", [255.9, 256.0, -0.5, -1.0], [255, 255, 0, 0]),
    ("float16", "int4", [7.5, 8.0, -8.9, -9.0], [7, 7, -8, -8]),
    ("bfloat16", "uint2", [3.5, 4.0, -1.0], [3, 3, 0]),
    ("int32", "int8", [127, 128, -129, 300], [127, -128, 127, 44]),
    ("int64", "uint4", [15, 16, -1], [15, 0, 15]),
    ("int4", "uint8", [-1, 7], [255, 7]),
    ("uint4", "int4", [15, 8, 7], [-1, -8, 7]),
    ("int32", "bool", [0, 1, -7], [False, True, True]),
    ("float32", "bool", [0.0, -0.0, np.nan, 0.5], [False, False, True, True]),
    ("bool", "float16", [True, False], [1.0, 0.0]),
    ("bool", "int2", [True, False], [1, 0]),
    ("float32", "float8_e4m3fn", [1.0, 0.3, 1000.0], [1.0, 0.3125, np.nan]),
    ("float32", "float16", [70000.0, 1e-9, 1.5], [np.inf, 0.0, 1.5]),
]


@pytest.mark.parametrize(("source", "target", "given", "expected"), CASTS)
def test_casts_saturate_wrap_and_round(
    source: str, target: str, given: list[Any], expected: list[Any]
) -> None:
    x = np.array(given, "float64" if source.startswith(("float", "bf")) else "int64").astype(to_numpy(source))
    for found in (run("cast", x, dtype=target), run("cast_like", x, np.zeros((), to_numpy(target)))):
        assert found.dtype == to_numpy(target)
        as_list = [float(v) if "float" in target else v.item() if target == "bool" else int(v) for v in found]
        np.testing.assert_array_equal(
            np.array(as_list, object).astype(float), np.array(expected, object).astype(float)
        )
        if "int" in target:
            assert as_list == expected


def test_reinterpret_reads_bits() -> None:
    assert run("reinterpret", np.array([1.0, -2.0], "float32"), dtype="uint32").tolist() == [
        0x3F800000,
        0xC0000000,
    ]
    assert [
        int(v) for v in run("reinterpret", np.array([-1, 7]).astype(to_numpy("int4")), dtype="uint4")
    ] == [15, 7]
    assert [int(v) for v in run("reinterpret", np.array([15]).astype(to_numpy("uint4")), dtype="int4")] == [
        -1
    ]
    assert (
        float(run("reinterpret", np.array([0b0110]).astype(to_numpy("uint4")), dtype="float4_e2m1fn")[0])
        == 4.0
    )
    with pytest.raises(RelayError) as error:
        infer("reinterpret", TensorType((), "float32"), dtype="int64")
    assert error.value.codes == ("dtype-width",)


@pytest.mark.parametrize(
    ("name", "table"),
    [("logical_and", [0, 0, 0, 1]), ("logical_or", [0, 1, 1, 1]), ("logical_xor", [0, 1, 1, 0])],
)
def test_truth_tables(name: str, table: list[int]) -> None:
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert run(name, x, y).tolist() == [bool(v) for v in table]
    assert run("logical_not", x).tolist() == [True, True, False, False]


def test_strings_can_be_compared() -> None:
    words = np.array(["b", "a"], object)
    op = registry["equal"]()
    assert op.evaluate("a", "a")
    assert op.evaluate(words, words).tolist() == [True, True]
    assert registry["less"]().evaluate(words, words[::-1]).tolist() == [False, True]


@pytest.mark.parametrize("name", ["exp", "sigmoid", "tanh", "erf"])
def test_extreme_arguments_give_limits_and_no_warnings(name: str) -> None:
    limits = {"exp": (0.0, np.inf), "sigmoid": (0.0, 1.0), "tanh": (-1.0, 1.0), "erf": (-1.0, 1.0)}[name]
    found = run(name, np.array([-1e4, 1e4, -np.inf, np.inf], "float32"))
    assert found.tolist() == [*limits, *limits]


def test_a_number_is_not_a_boolean() -> None:
    for name in ("add", "negative", "floor", "exp"):
        with pytest.raises(RelayError) as error:
            infer(name, *[TensorType((2,), "bool")] * len(registry[name].operands))
        assert error.value.codes == ("dtype-not-supported",)


def test_strings_are_not_numbers() -> None:
    for types, dtype in (("string", "int32"), ("int32", "string")):
        with pytest.raises(RelayError) as error:
            infer("cast", TensorType((2,), types), dtype=dtype)
        assert error.value.codes == ("dtype-not-supported",)
    with pytest.raises(RelayError) as error:
        registry["cast"](dtype="int32").evaluate("7")
    assert error.value.codes == ("dtype-not-supported",)
