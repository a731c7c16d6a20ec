"""`std/derivatives`: through recursion, at symbolic sizes, interpreted and compiled."""

from typing import Any

import numpy as np
import pytest

import relay

X = np.array([1.0, 2.0, -0.5])
PROGRAM = """
import "std/derivatives"

def @powers[n: Dim](%x: Tensor[(n,), float64], %rounds: int32) -> Tensor[(n,), float64] {
  if (%rounds < 1) { %x } else { @powers(%x * %x, %rounds - 1) }
}
def @f[n: Dim](%x: Tensor[(n,), float64]) -> float64 { sum(@powers(%x, 2)) + sum(%x) * sum(%x) }
"""


def values(body: str, size: str = "3") -> list[Any]:
    """What the interpreter and machine code make of an expression in `%x`."""
    mod = relay.parse(f"{PROGRAM}def @main(%x: Tensor[({size},), float64]) {{ {body} }}")
    return [relay.run(mod, "main", [X]), relay.build(mod)(X)]


@pytest.mark.parametrize("name", ["jacfwd", "jacrev"])
def test_jacobian_of_recursion(name: str) -> None:
    for found in values(f"@{name}(fn (%y) {{ concatenate((@powers(%y, 2), %y[:2])) }}, %x)"):
        np.testing.assert_allclose(found, np.concatenate([np.diag(4 * X**3), np.eye(3)[:2]]), atol=1e-12)


def test_sizes_may_be_symbolic() -> None:
    cube = "fn (%y) { sum(%y * %y * %y) }"
    body = f"(@jacfwd(fn (%y) {{ @powers(%y, 2) }}, %x), @hessian({cube}, %x), @hvp(@f, %x, %x))"
    for jacobian, hessian, product in values(body, "n"):
        np.testing.assert_allclose(jacobian, np.diag(4 * X**3), atol=1e-12)
        np.testing.assert_allclose(hessian, np.diag(6 * X), atol=1e-12)
        np.testing.assert_allclose(product, 12 * X**3 + 2 * X.sum())


def test_reverse_mode_goes_through_calls_and_branches_at_symbolic_sizes() -> None:
    body = "(@jacrev(fn (%y) { @powers(%y, 2) }, %x), @hessian(fn (%y) { sum(@powers(%y, 1)) }, %x))"
    for jacobian, hessian in values(body, "n"):
        np.testing.assert_allclose(jacobian, np.diag(4 * X**3), atol=1e-12)
        np.testing.assert_allclose(hessian, np.diag([2.0, 2.0, 2.0]), atol=1e-12)


def test_hessian_and_its_product() -> None:
    want = np.diag(12 * X**2) + 2
    for whole, product in values("(@hessian(@f, %x), @hvp(@f, %x, %x))"):
        np.testing.assert_allclose(whole, want)
        np.testing.assert_allclose(product, want @ X)


def test_derivatives_of_many_rows() -> None:
    for found in values("vmap(fn (%s) { @hvp(fn (%y) { @f(%y * %s) }, %x, %x) })([1f64, 2f64])"):
        want = [s * (np.diag(12 * (s * X) ** 2) + 2) * s @ X for s in (1, 2)]
        np.testing.assert_allclose(found, want)
