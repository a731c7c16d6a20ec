"""Truths of reductions, scans, counts and bits of integers, in Python's own integers; also of extremes."""

import operator as python
from collections import Counter
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np

from truths.base import Case, truth
from truths.computed import computed
from truths.exact import wrapped
from truths.integers import rows

DTYPES = ("int8", "uint8", "int32", "uint64", "int64")


def on_lines(
    name: str, f: Callable[[list[int], str], Any], dtypes: tuple[str, ...] = DTYPES, **attrs: Any
) -> None:
    """Declare a function of the rows of a matrix of integers, and of its columns; results wrap."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in dtypes:
            x = rows(dtype)
            for axis, lines in ((0, x.T.tolist()), (1, x.tolist())):
                right = [f(line, dtype) for line in lines]
                wide = [wrapped(v, dtype) for v in np.asarray(right, object).ravel()]
                array = np.asarray(wide, dtype).reshape(np.shape(right))
                yield Case(
                    (x,), array.T if array.ndim == 2 and axis == 0 else array, attrs={"axis": axis, **attrs}
                )


on_lines("sum", lambda line, _: sum(line))
on_lines("prod", lambda line, _: reduce(python.mul, line))
on_lines("max", lambda line, _: max(line))
on_lines("min", lambda line, _: min(line))
on_lines("cumsum", lambda line, _: [*accumulate(line)])
on_lines("cumsum", lambda line, _: [0, *accumulate(line[:-1])], exclusive=True)
on_lines("cumprod", lambda line, _: [*accumulate(line, python.mul)])
on_lines("cumprod", lambda line, _: [1, *accumulate(line[:-1], python.mul)], exclusive=True)
on_lines("sort", lambda line, _: sorted(line))
on_lines("sort", lambda line, _: sorted(line, reverse=True), is_ascend=False)


@truth("cumsum")
def cumsum(long: bool) -> Iterator[Case]:
    x = np.asarray([[True, False, True], [True, True, False]])
    yield Case((x,), np.asarray([[1, 1, 2], [1, 2, 2]], "int64"), attrs={"axis": 1})
    for dtype, values in (("float32", [1.5, -2.0, 1e7, 0.25]), ("float64", [1.5, -2.0, 1e16, 0.25])):
        yield computed(np.cumsum, np.asarray(values, dtype), axis=0, scale=lambda x: np.cumsum(np.abs(x)))
    yield computed(np.cumsum, np.full(1 << 15, 0.1, "float32"), axis=0, has_slopes=False)


@truth("prod")
def prod(long: bool) -> Iterator[Case]:
    for dtype, values in (("float32", [1.5, -2.0, 1e7, 0.3]), ("float64", [1.5, -2.0, 1e150, 1e150])):
        yield computed(np.prod, np.asarray(values, dtype))
    yield computed(np.prod, np.asarray([3.0, 0.0, -2.0], "float32"))
    yield Case((np.zeros((2, 0), "float32"),), np.ones(2), attrs={"axis": 1})


@truth("cumprod")
def cumprod(long: bool) -> Iterator[Case]:
    for dtype, values in (("float32", [1.5, -2.0, 1e7, 0.3]), ("float64", [1.5, -2.0, 1e150, 1e150])):
        yield computed(np.cumprod, np.asarray(values, dtype), axis=0)
    yield computed(np.cumprod, np.asarray([3.0, 0.0, -2.0, 5.0], "float32"), axis=0)


EXTREMES = [[3.0, -1.0, 3e38, 1e-45], [-3e38, 0.5, np.inf, 2.0], [-0.25, -np.inf, -7.0, 1e-30]]


def extreme(name: str, best: Callable[[Any], Any]) -> None:
    """Declare an extreme of floats: NaN if there is one; equal ones share the derivative."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in ("float32", "float64"):
            x = np.asarray(EXTREMES).astype(dtype)
            for axis, lines in ((0, lambda x: x.T), (1, lambda x: x)):

                def greatest(x: Any, lines: Callable[[Any], Any] = lines) -> Any:
                    return np.asarray([best([*line]) for line in lines(x)], object)

                yield computed(greatest, x, axis=axis, ulps=0)
        tied = np.asarray([2.0, 5.0, 2.0, 5.0], "float32")
        shares = [0.5 * (v == best([2.0, 5.0])) for v in tied]
        yield Case((tied,), np.asarray(best([2.0, 5.0])), (np.asarray(shares),), ulps=0)
        yield Case((np.asarray([1.0, np.nan, np.inf], "float32"),), np.asarray(np.nan))
        many = np.arange(1 << 20, dtype="float32") * (-1) ** np.arange(1 << 20)
        right = best([-(2.0**20) + 1, 2.0**20 - 2])
        yield Case((many.astype("float32"),), np.asarray(right), ulps=0, threads=(1, 2))


extreme("max", max)
extreme("min", min)


@truth("mode")
def mode(long: bool) -> Iterator[Case]:
    for dtype in ("int8", "int64", "float32"):
        x = np.asarray([[3, 1, 2, 1, 3], [7, 7, -2, 0, 7], [5, 4, 3, 2, 1]], dtype)
        values, places = [], []
        for line in x.tolist():
            counts = Counter(line)
            value = min(v for v in line if counts[v] == max(counts.values()))
            values.append(value)
            places.append(max(i for i, v in enumerate(line) if v == value))
        right = (np.asarray(values, dtype), np.asarray(places, "int32"))
        slopes = None
        if dtype == "float32":
            slope = np.zeros(x.shape)
            slope[np.arange(3), places] = [1.0, -2.0, 0.5]
            slopes = (slope,)
        weights = (np.asarray([1.0, -2.0, 0.5], "float32"), None) if slopes else None
        yield Case((x,), right, slopes, weights=weights, ulps=0)


@truth("histc")
def histc(long: bool) -> Iterator[Case]:
    x = np.asarray([-1.5, -1.0, -0.5, -0.25, 0.0, 0.3, 0.9999, 1.0, 1.0001, np.inf, -np.inf, 0.5], "float32")
    right = [sum(-1 + k / 2 <= v < -0.5 + k / 2 or (k == 3 and v == 1) for v in x.tolist()) for k in range(4)]
    yield Case((x,), np.asarray(right, "float32"), attrs={"bins": 4, "min": -1.0, "max": 1.0})
    y = np.asarray([1.0, 2.0, 5.0, 3.0, 3.0], "float64")
    yield Case((y,), np.asarray([1, 1, 2, 1], "float64"), attrs={"bins": 4})


@truth("arange")
def arange(long: bool) -> Iterator[Case]:
    for dtype, start, stop, step in (
        ("int32", 1, 10, 4),
        ("int8", 5, -6, -3),
        ("int64", 2**40, 2**40 + 5, 2),
        ("int32", 3, 3, 1),
    ):
        attrs = {"start": start, "stop": stop, "step": step, "dtype": dtype}
        yield Case((), np.asarray([*range(start, stop, step)], dtype), attrs=attrs)
    attrs = {"start": 0.0, "stop": 1.0, "step": 0.25, "dtype": "float32"}
    yield Case((), np.asarray([0, 0.25, 0.5, 0.75]), attrs=attrs, ulps=0)
    yield computed(
        lambda a, b, s: np.asarray([a[()] + k * s[()] for k in range(4)], object),
        *[np.float32(v) for v in (0.5, 2.4, 0.5)],
        dtype="float32",
    )


for name in ("collapse_sum_to", "collapse_sum_like"):

    @truth(name)
    def collapse(long: bool, name: str = name) -> Iterator[Case]:
        x = np.asarray([[1.5, -2.0, 1e7], [0.25, 3.0, -1e7]], "float32")
        for shape, axes in (((3,), 0), ((2, 1), 1)):
            is_kept = len(shape) == 2
            like = (np.zeros(shape, "int32"),) if name == "collapse_sum_like" else ()
            attrs = {} if like else {"shape": shape}
            yield computed(
                lambda x, *_, axes=axes, is_kept=is_kept: np.sum(x, axis=axes, keepdims=is_kept),
                x,
                *like,
                scale=lambda x, *_, axes=axes, is_kept=is_kept: np.sum(
                    np.abs(x), axis=axes, keepdims=is_kept
                ),
                **attrs,
            )
        tenths = np.full(1 << 15, 0.1, "float32")
        one = (np.zeros(1, "int32"),) if name == "collapse_sum_like" else ()
        yield computed(
            lambda x, *_: np.sum(x, keepdims=True),
            tenths,
            *one,
            has_slopes=False,
            **({} if one else {"shape": (1,)}),
        )


# --- bits ---


@truth("nn.bitpack")
def bitpack(long: bool) -> Iterator[Case]:
    x = (np.arange(32, dtype="uint8").reshape(2, 16) * 37 % 4).astype("uint8")
    right = np.zeros((2, 2, 2), "uint8")
    for i in range(2):
        for word in range(2):
            for bit in range(2):
                digits = [str(int(v) >> bit & 1) for v in x[i, 8 * word : 8 * word + 8]]
                right[i, word, bit] = int("".join(digits), 2)
    yield Case((x,), right, attrs={"bits": 2, "pack_axis": 1, "bit_axis": 2, "pack_type": "uint8"})


def of_bits(w: Any, is_unipolar: bool) -> Any:
    """Return the numbers of one bit that a weight stands for."""
    return [2 * (int(v) & 1) - 1 if is_unipolar else int(v) & 1 for v in w]


@truth("nn.bitserial_dense")
def bitserial_dense(long: bool) -> Iterator[Case]:
    x = (np.arange(24).reshape(3, 8) * 5 % 4).astype("int16")
    w = (np.arange(32).reshape(4, 8) * 7 % 5 // 2 % 2).astype("int16")
    for is_unipolar in (True, False):
        numbers = [of_bits(row, is_unipolar) for row in w]
        right = [
            [sum(int(a) * b for a, b in zip(row, column, strict=True)) for column in numbers] for row in x
        ]
        yield Case((x, w), np.asarray(right, "int16"), attrs={"data_bits": 2, "unipolar": is_unipolar})


@truth("nn.bitserial_conv2d")
def bitserial_conv2d(long: bool) -> Iterator[Case]:
    x = (np.arange(40).reshape(1, 2, 4, 5) * 5 % 4).astype("int16")
    w = (np.arange(24).reshape(3, 2, 2, 2) * 7 % 5 // 2 % 2).astype("int16")
    for is_unipolar in (True, False):
        right = np.zeros((1, 3, 3, 4), "int16")
        for o, i, j in np.ndindex(3, 3, 4):
            window = [int(v) for v in x[0, :, i : i + 2, j : j + 2].ravel()]
            right[0, o, i, j] = sum(
                a * b for a, b in zip(window, of_bits(w[o].ravel(), is_unipolar), strict=True)
            )
        yield Case((x, w), right, attrs={"activation_bits": 2, "unipolar": is_unipolar})


@truth("fixed_point_multiply_per_axis")
def fixed_point_multiply_per_axis(long: bool) -> Iterator[Case]:
    x = np.asarray([[100, -7, 2**30], [3, 5, -(2**30)]], "int32")
    multipliers, left, right = [2**30, 2**29, 3], [0, 1, 2], [1, 0, 0]
    value = [
        [
            ((v << a) * m * 2 + (1 << (31 + b))) >> (32 + b)
            for v, m, a, b in zip(row, multipliers, left, right, strict=True)
        ]
        for row in x.tolist()
    ]
    operands = (x, *[np.asarray(v, "int32") for v in (multipliers, left, right)])
    attrs = {"axes": (1,), "is_rshift_required": True, "is_lshift_required": True}
    yield Case(operands, np.asarray(value, "int32"), attrs=attrs)
