"""Factorisations of matrices, systems of linear equations, determinants."""

from typing import Any

from relay.frontend.rounds import Round, rounds
from relay.frontend.support import cast, sizes_as_value
from relay.frontend.torch.control import unpacked
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts, name_of
from relay.frontend.value import Value, call, constant, fields
from relay.ir.type import TupleType

CHECKS = ("aten._linalg_check_errors.default", "with_effects")
"""PyTorch's call that makes an error of the number that says what failed; it runs in order with effects."""


def turned(x: Value) -> Value:
    """The transposed matrices."""
    last = x.rank - 1
    return call("transpose", x, axes=(*range(last - 1), last, last - 1))


def reads_info(node: Node, place: int) -> bool:
    """Return whether the program does more with the number that reports a failure than check it."""
    infos = [user for user in node.fx.users if user.args[1:] == (place,)]
    return any(name_of(user.target) not in CHECKS for info in infos for user in info.users)


@converts("aten.linalg_cholesky", "aten.cholesky")
def cholesky(node: Node, x: Value, upper: bool = False) -> Value:
    """The triangular factor of positive definite matrices."""
    return call("linalg.cholesky", x, upper=node.option("upper", upper))


@converts("aten.linalg_cholesky_ex")
def cholesky_ex(node: Node, x: Value) -> Any:
    """The factor, and the order of the first leading minor that is not positive, or 0."""
    if not reads_info(node, 1):
        return cholesky(node, x), None
    is_upper = node.option("upper", False)
    half = call("trilu", turned(x) if is_upper else x, constant(0, "int32"), upper=False)
    symmetric = half + turned(call("trilu", half, constant(-1, "int32"), upper=False))
    packed, _, _ = eliminate(node, symmetric, exchanges=False)
    is_bad = call("logical_not", call("greater", packed, constant(0, x.dtype)))
    roots = call("sqrt", call("where", cast(identity_like(x), "bool"), packed, constant(0, x.dtype)))
    factor = call("nn.matmul", split_triangles(packed)[0], roots)
    return turned(factor) if is_upper else factor, first_on_diagonal(is_bad)


@converts("aten.linalg_inv", "aten.inverse")
def inverse(node: Node, x: Value) -> Value:
    """The inverse matrices."""
    return call("linalg.inv", x)


@converts("aten.linalg_inv_ex")
def inverse_ex(node: Node, x: Value) -> Any:
    """The inverses, and the place of the first pivot that is 0, or 0."""
    if not reads_info(node, 1):
        return inverse(node, x), None
    packed, _, order, info = factor_matrix(node, x)
    return solve_by_factors(regular(packed, info), order, identity_like(x)), info


@converts("aten.linalg_solve")
def solve(node: Node, a: Value, b: Value) -> Value:
    """`x` with `a @ x == b`, or `x @ a == b`; right sides may be a stack of vectors."""
    is_stack = b.rank == a.rank - 1 and b.rank > 1 and b.shape == a.shape[:-1]
    if is_stack:
        return call("squeeze", call("linalg.solve", a, call("expand_dims", b, axis=-1)), axis=(-1,))
    if node.option("left", True) or b.rank == 1:
        return call("linalg.solve", a, b)
    return turned(call("linalg.solve", turned(a), turned(b)))


@converts("aten.linalg_solve_ex")
def solve_ex(node: Node, a: Value, b: Value) -> Any:
    """The solutions, and the place of the first pivot that is 0, or 0."""
    if not reads_info(node, 1):
        return solve(node, a, b), None
    solution, _, _, info = solve_with_factors(node, a, b)
    return solution, info


@converts("aten._linalg_solve_ex")
def solve_with_factors(node: Node, a: Value, b: Value) -> Any:
    """The solutions, the factors of `a`, exchanges of rows, and the place of the first pivot that is 0."""
    is_ex = node.operator.startswith("aten.linalg_solve_ex")
    if not is_ex and not (node.wants(1) or node.wants(2) or reads_info(node, 3)):
        return solve(node, a, b), None, None, None
    packed, pivots, order, info = factor_matrix(node, a)
    is_vector = b.rank == 1 or (b.rank == a.rank - 1 and b.shape == a.shape[:-1])
    columns = call("expand_dims", b, axis=-1) if is_vector else b
    is_left = is_vector or node.option("left", True)
    solution = solve_by_factors(regular(packed, info), order, columns, is_left)
    return call("squeeze", solution, axis=(-1,)) if is_vector else solution, packed, pivots, info


def solve_triangle(a: Value, b: Value, upper: bool, transpose: bool, unit: bool) -> Value:
    """`x` with `a @ x == b`, or `a.T @ x == b`, for triangular `a`."""
    return call("linalg.triangular_solve", a, b, lower=not upper, transpose_a=transpose, unit_diagonal=unit)


@converts("aten.linalg_solve_triangular")
def solve_triangular(node: Node, a: Value, b: Value) -> Value:
    """`x` with `a @ x == b`, or `x @ a == b`, for triangular `a`."""
    upper, unit = node.option("upper", False), node.option("unitriangular", False)
    if node.option("left", True):
        return solve_triangle(a, b, upper, False, unit)
    return turned(solve_triangle(a, turned(b), upper, True, unit))


@converts("aten.triangular_solve")
def triangular_solve(
    node: Node, b: Value, a: Value, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """`x` with `a @ x == b` for triangular `a`, and `a`."""
    return solve_triangle(a, b, upper, transpose, unitriangular), a


@converts("aten.cholesky_solve")
def cholesky_solve(node: Node, b: Value, factor: Value, upper: bool = False) -> Value:
    """`x` with `a @ x == b`, given the triangular factor of `a`."""
    between = solve_triangle(factor, b, upper, upper, False)
    return solve_triangle(factor, between, upper, not upper, False)


@converts("aten.cholesky_inverse")
def cholesky_inverse(node: Node, factor: Value, upper: bool = False) -> Value:
    """The inverse of `a`, given its triangular factor."""
    return cholesky_solve(node, identity_like(factor), factor, upper)


def identity_like(x: Value) -> Value:
    """Identity matrices of the type of `x`."""
    ones = call("trilu", call("ones_like", x), constant(0, "int32"), upper=True)
    return call("trilu", ones, constant(0, "int32"), upper=False)


@converts("aten.linalg_qr")
def qr(node: Node, x: Value, mode: str = "reduced") -> Any:
    """Orthonormal columns and an upper triangle."""
    if mode == "complete" and not is_at_most(*x.shape[-2:]):
        node.fail("there is no complete basis of more rows than columns", hint="use mode='reduced'")
    q, r = fields(call("linalg.qr", x))
    return (constant([], x.dtype) if mode == "r" else q), r


def is_at_most(m: Any, n: Any) -> bool:
    """Whether one size is known not to be larger than another."""
    return bool(m == n or (isinstance(m, int) and isinstance(n, int) and m < n))


@converts("aten.linalg_svd")
def svd(node: Node, x: Value, full_matrices: bool = True) -> Any:
    """Singular values and vectors."""
    m, n = x.shape[-2:]
    u, s, vh = fields(call("linalg.svd", x))
    whole = (not full_matrices or is_at_most(m, n), not full_matrices or is_at_most(n, m))
    if any(node.wants(i) and not w for i, w in zip((0, 2), whole, strict=True)):
        node.fail("vectors that complete a basis are not computed", hint="use full_matrices=False")
    return u if whole[0] else None, s, vh if whole[1] else None


@converts("aten._linalg_svd")
def svd_or_values(node: Node, x: Value, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """Singular values, and vectors if they are asked for."""
    found = svd(node, x, full_matrices and compute_uv)
    return found if compute_uv else (constant([], x.dtype), found[1], constant([], x.dtype))


@converts("aten.svd")
def svd_with_columns(node: Node, x: Value, some: bool = True, compute_uv: bool = True) -> Any:
    """Singular values and vectors, all of them as columns."""
    u, s, vh = svd(node, x, not some)
    return u, s, None if vh is None else turned(vh)


@converts("aten.linalg_svdvals")
def svdvals(node: Node, x: Value) -> Value:
    """Singular values."""
    return fields(call("linalg.svd", x))[1]


@converts("aten.linalg_eigh", "aten._linalg_eigh")
def eigh(node: Node, x: Value, *_: Any) -> Any:
    """Eigenvalues and eigenvectors of symmetric matrices."""
    return fields(call("linalg.eigh", x))


@converts("aten.linalg_eigvalsh")
def eigvalsh(node: Node, x: Value, *_: Any) -> Value:
    """Eigenvalues of symmetric matrices."""
    return fields(call("linalg.eigh", x))[0]


@converts("aten.linalg_det", "aten.det")
def det(node: Node, x: Value) -> Value:
    """Determinants."""
    return call("linalg.det", x)


@converts("aten._linalg_det")
def det_with_factors(node: Node, x: Value) -> Any:
    """Determinants, with the factors of the matrices and the exchanges of rows."""
    wants_factors = node.wants(1) or node.wants(2)
    return det(node, x), *(factor_matrix(node, x)[:2] if wants_factors else (None, None))


@converts("aten.linalg_slogdet", "aten.slogdet")
def slogdet(node: Node, x: Value) -> Any:
    """Signs and logarithms of determinants."""
    return fields(call("linalg.slogdet", x))


@converts("aten._linalg_slogdet")
def slogdet_with_factors(node: Node, x: Value) -> Any:
    """Signs and logarithms of determinants, with the factors of the matrices and the exchanges of rows."""
    wants_factors = node.wants(2) or node.wants(3)
    return *slogdet(node, x), *(factor_matrix(node, x)[:2] if wants_factors else (None, None))


@converts("aten.logdet")
def logdet(node: Node, x: Value) -> Value:
    """The logarithm of determinants, NaN of negative ones."""
    sign, logarithm = slogdet(node, x)
    is_negative = call("less", sign, constant(0, x.dtype))
    return call("where", is_negative, constant(float("nan"), x.dtype), logarithm)


@converts("aten.linalg_pinv")
def pseudo_inverse(node: Node, x: Value) -> Value:
    """Pseudo-inverses, of singular values that are not nearly zero."""
    if node.option("atol") is not None or node.option("hermitian", False):
        node.fail("only `rtol` says which singular values count")
    rtol = node.option("rtol")
    whole = identity_like(call("nn.matmul", x, x, transpose_b=True))
    rcond = None if rtol is None else float(rtol.number("rtol") if isinstance(rtol, Value) else rtol)
    return call("linalg.lstsq", x, whole, rcond=rcond)


def count_along(x: Value, axis: int = -1) -> Value:
    """Return the place of each element along an axis, from 0."""
    return call("cumsum", call("full_like", cast(x, "int64"), constant(1, "int64")), axis=axis % x.rank) - 1


def place_of(x: Value) -> tuple[Value, Value]:
    """Return the row and the column of each element."""
    return count_along(x, -2), count_along(x, -1)


def first_on_diagonal(holds: Value) -> Value:
    """Return the first place on the diagonal, from 1, at which a condition holds, or 0."""
    rows, columns = place_of(holds)
    none = constant(1 << 30, "int64")
    at = call("where", call("logical_and", call("equal", rows, columns), holds), columns + 1, none)
    first = call("min", at, axis=(holds.rank - 2, holds.rank - 1))
    return cast(call("where", call("less", first, none), first, constant(0, "int64")), "int32")


def run_loop(node: Node, turn: Any, states: list[Value], count: Value) -> list[Value]:
    """Return the states after `count` rounds of `turn`, a function of the round's number and the states."""
    result = rounds(lambda i, before: Round([], turn(i, *before)), states, count, lambda parts: parts)
    assert isinstance(result.type, TupleType)
    return unpacked(node, result, result.type.fields)


def first_column(x: Value) -> Value:
    """Return the first element of each row."""
    return call("take", x, constant(0, "int64"), axis=x.rank - 1)


def exchange_places(at: Value, i: Value, other: Value) -> Value:
    """Return the places `at`, of which `i` and `other`, one for each matrix, are exchanged."""
    return call("where", call("equal", at, i), other, call("where", call("equal", at, other), i, at))


def eliminate(node: Node, x: Value, exchanges: bool = True) -> list[Value]:
    """Return both triangles in one matrix, the row that each is exchanged with, from 1, and their order.

    Source: Golub and Van Loan, "Matrix Computations", 4th ed., algorithm 3.4.1.
    """
    if 0 in x.shape[-2:]:
        node.fail("the matrices have no elements")
    is_wide, is_tall = is_at_most(*x.shape[-2:]), is_at_most(*x.shape[:-3:-1])
    if not is_wide and not is_tall:
        node.fail("the sizes do not say whether there are more rows or columns")
    last = x.rank - 1
    rows, columns = place_of(x)
    at, short = first_column(rows), first_column(rows if is_wide else turned(columns))

    def turn(i: Value, a: Value, pivots: Value, order: Value, rows: Value, columns: Value) -> list[Value]:
        if exchanges:
            at = first_column(rows)
            sizes = call("abs", call("take", a, i, axis=last))
            sizes = call("where", call("less", at, i), constant(-1, x.dtype), sizes)
            other = cast(call("argmax", sizes, axis=last - 1, keepdims=True), "int64")
            places = exchange_places(at, i, other)
            order = call("gather", order, places, axis=last - 1)
            pivots = call("where", call("equal", count_along(pivots), i), other + 1, pivots)
            a = call("gather", a, call("broadcast_to_like", column_of(places), rows), axis=last - 1)
        row = call("expand_dims", call("take", a, i, axis=last - 1), axis=last - 1)
        column = column_of(call("take", a, i, axis=last))
        pivot = column_of(call("take", row, i, axis=last))
        factor = column / call("where", call("equal", pivot, 0), constant(1, x.dtype), pivot)
        here = call("where", call("equal", columns, i), factor, a)
        new = call("where", call("greater", columns, i), a - factor * row, here)
        return [call("where", call("greater", rows, i), new, a), pivots, order, rows, columns]

    count = call("take", sizes_as_value(x), constant(last - (1 if is_wide else 0), "int64"), axis=0)
    return run_loop(node, turn, [x, short + 1, at, rows, columns], count)[:3]


def column_of(x: Value) -> Value:
    """Return vectors as matrices of one column."""
    return call("expand_dims", x, axis=x.rank)


def factor_matrix(node: Node, x: Value) -> tuple[Value, Value, Value, Value]:
    """Return packed triangles, exchanges, the order of rows, and the place of the first pivot that is 0."""
    packed, pivots, order = eliminate(node, x)
    info = first_on_diagonal(call("equal", packed, constant(0, x.dtype)))
    return packed, cast(pivots, "int32"), order, info


def split_triangles(packed: Value) -> tuple[Value, Value]:
    """Return the lower factor, whose diagonal is 1, and the upper one."""
    m, n = packed.shape[-2:]
    rows, columns = place_of(packed)
    zero = constant(0, packed.dtype)
    ones = cast(call("equal", rows, columns), packed.dtype)
    lower = call("where", call("greater", rows, columns), packed, ones)
    upper = call("where", call("greater", rows, columns), zero, packed)
    lower = lower if is_at_most(n, m) else call("slice_like", lower, turned(lower), axes=(-1,))
    return lower, upper if is_at_most(m, n) else call("slice_like", upper, turned(upper), axes=(-2,))


def order_of(node: Node, packed: Value, pivots: Value) -> Value:
    """Return the order of rows after exchanges."""
    at = first_column(place_of(packed)[0])

    def turn(i: Value, order: Value, others: Value) -> list[Value]:
        at = count_along(order)
        other = column_of(call("take", others, i, axis=order.rank - 1))
        places = exchange_places(at, i, other)
        return [call("gather", order, places, axis=order.rank - 1), others]

    count = call("take", sizes_as_value(pivots), constant(pivots.rank - 1, "int64"), axis=0)
    return run_loop(node, turn, [at, cast(pivots, "int64") - 1], count)[0]


def permutation(order: Value, dtype: str) -> Value:
    """Return the matrix that puts the rows in `order` back in their places."""
    return cast(
        call("equal", column_of(count_along(order)), call("expand_dims", order, axis=order.rank - 1)), dtype
    )


def solve_by_factors(
    packed: Value, order: Value, b: Value, is_left: bool = True, transpose: bool = False
) -> Value:
    """Return `x` with `a @ x == b` (`a.T @ x` with `transpose`) or `x @ a == b`, given the factors of `a`."""
    if not is_left:
        return turned(solve_by_factors(packed, order, turned(b), True, not transpose))
    rows = permutation(order, packed.dtype)
    if transpose:
        between = solve_triangle(packed, b, True, True, False)
        return call("nn.matmul", rows, solve_triangle(packed, between, False, True, True))
    between = solve_triangle(packed, call("nn.matmul", rows, b, transpose_a=True), False, False, True)
    return solve_triangle(packed, between, True, False, False)


def regular(packed: Value, info: Value) -> Value:
    """Return the triangles, or the identity for a matrix that has no inverse."""
    is_regular = call("expand_dims", call("equal", info, 0), axis=info.rank, num_newaxis=2)
    return call("where", is_regular, packed, identity_like(packed))


@converts("aten.linalg_lu_factor", "aten.linalg_lu_factor_ex")
def lu_factor(node: Node, x: Value) -> Any:
    """Return both triangles in one matrix, exchanges of rows, and the place of the first pivot that is 0."""
    packed, pivots, _, info = factor_matrix(node, x)
    return (packed, pivots, info)[: 3 if "_ex" in node.operator else 2]


@converts("aten.linalg_lu")
def lu(node: Node, x: Value) -> Any:
    """Return a permutation, a lower and an upper triangle."""
    packed, _, order = eliminate(node, x)
    return permutation(order, x.dtype), *split_triangles(packed)


@converts("aten.lu_unpack")
def lu_unpack(node: Node, packed: Value, pivots: Value, *_: Any) -> Any:
    """Return a permutation, a lower and an upper triangle of packed factors."""
    rows = permutation(order_of(node, packed, pivots), packed.dtype) if node.wants(0) else None
    return rows, *split_triangles(packed)


@converts("aten.linalg_lu_solve")
def lu_solve(node: Node, packed: Value, pivots: Value, b: Value) -> Value:
    """Return the solutions of systems whose factors are known."""
    is_left, transpose = node.option("left", True), node.option("adjoint", False)
    return solve_by_factors(packed, order_of(node, packed, pivots), b, is_left, transpose)


def reflect(h: Value, tau: Value, b: Value, transpose: bool = False) -> Value:
    """Return the product of Householder reflections with `b`.

    Source: Joffrain, Low, Quintana-Orti, van de Geijn and Van Zee, "Accumulating Householder transformations,
    revisited", 2006.
    """
    h = (
        h
        if h.shape[-1] == tau.shape[-1]
        else call("slice_like", h, call("expand_dims", tau, axis=-2), axes=(-1,))
    )
    v = call("trilu", h, constant(-1, "int32"), upper=False) + identity_like(h)
    scale = column_of(tau)
    scaled = call("nn.matmul", v, v, transpose_a=True) * turned(scale)
    parts = call("nn.matmul", v, b, transpose_a=True)
    if transpose:
        return b - call("nn.matmul", v, solve_triangle(scaled, scale * parts, True, True, True))
    return b - call("nn.matmul", v, scale * solve_triangle(scaled, parts, True, False, True))


@converts("aten.linalg_householder_product", "aten.orgqr")
def householder_product(node: Node, h: Value, tau: Value) -> Value:
    """Return the first columns of a product of Householder reflections."""
    return reflect(h, tau, identity_like(h))


@converts("aten.ormqr")
def ormqr(node: Node, h: Value, tau: Value, b: Value, left: bool = True, transpose: bool = False) -> Value:
    """Return `b` after Householder reflections."""
    return reflect(h, tau, b, transpose) if left else turned(reflect(h, tau, turned(b), not transpose))


PADE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip
"""Coefficients of the diagonal Padé approximant of order 13 of the exponential."""
PADE_NORM = 5.371920351148152
"""The largest norm of a matrix for which it is exact in float64."""


@converts("aten.linalg_matrix_exp", "aten.matrix_exp")
def matrix_exp(node: Node, x: Value) -> Value:
    """Return the exponentials of matrices, by scaling and squaring.

    Source: Higham, "The Scaling and Squaring Method for the Matrix Exponential Revisited", 2005.
    """
    last = x.rank - 1
    sums = call("sum", call("abs", x), axis=(last - 1,))
    edge = tuple([(0, 0) for _ in range(last - 1)])
    norm = call("max", call("nn.pad", sums, pad_width=(*edge, (0, 1))), axis=(last - 1,))
    is_large = call("logical_and", call("greater", norm, PADE_NORM), call("isfinite", norm))
    ratio = call("where", is_large, norm, constant(PADE_NORM, x.dtype)) / constant(PADE_NORM, x.dtype)
    times = call("ceil", call("log2", ratio))
    small = x * call("expand_dims", call("power", constant(2, x.dtype), -times), axis=last - 1, num_newaxis=2)
    squarings = cast(times, "int64")
    flat = call("nn.pad", call("reshape", squarings, newshape=(-1,)), pad_width=((0, 1),))

    def turn(i: Value, y: Value, squarings: Value) -> list[Value]:
        is_next = call("expand_dims", call("less", i, squarings), axis=last - 1, num_newaxis=2)
        return [call("where", is_next, call("nn.matmul", y, y), y), squarings]

    return run_loop(node, turn, [pade(small), squarings], call("max", flat, axis=(0,)))[0]


def pade(x: Value) -> Value:
    """Return the exponentials of matrices whose norm is at most `PADE_NORM`."""
    b = [c / PADE[0] for c in PADE]
    one, two = identity_like(x), call("nn.matmul", x, x)
    four = call("nn.matmul", two, two)
    six = call("nn.matmul", four, two)
    odd = call("nn.matmul", six, b[13] * six + b[11] * four + b[9] * two)
    odd = call("nn.matmul", x, odd + b[7] * six + b[5] * four + b[3] * two + b[1] * one)
    even = call("nn.matmul", six, b[12] * six + b[10] * four + b[8] * two)
    even = even + b[6] * six + b[4] * four + b[2] * two + b[0] * one
    return call("linalg.solve", even - odd, even + odd)
