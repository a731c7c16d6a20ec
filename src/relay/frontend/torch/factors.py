"""Factorisations of matrices, systems of linear equations, determinants."""

from typing import Any

from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts, name_of
from relay.frontend.value import Value, call, constant, fields

NO_FACTORS = "only the result is computed, not the factors it comes from"
NO_INFO = "what failed is an error, and no number says so"
CHECKS = ("aten._linalg_check_errors.default", "with_effects")
"""PyTorch's call that makes an error of the number that says what failed; it runs in order with effects."""


def turned(x: Value) -> Value:
    """The transposed matrices."""
    last = x.rank - 1
    return call("transpose", x, axes=(*range(last - 1), last, last - 1))


def alone(node: Node, found: Any, others: int, message: str) -> tuple[Any, ...]:
    """A result, before others that the program must not use."""
    if any(node.wants(i + 1) for i in range(others)):
        node.fail(message)
    return (found, *[None] * others)


def with_info(node: Node, found: Any, place: int = 1) -> tuple[Any, ...]:
    """A result, and in place of the number that says whether it failed nothing: it may only be checked."""
    infos = [user for user in node.fx.users if user.args[1:] == (place,)]
    if any(name_of(user.target) not in CHECKS for info in infos for user in info.users):
        node.fail(NO_INFO)
    return (found, *[None] * place)


@converts("aten.linalg_cholesky", "aten.cholesky")
def cholesky(node: Node, x: Value, upper: bool = False) -> Value:
    """The triangular factor of positive definite matrices."""
    return call("linalg.cholesky", x, upper=node.option("upper", upper))


@converts("aten.linalg_cholesky_ex")
def cholesky_ex(node: Node, x: Value) -> Any:
    """The factor, and a number that says whether it failed."""
    return with_info(node, cholesky(node, x))


@converts("aten.linalg_inv", "aten.inverse")
def inverse(node: Node, x: Value) -> Value:
    """The inverse matrices."""
    return call("linalg.inv", x)


@converts("aten.linalg_inv_ex")
def inverse_ex(node: Node, x: Value) -> Any:
    """The inverses, and a number that says whether it failed."""
    return with_info(node, inverse(node, x))


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
    """The solutions, and a number that says whether it failed."""
    return with_info(node, solve(node, a, b))


@converts("aten._linalg_solve_ex")
def solve_with_factors(node: Node, a: Value, b: Value) -> Any:
    """The solutions, without the factors of `a`."""
    found, *_ = alone(node, solve(node, a, b), 2, NO_FACTORS)
    return with_info(node, found, 3)


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
    """Determinants, with the factors of the matrices."""
    return alone(node, det(node, x), 2, NO_FACTORS)


@converts("aten.linalg_slogdet", "aten.slogdet")
def slogdet(node: Node, x: Value) -> Any:
    """Signs and logarithms of determinants."""
    return fields(call("linalg.slogdet", x))


@converts("aten._linalg_slogdet")
def slogdet_with_factors(node: Node, x: Value) -> Any:
    """Signs and logarithms of determinants, without the factors of the matrices."""
    if node.wants(2) or node.wants(3):
        node.fail(NO_FACTORS)
    return (*slogdet(node, x), None, None)


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
