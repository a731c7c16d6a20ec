"""Batching rules of matrix products: what is the same for all rows is neither copied nor read twice."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from relay.ir.expr import Expr
from relay.ir.type import Dim
from relay.op.base import Operator
from relay.op.batching import row_rank, with_row_rank
from relay.op.numeric import apply


def batch_of_dense(self: Operator, n: Dim, which: Sequence[Any], data: Expr, weight: Expr) -> Expr:
    """Of data alone the rows are rows of a larger matrix; a weight for each row makes a stack of matrices."""
    if not which[1]:
        return self(data, weight)
    product = {"transpose_b": True, "out_dtype": self["out_dtype"]}
    rank = row_rank(data, which[0])
    if rank == 1 and not which[0]:
        return apply("nn.matmul", data, weight, **product)
    if rank == 1:
        line = apply("expand_dims", data, axis=1)
        return apply("squeeze", apply("nn.matmul", line, weight, **product), axis=(1,))
    first = int(which[0])
    found = apply("nn.matmul", one_axis(data, first, rank - 1), weight, **product)
    return several_axes(found, data, first, rank - 1)


def batch_of_matmul(self: Any, n: Dim, which: Sequence[Any], a: Expr, b: Expr) -> Expr:
    """Vectors become matrices where the rows must not be taken for what is multiplied."""
    first, second = row_rank(a, which[0]), row_rank(b, which[1])
    if not which[1] and second <= 2:
        return self(a, b)
    if not which[0] and second == 1 and first <= 2:
        return replace(self, units=None, transpose_b=first == 2)(b, a)
    dropped: list[int] = []
    if second == 1:
        b, second, dropped = apply("expand_dims", b, axis=-1), 2, [-1]
    if first == 1 and (which[0] or not which[1]):
        a, first, dropped = apply("expand_dims", a, axis=-2), 2, [-2, *dropped]
    is_flat = first > 2 and second == 2 and not self.transpose_a
    rank = max(first, second)
    op = replace(self, units=None)
    if is_flat:
        found = several_axes(op(one_axis(a, int(which[0]), first - 1), b), a, int(which[0]), first - 1)
    else:
        found = op(
            with_row_rank(a, rank, first) if which[0] else a,
            with_row_rank(b, rank, second) if which[1] else b,
        )
    return apply("squeeze", found, axis=tuple(dropped)) if dropped else found


def batch_of_batch_matmul(self: Operator, n: Dim, which: Sequence[Any], a: Expr, b: Expr) -> Expr:
    """Stacks with one more axis in front."""
    return apply("nn.matmul", a, b, **self.attributes())


def one_axis(x: Expr, first: int, count: int) -> Expr:
    """A tensor with some of its axes as one."""
    for _ in range(count - 1):
        x = apply("reshape", x, newshape=(*(0,) * first, -3, -2))
    return x


def several_axes(y: Expr, like: Expr, first: int, count: int) -> Expr:
    """The inverse of `one_axis`, behind the rows: axis 1 as the axes of another tensor from `first` on."""
    if count == 1:
        return y
    return apply("reshape_like", y, like, lhs_begin=1, lhs_end=2, rhs_begin=first, rhs_end=first + count)
