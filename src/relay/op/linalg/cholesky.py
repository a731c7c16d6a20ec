"""The factor of a positive definite matrix."""

from collections.abc import Sequence
from typing import Any

import numpy as _np

from relay.ir.expr import Expr
from relay.ir.type import Type
from relay.op.base import Array, Numpy, sample
from relay.op.batching import same
from relay.op.kind import Derivative
from relay.op.linalg.lapack import column_stride, copy_matrix, succeeded, take_part, unless_bad, working_dtype
from relay.op.linalg.matrices import (
    Matrix,
    MatrixOperator,
    finite,
    poisoned,
    refusing,
    square_sizes,
    symmetrised,
)
from relay.op.native import Index, Loops, Output, View
from relay.op.numeric import SameType
from relay.op.registry import operator
from relay.op.relation import Typing

NOT_POSITIVE = (
    "not-positive-definite", "the matrix is not positive definite, or one of the stack is not",
    "add a small multiple of the identity, or factor it by `linalg.eigh`",
)  # fmt: skip


@operator("linalg.cholesky")
class Cholesky(SameType, MatrixOperator):
    """The lower triangular `l` with `l @ l.T == a`, for symmetric positive definite matrices `(..., n, n)`.

    With `upper` it is the upper triangular `u` with `u.T @ u == a`.  What is factored is `(a + a.T) / 2`, so
    cotangents are symmetric.  A matrix that is not positive definite is an error (`not-positive-definite`).

    relay> linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
    [[2.0, 0.0], [1.0, 2.0]]
    """

    upper: bool = False
    derivative = Derivative.RULES
    routines = ("potrf",)
    batch = same
    samples = (
        sample(_np.asarray([[4, 1, 0.5], [1, 3, -1], [0.5, -1, 2]], "float32")),
        sample(_np.asarray([[[2, 0.5], [0.5, 1]], [[3, -1], [-1, 4]]], "float64"), upper=True),
        sample("0x2x2 float32"),
        sample(_np.asarray([[2.25]], "float16")),
    )

    def infer(self, t: Typing, a: Type) -> Type:
        square_sizes(t, a, self.name)
        return a

    def reference(self, np: Numpy, a: Array) -> Array:
        x, bad = finite(np, a)
        factor = refusing(np, *NOT_POSITIVE, np.linalg.cholesky, symmetrised(np, x))
        return poisoned(np, np.swapaxes(factor, -1, -2) if self.upper else factor, bad, a.dtype)

    def vjp(self, g: Expr, y: Expr, a: Expr) -> tuple[Expr]:
        """Source: Murray, 2016."""
        factor, cotangent = Matrix.of(y), Matrix.of(g)
        if self.upper:
            factor, cotangent = factor.T, cotangent.T
        middle = (factor.T @ cotangent).halved_lower
        # `upper` is said of the expression, which `factor` may read transposed.
        left = middle.divided_by(factor.T, self.upper)
        return (left.divided_by(factor, self.upper, is_left=False).symmetric.whole,)

    def jvp(self, dxs: Sequence[Any], y: Expr, a: Expr) -> Expr:
        factor = Matrix.of(y).T if self.upper else Matrix.of(y)
        middle = Matrix.of(dxs[0]).symmetric.divided_by(factor, self.upper)
        middle = middle.divided_by(factor.T, self.upper, is_left=False)
        found = factor @ middle.halved_lower
        return (found.T if self.upper else found).whole

    def compute(self, b: Loops, out: Output, a: View) -> None:
        """By `potrf`, in place."""
        *stack, n, _ = a.sizes
        room = b.room(working_dtype(a), [n, n])
        half = b.const(0.5, room.dtype)

        def one(lead: Sequence[Index]) -> None:
            def element(i: Index, j: Index) -> Any:
                x, y = (b.cast(a.at([*lead, *place]), room.dtype) for place in ((i, j), (j, i)))
                return b.add(b.multiply(half, x), b.multiply(half, y))

            def factor() -> None:
                b.require(succeeded(b, b.routine("potrf", "L", n, room, column_stride(b, n))), *NOT_POSITIVE)
                zero = b.const(0, room.dtype)

                def kept(index: Sequence[Index]) -> Any:
                    i, j = reversed(index) if self.upper else index
                    return b.select(b.is_less(i, j), zero, room.at([j, i]))

                take_part(b, out, lead, kept)

            unless_bad(b, copy_matrix(b, room, element), [out], lead, factor)

        b.nest(stack, one)
