"""Matrices of weights that few rows of data go over as they are kept, row by row, decoded in registers."""

from collections.abc import Callable
from math import gcd
from typing import Any

from relay.backend.native.kernels.block_matrices import BlockMatrix
from relay.backend.native.kernels.group_weights import Kept
from relay.backend.native.kernels.paired_products import rounded_product
from relay.backend.native.kernels.rounded_groups import sums_of_groups, write_sums
from relay.backend.native.kernels.rounded_products import GROUP, GROUP_BYTES, RoundedProduct, Rounding
from relay.backend.native.kernels.row_products import RowProduct, row_bytes
from relay.backend.native.kernels.sums import Tail
from relay.backend.native.llvm.machine import host
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Buffer, Index, Value
from relay.backend.native.loops.parallelize import ONE_RANGE_EACH, is_short
from relay.backend.native.loops.views import View

MOST_ROWS = 4
"""Rows of data that go over the rows of a matrix one after the other; more repay panels."""
MOST_ROUNDED_ROWS = 2
"""The same of rows that are rounded to integers."""
LEAST_NUMBERS = 1 << 12
"""Numbers of a matrix of float32 that few rows go over as it is."""
READ_NANOSECONDS = 0.05
"""Nanoseconds for a byte that is read."""
KEPT = frozenset({"float16", "bfloat16", "int8"})
"""Dtypes of fewer bits than float32 that a matrix is kept in."""


def write_rows(
    b: Builder,
    x: View,
    y: BlockMatrix | View,
    shape: tuple[Index, Index, Index],
    out: Value,
    tail: Tail | None,
    rounds: bool = False,
) -> None:
    """Write the products of rows of data and those of a matrix; `shape` are the rows, the columns of the
    result and the numbers of a row; parts of the result go to `tail`.  If asked, data is rounded to integers
    of 8 bits first.
    """
    rows, columns, depth = shape
    kept = y.kept if isinstance(y, BlockMatrix) else y.dtype
    data, first, given_pitch = y.data, as_float32(b, x, rows, depth), b.times(depth, 4)
    how: RowProduct | RoundedProduct = RowProduct(host(), kept)
    if rounds:
        how, first, given_pitch = rounded_product(host(), kept), *rows_with_sums(b, first, rows, depth, kept)
    assert data is not None
    pitch = row_bytes(b, kept, depth)

    def share(begin: Index, end: Index) -> None:
        def panel(i: Index, _: Any) -> None:
            left = b.times(b.plus(begin, i), how.rows)
            count = b.smaller(how.rows, b.minus(columns, left))
            matrix = b.address(data, b.times(left, pitch))
            beside = y.rows_beside(b, left) if isinstance(y, BlockMatrix) else []

            def row(m: Index, _: Any) -> None:
                given = b.address(first, b.times(m, given_pitch))
                to = b.address(out, b.times(b.plus(b.times(m, columns), left), 4))
                b.invoke(how, given, matrix, pitch, depth, count, to, *beside)

            if rows == 1:
                row(0, ())
            else:
                b.loop(rows, (), row)

        b.loop(b.minus(end, begin), (), panel)
        if tail is not None:
            left = b.times(begin, how.rows)
            tail(0, rows, left, b.minus(b.smaller(b.times(end, how.rows), columns), left), None)

    panels = b.quotient(b.plus(columns, how.rows - 1), how.rows)
    nanoseconds = READ_NANOSECONDS * how.rows
    if is_short(b.count([panels, pitch]), nanoseconds):
        share(0, panels)
    else:
        b.parallel(panels, ONE_RANGE_EACH, lambda begin, end, lane: share(begin, end))


def rows_with_sums(b: Builder, x: Value, rows: Index, depth: Index, kept: Kept) -> tuple[Value, Index]:
    """Rows of float32 rounded to integers of 8 bits: where they are, and the bytes from a row to the next."""
    groups = b.quotient(depth, GROUP)
    pitch = b.plus(b.times(groups, GROUP_BYTES), b.times(4, sums_of_groups(b, kept, depth)))
    codes = b.room("uint8", [rows, pitch]).buffer.data

    def row(m: Index, _: Any) -> None:
        to = b.address(codes, b.times(m, pitch))
        b.invoke(Rounding(host()), b.address(x, b.times(b.times(m, depth), 4)), groups, to)
        write_sums(b, kept, to, depth)

    b.loop(rows, (), row)
    return codes, pitch


def as_float32(b: Builder, x: View, rows: Index, depth: Index) -> Value:
    """Where the numbers of some rows are, as float32."""
    assert x.data is not None
    if x.dtype == "float32":
        return x.data
    made = b.room("float32", [rows, depth]).buffer
    source = Buffer(x.data, x.dtype, (rows, depth))

    def move(index: tuple[Index, ...], _: Any) -> None:
        b.write(made, index, b.cast(b.read(source, index), "float32"))

    b.for_each([rows, depth], (), move, any_order=True)
    return made.data


def unit_of(columns: Index) -> int:
    """What the columns of a part of the result are a multiple of."""
    rows = min(host().lanes("float"), 8)
    return gcd(rows, columns) if isinstance(columns, int) else 1


def with_own_rooms(b: Builder, body: Callable[[], None]) -> None:
    """Run `body()`, whose rooms end with it: on one way of several."""
    before, b.scratch = b.scratch, []
    body()
    b.done()
    b.scratch = before
