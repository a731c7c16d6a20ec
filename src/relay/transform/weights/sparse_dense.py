"""Dense layers whose weights are mostly zero, as products with sparse matrices."""

from collections.abc import Mapping, Sequence
from typing import Any

from relay.ir.expr import Call, Expr, Function
from relay.op.nn.dense import Dense
from relay.op.nn.sparse import SparseDense
from relay.transform.weights.block_rows import in_block_rows
from relay.transform.weights.stored_weights import Values, with_stored_weights


def with_sparse_dense(
    func: Function, params: Mapping[str, Any], blocksize: Sequence[int], sparsity_threshold: float
) -> tuple[Function, Values]:
    """A function and the values of its parameters, with `nn.sparse_dense` for each `nn.dense` of whose weight
    at least the share `sparsity_threshold` is 0.

    The weight `w` `(units, k)` becomes the parameters `w.data`, `w.indices` and `w.indptr`, in blocks of
    `blocksize` rows and columns.
    """

    def stored(e: Call, weight: Any) -> Mapping[str, Any] | None:
        is_plain = isinstance(e.attrs, Dense) and not e.attrs.out_dtype
        return in_block_rows(weight, blocksize, sparsity_threshold) if is_plain else None

    def read(e: Call, weight: Sequence[Expr]) -> Expr:
        return SparseDense()(e.args[0], *weight)

    return with_stored_weights(func, params, stored, read)
