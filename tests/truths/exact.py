"""Truths of operators on integers and booleans, of comparisons and of conversions: exact ones."""

import operator as python
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from relay.ir.dtype import bits, integer_range, is_float, is_integer, to_numpy
from truths.base import Case, truth
from truths.points import line, numbers

INTEGERS = ("int8", "uint8", "int32", "uint32", "int64", "uint64", "int4", "uint2")
SAMPLE = ("int8", "int32", "uint64", "int4")


def ends(dtype: str) -> list[int]:
    """Return the ends of the range of an integer dtype, and numbers between."""
    low, high = integer_range(dtype)
    values = {low, low + 1, high, high - 1, high // 2, high // 2 + 1, -1, 0, 1, 2, 3, 7, -5}
    return sorted(v for v in values if low <= v <= high)


def wrapped(value: int, dtype: str) -> int:
    """Return an integer modulo the range of a dtype."""
    low, high = integer_range(dtype)
    return (value - low) % (high - low + 1) + low


def array(values: list[int], dtype: str) -> Any:
    """Return an array, by way of 64 bits."""
    wide = np.asarray([v & (2**64 - 1) for v in values], "uint64")
    return (wide if dtype == "uint64" else wide.view("int64")).astype(to_numpy(dtype))


def pairs(
    dtype: str, is_allowed: Callable[[int, int], bool] = lambda x, y: True
) -> tuple[list[int], list[int]]:
    """Return all pairs of the ends of a dtype."""
    both = [(x, y) for x in ends(dtype) for y in ends(dtype) if is_allowed(x, y)]
    return [x for x, _ in both], [y for _, y in both]


def on_pairs(
    name: str,
    f: Callable[[int, int], int],
    is_allowed: Callable[[int, int], bool] = lambda x, y: True,
    dtypes: tuple[str, ...] = SAMPLE,
) -> None:
    """Declare a function of two integers, which wraps."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in INTEGERS if long else dtypes:
            x, y = pairs(dtype, is_allowed)
            right = array([wrapped(f(a, b), dtype) for a, b in zip(x, y, strict=True)], dtype)
            yield Case((array(x, dtype), array(y, dtype)), right)


def truncated(x: int, y: int) -> int:
    """Return the quotient, rounded towards 0."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def whole_power(x: int, y: int) -> int:
    """Return a power, rounded towards 0 where the exponent is negative."""
    return pow(x, y, 2**64) if y >= 0 else (x**-y if abs(x) == 1 else 0)


def not_zero(x: int, y: int) -> bool:
    return y != 0


on_pairs("add", python.add)
on_pairs("subtract", python.sub)
on_pairs("multiply", python.mul)
on_pairs("maximum", max)
on_pairs("minimum", min)
on_pairs("divide", truncated, not_zero)
on_pairs("trunc_divide", truncated, not_zero)
on_pairs("floor_divide", python.floordiv, not_zero)
on_pairs("floor_mod", python.mod, not_zero)
on_pairs("mod", lambda x, y: x - y * truncated(x, y), not_zero)
on_pairs("trunc_mod", lambda x, y: x - y * truncated(x, y), not_zero)
on_pairs("power", whole_power, lambda x, y: x != 0 or y >= 0)
on_pairs("bitwise_and", python.and_)
on_pairs("bitwise_or", python.or_)
on_pairs("bitwise_xor", python.xor)


def on_integers(name: str, f: Callable[[int], int], **attrs: Any) -> None:
    """Declare a function of one integer, which wraps."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in INTEGERS if long else SAMPLE:
            x = ends(dtype)
            yield Case((array(x, dtype),), array([wrapped(f(v), dtype) for v in x], dtype), attrs=attrs)


on_integers("bitwise_not", python.invert)
on_integers("abs", abs)
on_integers("negative", python.neg)
on_integers("sign", lambda x: (x > 0) - (x < 0))
on_integers("clip", lambda x: min(max(x, -2), 5), a_min=-2, a_max=5)
on_integers("nn.relu", lambda x: max(x, 0))
for step in ("floor", "ceil", "round", "trunc", "copy"):
    on_integers(step, lambda x: x)


def on_shifts(name: str, f: Callable[[int, int, int], int]) -> None:
    """Declare a shift by any distance: one of the width or more, or by less than 0, shifts all bits out."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in INTEGERS if long else SAMPLE:
            width = bits(dtype)
            low, high = integer_range(dtype)
            distances = [d for d in (-1, 0, 1, width - 1, width, 2 * width) if low <= d <= high]
            both = [(x, d) for x in ends(dtype) for d in distances]
            right = [wrapped(f(x, d, width), dtype) for x, d in both]
            operands = [array([p[i] for p in both], dtype) for i in (0, 1)]
            yield Case(tuple(operands), array(right, dtype))


on_shifts("left_shift", lambda x, d, width: x << d if 0 <= d < width else 0)
on_shifts("right_shift", lambda x, d, width: x >> (d if 0 <= d < width else width))

# --- truth values ---

BOTH = np.asarray([False, False, True, True]), np.asarray([False, True, False, True])


def on_booleans(name: str, f: Callable[..., bool], count: int = 2) -> None:
    """Declare a function of truth values."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        operands = BOTH[:count]
        yield Case(operands, np.asarray([bool(f(*map(bool, xs))) for xs in zip(*operands, strict=True)]))


for prefix in ("logical", "bitwise"):
    on_booleans(f"{prefix}_and", lambda x, y: x and y)
    on_booleans(f"{prefix}_or", lambda x, y: x or y)
    on_booleans(f"{prefix}_xor", lambda x, y: x != y)
    on_booleans(f"{prefix}_not", lambda x: not x, count=1)


def on_comparisons(name: str, f: Callable[[Any, Any], bool]) -> None:
    """Declare a comparison: of NaN, zeros of both signs, infinities and the ends of integers."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in ("bool", "float16", "bfloat16", "float32", "float64", *SAMPLE):
            if is_integer(dtype):
                operands = tuple(array(v, dtype) for v in pairs(dtype))
                plain = zip(*pairs(dtype), strict=True)
            else:
                some = np.asarray([False, True]) if dtype == "bool" else line(dtype)[::5]
                operands = tuple(v.ravel() for v in np.meshgrid(some, some))
                plain = zip(*[[float(x) for x in v] for v in operands], strict=True)
            yield Case(operands, np.asarray([f(x, y) for x, y in plain]))


for symbol in ("eq", "ne", "lt", "le", "gt", "ge"):
    long_name = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater"}
    on_comparisons(long_name.get(symbol, "greater_equal"), getattr(python, symbol))


def on_questions(name: str, f: Callable[[float], bool]) -> None:
    """Declare a question about a float."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in ("float16", "bfloat16", "float32", "float64"):
            x = line(dtype)
            yield Case((x,), np.asarray([f(float(v)) for v in x]))


on_questions("isnan", lambda x: x != x)
on_questions("isinf", lambda x: abs(x) == np.inf)
on_questions("isfinite", lambda x: abs(x) < np.inf)

# --- conversions ---

CASTS = (
    ("float32", "int32"), ("float32", "uint8"), ("float64", "int64"), ("float64", "uint64"),
    ("float32", "bool"), ("float16", "int8"), ("bfloat16", "int4"), ("int64", "int8"), ("int32", "uint64"),
    ("uint64", "int32"), ("int64", "bool"), ("bool", "int32"), ("int64", "float32"), ("uint64", "float32"),
    ("uint64", "float64"), ("int32", "float16"), ("int32", "bfloat16"), ("bool", "float32"),
    ("float64", "float32"), ("float64", "float16"), ("float64", "bfloat16"), ("float32", "float16"),
    ("float32", "bfloat16"), ("float16", "float32"), ("bfloat16", "float64"), ("float16", "bfloat16"),
)  # fmt: skip
MORE = (
    2**24 + 1,
    2**24 + 3,
    2**53 + 1,
    2**53 + 3,
    255,
    256,
    257,
    -129,
    65519,
    65520,
    2**31,
    2**63,
    1.5,
    -0.99,
)


def source(dtype: str) -> Any:
    """Return numbers of a dtype that conversions change."""
    if dtype == "bool":
        return np.asarray([False, True])
    if is_integer(dtype):
        low, high = integer_range(dtype)
        values = [*ends(dtype), *[int(v) for v in MORE if low <= v <= high and v == int(v)]]
        return array(values, dtype)
    return np.concatenate([line(dtype), numbers(dtype, [*MORE, *[-v for v in MORE]])])


def converted(x: Any, dtype: str) -> Any:
    """Return a number in another dtype; of floats, exactly."""
    if dtype == "bool":
        return x != 0
    if is_float(dtype) or not isinstance(x, float):
        return x if is_float(dtype) else wrapped(x, dtype)
    low, high = integer_range(dtype)
    return 0 if x != x else low if x <= low else high if x >= high else int(x)


def conversions(as_like: bool) -> Callable[[bool], Iterator[Case]]:
    """Return the cases of `cast`, or of `cast_like`."""

    def cases(long: bool) -> Iterator[Case]:
        for origin, target in CASTS:
            x = source(origin)
            plain = [float(v) for v in x] if is_float(origin) else [int(v) for v in x]
            right = [converted(v, target) for v in plain]
            value: Any = np.asarray(right, object) if is_float(target) else array(right, target)
            if target == "bool":
                value = np.asarray(right)
            both = is_float(origin) and is_float(target)
            slopes = (np.ones(len(x)), *[None] * as_like) if both else None
            operands = (x, np.zeros(1, to_numpy(target))) if as_like else (x,)
            attrs = {} if as_like else {"dtype": target}
            yield Case(operands, value, slopes, attrs, ulps=0.5, slope_ulps=0)

    return cases


truth("cast")(conversions(as_like=False))
truth("cast_like")(conversions(as_like=True))


@truth("reinterpret")
def reinterpret(long: bool) -> Iterator[Case]:
    for origin, target in (
        ("float32", "int32"),
        ("int64", "float64"),
        ("uint16", "float16"),
        ("int8", "uint8"),
    ):
        x = line(origin) if is_float(origin) else array(ends(origin), origin)
        if target == "float64":
            x = x[(x > -(2**50)) & (x < 2**50)]  # of the others, NaN has many patterns
        yield Case((x,), x.view(target), attrs={"dtype": target}, ulps=0)


@truth("where")
def where(long: bool) -> Iterator[Case]:
    for dtype in ("float16", "float32", "int8", "bool"):
        y = np.asarray([[1, 2, 3], [0, 1, 0]]).astype(to_numpy(dtype))
        condition = np.asarray([True, False, True])
        value = np.asarray([[1, 0, 3], [0, 0, 0]]).astype(to_numpy(dtype))
        zero = np.zeros((), to_numpy(dtype))
        floating = is_float(dtype)
        slopes = (None, np.asarray([[1, 0, 1], [1, 0, 1]]), np.asarray(2)) if floating else None
        yield Case((condition, y, zero), value, slopes, ulps=0, slope_ulps=0)
