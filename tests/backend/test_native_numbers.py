"""Arithmetic of machine code at its corners: the ends of the ranges, zeros, infinities, NaN, denormals."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from relay.backend.native.host.native_program import NativeProgram
from relay.backend.native.math.minifloats import FORMATS
from relay.diagnostic import RelayError
from relay.ir.dtype import INTEGERS, integer_range, to_numpy
from relay.ir.expr import Call, Function, Op, Var
from relay.ir.module import IRModule
from relay.op.arrays import array_type
from relay.op.registry import instance

PAIRED = (
    "add", "subtract", "multiply", "maximum", "minimum", "divide", "floor_divide", "trunc_divide", "mod",
    "floor_mod", "trunc_mod", "power", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
)  # fmt: skip
DIVISIONS = ("divide", "floor_divide", "trunc_divide", "mod", "floor_mod", "trunc_mod")
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
ROUNDINGS = ("abs", "negative", "floor", "ceil", "round", "trunc", "sign", "nn.relu")
PREDICATES = ("isnan", "isinf", "isfinite")
SCANS = ("cumsum", "cumprod")
REALS = ("float16", "bfloat16", "float32", "float64")
SPECIAL = (
    0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.5, 7.0, -7.0, 3.0, -3.0, 1e-3, 1e4, -1e4,
    8388609.0, 4503599627370497.5,
    1e-45, -1e-45, 1e-40, 6e-8, 1e38, -3e38, 1e308, 5e-324, np.inf, -np.inf, np.nan,
)  # fmt: skip

Case = tuple[str, dict[str, Any], list[Any]]
"""An operator, its attributes and its operands."""


def integers(dtype: str) -> Any:
    """The ends of a dtype's range and some numbers in between."""
    low, high = integer_range(dtype)
    found = {low, low + 1, -7, -3, -2, -1, 0, 1, 2, 3, 5, 8, 31, 63, high // 2, high - 1, high}
    return np.asarray(sorted([x for x in found if low <= x <= high]), "int64" if low else "uint64").astype(
        to_numpy(dtype)
    )


def floats(dtype: str) -> Any:
    """Special numbers in a dtype."""
    with np.errstate(over="ignore"):
        return np.asarray(SPECIAL).astype(to_numpy(dtype))


def pairs(xs: Any, ys: Any) -> tuple[Any, Any]:
    """All pairs, as two vectors."""
    both = list(product(xs, ys))
    return np.asarray([x for x, _ in both], xs.dtype), np.asarray([y for _, y in both], ys.dtype)


def agree(cases: list[Case]) -> None:
    """Machine code gives what the reference does, sign of zero and all, for each operator."""
    mod = IRModule()
    for i, (name, attrs, operands) in enumerate(cases):
        params = tuple([Var(f"x{k}", array_type(x)) for k, x in enumerate(operands)])
        mod[f"f{i}"] = Function(params, Call(Op.get(name), params, attrs))
    program = NativeProgram(mod, [f"f{i}" for i in range(len(cases))])
    for i, (name, attrs, operands) in enumerate(cases):
        found = program.evaluate(f"f{i}", *operands)
        with np.errstate(all="ignore"):
            wanted = instance(name, attrs).evaluate(*operands)
        same(name, found, wanted, operands)


def same(name: str, found: Any, wanted: Any, operands: list[Any]) -> None:
    """Equal numbers, any NaN being equal to another; else what differs is shown."""
    assert found.dtype == wanted.dtype
    if found.dtype.kind in "iub" or "int" in str(found.dtype):
        bad = found != wanted
    else:
        x, y = found.astype("float64"), wanted.astype("float64")
        close = x == y
        if name != "sign":  # of -0 it is 0 in NumPy, and -0 in the floats of ml_dtypes
            close &= np.signbit(x) == np.signbit(y)
        bad = ~(close | (np.isnan(x) & np.isnan(y)))
    bad, found, wanted = np.ravel(bad), np.ravel(found), np.ravel(wanted)
    where = np.flatnonzero(bad)
    shown = [([o[k] for o in operands if o.size == found.size], found[k], wanted[k]) for k in where[:8]]
    assert not shown, f"{name} of {operands[0].dtype}: operands, found, wanted: {shown}"


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_of_every_width_at_their_ends(dtype: str) -> None:
    xs = integers(dtype)
    cases: list[Case] = [(name, {}, [xs]) for name in (*ROUNDINGS, "bitwise_not")]
    cases += [
        (name, {}, list(pairs(xs, xs))) for name in (*BITWISE, *PAIRED) if name not in (*DIVISIONS, "power")
    ]
    cases += [(name, {}, list(pairs(xs, xs[xs != 0]))) for name in DIVISIONS]
    cases.append(("power", {}, list(pairs(xs[xs != 0], xs))))
    cases += [("clip", {"a_min": a, "a_max": b}, [xs]) for a, b in ((-1.5, 2.5), (3, 1e30))]
    agree(cases)


@pytest.mark.parametrize("dtype", REALS)
def test_floats_of_every_width_at_their_ends(dtype: str) -> None:
    xs = floats(dtype)
    cases: list[Case] = [(name, {}, [xs]) for name in (*ROUNDINGS, *PREDICATES)]
    cases += [
        (name, {}, list(pairs(xs, xs))) for name in PAIRED if name not in ("maximum", "minimum", "power")
    ]
    cases += [("clip", {"a_min": a, "a_max": b}, [xs]) for a, b in ((-1.5, 2.5), (0.1, np.inf))]
    agree(cases)


@pytest.mark.parametrize("dtype", ["int4", "uint8", "int32", "bfloat16", "float32", "float64"])
def test_extremes_and_where_they_are_with_ties_and_nan(dtype: str) -> None:
    rows = np.asarray(
        [
            [1, 3, 3, 0],
            [2, 2, 2, 2],
            [0, 0, 1, 1],
            [np.nan, 1, np.nan, 2],
            [-np.inf] * 4,
            [np.inf, 0, np.inf, 1],
        ]
    )
    xs = np.nan_to_num(rows, nan=0, posinf=7, neginf=0) if "int" in dtype else rows
    xs = xs.astype(to_numpy(dtype))
    cases: list[Case] = []
    for name, axis in product(("argmax", "argmin"), (0, 1, None)):
        cases += [(name, {"axis": axis, "select_last_index": last}, [xs]) for last in (False, True)]
    cases += [(name, {"axis": axis}, [xs]) for name, axis in product(("max", "min", "prod", "sum"), (0, 1))]
    cases += [
        (n, {"axis": a, "exclusive": e}, [xs]) for n, a, e in product(SCANS, (0, 1, None), (False, True))
    ]
    agree(cases)


def test_fixed_point_shifts_by_any_distance() -> None:
    xs = integers("int32")
    cases: list[Case] = [
        ("fixed_point_multiply", {"multiplier": m, "shift": s}, [xs])
        for m, s in product((1 << 30, 3 << 28, -5, 2**31 - 1), (-70, -33, -3, 0, 5, 33, 70))
    ]
    agree(cases)


def test_zero_to_a_negative_power_is_refused() -> None:
    mod = IRModule()
    params = (Var("x", array_type(np.ones(2, "int8"))), Var("y", array_type(np.ones(2, "int8"))))
    mod["main"] = Function(params, Call(Op.get("power"), params, {}))
    program = NativeProgram(mod, ["main"])
    with pytest.raises(RelayError, match="divide-by-zero"):
        program.evaluate("main", np.asarray([1, 0], "int8"), np.asarray([2, -1], "int8"))


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_the_shortest_floats_are_rounded_to_as_ml_dtypes_does(dtype: str, source: str) -> None:
    some = np.arange(0, 2**32, 4099, dtype="uint64").astype("uint32").view("float32")
    some = some[~np.isnan(some)].astype(source)
    xs = some if source == "float32" else some * (1 + 2.0**-40)
    mod = IRModule()
    x = Var("x", array_type(xs))
    mod["main"] = Function((x,), Call(Op.get("cast"), (x,), {"dtype": dtype}))
    found = NativeProgram(mod, ["main"]).evaluate("main", xs)
    with np.errstate(all="ignore"):
        wanted = xs.astype(to_numpy(dtype))
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found.view("uint8"), wanted.view("uint8"))


@pytest.mark.parametrize("place", [0, 4])
def test_keys_whose_counter_or_path_is_full_go_on_as_in_the_reference(place: int) -> None:
    key = np.asarray([1, 2, 3, 4, 5, 6, 7, 2**64 - 3, 0, place], "uint64")
    for name, attrs in (("random.threefry_generate", {"out_shape": (9,)}), ("random.threefry_split", {})):
        mod = IRModule()
        x = Var("x", array_type(key))
        mod["main"] = Function((x,), Call(Op.get(name), (x,), attrs))
        found = NativeProgram(mod, ["main"]).evaluate("main", key)
        for a, b in zip(found, instance(name, attrs).evaluate(key), strict=True):
            np.testing.assert_array_equal(a, b)
