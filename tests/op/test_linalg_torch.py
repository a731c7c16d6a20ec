"""Derivatives of linear algebra, first and second, against PyTorch's."""

from typing import Any

import numpy as np
import pytest

import relay

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch
rng = np.random.default_rng(2)
A = rng.normal(size=(3, 3))
A = A @ A.T + 3 * np.eye(3)
TALL, WIDE = rng.normal(size=(4, 3)), rng.normal(size=(3, 4))
B = rng.normal(size=(4, 2))
WEIGHTS = rng.normal(size=(4, 4))


def weighted(x: Any) -> Any:
    """A number that varies with each element."""
    m, n = x.shape[-2:]
    return (torch.tensor(WEIGHTS[:m, :n]) * x).sum()


def weigh(text: str, m: int, n: int) -> str:
    rows = ", ".join(["[" + ", ".join([f"{float(w)!r}f64" for w in row[:n]]) + "]" for row in WEIGHTS[:m]])
    return f"sum({text} * [{rows}])"


L = torch.linalg
S = "let (%u, %s, %v) = linalg.svd(%a); "
CASES = [
    ("cholesky", A, weigh("linalg.cholesky(%a)", 3, 3), lambda a: weighted(L.cholesky((a + a.mT) / 2))),
    ("inv", A, weigh("linalg.inv(%a)", 3, 3), lambda a: weighted(L.inv(a))),
    ("solve", A, weigh("linalg.solve(%a, exp(%a))", 3, 3), lambda a: weighted(L.solve(a, a.exp()))),
    (
        "triangular_solve",
        A,
        weigh("linalg.triangular_solve(%a, exp(%a), lower=True)", 3, 3),
        lambda a: weighted(L.solve_triangular(a.tril(), a.exp(), upper=False)),
    ),
    ("det", A, "linalg.det(%a)", lambda a: L.det(a)),
    ("slogdet", A, "linalg.slogdet(%a).1", lambda a: L.slogdet(a)[1]),
    ("q", TALL, weigh("linalg.qr(%a).0", 4, 3), lambda a: weighted(L.qr(a)[0])),
    ("r", TALL, weigh("linalg.qr(%a).1", 3, 3), lambda a: weighted(L.qr(a)[1])),
    ("wide r", WIDE, weigh("linalg.qr(%a).1", 3, 4), lambda a: weighted(L.qr(a)[1])),
    ("svdvals", TALL, "sum(exp(linalg.svd(%a).1))", lambda a: L.svdvals(a).exp().sum()),
    (
        "polar factor",
        TALL,
        S + weigh("(%u * exp(expand_dims(%s, axis=0))) @ %v", 4, 3),
        lambda a: weighted((lambda u, s, v: (u * s.exp()) @ v)(*L.svd(a, full_matrices=False))),
    ),
    (
        "eigvalsh",
        A,
        "sum(exp(linalg.eigh(%a).0 / 10f64))",
        lambda a: (L.eigvalsh((a + a.mT) / 2) / 10).exp().sum(),
    ),
    (
        "logarithm",
        A,
        "let (%w, %v) = linalg.eigh(%a); "
        + weigh("(%v * log(expand_dims(%w, axis=0))) @ transpose(%v)", 3, 3),
        lambda a: weighted((lambda w, v: (v * w.log()) @ v.mT)(*L.eigh((a + a.mT) / 2))),
    ),
    (
        "lstsq",
        TALL,
        weigh("linalg.lstsq(%a, exp(%a))", 3, 3),
        lambda a: weighted(L.pinv(a) @ a.exp()),
    ),
    ("wide lstsq", WIDE, weigh("linalg.lstsq(%a, exp(%a))", 4, 4), lambda a: weighted(L.pinv(a) @ a.exp())),
]


@pytest.mark.parametrize(("name", "a", "body", "function"), CASES, ids=[c[0] for c in CASES])
def test_first_and_second_derivatives(name: str, a: Any, body: str, function: Any) -> None:
    m, n = a.shape
    t = f"Tensor[({m}, {n}), float64]"
    mod = relay.parse(f"""
def @f(%a: {t}) -> float64 {{ {body} }}
def @slope(%a: {t}) -> float64 {{ {weigh("grad(@f)(%a).1.0", m, n)} }}
def @main(%a: {t}) {{ (grad(@f)(%a), grad(@slope)(%a).1.0) }}
""")
    (value, (first,)), second = relay.run(mod, "main", [a])
    x = torch.tensor(a, requires_grad=True)
    y = function(x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(weighted(g), x)
    for found, expected in ((value, y), (first, g), (second, h)):
        np.testing.assert_allclose(found, expected.detach().numpy(), 1e-7, 1e-9)
