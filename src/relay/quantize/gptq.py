"""GPTQ: weights are rounded column by column, and what is left moves into the columns that are still to come.

Source: Frantar, Ashkboos, Hoefler and Alistarh, 2023, "GPTQ: accurate post-training quantization for
generative pre-trained transformers", algorithm 1.
"""

from typing import Any

import numpy as np

from relay.quantize.groups import Grid, Grouped, Matrix, grid_for, in_groups, nearest

COLUMNS_PER_BLOCK = 128
"""Columns whose errors reach those behind their block in one product."""


def gptq(
    w: Matrix,
    products: Matrix,
    bits: int,
    size: int,
    symmetric: bool,
    order: bool = False,
    damping: float = 0.01,
) -> Grouped:
    """A weight `(n, k)` rounded for the least error of `x @ w.T`, where `products`, float64 `(k, k)`, is
    `sum(x.T @ x)` over the rows `x` of calibration.

    A group's grid is that of its weights as they are when the group is reached.  With `order`, columns go
    from the greatest diagonal element of `products` to the least, on the grids of the weights as they were.
    Where calibration leaves an input at 0, its weights are 0.  `damping` times the mean of the diagonal is
    added to it.  A row that rounding to nearest serves better is rounded so.
    """
    left = np.pad(w.astype("float64"), [(0, 0), (0, -w.shape[1] % size)])
    k = left.shape[1]
    h = np.zeros((k, k))
    h[: w.shape[1], : w.shape[1]] = products
    dead = h.diagonal() <= 0
    left[:, dead] = 0
    h[dead, dead] = 1
    grid = grid_for(in_groups(left, size), bits, symmetric)
    places = column_order(h, order)
    factor = inverse_factor(h[np.ix_(places, places)], damping)
    left, q = left[:, places], np.zeros(left.shape, "uint8")
    for start in range(0, k, COLUMNS_PER_BLOCK):
        stop = min(start + COLUMNS_PER_BLOCK, k)
        errors = np.zeros((len(w), stop - start))
        for i in range(start, stop):
            g = int(places[i]) // size
            if not order and i % size == 0:
                rest = left[:, i : i + size].copy()
                if i + size > stop:
                    behind = stop - i
                    rest[:, behind:] -= errors[:, : i - start] @ factor[start:i, stop : i + size]
                _renew(grid, g, rest, bits, symmetric)
            column = left[:, i]
            q[:, places[i]] = level = grid.levels(column, g)
            error = (column - grid.numbers(level, g)) / factor[i, i]
            left[:, i:stop] -= np.outer(error, factor[i, i:stop])
            errors[:, i - start] = error
        left[:, stop:] -= errors @ factor[start:stop, stop:]
    return better_rows(w, Grouped(in_groups(q, size), grid, w.shape[1], symmetric), products)


def better_rows(w: Matrix, found: Grouped, products: Matrix) -> Grouped:
    """The rows of a weight, rounded to nearest where that has the smaller error, as may be with few bits."""
    other = nearest(w, found.grid.bits, found.q.shape[2], found.symmetric)
    gaps = [(g.matrix().astype("float64") - w) for g in (found, other)]
    ours, theirs = [((gap @ products) * gap).sum(1) for gap in gaps]
    is_worse = (ours > theirs)[:, None]
    scale = np.where(is_worse, other.grid.scale, found.grid.scale)
    zero = np.where(is_worse, other.grid.zero, found.grid.zero)
    q = np.where(is_worse[:, :, None], other.q, found.q)
    return Grouped(q, Grid(found.grid.bits, scale, zero), found.columns, found.symmetric)


def column_order(h: Matrix, by_weight: bool) -> Any:
    """The order of columns: as they are, or from the greatest diagonal element to the least."""
    return (-h.diagonal()).argsort(kind="stable") if by_weight else np.arange(len(h))


def _renew(grid: Grid, g: int, columns: Matrix, bits: int, symmetric: bool) -> None:
    """The grid of a group, by its columns as they are now."""
    now = grid_for(columns[:, None, :], bits, symmetric)
    grid.scale[:, g], grid.zero[:, g] = now.scale[:, 0], now.zero[:, 0]


def inverse_factor(h: Matrix, damping: float) -> Any:
    """The upper triangular factor `u` with `u.T @ u` the inverse of `h`, damped until it has one."""
    mean = float(h.diagonal().mean())
    for times in (1, 10, 100, 1000):
        damped = h + max(damping, 1e-8) * times * mean * np.eye(len(h))
        try:
            lower = np.linalg.cholesky(damped)
            inner = np.linalg.inv(lower)
            return np.linalg.cholesky(inner.T @ inner).T
        except np.linalg.LinAlgError:
            pass
    return np.eye(len(h))
