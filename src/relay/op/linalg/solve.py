"""Systems of linear equations, and inverses."""

from collections.abc import Sequence
from typing import Any

import numpy as _np

from relay.ir.expr import Expr
from relay.ir.type import ANY, Dim, Type
from relay.op.base import Array, Numpy, sample
from relay.op.batching import axis_moved, merged_along, row_rank, row_shape, same, split_along, with_row_rank
from relay.op.composite import Composite
from relay.op.conversion import accumulator
from relay.op.derivative import rank_of, tensor_type, unbroadcast
from relay.op.kind import Derivative
from relay.op.linalg.lapack import column_stride, copy_matrix, succeeded, take_part, unless_bad, working_dtype
from relay.op.linalg.matrices import (
    MATRIX_DTYPES,
    SINGULAR,
    Matrix,
    MatrixOperator,
    finite,
    identity_like,
    poisoned,
    refusing,
    square_sizes,
    system_type,
)
from relay.op.native import Index, Loops, Output, View
from relay.op.numeric import apply, dims
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.traced import placed, require


class System(MatrixOperator):
    """`x` with `a @ x == b`, or with another matrix made of `a`."""

    derivative = Derivative.RULES

    def infer(self, t: Typing, a: Type, b: Type) -> Type:
        sizes = square_sizes(t, a, self.name)
        t.equal(t.dtype(b), t.dtype(a), why="both operands have one dtype")
        return system_type(t, sizes[-1], sizes, b, self.name)

    def batch(self, n: Dim, which: Sequence[Any], a: Expr, b: Expr) -> Expr:
        first, second = row_rank(a, which[0]), row_rank(b, which[1])
        if not which[1]:
            return self(a if second == 1 else with_row_rank(a, max(first, second)), b)
        if not which[0]:  # the rows are more columns, so that each matrix is factored once
            if second == 1:
                return axis_moved(self(a, axis_moved(b, 2, 0, 1)), first, first - 1, 0)
            rank, found = max(first, second), self(a, merged_along(b, second, second - 1))
            return split_along(found, n, row_shape(b, True)[-1], rank, rank - 1)
        if second == 1:
            column = with_row_rank(apply("expand_dims", b, axis=-1), first, 2)
            return apply("squeeze", self(a, column), axis=(-1,))
        rank = max(first, second)
        return self(with_row_rank(a, rank), with_row_rank(b, rank))

    def solved(self, a: Expr, b: Matrix, transposed: bool) -> Matrix:
        """The solutions for other right sides, or of the transposed systems."""
        raise AssertionError(f"{self.name} says how its systems are solved")

    def kept(self, d: Matrix) -> Matrix:
        """The part of a cotangent or tangent of `a` that the result varies with."""
        return d

    def is_transposed(self) -> bool:
        """Whether the matrix of the system is the transpose of `a`."""
        return False

    def coefficient(self, b: Loops, i: Index, j: Index, x: Any) -> Any:
        """The element of the matrix of the system, given that of `a`."""
        return x

    def eliminate(self, b: Loops, matrix: Output, right: Output, rows: Output) -> Any:
        """Solve a system in place, with a room for the order of rows; what LAPACK says of it."""
        raise AssertionError(f"{self.name} says how its systems are solved")

    def compute(self, b: Loops, out: Output, a: View, right: View) -> None:
        """One system after the other."""
        n, is_vector = a.sizes[-1], len(right.sizes) == 1
        k = 1 if is_vector else right.sizes[-1]
        matrix, sides = b.room(working_dtype(a), [n, n]), b.room(working_dtype(a), [k, n])
        rows = b.room("int32", [n])

        def one(lead: Sequence[Index]) -> None:
            of_a = b.stretched(lead, a.sizes[:-2])
            of_b = () if is_vector else b.stretched(lead, right.sizes[:-2])

            def element(i: Index, j: Index) -> Any:
                return self.coefficient(b, i, j, b.cast(a.at([*of_a, i, j]), matrix.dtype))

            def side(index: Sequence[Index]) -> None:
                j, i = index
                x = right.at([i] if is_vector else [*of_b, i, j])
                sides.put([j, i], b.cast(x, sides.dtype))

            def solve() -> None:
                b.require(succeeded(b, self.eliminate(b, matrix, sides, rows)), *SINGULAR)
                take_part(b, out, lead, lambda at: sides.at([0 if is_vector else at[1], at[0]]))

            is_good = copy_matrix(b, matrix, element)
            b.nest(sides.sizes, side)
            unless_bad(b, is_good, [out], lead, solve)

        b.nest(out.sizes[: len(out.sizes) - (1 if is_vector else 2)], one)

    def vjp(self, g: Expr, y: Expr, a: Expr, b: Expr) -> tuple[Expr, Expr]:
        given, x = as_matrix(g, b), as_matrix(y, b)
        db = self.solved(a, given, transposed=True)
        da = -(x @ db.T) if self.is_transposed() else -(db @ x.T)
        alike = dims(tensor_type(y))[: rank_of(a) - 2] == dims(tensor_type(a))[:-2] and rank_of(b) > 1
        known = alike and ANY not in dims(tensor_type(a)) and rank_of(y) == rank_of(a)
        d_a = self.kept(da).whole
        found = apply("squeeze", db.whole, axis=(-1,)) if rank_of(b) == 1 else db.whole
        return d_a if known else unbroadcast(d_a, a), unbroadcast(found, b, y)

    def jvp(self, dxs: Sequence[Any], y: Expr, a: Expr, b: Expr) -> Expr:
        da, db = dxs
        right = None if db is None else as_matrix(db, b)
        if da is not None:
            change = self.kept(Matrix.of(da))
            change = (change.T if self.is_transposed() else change) @ as_matrix(y, b)
            right = -change if right is None else right - change
        assert right is not None, "a rule is not asked where all tangents are zero"
        found = self.solved(a, right, transposed=False).whole
        return apply("squeeze", found, axis=(-1,)) if rank_of(b) == 1 else found


def as_matrix(x: Expr, b: Expr) -> Matrix:
    """A right side or a solution as matrices, whose columns are vectors: one column where `b` is a vector."""
    if rank_of(b) > 1:
        return Matrix.of(x)
    return Matrix(apply("expand_dims", x, axis=-1), rank_of(x) + 1, tensor_type(x).dtype)


@operator("linalg.solve")
class Solve(System):
    """`x` with `a @ x == b`, for `a` of shape `(..., n, n)`, by Gaussian elimination with row exchanges.

    A right side `b` of rank 1 is a vector, any other a stack of matrices `(..., n, k)`; leading dimensions
    broadcast.  A singular matrix is an error (`singular-matrix`).

    relay> linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0])
    [1.0, 0.5]
    """

    routines = ("gesv",)
    samples = (
        sample(_np.asarray([[2, 1, 0], [1, -3, 1], [0, 2, 4]], "float32"), "3x2 float32"),
        sample(_np.asarray([[2, 1], [1, -3]], "float64"), "2 float64"),
        sample(_np.asarray([[[2, 1], [1, -3]], [[1, 4], [-1, 3]]], "float64"), "2x3 float64"),
        sample(_np.asarray([[[2, 1], [1, -3]], [[1, 4], [-1, 3]]], "float64"), "2 float64"),
        sample(_np.asarray([[2, 1], [1, -3]], "float64"), "3x2x4 float64"),
        sample("0x2x2 float32", "0x2x1 float32"),
    )

    def reference(self, np: Numpy, a: Array, b: Array) -> Array:
        x, bad = finite(np, a)
        found = refusing(np, *SINGULAR, np.linalg.solve, x, accumulator(b))
        return poisoned(np, found, per_system(np, bad, b, found), a.dtype)

    def eliminate(self, b: Loops, matrix: Output, right: Output, rows: Output) -> Any:
        """By `gesv`."""
        n, k = matrix.sizes[0], right.sizes[0]
        ld = column_stride(b, n)
        return b.routine("gesv", n, k, matrix, ld, rows, right, ld)

    def solved(self, a: Expr, b: Matrix, transposed: bool) -> Matrix:
        """Of `a` or its transpose."""
        matrix = Matrix.of(a).T if transposed else Matrix.of(a)
        return Matrix(apply("linalg.solve", matrix.whole, b.whole), max(b.rank, matrix.rank), b.dtype)


def per_system(np: Numpy, bad: Array, b: Array, found: Array) -> Array:
    """Which systems have a matrix that is not finite, in the leading shape of the solutions."""
    return np.broadcast_to(bad, found.shape[: found.ndim - (1 if b.ndim == 1 else 2)])


@operator("linalg.triangular_solve")
class TriangularSolve(System):
    """`x` with `a @ x == b` for triangular `a` of shape `(..., n, n)`, of which the other half is not read.

    `lower` says which half is read, `transpose_a` solves `a.T @ x == b`, and with `unit_diagonal` the
    diagonal counts as ones.  Right sides are as for `linalg.solve`.  A zero on the diagonal is an error
    (`singular-matrix`).

    relay> linalg.triangular_solve([[2.0, 0.0], [1.0, 4.0]], [2.0, 3.0], lower=True)
    [1.0, 0.5]
    """

    lower: bool = False
    transpose_a: bool = False
    unit_diagonal: bool = False
    routines = ("trtrs",)
    samples = (
        sample(_np.asarray([[2, 1, 0], [1, -3, 1], [0, 2, 4]], "float32"), "3x2 float32"),
        sample(_np.asarray([[2, 1], [1, -3]], "float64"), "2 float64", lower=True),
        sample(
            _np.asarray([[[2, 1], [1, -3]], [[1, 4], [-1, 3]]], "float64"), "2x3 float64", lower=True,
            transpose_a=True,
        ),
        sample(
            _np.asarray([[2, 1], [1, -3]], "float64"), "3x2x4 float64", transpose_a=True, unit_diagonal=True
        ),
        sample("0x2x2 float32", "0x2x1 float32"),
    )  # fmt: skip

    def reference(self, np: Numpy, a: Array, b: Array) -> Array:
        half = self.half(np, accumulator(a))
        x, bad = finite(np, half)
        diagonal = np.einsum("...ii->...i", x)
        require(np, diagonal != 0, *SINGULAR)
        is_vector, right = b.ndim == 1, accumulator(b)
        found = substituted(
            np,
            np.swapaxes(x, -1, -2) if self.transpose_a else x,
            right[:, None] if is_vector else right,
            self.lower != self.transpose_a,
        )
        found = found[..., 0] if is_vector else found
        return poisoned(np, found, per_system(np, bad, b, found), a.dtype)

    def half(self, np: Numpy, a: Array) -> Array:
        """The half of `a` that is read."""
        half = np.tril(a) if self.lower else np.triu(a)
        if self.unit_diagonal:
            i = _np.arange(int(a.shape[-1]))
            return placed(np, half, (..., i, i), 1)
        return half

    def coefficient(self, b: Loops, i: Index, j: Index, x: Any) -> Any:
        """Zero in the half that is not read."""
        is_other = b.is_less(i, j) if self.lower else b.is_less(j, i)
        kept = b.select(is_other, b.const(0, x), x)
        return b.select(b.is_same(i, j), b.const(1, x), kept) if self.unit_diagonal else kept

    def eliminate(self, b: Loops, matrix: Output, right: Output, rows: Output) -> Any:
        """By `trtrs`."""
        n, k = matrix.sizes[0], right.sizes[0]
        side, turn = "L" if self.lower else "U", "T" if self.transpose_a else "N"
        diagonal = "U" if self.unit_diagonal else "N"
        return b.routine(
            "trtrs", side, turn, diagonal, n, k, matrix, column_stride(b, n), right, column_stride(b, n)
        )

    def is_transposed(self) -> bool:
        """As `transpose_a` says."""
        return self.transpose_a

    def solved(self, a: Expr, b: Matrix, transposed: bool) -> Matrix:
        """Of this matrix, or of the transposed one."""
        found = apply(
            "linalg.triangular_solve",
            a,
            b.whole,
            lower=self.lower,
            transpose_a=self.transpose_a != transposed,
            unit_diagonal=self.unit_diagonal,
        )
        return Matrix(found, max(b.rank, rank_of(a)), b.dtype)

    def kept(self, d: Matrix) -> Matrix:
        """The half that is read, without the diagonal if that counts as ones."""
        return d.triangle(upper=not self.lower, k=(-1 if self.lower else 1) if self.unit_diagonal else 0)


def substituted(np: Numpy, a: Array, b: Array, lower: bool) -> Array:
    """The solutions of triangular systems, one unknown after the other, all systems at once."""
    if np is not _np:
        return np.linalg.solve(a, b)
    n = a.shape[-1]
    shape = (*_np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), n, b.shape[-1])
    x = np.array(np.broadcast_to(b, shape))
    for i in range(n) if lower else reversed(range(n)):
        done = slice(0, i) if lower else slice(i + 1, n)
        x[..., i, :] -= (a[..., i, None, done] @ x[..., done, :])[..., 0, :]
        x[..., i, :] /= a[..., i, i, None]
    return x


@operator("linalg.inv")
class Inv(Composite):
    """The inverses of matrices `(..., n, n)`; a singular matrix is an error (`singular-matrix`).

    To multiply by an inverse, `linalg.solve` is quicker and more accurate.

    relay> linalg.inv([[2.0, 0.0], [0.0, 4.0]])
    [[0.5, 0.0], [0.0, 0.25]]
    """

    dtypes = MATRIX_DTYPES
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
        return apply("linalg.solve", a, identity_like(a))
