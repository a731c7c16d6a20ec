"""Least squares."""

from collections.abc import Sequence
from typing import Any

import numpy as _np

from relay.ir.expr import Expr, TupleGetItem
from relay.ir.type import TensorType, Type
from relay.op.base import sample
from relay.op.composite import Composite
from relay.op.derivative import rank_of, unbroadcast
from relay.op.kind import Derivative
from relay.op.linalg.matrices import (
    MATRIX_DTYPES,
    Matrix,
    column_matrices,
    matrix_sizes,
    system_type,
)
from relay.op.linalg.solve import as_matrix
from relay.op.numeric import apply, dims, scalar
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.term import settled, size_of, term

EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
"""The distance from 1 to the next number."""


@operator("linalg.lstsq")
class LstSq(Composite):
    """`x` that makes `a @ x - b` least, for `a` of shape `(..., m, n)` and any rank; of several the shortest.

    Right sides are as for `linalg.solve`, with `m` rows.  Singular values of at most `rcond` times the
    largest count as zero; by default `rcond` is the precision of the dtype times the larger of `m` and `n`.
    The derivative is that among matrices of the same rank.

    relay> linalg.lstsq([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [2.0, 3.0, 4.0])
    [1.0, 3.0]
    """

    rcond: float | None = None
    dtypes = MATRIX_DTYPES
    derivative = Derivative.RULES
    samples = (
        sample(_np.asarray([[4, 1], [1, 2], [0.5, -1]], "float32"), "3x2 float32"),
        sample(_np.asarray([[4, 1, 0.5], [1, 3, -1]], "float64"), "2 float64"),
        sample(_np.asarray([[[2, 0.5], [0.5, 1]], [[3, -1], [-1, 7]]], "float64"), "2x4 float64"),
        sample("0x3x2 float32", "0x3x1 float32"),
    )

    def infer(self, t: Typing, a: Type, b: Type) -> Type:
        sizes = matrix_sizes(t, a, self.name)
        t.equal(t.dtype(b), t.dtype(a), why="both operands have one dtype")
        return system_type(t, sizes[-1], sizes, b, self.name)

    def decompose(self, types: Any, a: Expr, b: Expr) -> Expr:
        rank, dtype = len(dims(types[0])), types[0].dtype
        is_vector = len(dims(types[1])) == 1
        parts = apply("linalg.svd", a)
        u, s, vh = (TupleGetItem(parts, i) for i in range(3))
        largest = apply("max", s, axis=-1, keepdims=True)
        kept = apply("greater", s, apply("multiply", largest, self.cutoff(types[0], a)))
        inverse = apply("where", kept, apply("divide", scalar(1, dtype), s), scalar(0, dtype))
        right = apply("expand_dims", b, axis=-1) if is_vector else b
        along = Matrix(u, rank, dtype).T @ Matrix(right, max(2, len(dims(types[1]))), dtype)
        scaled = column_matrices(inverse, rank, dtype) * along
        found = (Matrix(vh, rank, dtype).T @ scaled).whole
        return apply("squeeze", found, axis=(-1,)) if is_vector else found

    def cutoff(self, t: TensorType, a: Expr) -> Expr:
        """`rcond`, or what it is by default."""
        if self.rcond is not None:
            return scalar(self.rcond, t.dtype)
        dtype, rank = str(t.dtype), len(dims(t))
        m, n = (term(size_of(a, t, rank - i), "int64") for i in (2, 1))
        return settled(m.of("maximum", n).cast(dtype) * EPSILON[dtype]).expr

    # Source: Golub and Pereyra, 1973.

    def vjp(self, g: Expr, y: Expr, a: Expr, b: Expr) -> tuple[Expr, Expr]:
        matrix, x, right, given = Matrix.of(a), as_matrix(y, b), as_matrix(b, b), as_matrix(g, b)
        db = self.solved(matrix.T, given)
        residual = right - matrix @ x
        da = residual @ self.solved(matrix, db).T - db @ x.T
        da = da + self.solved(matrix.T, x) @ (given - matrix.T @ db).T
        found = apply("squeeze", db.whole, axis=(-1,)) if rank_of(b) == 1 else db.whole
        return unbroadcast(da.whole, a), unbroadcast(found, b)

    def jvp(self, dxs: Sequence[Any], y: Expr, a: Expr, b: Expr) -> Expr:
        da, db = dxs
        matrix, x = Matrix.of(a), as_matrix(y, b)
        right = None if db is None else as_matrix(db, b)
        found: Matrix | None = None
        if da is not None:
            change = Matrix.of(da)
            right = -(change @ x) if right is None else right - change @ x
            residual = as_matrix(b, b) - matrix @ x
            found = self.solved(matrix, self.solved(matrix.T, change.T @ residual))
            turned = change.T @ self.solved(matrix.T, x)
            found = found + turned - matrix.T @ self.solved(matrix.T, turned)
        assert right is not None, "a rule is not asked where all tangents are zero"
        direct = self.solved(matrix, right)
        whole = (direct if found is None else direct + found).whole
        return apply("squeeze", whole, axis=(-1,)) if rank_of(b) == 1 else whole

    def solved(self, matrix: Matrix, right: Matrix) -> Matrix:
        """The least squares solutions with a matrix, or its transpose, and other right sides."""
        found = apply("linalg.lstsq", matrix.whole, right.whole, rcond=self.rcond)
        return Matrix(found, max(matrix.rank, right.rank), right.dtype)
