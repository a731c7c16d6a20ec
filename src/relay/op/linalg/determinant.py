"""Determinants."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as _np

from relay.ir.expr import Expr, TupleGetItem
from relay.ir.type import TensorType, TupleType, Type
from relay.op.base import Array, Numpy, sample
from relay.op.batching import same
from relay.op.composite import Composite
from relay.op.derivative import rank_of, tensor_type, times
from relay.op.kind import Derivative
from relay.op.linalg.lapack import column_stride, copy_matrix, unless_bad, working_dtype
from relay.op.linalg.matrices import (
    MATRIX_DTYPES,
    Matrix,
    MatrixOperator,
    finite,
    identity_like,
    poisoned,
    row_matrices,
    square_sizes,
)
from relay.op.native import Index, Loops, Output, View
from relay.op.numeric import apply, scalar
from relay.op.registry import operator
from relay.op.relation import Typing


def eliminated(
    b: Loops, outs: Sequence[Output], a: View, compute: Callable[[Sequence[Index], Output, Output], None]
) -> None:
    """Call `compute(lead, factors, rows)` for each matrix after `getrf`: its factors, and which row came in
    the place of each, from 1.  Results of a matrix that is not finite are NaN.
    """
    *stack, n, _ = a.sizes
    room, rows = b.room(working_dtype(a), [n, n]), b.room("int32", [n])

    def one(lead: Sequence[Index]) -> None:
        def factor() -> None:
            b.routine("getrf", n, n, room, column_stride(b, n), rows)
            compute(lead, room, rows)

        is_good = copy_matrix(b, room, lambda i, j: a.at([*lead, i, j]))
        unless_bad(b, is_good, outs, lead, factor)

    b.nest(stack, one)


def with_sign(b: Loops, rows: Output, i: Index, x: Any) -> Any:
    """`x`, negative where another row came in the place of row `i`."""
    is_own = b.is_same(b.as_index(rows.at([i])), b.plus(i, 1))
    return b.select(is_own, x, b.negative(x))


@operator("linalg.det")
class Det(MatrixOperator):
    """The determinants of matrices `(..., n, n)`: `(...)`; 0 for a singular matrix.

    The derivative at a singular matrix is right, higher ones are refused there (`singular-matrix`).

    relay> linalg.det([[2.0, 1.0], [1.0, 3.0]])
    5.0
    """

    derivative = Derivative.RULES
    routines = ("getrf",)
    batch = same
    samples = (
        sample(_np.asarray([[2, 1, 0], [1, -3, 1], [0, 2, 4]], "float32")),
        sample(_np.asarray([[[2, 1], [1, -3]], [[1, 4], [-1, 3]]], "float64")),
        sample("0x2x2 float32"),
    )

    def infer(self, t: Typing, a: Type) -> Type:
        return TensorType(square_sizes(t, a, self.name)[:-2], t.dtype(a))

    def reference(self, np: Numpy, a: Array) -> Array:
        x, bad = finite(np, a)
        return poisoned(np, np.asarray(np.linalg.det(x)), bad, a.dtype)

    def compute(self, b: Loops, out: Output, a: View) -> None:
        """The product of the diagonal of a factor."""

        def product(lead: Sequence[Index], factors: Output, rows: Output) -> None:
            def step(i: Index, totals: Sequence[Any]) -> Sequence[Any]:
                return [b.multiply(totals[0], with_sign(b, rows, i, factors.at([i, i])))]

            found = b.loop(rows.sizes[0], [b.const(1, factors.dtype)], step)[0]
            out.put(lead, b.cast(found, out.dtype))

        eliminated(b, [out], a, product)

    def vjp(self, g: Expr, y: Expr, a: Expr) -> tuple[Expr]:
        cofactors = Matrix(apply("linalg.adjugate", a), rank_of(a), tensor_type(a).dtype).T
        return (times(over_matrices(g, rank_of(y)), cofactors.whole),)

    def jvp(self, dxs: Sequence[Any], y: Expr, a: Expr) -> Expr:
        return apply("einsum", (apply("linalg.adjugate", a), dxs[0]), equation="...ij,...ji->...")


@operator("linalg.adjugate")
class Adjugate(Composite):
    """The adjugates of matrices `(..., n, n)`: the cofactors, transposed, which `det` changes by.

    The product of a matrix and its adjugate is its determinant times the identity.

    Singular matrices have one, too.  Its derivative has the inverse of the matrix in it and is refused for
    them (`singular-matrix`): it is made of minors of order n - 2 there, which it cannot give.

    Source: Stewart, "On the Adjugate Matrix", 1998.

    relay> linalg.adjugate([[1.0, 2.0], [2.0, 4.0]])
    [[4.0, -2.0], [-2.0, 1.0]]
    """

    dtypes = MATRIX_DTYPES
    derivative = Derivative.RULES
    batch = same
    samples = (
        sample(_np.asarray([[2, 1, 0], [1, -3, 1], [0, 2, 4]], "float32")),
        sample(_np.asarray([[[2, 1], [1, -3]], [[1, 4], [-1, 3]]], "float64")),
        sample("0x2x2 float32"),
    )

    def infer(self, t: Typing, a: Type) -> Type:
        square_sizes(t, a, self.name)
        return t.tensor(a)

    def decompose(self, types: Any, a: Expr) -> Expr:
        """For `a = u @ s @ vh` it is `adjugate(vh) @ adjugate(s) @ adjugate(u)`: each of the outer ones is
        transposed, times its determinant, and that of `s` has products of the other values.
        """
        (given,) = types
        dtype = given.dtype if given.dtype in ("float32", "float64") else "float32"
        wide = a if dtype is given.dtype else apply("cast", a, dtype=dtype)
        parts = apply("linalg.svd", wide)
        rank = len(given.shape)
        u, vh = (Matrix(TupleGetItem(parts, i), rank, dtype) for i in (0, 2))
        s = apply("expand_dims", TupleGetItem(parts, 1), axis=-2)
        own = apply("cast", identity_like(u.whole), dtype="bool")
        others = apply("prod", apply("where", own, scalar(1, dtype), s), axis=-1)
        turned = times(*[apply("sign", apply("linalg.det", x.whole)) for x in (u, vh)])
        found = vh.T * row_matrices(others, rank, dtype) @ u.T
        found = times(over_matrices(turned, rank - 2), found.whole)
        return found if dtype is given.dtype else apply("cast", found, dtype=given.dtype)

    def vjp(self, g: Expr, y: Expr, a: Expr) -> tuple[Expr]:
        cotangent = Matrix.of(g)
        both = apply("einsum", (g, y), equation="...ij,...ij->...")
        diagonal = times(over_matrices(both, rank_of(a) - 2), identity_like(a))
        inner = cotangent.made(diagonal) - cotangent @ Matrix.of(y).T
        return (apply("linalg.solve", Matrix.of(a).T.whole, inner.whole),)

    def jvp(self, dxs: Sequence[Any], y: Expr, a: Expr) -> Expr:
        moved = apply("linalg.solve", a, dxs[0])
        stretched = times(over_matrices(trace(moved), rank_of(a) - 2), y)
        return (Matrix.of(a).made(stretched) - Matrix.of(a).made(moved) @ Matrix.of(y)).whole


@operator("linalg.slogdet")
class SlogDet(MatrixOperator):
    """`(sign, logabsdet)` of matrices `(..., n, n)`: the sign of the determinant and the logarithm of its
    absolute value, `(0, -inf)` for a singular matrix.

    The derivative at a singular matrix is refused (`singular-matrix`).

    relay> linalg.slogdet([[1.0, 0.0], [0.0, -1.0]])
    (-1.0, 0.0)
    """

    derivative = Derivative.RULES
    takes_no_zeros = True
    results = 2
    routines = ("getrf",)
    batch = same
    samples = (
        sample(_np.asarray([[2, 1, 0], [1, -3, 1], [0, 2, 4]], "float32")),
        sample(_np.asarray([[[2, 1], [1, -3]], [[1, 4], [-1, 3]]], "float64")),
        sample("0x2x2 float32"),
    )

    def infer(self, t: Typing, a: Type) -> Type:
        found = TensorType(square_sizes(t, a, self.name)[:-2], t.dtype(a))
        return TupleType([found, found])

    def reference(self, np: Numpy, a: Array) -> Any:
        x, bad = finite(np, a)
        return tuple([poisoned(np, np.asarray(part), bad, a.dtype) for part in np.linalg.slogdet(x)])

    def compute(self, b: Loops, outs: Sequence[Output], a: View) -> None:
        """The signs and logarithms of the diagonal of a factor."""

        def parts(lead: Sequence[Index], factors: Output, rows: Output) -> None:
            zero, one = (b.const(x, factors.dtype) for x in (0, 1))

            def step(i: Index, totals: Sequence[Any]) -> Sequence[Any]:
                sign, logarithm = totals
                x = factors.at([i, i])
                is_negative = b.compare("lt", x, zero)
                size = b.select(is_negative, b.negative(x), x)
                sign = with_sign(b, rows, i, b.select(is_negative, b.negative(sign), sign))
                sign = b.select(b.compare("eq", x, zero), zero, sign)
                return [sign, b.add(logarithm, b.function("log", size))]

            found = b.loop(rows.sizes[0], [one, zero], step)
            for out, x in zip(outs, found, strict=True):
                out.put(lead, b.cast(x, out.dtype))

        eliminated(b, outs, a, parts)

    def vjp(self, g: Any, y: Any, a: Expr) -> tuple[Expr | None]:
        return (None if g[1] is None else times(over_matrices(g[1], rank_of(y[1])), inverse_transposed(a)),)

    def jvp(self, dxs: Sequence[Any], y: Any, a: Expr) -> Any:
        return None, trace(apply("linalg.solve", a, dxs[0]))


def over_matrices(x: Expr, rank: int) -> Expr:
    """Numbers `(...)` as `(..., 1, 1)`."""
    return apply("expand_dims", x, axis=rank, num_newaxis=2)


def inverse_transposed(a: Expr) -> Expr:
    """The transposes of the inverses."""
    return apply("linalg.solve", Matrix.of(a).T.whole, identity_like(a))


def trace(x: Expr) -> Expr:
    """The sums along the diagonals."""
    return apply("einsum", (x,), equation="...ii->...")
