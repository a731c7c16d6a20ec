"""Functions of floats as machine code: how far from the truth, in units in the last place.

Float32 is tried on every 1,024th bit pattern (every 256th by `make check-long`) against NumPy in float64,
float64 on samples of all sizes against NumPy in long double; infinities, NaN, zeros and denormals are among
both.
"""

from collections.abc import Callable
from math import erf, erfc
from time import perf_counter
from typing import Any

import numpy as np
import pytest

from relay.backend.native.host.native_program import NativeProgram
from relay.ir.expr import Call, Function, Op, Var
from relay.ir.module import IRModule
from relay.op.arrays import array_type

UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "nn.softplus": lambda x: np.logaddexp(x, 0), "expm1": np.expm1, "log1p": np.log1p,
    "erf": np.vectorize(erf, otypes=["float64"]), "erfc": np.vectorize(erfc, otypes=["float64"]),
}  # fmt: skip
SHORT_ULPS = 2.0
SOFTPLUS_ULPS = 3.0
LONG_ULPS = 4.0
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    5e-324,
    -1e-310,
    1e308,
    -1e308,
    0.5,
    -0.5,
    2.0,
    3.0,
    -3.0,
]


def compiled(name: str, *operands: Any) -> Any:
    """What machine code makes of some arrays."""
    params = tuple([Var(f"x{i}", array_type(x)) for i, x in enumerate(operands)])
    mod = IRModule()
    mod["main"] = Function(params, Call(Op.get(name), params, {}))
    return NativeProgram(mod, ["main"]).evaluate("main", *operands)


def worst(found: Any, truth: Any) -> float:
    """The greatest distance in units in the last place; the ends and signs of zeros must agree."""
    wanted = truth.astype(found.dtype)
    least = np.finfo(found.dtype).smallest_normal
    with np.errstate(all="ignore"):
        unit = np.spacing(np.maximum(np.abs(wanted), least)).astype(truth.dtype)
        away = np.abs(found.astype(truth.dtype) - truth) / unit
        ends = ~np.isfinite(wanted) | ~np.isfinite(found)
        top = np.isinf(found) & (np.abs(wanted) == np.finfo(found.dtype).max)
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted)) | top
    assert np.all(same[ends]), (found[ends & ~same][:5], wanted[ends & ~same][:5])
    zeros = (wanted == 0) & (found == 0)
    assert np.all(np.signbit(found[zeros]) == np.signbit(wanted[zeros]))
    return float(np.max(away[~ends], initial=0))


STEPS = pytest.mark.parametrize("step", [1024, pytest.param(256, marks=pytest.mark.long)])


def patterns(step: int) -> Any:
    """Every `step`th bit pattern of float32, and the special ones."""
    some = (np.arange(0, 2**32, step, dtype="uint64") + 97).astype("uint32").view("float32")
    with np.errstate(over="ignore"):
        return np.concatenate([some, np.asarray(SPECIAL, "float32")])


def samples(n: int) -> Any:
    """Float64 of all sizes, more of them near 1, and the special ones."""
    rng = np.random.default_rng(1)
    any_size = rng.integers(0, 2**64, n, dtype="uint64").view("float64")
    near = rng.standard_normal(n) * 2.0 ** rng.integers(-8, 9, n)
    return np.concatenate([any_size, near, rng.uniform(-1, 1, n), 1 + rng.uniform(-1, 1, n) / 64, SPECIAL])


@STEPS
@pytest.mark.parametrize("name", UNARY)
def test_float32_is_within_the_units_in_the_last_place_that_it_says(name: str, step: int) -> None:
    xs = patterns(step)
    xs = xs[::16] if name in ("erf", "erfc") else xs
    with np.errstate(all="ignore"):
        truth = UNARY[name](xs.astype("float64"))
    assert worst(compiled(name, xs), truth) <= (SOFTPLUS_ULPS if name == "nn.softplus" else SHORT_ULPS)


@pytest.mark.parametrize("name", UNARY)
def test_float64_is_within_four_units_in_the_last_place(name: str) -> None:
    xs = samples(50_000)
    with np.errstate(all="ignore"):
        truth = UNARY[name](xs.astype("longdouble"))
    assert worst(compiled(name, xs), truth) <= LONG_ULPS


def test_ndtr_of_float32_is_as_near_as_it_says() -> None:
    xs = np.linspace(-6, 40, 200_001).astype("float32")
    truth = 0.5 * UNARY["erfc"](-xs.astype("float64") * 0.5**0.5)
    assert np.max(np.abs(compiled("ndtr", xs) / truth - 1)) <= 4e-6
    ends = np.asarray([-np.inf, -100, np.inf, np.nan], "float32")
    np.testing.assert_array_equal(compiled("ndtr", ends), np.asarray([0, 0, 1, np.nan], "float32"))


def test_ndtr_of_float32_has_a_tail_to_the_least_numbers() -> None:
    xs = np.linspace(-14, -6, 20_001).astype("float32")
    truth = 0.5 * UNARY["erfc"](-xs.astype("float64") * 0.5**0.5)
    least = np.finfo("float32").smallest_subnormal
    assert np.max(np.abs(compiled("ndtr", xs) - truth) / (4e-6 * truth + least)) <= 1


FAST = {"fast_exp": (1e-6, -87.3, 88.3), "fast_tanh": (5e-6, -7.9, 7.9), "fast_erf": (5e-6, -4.0, 4.0)}
"""How near each comes, and the ends beyond which it is constant."""


@STEPS
@pytest.mark.parametrize("name", FAST)
def test_fast_functions_are_as_near_as_they_say(name: str, step: int) -> None:
    near, low, high = FAST[name]
    xs = patterns(step)
    xs = xs[:: 16 if name == "fast_erf" else 1]
    with np.errstate(all="ignore"):
        truth = UNARY[name.removeprefix("fast_")](np.clip(xs, low, high).astype("float64"))
    found = compiled(name, xs)
    assert np.array_equal(np.isnan(found), np.isnan(xs))
    tiny = np.finfo("float32").smallest_normal
    away = np.abs(found - truth) / np.maximum(np.abs(truth), tiny)
    assert np.nanmax(away) <= near


@pytest.mark.parametrize("name", FAST)
def test_fast_functions_of_float64_are_the_accurate_ones(name: str) -> None:
    xs = samples(1000)
    same = np.array_equal(compiled(name, xs), compiled(name.removeprefix("fast_"), xs), equal_nan=True)
    assert same


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_atan2_of_all_quarters_and_ends(dtype: str) -> None:
    ys, xs = crossed(dtype)
    with np.errstate(all="ignore"):
        truth = np.arctan2(ys.astype("longdouble"), xs.astype("longdouble"))
    assert worst(compiled("atan2", ys, xs), truth) <= (SHORT_ULPS if dtype == "float32" else LONG_ULPS)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_all_numbers_and_ends(dtype: str) -> None:
    xs, ys = crossed(dtype)
    rng = np.random.default_rng(2)
    bases = np.exp(rng.uniform(-9, 9, 100_000)).astype(dtype)
    reach = 80 if dtype == "float32" else 700
    powers = (rng.uniform(-reach, reach, 100_000) / np.log(bases)).astype(dtype)
    xs, ys = np.concatenate([xs, bases]), np.concatenate([ys, powers])
    with np.errstate(all="ignore"):
        truth = np.power(xs.astype("longdouble"), ys.astype("longdouble"))
    assert worst(compiled("power", xs, ys), truth) <= (SHORT_ULPS if dtype == "float32" else LONG_ULPS)


def crossed(dtype: str) -> tuple[Any, Any]:
    """All pairs of special numbers and many of others."""
    rng = np.random.default_rng(3)
    some = np.concatenate(
        [SPECIAL, rng.standard_normal(200) * 2.0 ** rng.integers(-60, 60, 200), np.arange(-9.0, 9)]
    )
    with np.errstate(over="ignore"):
        some = some.astype(dtype)
    return np.repeat(some, len(some)), np.tile(some, len(some))


def test_exp_of_what_is_masked_takes_no_longer() -> None:
    """Numbers that underflow on their way to 0 cost ten times as much."""
    x = np.random.default_rng(0).normal(size=1 << 18).astype("float32")
    param = Var("x", array_type(x))
    mod = IRModule()
    mod["main"] = Function((param,), Call(Op.get("exp"), (param,), {}))
    program = NativeProgram(mod, ["main"])

    def seconds(x: Any) -> float:
        found: list[float] = []
        for _ in range(15):
            start = perf_counter()
            program.evaluate("main", x)
            found.append(perf_counter() - start)
        return min(found)

    for masked in (-np.inf, -1e9, -200.0):
        assert seconds(np.full_like(x, masked)) < 4 * seconds(x)
