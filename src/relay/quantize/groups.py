"""Weights in groups of few bits: grids, rounding to nearest, and how programs write them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relay.ir.expr import Expr, constant
from relay.op.blocks.quantize import packed
from relay.transform.rewriting.rewriter import call_of

Matrix = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Grid:
    """The numbers that groups of weights may become: `(q - zero) * scale` for `q` from 0 to `2 ** bits - 1`.

    `scale` and `zero` are float32 `(n, groups)`.
    """

    bits: int
    scale: Matrix
    zero: Matrix

    def levels(self, w: Matrix, group: int | slice = slice(None)) -> Matrix:
        """`q` of weights, whose first axes are those of the scales of a group or of all."""
        scale, zero = self.scale[:, group], self.zero[:, group]
        if w.ndim > scale.ndim:
            scale, zero = scale[..., None], zero[..., None]
        return np.clip(np.rint(w / scale) + zero, 0, (1 << self.bits) - 1)

    def numbers(self, q: Matrix, group: int | slice = slice(None)) -> Matrix:
        """The numbers that `q` stand for."""
        scale, zero = self.scale[:, group], self.zero[:, group]
        if q.ndim > scale.ndim:
            scale, zero = scale[..., None], zero[..., None]
        return (q - zero) * scale


@dataclass(frozen=True)
class Grouped:
    """A weight `(n, k)` as levels, uint8 `(n, groups, size)`, on a grid; the last group may be padded."""

    q: Matrix
    grid: Grid
    columns: int
    symmetric: bool

    def matrix(self) -> Matrix:
        """The weight that it stands for, float32 `(n, k)`."""
        found = self.grid.numbers(self.q.astype("float32"))
        return found.reshape(len(found), -1)[:, : self.columns].astype("float32")

    def expr(self, source: Expr) -> Expr:
        """The weight as `dequantize_groups` of packed constants."""
        bits, size = self.grid.bits, self.q.shape[2]
        args: list[Expr] = [constant(packed(self.q, bits), span=source.span)]
        args.append(constant(self.grid.scale.astype("float32"), span=source.span))
        if not self.symmetric:
            args.append(constant(packed(self.grid.zero.astype("uint8"), bits), span=source.span))
        whole = call_of("dequantize_groups", args, source, bits=bits, group=size)
        if self.q.shape[1] * size == self.columns:
            return whole
        return call_of("strided_slice", (whole,), source, begin=(0,), end=(self.columns,), axes=(1,))


def in_groups(w: Matrix, size: int) -> Matrix:
    """A weight `(n, k)` as `(n, groups, size)`, the last group filled with 0."""
    w = np.pad(w, [(0, 0), (0, -w.shape[1] % size)])
    return w.reshape(len(w), -1, size)


def grid_for(groups: Matrix, bits: int, symmetric: bool) -> Grid:
    """The grid that reaches the extremes of each group, `(n, groups, size)`.

    Symmetric grids have as many steps below 0 as above, half a step more than 8 of 4 bits; the others reach
    from the least to the greatest number, with 0 between.  Source: Frantar et al., 2023, section 4.
    """
    top = (1 << bits) - 1
    low = np.minimum(groups.min(-1), 0).astype("float64")
    high = np.maximum(groups.max(-1), 0).astype("float64")
    if symmetric:
        high = np.maximum(-low, high)
        low = -high
    scale = ((high - low) / top).astype("float32")
    scale = np.where(scale > 0, scale, 1).astype("float32")
    zero = np.full(scale.shape, (top + 1) // 2) if symmetric else np.clip(np.rint(-low / scale), 0, top)
    return Grid(bits, scale, zero.astype("float32"))


def nearest(w: Matrix, bits: int, size: int, symmetric: bool) -> Grouped:
    """A weight `(n, k)` rounded to the nearest numbers of its groups' grids."""
    groups = in_groups(w, size)
    grid = grid_for(groups, bits, symmetric)
    return Grouped(grid.levels(groups).astype("uint8"), grid, w.shape[1], symmetric)


def output_error(w: Matrix, found: Matrix, products: Matrix) -> float:
    """`sum((x @ (found - w).T) ** 2)` over the rows `x` that `products`, `sum(x.T @ x)`, is of."""
    gap = found.astype("float64") - w
    return float(((gap @ products) * gap).sum())
