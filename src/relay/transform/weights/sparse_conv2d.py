"""Convolutions whose weights are mostly zero, as convolutions with sparse matrices."""

from collections.abc import Mapping, Sequence
from typing import Any

from relay.ir.expr import Call, Constant, Expr, Function, constant, replace
from relay.ir.walk import rewrite
from relay.op.nn.conv import Conv2D
from relay.op.nn.layout import ntuple, pads
from relay.op.nn.sparse import SparseConv2D
from relay.transform.weights.block_rows import in_block_rows
from relay.transform.weights.stored_weights import Values, with_stored_weights


def with_sparse_conv2d(
    func: Function,
    params: Mapping[str, Any],
    blocksize: Sequence[int],
    sparsity_threshold: float,
    layout: str = "NHWC",
    kernel_size: int = 1,
) -> tuple[Function, Values]:
    """A function and the values of its parameters, with `nn.sparse_conv2d` for each `nn.conv2d` in that
    layout with windows of that size, 1 or 3, of whose weight at least the share `sparsity_threshold` is 0.

    The convolutions keep the sizes of images: they have steps of 1, one group, and 3 by 3 is padded by 1.
    The weight `w` becomes the parameters `w.data`, `w.indices` and `w.indptr`, in blocks of `blocksize`.
    """

    def stored(e: Call, weight: Any) -> Mapping[str, Any] | None:
        return blocks_of(e, weight, layout, kernel_size, blocksize, sparsity_threshold)

    return with_stored_weights(func, params, stored, lambda e, weight: sparse(e, weight, layout, kernel_size))


def with_sparse_constants(
    func: Function, layout: str, kernel_size: int, blocksize: Sequence[int], sparsity_threshold: float
) -> Function:
    """A function with `nn.sparse_conv2d` for each such `nn.conv2d` whose weight is a constant; so are the
    parts of the sparse matrix.
    """

    def rule(e: Expr) -> Expr | None:
        match e:
            case Call(Conv2D(), (_, Constant() as w)) if not w.is_open:
                parts = blocks_of(e, w.value, layout, kernel_size, blocksize, sparsity_threshold)
                if parts is None:
                    return None
                return sparse(e, [constant(x) for x in parts.values()], layout, kernel_size)
            case _:
                return None

    body = rewrite(func.body, rule)
    return func if body is func.body else replace(func, body=body)


def blocks_of(
    e: Call, weight: Any, layout: str, kernel_size: int, blocksize: Sequence[int], least: float
) -> Mapping[str, Any] | None:
    """The weight of a call as a matrix by rows of blocks; None if the call is not such a convolution."""
    if not isinstance(e.attrs, Conv2D) or not is_taken(e.attrs, weight.shape, layout, kernel_size):
        return None
    rows = weight.transpose([e.attrs.kernel_layout.index(axis) for axis in "OHWI"])
    return in_block_rows(rows.reshape(len(rows), -1), blocksize, least)


def sparse(e: Call, weight: Sequence[Expr], layout: str, kernel_size: int) -> Expr:
    """A convolution by a weight that is a sparse matrix."""
    return SparseConv2D(layout=layout, kernel_size=(kernel_size, kernel_size))(e.args[0], *weight)


def is_taken(op: Any, shape: Sequence[int], layout: str, size: int) -> bool:
    """Whether a convolution with a weight of that shape is one that keeps the sizes of images."""
    window: list[int] = [shape[op.kernel_layout.index(axis)] for axis in "HW"]
    is_padded = {n for pair in pads(op.padding, 2) for n in pair} == {size // 2}
    has_steps = {*ntuple(op.strides, 2), *ntuple(op.dilation, 2)} != {1}
    return (
        op.data_layout == layout
        and op.out_layout in ("", layout)
        and window == [size, size]
        and is_padded
        and not has_steps
        and op.groups == 1
        and not op.out_dtype
    )
