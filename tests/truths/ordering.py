"""Truths of orders and extremes along an axis, by Python's sort."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from truths import integers
from truths.base import Case, truth
from truths.computed import computed
from truths.exact import ends

ROWS = [[3.0, -1.0, 3e38, 1e-45, -3e38, 0.5], [2.0, 5.0, -7.0, 1e30, 1.0, -0.25]]
WITH_TIES = [[3.0, -1.0, 3.0, -1.0, 7.0, -np.inf], [0.0, np.inf, 0.0, 5.0, -2.0, 5.0]]
DTYPES = ("float32", "float64", "int32")


def places(row: Any, is_ascend: bool = True) -> list[int]:
    """Return the places of a row's numbers in their order; those of equal ones in theirs."""
    return sorted(range(len(row)), key=lambda i: row[i] if is_ascend else -row[i])


def rowwise(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of arrays from one of rows."""
    return lambda x: np.stack([np.asarray(f(row)) for row in x])


def orders(name: str, f: Callable[[Any], Any], has_slopes: bool, **attrs: Any) -> None:
    """Declare an operator on rows, with and without equal numbers; only the latter are differentiable."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in DTYPES:
            for rows in (ROWS, WITH_TIES):
                with np.errstate(invalid="ignore"):
                    x = np.asarray(rows).astype(dtype)
                if dtype == "int32":
                    x = np.clip(x, -100, 100)
                is_smooth = has_slopes and rows is ROWS and dtype != "int32"
                yield computed(f, x, ulps=0, has_slopes=is_smooth, **attrs)


def taken(row: Any, order: list[int]) -> Any:
    return row[order]


orders("sort", rowwise(lambda row: row[places(row)]), has_slopes=True)
orders("sort", rowwise(lambda row: row[places(row, False)]), has_slopes=True, is_ascend=False)
orders("argsort", lambda x: rowwise(lambda row: np.asarray(places(row), "int32"))(x), has_slopes=False)
orders("topk", lambda x: (rowwise(lambda row: row[places(row, False)[:2]])(x),
                          rowwise(lambda row: np.asarray(places(row, False)[:2], "int32"))(x)),
       has_slopes=True, k=2)  # fmt: skip
orders("cummax", lambda x: running(x, max), has_slopes=True)
orders("cummin", lambda x: running(x, min), has_slopes=True)


def running(x: Any, f: Callable[..., Any]) -> tuple[Any, Any]:
    """Return running extremes, and the last places of those."""
    values, indices = x.copy(), np.zeros(x.shape, "int32")
    for row, value, index in zip(x, values, indices, strict=True):
        for i in range(len(row)):
            value[i] = f(row[: i + 1])
            index[i] = max(j for j in range(i + 1) if row[j] == value[i])
    return values, indices


@truth("argsort")
def argsort(long: bool) -> Iterator[Case]:
    for dtype in integers.DTYPES:
        x = integers.rows(dtype)
        for is_ascend in (True, False):
            right = [places(row, is_ascend) for row in x.tolist()]
            yield Case((x,), np.asarray(right, "int32"), attrs={"axis": 1, "is_ascend": is_ascend})


@truth("searchsorted")
def searchsorted(long: bool) -> Iterator[Case]:
    for dtype in ("float32", *integers.DTYPES):
        some = [-9.5, -5, 0, 1, 3.25, 8] if dtype == "float32" else ends(dtype)
        known, asked = sorted([*some, *some[::2]]), [some, some[::-1]]
        for right in (False, True):
            count = [[sum(k <= v if right else k < v for k in known) for v in row] for row in asked]
            operands = (np.asarray(known, dtype), np.asarray(asked, dtype))
            yield Case(operands, np.asarray(count, "int32"), attrs={"right": right})
