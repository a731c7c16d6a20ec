"""Eigenvalues of symmetric matrices, and singular values.

The derivative of vectors divides by the differences of the values that they belong to: where two values are
equal, vectors are any of the space that they span, and their derivative is infinite or NaN.  The derivative
of the values alone is finite.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as _np

from relay.ir.dim import minimum
from relay.ir.expr import Expr
from relay.ir.type import DType, TensorType, TupleType, Type
from relay.op.base import Array, Numpy, sample
from relay.op.batching import same
from relay.op.derivative import rank_of, times, total
from relay.op.kind import Derivative
from relay.op.linalg.lapack import (
    BLOCK,
    column_stride,
    copy_matrix,
    succeeded,
    take_room,
    unless_bad,
    working_dtype,
)
from relay.op.linalg.matrices import (
    Matrix,
    MatrixOperator,
    column_matrices,
    converged,
    finite,
    identity_like,
    is_tall,
    matrix_sizes,
    poisoned,
    row_matrices,
    square_sizes,
    symmetrised,
)
from relay.op.native import Index, Loops, Output, View
from relay.op.numeric import apply, scalar
from relay.op.registry import operator
from relay.op.relation import Typing


def gaps(values: Expr, rank: int, dtype: DType) -> Matrix:
    """`1 / (values[j] - values[i])` at `[i, j]`, 0 on the diagonal."""
    apart = row_matrices(values, rank, dtype) - column_matrices(values, rank, dtype)
    one = apart.made(identity_like(apart.whole))
    return reciprocal(apart + one) - one


def reciprocal(x: Matrix) -> Matrix:
    """`1 / x`, element by element."""
    return x.made(apply("divide", scalar(1, x.dtype), x.whole))


def diagonal_of(x: Matrix) -> Expr:
    """The diagonals `(..., n)` of square matrices."""
    return apply("einsum", (x.whole,), equation="...ii->...i")


@operator("linalg.eigh")
class EigH(MatrixOperator):
    """`(w, v)`: the eigenvalues `(..., n)` of symmetric matrices, ascending, and eigenvectors as columns.

    They are those of `(a + a.T) / 2`, so cotangents are symmetric.  Signs of vectors are LAPACK's; a GPU may
    give others.  Where eigenvalues are equal, the derivative of the vectors is infinite or NaN.

    relay> linalg.eigh([[2.0, 0.0], [0.0, 1.0]]).0
    [1.0, 2.0]
    """

    derivative = Derivative.RULES
    takes_no_zeros = True
    results = 2
    routines = ("syevd",)
    batch = same
    samples = (
        sample(_np.asarray([[4, 1, 0.5], [1, 3, -1], [0.5, -1, 2]], "float32")),
        sample(_np.asarray([[[2, 0.5], [0.5, 1]], [[3, -1], [-1, 7]]], "float64")),
        sample("0x2x2 float32"),
    )

    def infer(self, t: Typing, a: Type) -> Type:
        sizes, dtype = square_sizes(t, a, self.name), t.dtype(a)
        return TupleType([TensorType(sizes[:-1], dtype), TensorType(sizes, dtype)])

    def reference(self, np: Numpy, a: Array) -> Any:
        x, bad = finite(np, a)
        parts = converged(np, np.linalg.eigh, symmetrised(np, x))
        return tuple([poisoned(np, part, bad, a.dtype) for part in parts])

    def compute(self, b: Loops, outs: Sequence[Output], a: View) -> None:
        """By `syevd`, which leaves the vectors in the place of the matrix."""
        *stack, n, _ = a.sizes
        values, vectors = outs
        dtype, half = working_dtype(a), b.const(0.5, working_dtype(a))
        square = b.times(n, n)
        size = b.plus(b.plus(1, b.times(n, 6 + BLOCK)), b.times(square, 2))
        room, found = b.room(dtype, [n, n]), b.room(dtype, [n])
        work, places = b.room(dtype, [size]), b.room("int32", [b.plus(3, b.times(n, 5))])

        def one(lead: Sequence[Index]) -> None:
            def element(i: Index, j: Index) -> Any:
                x, y = (b.cast(a.at([*lead, *place]), dtype) for place in ((i, j), (j, i)))
                return b.add(b.multiply(half, x), b.multiply(half, y))

            def take() -> None:
                take_room(b, values, lead, found)
                take_room(b, vectors, lead, room)

            def factor() -> None:
                info = b.routine(
                    "syevd",
                    "V",
                    "L",
                    n,
                    room,
                    column_stride(b, n),
                    found,
                    work,
                    size,
                    places,
                    places.sizes[0],
                )
                unless_bad(b, succeeded(b, info), outs, lead, take)

            unless_bad(b, copy_matrix(b, room, element), outs, lead, factor)

        b.nest(stack, one)

    def vjp(self, g: Any, y: Any, a: Expr) -> tuple[Expr]:
        gw, gv = g
        vectors, rank = Matrix.of(y[1]), rank_of(a)
        parts: list[Expr] = []
        if gw is not None:
            parts.append((vectors * row_matrices(gw, rank, vectors.dtype) @ vectors.T).whole)
        if gv is not None:
            turned = gaps(y[0], rank, vectors.dtype) * (vectors.T @ Matrix.of(gv))
            parts.append((vectors @ turned @ vectors.T).whole)
        found = total(parts)
        assert found is not None
        return (Matrix(found, rank, vectors.dtype).symmetric.whole,)

    def jvp(self, dxs: Sequence[Any], y: Any, a: Expr) -> Any:
        vectors = Matrix.of(y[1])
        inner = vectors.T @ Matrix.of(dxs[0]).symmetric @ vectors
        return diagonal_of(inner), (vectors @ (gaps(y[0], rank_of(a), vectors.dtype) * inner)).whole


@operator("linalg.svd")
class SVD(MatrixOperator):
    """`(u, s, vh)` with `(u * s[..., None, :]) @ vh == a`, the singular values descending.

    Matrices `(..., m, n)` have orthonormal columns `(..., m, k)`, singular values `(..., k)` and orthonormal
    rows `(..., k, n)`, with `k = min(m, n)`.  Signs of vectors are LAPACK's; a GPU may give others.
    Where singular values are equal, the derivative of the vectors is infinite or NaN.

    relay> linalg.svd([[0.0, 3.0], [2.0, 0.0]]).1
    [3.0, 2.0]
    """

    derivative = Derivative.RULES
    takes_no_zeros = True
    results = 3
    routines = ("gesdd",)
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
        return TupleType([TensorType((*stack, *own), dtype) for own in ((m, k), (k,), (k, n))])

    def reference(self, np: Numpy, a: Array) -> Any:
        x, bad = finite(np, a)
        parts = converged(np, partial(np.linalg.svd, full_matrices=False), x)
        return tuple([poisoned(np, part, bad, a.dtype) for part in parts])

    def compute(self, b: Loops, outs: Sequence[Output], a: View) -> None:
        """By `gesdd`."""
        *stack, m, n = a.sizes
        dtype, k, ld = working_dtype(a), outs[1].sizes[-1], column_stride(b, m)
        linear = b.plus(b.times(k, 7), b.times(b.plus(m, n), 1 + BLOCK))
        size = b.plus(b.plus(1, linear), b.times(b.times(k, k), 4))
        room, u, s, vh = (b.room(dtype, sizes) for sizes in ([n, m], [k, m], [k], [n, k]))
        work, places = b.room(dtype, [size]), b.room("int32", [b.times(k, 8)])

        def one(lead: Sequence[Index]) -> None:
            def take() -> None:
                for out, found in zip(outs, (u, s, vh), strict=True):
                    take_room(b, out, lead, found)

            def factor() -> None:
                info = b.routine(
                    "gesdd", "S", m, n, room, ld, s, u, ld, vh, column_stride(b, k), work, size, places
                )
                unless_bad(b, succeeded(b, info), outs, lead, take)

            is_good = copy_matrix(b, room, lambda i, j: a.at([*lead, i, j]))
            unless_bad(b, is_good, outs, lead, factor)

        b.nest(stack, one)

    def vjp(self, g: Any, y: Any, a: Expr) -> tuple[Expr]:
        gu, gs, gvh = g
        u, vh, rank = Matrix.of(y[0]), Matrix.of(y[2]), rank_of(a)
        s = row_matrices(y[1], rank, u.dtype)
        apart = gaps(times(y[1], y[1]), rank, u.dtype)
        parts: list[Matrix] = []
        if gs is not None:
            parts.append(u * row_matrices(gs, rank, u.dtype) @ vh)
        if gu is not None:
            turned = apart * (u.T @ Matrix.of(gu))
            parts.append(u @ ((turned + turned.T) * s) @ vh)
            if not is_tall(a, turned=True):
                parts.append(outside(Matrix.of(gu), u) * reciprocal(s) @ vh)
        if gvh is not None:
            turned = apart * (vh @ Matrix.of(gvh).T)
            parts.append(u * s @ (turned + turned.T) @ vh)
            if not is_tall(a):
                parts.append(u * reciprocal(s) @ outside(Matrix.of(gvh).T, vh.T).T)
        found = total([part.whole for part in parts])
        assert found is not None
        return (found,)

    def jvp(self, dxs: Sequence[Any], y: Any, a: Expr) -> Any:
        da, u, vh, rank = Matrix.of(dxs[0]), Matrix.of(y[0]), Matrix.of(y[2]), rank_of(a)
        s = row_matrices(y[1], rank, u.dtype)
        apart = gaps(times(y[1], y[1]), rank, u.dtype)
        left, right = da @ vh.T, da.T @ u
        inner = u.T @ left
        scaled, turned = inner * s, inner.T * s
        du, dv = u @ (apart * (scaled + scaled.T)), vh.T @ (apart * (turned + turned.T))
        if not is_tall(a, turned=True):
            du = du + outside(left, u) * reciprocal(s)
        if not is_tall(a):
            dv = dv + outside(right, vh.T) * reciprocal(s)
        return du.whole, diagonal_of(inner), dv.T.whole


def outside(x: Matrix, vectors: Matrix) -> Matrix:
    """What of the columns of `x` lies outside the space that orthonormal columns span."""
    return x - vectors @ (vectors.T @ x)
