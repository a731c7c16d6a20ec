"""Truths of operators on integers and booleans, in Python's own integers, which do not wrap."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from relay.ir.dtype import integer_range
from truths.base import Case, truth

DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
"""The dtypes of integers that are compared."""


def rows(dtype: str) -> Any:
    """Return a matrix with equal elements in its rows, and those at the ends of the dtype."""
    low, high = integer_range(dtype)
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
