"""The extension `linalg` of the standard: factorisations, systems, norms.

Matrices stand on the last two axes, and the axes before are of a stack.
"""

from typing import Any, NamedTuple

import numpy as np

from relay.ir.dtype import to_numpy
from relay.numpy import dtypes
from relay.numpy.call import AnyArray, array, axes_of, call, cast, common, floating, number
from relay.numpy.creation import eye, triu
from relay.numpy.elementwise import abs, divide, greater, multiply
from relay.numpy.linear_algebra import matmul as matmul
from relay.numpy.linear_algebra import tensordot as tensordot
from relay.numpy.linear_algebra import vecdot as vecdot
from relay.numpy.manipulation import concat, expand_dims, index, moveaxis, reshape
from relay.numpy.manipulation import matrix_transpose as matrix_transpose
from relay.numpy.searching import where
from relay.numpy.statistics import count_nonzero, max, min, sum
from relay.op.numeric import norm_of, squaring_dtype

ROWS, COLUMNS = -2, -1
"""The axes of a matrix."""


class Eigen(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: AnyArray
    eigenvectors: AnyArray


class QR(NamedTuple):
    """What `qr` gives."""

    Q: AnyArray
    R: AnyArray


class SVD(NamedTuple):
    """What `svd` gives."""

    U: AnyArray
    S: AnyArray
    Vh: AnyArray


class SignedLogarithm(NamedTuple):
    """What `slogdet` gives."""

    sign: AnyArray
    logabsdet: AnyArray


def cholesky(x: Any, /, *, upper: bool = False) -> AnyArray:
    """The triangular factors of positive definite matrices, `l @ l.mT == x`, or the transposes of these."""
    return call("linalg.cholesky", floating(x), upper=upper)


def det(x: Any, /) -> AnyArray:
    """The determinants."""
    return call("linalg.det", floating(x))


def slogdet(x: Any, /) -> SignedLogarithm:
    """The signs of the determinants, and the logarithms of their absolute values."""
    return SignedLogarithm(*call("linalg.slogdet", floating(x), results=2))


def inv(x: Any, /) -> AnyArray:
    """The inverses (`singular-matrix`)."""
    return call("linalg.inv", floating(x))


def solve(x1: Any, x2: Any, /) -> AnyArray:
    """`y` with `x1 @ y == x2`; one vector is a column (`singular-matrix`)."""
    return call("linalg.solve", *common(floating(x1), floating(x2)))


def eigh(x: Any, /) -> Eigen:
    """The eigenvalues of symmetric matrices, ascending, and the eigenvectors as columns."""
    return Eigen(*call("linalg.eigh", floating(x), results=2))


def eigvalsh(x: Any, /) -> AnyArray:
    """The eigenvalues of symmetric matrices, ascending."""
    return eigh(x).eigenvalues


def qr(x: Any, /, *, mode: str = "reduced") -> QR:
    """Orthonormal columns and an upper triangle with `Q @ R == x`; as many as rows if `"complete"`."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"a mode is 'reduced' or 'complete', not {mode!r}")
    given = floating(x)
    if mode == "complete":
        rows, columns = _known_sides(given)
        if rows > columns:
            basis = _completed(given)
            return QR(basis, triu(matmul(matrix_transpose(basis), given)))
    return QR(*call("linalg.qr", given, results=2))


def _known_sides(x: AnyArray) -> tuple[int, int]:
    """How many rows and columns matrices have, which a basis is completed by."""
    rows, columns = x.shape[ROWS:]
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise ValueError(f"a basis is completed for matrices of known sizes, not {rows} by {columns}")
    return rows, columns


def _completed(x: AnyArray) -> AnyArray:
    """A basis of all vectors whose first ones are those of the columns of `x`, made orthonormal."""
    rows = x.shape[ROWS]
    unit = call("broadcast_to", eye(rows, dtype=x.dtype), shape=(*x.shape[:ROWS], rows, rows))
    return call("linalg.qr", concat([x, unit], axis=COLUMNS), results=2)[0]


def svd(x: Any, /, *, full_matrices: bool = True) -> SVD:
    """Orthonormal columns, singular values, descending, and orthonormal rows with `U * S @ Vh == x`.

    With `full_matrices` the columns and rows are completed to bases.
    """
    given = floating(x)
    u, s, vh = call("linalg.svd", given, results=3)
    if full_matrices:
        rows, columns = _known_sides(given)
        u = _with_rest(u) if rows > columns else u
        vh = matrix_transpose(_with_rest(matrix_transpose(vh))) if columns > rows else vh
    return SVD(u, s, vh)


def _with_rest(u: AnyArray) -> AnyArray:
    """Orthonormal columns, and behind them what completes them."""
    return concat([u, index(_completed(u), (..., slice(u.shape[COLUMNS], None)))], axis=COLUMNS)


def svdvals(x: Any, /) -> AnyArray:
    """The singular values, descending."""
    return svd(x, full_matrices=False).S


def pinv(x: Any, /, *, rtol: Any = None) -> AnyArray:
    """The pseudo-inverses; singular values up to `rtol` times the greatest count as 0."""
    u, s, vh = svd(x, full_matrices=False)
    counts = greater(s, _cut(s, x, rtol))
    inverse = where(counts, divide(1.0, where(counts, s, 1.0)), 0.0)
    return matmul(multiply(matrix_transpose(vh), expand_dims(inverse, ROWS)), matrix_transpose(u))


def matrix_rank(x: Any, /, *, rtol: Any = None) -> AnyArray:
    """How many singular values are greater than `rtol` times the greatest."""
    s = svdvals(x)
    return count_nonzero(greater(s, _cut(s, x, rtol)), axis=COLUMNS)


def _cut(s: AnyArray, x: Any, rtol: Any) -> AnyArray:
    """What singular values have to be greater than; by default the greatest side times the precision."""
    if rtol is None:
        sides = [d for d in array(x).shape[ROWS:] if isinstance(d, int)]
        rtol = np.max([1, *sides]).item() * dtypes.finfo(s.dtype).eps
    bound = rtol if isinstance(rtol, int | float) else expand_dims(cast(array(rtol), s.dtype), COLUMNS)
    return multiply(max(s, axis=COLUMNS, keepdims=True), bound)


def matrix_power(x: Any, n: int, /) -> AnyArray:
    """The product of `n` times the matrices, of their inverses where `n` is negative."""
    given = inv(x) if n < 0 else array(x)
    found = None
    bits = -n if n < 0 else n
    while bits:
        if bits % 2:
            found = given if found is None else matmul(found, given)
        bits //= 2
        given = matmul(given, given) if bits else given
    unit = eye(given.shape[ROWS], dtype=given.dtype)
    return call("broadcast_to_like", unit, given) if found is None else found


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> AnyArray:
    """The vectors at right angles to two, of three elements each, which stand along an axis."""
    a, b = [moveaxis(x, axis, -1) for x in common(array(x1), array(x2))]
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ValueError(f"cross is of vectors of three elements, not of {a.shape[-1]} and {b.shape[-1]}")
    after, before = np.array([1, 2, 0]), np.array([2, 0, 1])
    products = [
        multiply(index(a, (..., i)), index(b, (..., j))) for i, j in ((after, before), (before, after))
    ]
    return moveaxis(call("subtract", *products), -1, axis)


def diagonal(x: Any, /, *, offset: int = 0) -> AnyArray:
    """The elements of a diagonal, above the main one where `offset` is positive."""
    given = array(x)
    if given.ndim < 2:
        raise ValueError(f"a diagonal is of matrices, not of rank {given.ndim}")
    rows, columns = given.shape[ROWS:]
    places = [i for i in range(rows) if 0 <= i + offset < columns]
    return index(given, (..., places, [i + offset for i in places]))


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> AnyArray:
    """The sum of the elements of a diagonal."""
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def outer(x1: Any, x2: Any, /) -> AnyArray:
    """The products of each element of a vector with each of another."""
    a, b = common(array(x1), array(x2))
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"outer is of two vectors, not of ranks {a.ndim} and {b.ndim}")
    return multiply(expand_dims(a, 1), b)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> AnyArray:
    """A norm of matrices: Frobenius', `"nuc"` the sum of the singular values, 2 the greatest and -2 the least
    of them, 1 and -1 of the sums of columns, inf and -inf of rows.
    """
    given = floating(x)
    if ord == "fro":
        return vector_norm(given, axis=(ROWS, COLUMNS), keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        found = {"nuc": sum, 2: max, -2: min}[ord](svdvals(given), axis=COLUMNS)
    elif ord in (1, -1, np.inf, -np.inf):
        along, other = (ROWS, COLUMNS) if ord in (1, -1) else (COLUMNS, ROWS)
        sums = sum(abs(given), axis=along, keepdims=True)
        found = reshape((max if ord > 0 else min)(sums, axis=other), given.shape[:ROWS])
    else:
        raise ValueError(f"a norm of matrices is of order 'fro', 'nuc', 1, 2, inf or less 0, not {ord!r}")
    return expand_dims(found, (ROWS, COLUMNS)) if keepdims else found


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> AnyArray:
    """A norm of vectors: the root of the sum of powers, the greatest or least, or how many are not 0."""
    given = floating(x)
    axes = axes_of(axis, given.ndim)
    size = abs(given)
    if ord in (np.inf, -np.inf):
        return (max if ord > 0 else min)(size, axis=axes, keepdims=keepdims)
    if ord == 0:
        return cast(count_nonzero(given, axis=axes, keepdims=keepdims), given.dtype)
    if ord == 1:
        return sum(size, axis=axes, keepdims=keepdims)
    size = cast(size, to_numpy(str(squaring_dtype(str(given.dtype)))))  # float32 lacks the range of squares
    norm = norm_of(call, number, size, float(ord), lambda powers: sum(powers, axis=axes, keepdims=keepdims))
    return cast(norm, given.dtype)
