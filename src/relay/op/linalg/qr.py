"""Orthogonal and triangular factors."""

from collections.abc import Sequence
from typing import Any

import numpy as _np

from relay.ir.dim import minimum
from relay.ir.expr import Expr
from relay.ir.type import TensorType, TupleType, Type
from relay.op.base import Array, Numpy, sample
from relay.op.batching import same
from relay.op.derivative import rank_of, zeros_like
from relay.op.kind import Derivative
from relay.op.linalg.lapack import (
    BLOCK,
    column_stride,
    copy_matrix,
    take_part,
    take_room,
    unless_bad,
    working_dtype,
)
from relay.op.linalg.matrices import Matrix, MatrixOperator, finite, is_tall, matrix_sizes, poisoned
from relay.op.native import Index, Loops, Output, View
from relay.op.numeric import apply
from relay.op.registry import operator
from relay.op.relation import Typing


@operator("linalg.qr")
class QR(MatrixOperator):
    """`(q, r)` with `q @ r == a`: for matrices `(..., m, n)` and `k = min(m, n)`, orthonormal columns
    `(..., m, k)` and an upper triangular `(..., k, n)`.

    The signs on the diagonal of `r` are LAPACK's.  The derivative needs the first `k` columns of `a` to be
    linearly independent (`singular-matrix`).

    relay> linalg.qr([[3.0], [4.0]]).1
    [[-5.0]]
    """

    derivative = Derivative.RULES
    takes_no_zeros = True
    results = 2
    routines = ("geqrf", "orgqr")
    batch = same
    samples = (
        sample(_np.asarray([[4, 1, 0.5], [1, 2, -1], [0.5, -1, 1]], "float32")),
        sample(_np.asarray([[[2, 0.5], [0.5, 1], [-1, 0.25]], [[3, -1], [-1, 7], [2, 2]]], "float64")),
        sample(_np.asarray([[4, 1, 0.5], [1, 3, -1]], "float64")),
        sample("0x3x2 float32"),
    )

    def infer(self, t: Typing, a: Type) -> Type:
        *stack, m, n = matrix_sizes(t, a, self.name)
        k, dtype = minimum(t.settled(m), t.settled(n)), t.dtype(a)
        return TupleType([TensorType((*stack, *own), dtype) for own in ((m, k), (k, n))])

    def reference(self, np: Numpy, a: Array) -> Any:
        x, bad = finite(np, a)
        return tuple([poisoned(np, part, bad, a.dtype) for part in np.linalg.qr(x)])

    def compute(self, b: Loops, outs: Sequence[Output], a: View) -> None:
        """By `geqrf`, which leaves `r` above the diagonal, and `orgqr`."""
        *stack, m, n = a.sizes
        q, r = outs
        k, size = q.sizes[-1], b.times(b.larger(n, 1), BLOCK)
        room, scales = b.room(working_dtype(a), [n, m]), b.room(working_dtype(a), [k])
        work, ld = b.room(working_dtype(a), [size]), column_stride(b, m)

        def one(lead: Sequence[Index]) -> None:
            def upper(index: Sequence[Index]) -> Any:
                i, j = index
                return b.select(b.is_less(j, i), b.const(0, room.dtype), room.at([j, i]))

            def factor() -> None:
                b.routine("geqrf", m, n, room, ld, scales, work, size)
                take_part(b, r, lead, upper)
                b.routine("orgqr", m, k, k, room, ld, scales, work, size)
                take_room(b, q, lead, room)

            is_good = copy_matrix(b, room, lambda i, j: a.at([*lead, i, j]))
            unless_bad(b, is_good, outs, lead, factor)

        b.nest(stack, one)

    # `q` is that of the first k columns, and r = q.T @ a.  Source: Roberts and Roberts, 2020.

    def vjp(self, g: Any, y: Any, a: Expr) -> tuple[Expr]:
        gq, gr = (None if part is None else Matrix.of(part) for part in g)
        q, r = Matrix.of(y[0]), Matrix.of(y[1])
        if gr is not None:
            gr = gr.triangle(upper=True)
            through = Matrix.of(a) @ gr.T
            square = gr @ r.T if gq is None else gq.T @ q + gr @ r.T
            gq = through if gq is None else gq + through
        else:
            assert gq is not None
            square = gq.T @ q
        lower = square.triangle(upper=False, k=-1)
        copied = square.triangle(upper=False) + lower.T
        leading = (gq - q @ copied).divided_by(self.leading_columns(r, q, a).T, upper=True, is_left=False)
        found = self.widened(leading, a)
        return (found if gr is None else apply("add", found, (q @ gr).whole),)

    def jvp(self, dxs: Sequence[Any], y: Any, a: Expr) -> Any:
        q, r, da = Matrix.of(y[0]), Matrix.of(y[1]), Matrix.of(dxs[0])
        moved = self.leading_columns(da, q, a).divided_by(
            self.leading_columns(r, q, a), upper=True, is_left=False
        )
        inner = q.T @ moved
        lower = inner.triangle(upper=False, k=-1)
        dq = q @ (lower - lower.T - inner) + moved
        return dq.whole, (dq.T @ Matrix.of(a) + q.T @ da).triangle(upper=True).whole

    @staticmethod
    def leading_columns(x: Matrix, q: Matrix, a: Expr) -> Matrix:
        """The first `k` columns."""
        return x if is_tall(a) else x.made(apply("slice_like", x.whole, q.expr, axes=(-1,)))

    @staticmethod
    def widened(x: Matrix, a: Expr) -> Expr:
        """The first `k` columns as a cotangent of `a`, zero in the other columns."""
        if is_tall(a):
            return x.whole
        rank = rank_of(a)
        end = apply("shape_of", x.whole, "int64")
        return apply("strided_set", zeros_like(a), x.whole, (0,) * rank, end, (1,) * rank)
