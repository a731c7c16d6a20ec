"""What the native rules of linear algebra share: matrices as LAPACK wants them, column by column.

A matrix of `m` rows and `n` columns is a room of the sizes `(n, m)`; element `(i, j)` is at `[j, i]`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as _np

from relay.op.native import Index, Loops, Output, View

BLOCK = 64
"""Columns that LAPACK's routines work on at once, for which they want room."""


def working_dtype(x: View) -> str:
    """The dtype that LAPACK computes in."""
    return "float64" if x.dtype == "float64" else "float32"


def column_stride(b: Loops, n: Index) -> Index:
    """How far columns are apart: LAPACK wants at least 1."""
    return b.larger(n, 1)


def copy_matrix(b: Loops, room: Output, element: Callable[[Index, Index], Any]) -> Any:
    """Put the elements `element(i, j)` in a room; whether all are finite."""
    zero = b.const(0, room.dtype)

    def step(index: Sequence[Index], totals: Sequence[Any]) -> Sequence[Any]:
        x = b.cast(element(index[1], index[0]), room.dtype)
        room.put(list(index), x)
        return [b.add(totals[0], b.multiply(x, zero))]

    return b.compare("eq", b.fold(room.sizes, [zero], step)[0], zero)


def take_part(
    b: Loops, out: Output, lead: Sequence[Index], element: Callable[[Sequence[Index]], Any]
) -> None:
    """Write the part of a result that has the leading index `lead`: `element((i, j))` to each index."""

    def move(index: Sequence[Index]) -> None:
        out.put([*lead, *index], b.cast(element(index), out.dtype))

    b.nest(out.sizes[len(lead) :], move)


def take_room(b: Loops, out: Output, lead: Sequence[Index], room: Output) -> None:
    """Write a room, a matrix or a vector, to the part of a result that has the leading index `lead`."""
    take_part(b, out, lead, lambda index: room.at([*reversed(index)]))


def fill_with_nan(b: Loops, outs: Sequence[Output], lead: Sequence[Index]) -> None:
    """Write NaN to the parts of results that have the leading index `lead`."""
    for out in outs:
        nan = b.const(_np.nan, out.dtype)

        def put(index: Sequence[Index], out: Output = out, nan: Any = nan) -> None:
            out.put([*lead, *index], nan)

        b.nest(out.sizes[len(lead) :], put)


def unless_bad(
    b: Loops, is_good: Any, outs: Sequence[Output], lead: Sequence[Index], compute: Callable[[], None]
) -> None:
    """Compute the results of one matrix, or NaN unless it is good."""
    b.when(is_good, compute)
    b.when(b.negation(is_good), lambda: fill_with_nan(b, outs, lead))


def succeeded(b: Loops, info: Any) -> Any:
    """Whether a routine says that all is well."""
    return b.compare("eq", info, b.const(0, info))
