"""What the operators of linear algebra share: types of stacks of matrices, and derivative rules on them."""

from collections.abc import Callable
from typing import Any

import numpy as _np

from relay.diagnostic import fail
from relay.ir.expr import Expr, constant
from relay.ir.type import ANY, Dim, DType, TensorType, Type
from relay.op.base import Array, Numpy
from relay.op.conversion import accumulator
from relay.op.derivative import rank_of, tensor_type, times
from relay.op.family import Kernel
from relay.op.numeric import apply, dims, narrow, scalar
from relay.op.relation import Typing
from relay.op.traced import may_hold, require

MATRIX_DTYPES = frozenset({"float16", "bfloat16", "float32", "float64"})


class MatrixOperator(Kernel):
    """On stacks of matrices `(..., m, n)`, each by itself; narrow floats are computed in float32."""

    dtypes = MATRIX_DTYPES


def matrix_sizes(t: Typing, a: Type, name: str) -> tuple[Dim, ...]:
    """The sizes of a stack of matrices (`rank-mismatch`)."""
    found = t.shape(a)
    if len(found) < 2:
        t.fail(
            "rank-mismatch",
            f"`{name}` takes matrices, not a tensor of rank {len(found)}",
            hint="a stack of matrices has the shape (..., m, n)",
        )
    return found


def square_sizes(t: Typing, a: Type, name: str) -> tuple[Dim, ...]:
    """The sizes of a stack of square matrices (`rank-mismatch`, `shape-mismatch`)."""
    found = matrix_sizes(t, a, name)
    m, n = (t.static(d) for d in found[-2:])
    if m is not None and n is not None and m != n:
        t.fail(
            "shape-mismatch",
            f"`{name}` takes square matrices, and these have {m} rows and {n} columns",
            hint="`linalg.lstsq`, `linalg.qr` and `linalg.svd` take matrices of any shape",
        )
    t.equal(found[-1], found[-2], why=f"`{name}` takes square matrices")
    return found


def system_type(t: Typing, unknowns: Dim, a: tuple[Dim, ...], b: Type, name: str) -> Type:
    """The type of the solutions of systems with matrices of the sizes `a` and the right sides `b`.

    A right side of rank 1 is one vector for all systems, any other a stack of matrices with a column for each
    system; leading dimensions broadcast.
    """
    given = t.shape(b)
    if not given:
        t.fail(
            "rank-mismatch", f"the right side of `{name}` is not a scalar", hint="give a vector or a matrix"
        )
    rows = given[0] if len(given) == 1 else given[-2]
    m, n = t.static(a[-2]), t.static(rows)
    if m is not None and n is not None and m != n:
        t.fail(
            "contraction-mismatch",
            f"`{name}` has matrices of {m} rows, and a right side of {n}",
            hint="a right side of rank 2 or more is a stack of matrices, whose columns are vectors",
        )
    t.equal(rows, a[-2], why=f"the right side of `{name}` has as many rows as the matrix")
    if len(given) == 1:
        return TensorType((*a[:-2], unknowns), t.dtype(b))
    return TensorType((*t.broadcast(a[:-2], given[:-2]), unknowns, given[-1]), t.dtype(b))


# --- values ---


def finite(np: Numpy, a: Array) -> tuple[Array, Array]:
    """Matrices in the dtype they are computed in, with the identity for each that is not finite, and which
    are not.

    LAPACK's routines answer NaN in many ways, some of them by not ending.
    """
    a = accumulator(a)
    bad = ~np.all(np.isfinite(a), axis=(-2, -1))
    if not may_hold(np, bad):
        return a, bad
    return np.where(bad[..., None, None], np.eye(*a.shape[-2:], dtype=a.dtype), a), bad


def poisoned(np: Numpy, x: Array, bad: Array, dtype: Any) -> Array:
    """A result in a dtype, NaN throughout where the matrix was not finite."""
    wide = bad.reshape(bad.shape + (1,) * (x.ndim - bad.ndim))
    return narrow(np.where(wide, x.dtype.type(_np.nan), x) if may_hold(np, bad) else x, dtype)


def refusing(np: Numpy, code: str, message: str, hint: str, f: Callable[..., Any], *args: Any) -> Any:
    """What a function of `numpy.linalg` says, its exception as a diagnostic; where values are traced, what
    is not finite is that.
    """
    try:
        found = f(*args)
    except _np.linalg.LinAlgError:
        fail(code, message, hint=hint)
    if np is not _np:
        require(np, np.isfinite(found), code, message, hint)
    return found


def converged(np: Numpy, f: Callable[..., Any], x: Array) -> tuple[Any, ...]:
    """The parts of `f(x)` for a function of `numpy.linalg` that iterates: NaN for a matrix on which it does
    not converge, of which NumPy says no more than that there is one.
    """
    try:
        return tuple(f(x))
    except _np.linalg.LinAlgError:
        if x.ndim == 2:
            return tuple([np.full_like(part, _np.nan) for part in f(np.eye(*x.shape, dtype=x.dtype))])
        rows = [converged(np, f, row) for row in x]
        return tuple([np.stack(parts) for parts in zip(*rows, strict=True)])


SINGULAR = (
    "singular-matrix", "the matrix is singular, or one of the stack is",
    "`linalg.lstsq` takes a matrix of any rank",
)  # fmt: skip
"""The code, the message and the hint for a system without exactly one solution."""


def symmetrised(np: Numpy, a: Array) -> Array:
    """`(a + a.T) / 2`, exactly `a` where it is symmetric."""
    half = a.dtype.type(0.5)
    return half * a + half * np.swapaxes(a, -1, -2)


# --- derivative rules ---


class Matrix:
    """A stack of matrices in a rule: an expression, its rank and dtype, and whether to read it transposed."""

    __slots__ = ("dtype", "expr", "is_turned", "rank")

    def __init__(self, expr: Expr, rank: int, dtype: DType, is_turned: bool = False) -> None:
        """Vectors are matrices of one column, to be given so."""
        self.expr, self.rank, self.dtype, self.is_turned = expr, rank, dtype, is_turned

    @staticmethod
    def of(x: Expr) -> "Matrix":
        """A matrix with its type written on it."""
        return Matrix(x, rank_of(x), tensor_type(x).dtype)

    @property
    def T(self) -> "Matrix":  # noqa: N802 - as in NumPy
        """The transposes."""
        return Matrix(self.expr, self.rank, self.dtype, not self.is_turned)

    @property
    def whole(self) -> Expr:
        """The expression, transposed if that is still to be done."""
        if not self.is_turned:
            return self.expr
        last = self.rank - 1
        return apply("transpose", self.expr, axes=(*range(last - 1), last, last - 1))

    def made(self, expr: Expr) -> "Matrix":
        """Another expression of this rank."""
        return Matrix(expr, self.rank, self.dtype)

    def __matmul__(self, other: "Matrix") -> "Matrix":
        product = apply(
            "nn.matmul", self.expr, other.expr, transpose_a=self.is_turned, transpose_b=other.is_turned
        )
        return Matrix(product, max(self.rank, other.rank), self.dtype)

    def _with(self, name: str, other: "Matrix") -> "Matrix":
        if self.is_turned and other.is_turned:
            return Matrix(
                apply(name, self.expr, other.expr), max(self.rank, other.rank), self.dtype, is_turned=True
            )
        return Matrix(apply(name, self.whole, other.whole), max(self.rank, other.rank), self.dtype)

    def __add__(self, other: "Matrix") -> "Matrix":
        return self._with("add", other)

    def __sub__(self, other: "Matrix") -> "Matrix":
        return self._with("subtract", other)

    def __mul__(self, other: "Matrix") -> "Matrix":
        return self._with("multiply", other)

    def __neg__(self) -> "Matrix":
        return Matrix(apply("negative", self.expr), self.rank, self.dtype, self.is_turned)

    def times(self, factor: float) -> "Matrix":
        """Each element times a number."""
        return Matrix(times(self.expr, scalar(factor, self.dtype)), self.rank, self.dtype, self.is_turned)

    def triangle(self, upper: bool, k: int = 0) -> "Matrix":
        """The upper or lower triangle from diagonal `k` on, zeros elsewhere."""
        return self.made(apply("trilu", self.whole, constant(_np.int32(k)), upper=upper))

    @property
    def symmetric(self) -> "Matrix":
        """`(x + x.T) / 2`."""
        return (self + self.T).times(0.5)

    @property
    def halved_lower(self) -> "Matrix":
        """The lower triangle with half of the diagonal."""
        return (self.triangle(upper=False) + self.triangle(upper=False, k=-1)).times(0.5)

    def divided_by(self, triangle: "Matrix", upper: bool, is_left: bool = True) -> "Matrix":
        """`x` of `triangle @ x == self`, or of `x @ triangle == self`; the triangle may be transposed."""
        if not is_left:
            return self.T.divided_by(triangle.T, upper).T
        solved = apply(
            "linalg.triangular_solve",
            triangle.expr,
            self.whole,
            lower=not upper,
            transpose_a=triangle.is_turned,
        )
        return self.made(solved)


def row_matrices(v: Expr, rank: int, dtype: DType) -> Matrix:
    """Vectors `(..., n)` as rows `(..., 1, n)` of matrices of a rank, to multiply columns by."""
    return Matrix(apply("expand_dims", v, axis=-2), rank, dtype)


def column_matrices(v: Expr, rank: int, dtype: DType) -> Matrix:
    """Vectors `(..., n)` as columns `(..., n, 1)`, to multiply rows by."""
    return Matrix(apply("expand_dims", v, axis=-1), rank, dtype)


def identity_like(x: Expr) -> Expr:
    """Identity matrices of the type of `x`."""
    ones = apply("trilu", apply("ones_like", x), constant(_np.int32(0)), upper=True)
    return apply("trilu", ones, constant(_np.int32(0)), upper=False)


def is_tall(a: Expr, turned: bool = False) -> bool:
    """Whether matrices, or their transposes, are known to have at least as many rows as columns."""
    m, n = dims(tensor_type(a))[-2:]
    m, n = (n, m) if turned else (m, n)
    return (isinstance(m, int) and isinstance(n, int) and m >= n) or (m == n and m is not ANY)
