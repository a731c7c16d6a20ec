"""Factorisations of matrices and systems of linear equations: functions of PyTorch, with inputs."""

import torch
from torch import linalg

from frontend.torch_operands import f


def positive(*shape: int) -> torch.Tensor:
    x = f(*shape)
    return x @ x.mT + shape[-1] * torch.eye(shape[-1])


def square(*shape: int) -> torch.Tensor:
    return f(*shape) + 3 * torch.eye(shape[-1])


def from_svd(x):
    """What does not depend on the signs of vectors."""
    u, s, vh = linalg.svd(x, full_matrices=False)
    return s, (u * s[..., None, :]) @ vh


def from_old_svd(x):
    u, s, v = torch.svd(x)
    return s, (u * s[..., None, :]) @ v.mT


def from_eigh(x):
    w, v = linalg.eigh(x)
    return w, (v * w[..., None, :]) @ v.mT


def from_lu(x):
    packed, pivots, info = linalg.lu_factor_ex(x)
    return *linalg.lu(x), packed, pivots, info, *torch.lu_unpack(packed, pivots)


def from_lu_solve(x, b):
    factors = linalg.lu_factor(x)
    return (
        linalg.lu_solve(*factors, b), linalg.lu_solve(*factors, b, adjoint=True),
        linalg.lu_solve(*factors, b.mT, left=False),
        linalg.lu_solve(*factors, b.mT, left=False, adjoint=True),
    )  # fmt: skip


def from_info(x):
    """Results of matrices that have them, and the number that reports a failure, of some that have none."""
    broken = torch.cat([x[:1], x[1:] * torch.tensor([1.0, 0, 1])])
    inverses, solutions, factors = linalg.inv_ex(x), linalg.solve_ex(x, x), linalg.cholesky_ex(x, upper=True)
    negative = x - 9 * torch.diag(torch.tensor([0.0, 1, 0]))
    return (
        *inverses, *solutions, *factors, *linalg.cholesky_ex(x), linalg.inv_ex(broken).info,
        linalg.solve_ex(broken, x).info, linalg.cholesky_ex(negative).info,
    )  # fmt: skip


def from_reflections(h, tau, b):
    return (
        linalg.householder_product(h, tau), linalg.householder_product(h, tau[..., :1]),
        torch.ormqr(h, tau, b), torch.ormqr(h, tau, b, transpose=True), torch.ormqr(h, tau, b.mT, left=False),
    )  # fmt: skip


def from_complete_qr(x):
    q, r = linalg.qr(x, mode="complete")
    return q @ r, q @ q.mT


FACTORS = [
    ("cholesky", lambda x: (linalg.cholesky(x), linalg.cholesky(x, upper=True), torch.cholesky(x)),
     positive(2, 3, 3)),
    ("cholesky_ex", lambda x: linalg.cholesky_ex(x).L, positive(3, 3)),
    ("inv", lambda x: (linalg.inv(x), torch.inverse(x), linalg.inv_ex(x).inverse), square(2, 3, 3)),
    ("solve", lambda a, b: (linalg.solve(a, b), linalg.solve(a[0], b), linalg.solve(a, b[0, :, 0])),
     square(2, 3, 3), f(2, 3, 4)),
    ("solve of stacks of vectors", linalg.solve, square(2, 3, 3), f(2, 3)),
    ("solve from the right", lambda a, b: (
        linalg.solve(a, b, left=False), linalg.solve_ex(a, b, left=False)[0],
    ), square(3, 3), f(4, 3)),
    ("solve_triangular", lambda a, b: (
        linalg.solve_triangular(a, b, upper=True), linalg.solve_triangular(a, b, upper=False),
        linalg.solve_triangular(a, b.mT, upper=True, left=False),
        linalg.solve_triangular(a, b, upper=False, unitriangular=True),
    ), square(2, 3, 3), f(2, 3, 4)),
    ("triangular_solve", lambda a, b: (
        torch.triangular_solve(b, a).solution,
        torch.triangular_solve(b, a, upper=False, transpose=True).solution,
    ), square(3, 3), f(3, 2)),
    ("cholesky_solve", lambda a, b: (
        torch.cholesky_solve(b, a.tril()), torch.cholesky_solve(b, a.triu(), upper=True),
        torch.cholesky_inverse(a.tril()), torch.cholesky_inverse(a.triu(), upper=True),
    ), square(3, 3), f(3, 2)),
    ("lu", lambda x, y, z: (*from_lu(x), *from_lu(y), *from_lu(z)), f(2, 3, 3), f(2, 4), f(4, 2)),
    ("lu_solve", from_lu_solve, f(2, 4, 4), f(2, 4, 3)),
    ("info", from_info, positive(2, 3, 3)),
    ("reflections", from_reflections, *torch.geqrf(f(2, 4, 3)), f(2, 4, 2)),
    ("matrix_exp", lambda x: (linalg.matrix_exp(x), torch.matrix_exp(4 * x), torch.matrix_exp(-x[0])),
     f(3, 4, 4)),
    ("qr", lambda x, y: (*linalg.qr(x), *linalg.qr(y), linalg.qr(x, mode="r").R), f(2, 4, 3), f(3, 4)),
    ("complete qr", from_complete_qr, f(3, 4)),
    ("svd", lambda x, y: (*from_svd(x), *from_svd(y), linalg.svdvals(x)), f(2, 4, 3), f(3, 4)),
    ("old svd", from_old_svd, f(4, 3)),
    ("square svd", lambda x: linalg.svd(x).S, f(3, 3)),
    ("eigh", lambda x: (*from_eigh(x), linalg.eigvalsh(x)), positive(2, 3, 3)),
    ("determinants", lambda x: (
        linalg.det(x), torch.det(-x), *linalg.slogdet(x), *torch.slogdet(-x),
        torch.logdet(x), torch.logdet(-x),
    ), positive(2, 3, 3)),
    ("pinv", lambda x, y: (linalg.pinv(x), linalg.pinv(y), linalg.pinv(x, rtol=1e-3)), f(2, 4, 3), f(3, 4)),
]  # fmt: skip
