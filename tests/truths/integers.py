"""Truths of operators on integers and booleans, in Python's own integers, which do not wrap."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from truths.base import Case, truth

DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
"""The dtypes of integers that are compared."""


def limits(dtype: str) -> tuple[int, int]:
    """Return the least and the greatest integer of a dtype."""
    bits = int(dtype.lstrip("uint"))
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def wrapped(x: int, dtype: str) -> int:
    """Return the integer of a dtype that has the same last bits."""
    low, high = limits(dtype)
    return (x - low) % (high - low + 1) + low


def ends(dtype: str) -> list[int]:
    """Return the integers of a dtype at the ends of its range, around 0, and some between."""
    low, high = limits(dtype)
    some = [low, low + 1, low // 2, -7, -2, -1, 0, 1, 2, 3, 7, 100, high // 2, high - 1, high]
    return sorted({x for x in some if low <= x <= high})


def pairs(dtype: str) -> tuple[list[int], list[int]]:
    """Return all pairs of such integers, as two lists."""
    both = [(x, y) for x in ends(dtype) for y in ends(dtype)]
    return [x for x, _ in both], [y for _, y in both]


def of_integers(name: str, f: Callable[[int], int]) -> None:
    """Declare the truth of a function of one integer."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in DTYPES:
            xs = ends(dtype)
            yield Case((np.asarray(xs, dtype),), np.asarray([wrapped(f(x), dtype) for x in xs], dtype))


def of_pairs(name: str, f: Callable[[int, int, str], Any], result: str = "") -> None:
    """Declare the truth of a function of two integers of a dtype."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in DTYPES:
            xs, ys = pairs(dtype)
            values = [f(x, y, dtype) for x, y in zip(xs, ys, strict=True)]
            right = values if result else [wrapped(v, dtype) for v in values]
            yield Case((np.asarray(xs, dtype), np.asarray(ys, dtype)), np.asarray(right, result or dtype))


def of_truths(name: str, f: Callable[[bool, bool], bool]) -> None:
    """Declare the truth of a function of two booleans."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        xs, ys = [False, False, True, True], [False, True, False, True]
        right = [f(x, y) for x, y in zip(xs, ys, strict=True)]
        yield Case((np.asarray(xs), np.asarray(ys)), np.asarray(right))


def shifted_left(x: int, n: int, dtype: str) -> int:
    """Return `x << n`; a shift by the width of the dtype or more, or by less than nothing, leaves 0."""
    return x << n if 0 <= n < int(dtype.lstrip("uint")) else 0


def shifted_right(x: int, n: int, dtype: str) -> int:
    """Return `x >> n`; a shift by the width of the dtype or more, or by less than 0, leaves the sign."""
    return x >> n if 0 <= n < int(dtype.lstrip("uint")) else -int(x < 0)


of_integers("bitwise_not", lambda x: ~x)
of_pairs("bitwise_and", lambda x, y, _: x & y)
of_pairs("bitwise_or", lambda x, y, _: x | y)
of_pairs("bitwise_xor", lambda x, y, _: x ^ y)
of_pairs("left_shift", shifted_left)
of_pairs("right_shift", shifted_right)
of_pairs("equal", lambda x, y, _: x == y, "bool")
of_pairs("not_equal", lambda x, y, _: x != y, "bool")
of_pairs("less", lambda x, y, _: x < y, "bool")
of_pairs("less_equal", lambda x, y, _: x <= y, "bool")
of_pairs("greater", lambda x, y, _: x > y, "bool")
of_pairs("greater_equal", lambda x, y, _: x >= y, "bool")
of_truths("logical_and", lambda x, y: x and y)
of_truths("logical_or", lambda x, y: x or y)
of_truths("logical_xor", lambda x, y: x is not y)

SPECIAL = (0.0, -0.0, 1.5, -1.5, 1e-40, -1e-40, 3e38, np.inf, -np.inf, np.nan)
"""Floats whose comparisons have cases of their own."""


def of_special_pairs(name: str, f: Callable[[float, float], bool]) -> None:
    """Declare the truth of a comparison of floats: of Python's own, whose NaN is unequal to all."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in ("float32", "float64"):
            xs = np.repeat(np.asarray(SPECIAL, dtype), len(SPECIAL))
            ys = np.tile(np.asarray(SPECIAL, dtype), len(SPECIAL))
            right = [f(float(x), float(y)) for x, y in zip(xs, ys, strict=True)]
            yield Case((xs, ys), np.asarray(right))


of_special_pairs("equal", lambda x, y: x == y)
of_special_pairs("not_equal", lambda x, y: x != y)
of_special_pairs("less", lambda x, y: x < y)
of_special_pairs("less_equal", lambda x, y: x <= y)
of_special_pairs("greater", lambda x, y: x > y)
of_special_pairs("greater_equal", lambda x, y: x >= y)


def of_special(name: str, f: Callable[[float], bool]) -> None:
    """Declare the truth of a question about a float."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in ("float16", "float32", "float64"):
            with np.errstate(over="ignore"):
                xs = np.asarray(SPECIAL, dtype)
            yield Case((xs,), np.asarray([f(float(x)) for x in xs]))


of_special("isnan", lambda x: x != x)
of_special("isinf", lambda x: abs(x) == float("inf"))
of_special("isfinite", lambda x: abs(x) < float("inf"))


@truth("logical_not")
def logical_not(long: bool) -> Iterator[Case]:
    yield Case((np.asarray([False, True]),), np.asarray([True, False]))


def rows(dtype: str) -> Any:
    """Return a matrix with equal elements in its rows, and those at the ends of the dtype."""
    low, high = limits(dtype)
    return np.asarray([[5, high, 3, high], [low, 7, low, 0], [4, 4, 4, 4]], dtype)


def reduction(name: str, f: Callable[[list[bool]], bool]) -> None:
    """Declare the truth of a reduction of booleans, also of none and of many."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        x = np.asarray([[True, False, True], [True, True, True], [False, False, False]])
        for axis, lines in ((0, x.T.tolist()), (1, x.tolist()), (None, [x.ravel().tolist()])):
            right = np.asarray([f(line) for line in lines])
            yield Case((x,), right if axis is not None else right[0], attrs={"axis": axis})
            if axis == 1:
                yield Case((x,), right[:, None], attrs={"axis": axis, "keepdims": True})
        yield Case((np.zeros((2, 0), bool),), np.asarray([f([]), f([])]), attrs={"axis": 1})
        for one in (False, True):
            many = np.full(1 << 20, not one)
            many[777777] = one
            yield Case((many,), np.asarray(f(many.tolist())), threads=(1, 2))


reduction("any", any)
reduction("all", all)


def place(name: str, best: Callable[[list[int]], int]) -> None:
    """Declare the truth of the place of an extreme: the first of several, or the last if that is asked."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in DTYPES:
            x = rows(dtype)
            for axis, lines in ((0, x.T.tolist()), (1, x.tolist())):
                first = [line.index(best(line)) for line in lines]
                last = [len(line) - 1 - line[::-1].index(best(line)) for line in lines]
                yield Case((x,), np.asarray(first, "int32"), attrs={"axis": axis})
                attrs = {"axis": axis, "select_last_index": True}
                yield Case((x,), np.asarray(last, "int32"), attrs=attrs)


place("argmax", max)
place("argmin", min)


@truth("argsort")
def argsort(long: bool) -> Iterator[Case]:
    for dtype in DTYPES:
        x = rows(dtype)
        for is_ascend in (True, False):
            right = [
                sorted(range(len(line)), key=lambda i, line=line: line[i] if is_ascend else -line[i])
                for line in x.tolist()
            ]
            attrs = {"axis": 1, "is_ascend": is_ascend}
            yield Case((x,), np.asarray(right, "int32"), attrs=attrs)


@truth("searchsorted")
def searchsorted(long: bool) -> Iterator[Case]:
    for dtype in DTYPES:
        known, asked = sorted([*ends(dtype), *ends(dtype)[::2]]), ends(dtype)
        for right in (False, True):
            count = [sum(k <= v if right else k < v for k in known) for v in asked]
            operands = (np.asarray(known, dtype), np.asarray(asked, dtype))
            yield Case(operands, np.asarray(count, "int32"), attrs={"right": right})


@truth("invert_permutation")
def invert_permutation(long: bool) -> Iterator[Case]:
    for dtype in ("int32", "int64"):
        order = [3, 0, 4, 1, 2]
        yield Case((np.asarray(order, dtype),), np.asarray([order.index(i) for i in range(5)], dtype))


@truth("argwhere")
def argwhere(long: bool) -> Iterator[Case]:
    x = np.asarray([[0, 3, 0], [-1, 0, 2]], "int8")
    right = [[i, j] for i in range(2) for j in range(3) if x[i, j]]
    yield Case((x,), np.asarray(right, "int32"))
    yield Case((np.zeros((2, 3), bool),), np.zeros((0, 2), "int32"))


@truth("shape_of")
def shape_of(long: bool) -> Iterator[Case]:
    for dtype in ("int32", "int64"):
        yield Case((np.zeros((2, 0, 3), "int8"),), np.asarray([2, 0, 3], dtype), attrs={"dtype": dtype})


@truth("ndarray_size")
def ndarray_size(long: bool) -> Iterator[Case]:
    for dtype in ("int32", "int64"):
        yield Case((np.zeros((2, 5, 3), "int8"),), np.asarray(30, dtype), attrs={"dtype": dtype})
