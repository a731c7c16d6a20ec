"""Determinants."""

from collections.abc import Sequence
from typing import Any

import numpy as _np

from relay.ir.expr import Expr
from relay.ir.type import TensorType, TupleType, Type
from relay.op.base import Array, Derivative, Numpy, operator, sample
from relay.op.derivative import rank_of, times
from relay.op.linalg.matrices import Matrix, MatrixOperator, finite, identity_like, poisoned, square_sizes
from relay.op.numeric import apply
from relay.op.relation import Typing


@operator("linalg.det")
class Det(MatrixOperator):
    """The determinants of matrices `(..., n, n)`: `(...)`; 0 for a singular matrix.

    The derivative at a singular matrix is refused (`singular-matrix`).

    relay> linalg.det([[2.0, 1.0], [1.0, 3.0]])
    5.0
    """

    derivative = Derivative.RULES
    routines = ("getrf",)
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

    def vjp(self, g: Expr, y: Expr, a: Expr) -> tuple[Expr]:
        return (times(over_matrices(times(g, y), rank_of(y)), inverse_transposed(a)),)

    def jvp(self, dxs: Sequence[Any], y: Expr, a: Expr) -> Expr:
        return times(y, trace(apply("linalg.solve", a, dxs[0])))


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
