"""Batches of products with sparse matrices: the matrices of all rows are one.

They stand below each other, so that the products of all rows are one product.  Where each row has its own
data as well, they also stand beside each other, as the data do: each in columns of its own.
"""

from collections.abc import Sequence
from typing import Any

from relay.ir.expr import Expr
from relay.ir.type import Dim
from relay.op.batching import (
    all_stretched,
    folded_along,
    is_unknown,
    merged,
    merged_along,
    row_numbers,
    row_rank,
    row_shape,
    split_along,
)
from relay.op.derivative import rank_of, tensor_type
from relay.op.numeric import apply
from relay.op.term import Term, size_of, term


def batch_of_sparse_dense(self: Any, n: Dim, which: Sequence[bool], data: Expr, *matrix: Expr) -> Expr | None:
    """The rule of `nn.sparse_dense`; None where matrices of the rows have blocks of an unknown size."""
    weight, indices, indptr = matrix
    if not any(which[1:]):
        if self.sparse_lhs:
            return folded_along(self, n, which, (data, *matrix), (0, None, None, None), 1)
        return self(data, *matrix)
    rank, (ends,) = row_rank(data, which[0]), row_shape(indptr, which[3])
    _, high, wide = (*row_shape(weight, which[1]), 1, 1)[:3]
    rows = (ends - 1) * high
    if is_unknown(rows):
        return None
    elements = term_of_size(indices, which[2])
    columns = term_of_size(data, rank_of(data) - 1)
    if wide != 1:
        columns = columns.of("floor_divide", term_of_size(weight, rank_of(weight) - 1))
    blocks, places, begins = all_stretched(n, which[1:], matrix)
    if which[0]:
        data = merged_along(data, rank, rank - 1)
        places = moved_on(Term(places, tensor_type(indices).dtype), n, columns, columns).expr
    places = merged(places)
    # The end of each matrix is the beginning of a last row that has what is between it and the next one.
    begins = merged(moved_on(Term(begins, tensor_type(indptr).dtype), n, elements + 1, elements).expr)
    begins = apply("concatenate", (begins, apply("shape_of", places, dtype="int64")))
    found = self(data, merged(blocks), places, begins)
    axis = 0 if self.sparse_lhs else rank - 1
    found = split_along(found, n, ends * high, rank, axis)
    return apply("strided_slice", found, begin=(0,), end=(rows,), axes=(axis + 1,), slice_mode="exact")


def term_of_size(x: Expr, axis: int) -> Term:
    """The size of an axis, as int64."""
    return term(size_of(x, tensor_type(x), axis), "int64")


def moved_on(places: Term, n: Dim, limit: Term, step: Term) -> Term:
    """Places of each row among those of all, a step further for each; what is none in its row is none."""
    x = places.as_index()
    is_place = (x >= 0) & (x < limit)
    return is_place.where(x + Term(row_numbers(n, 1), "int64") * step, term(-1, "int64"))
