"""Derivatives from Python."""

import numpy as np

import relay

X = np.array([0.3, -0.7, 1.1])


def test_gradient_of_an_expression_is_written_out() -> None:
    f = relay.parse_expr("fn(%x: Tensor[(3,), float64]) { sum(tanh(%x) * %x) }")
    made = relay.gradient(f)
    value, (slope,) = relay.create_executor("debug", mod=relay.IRModule()).evaluate(made)(X)
    np.testing.assert_allclose(value, (np.tanh(X) * X).sum())
    np.testing.assert_allclose(slope, np.tanh(X) + X * (1 - np.tanh(X) ** 2))


def test_gradient_adds_what_it_needs_to_the_module() -> None:
    mod = relay.parse("def @f(%x: float64) -> float64 { if (%x > 100.0) { %x } else { @f(%x * %x) } }")
    made = relay.gradient(mod.get_global_var("f"), mod)
    _, (slope,) = relay.create_executor("debug", mod=mod).evaluate(made)(np.float64(2.0))
    np.testing.assert_allclose(slope, 8 * 2.0**7)


def test_jacobian() -> None:
    f = relay.parse_expr("fn(%c: float64, %x: Tensor[(3,), float64]) { stack((%x * %x, %x * %c), axis=0) }")
    found = relay.create_executor("debug").evaluate(relay.jacobian(f, 1))(np.float64(2.0), X)
    np.testing.assert_allclose(found, np.stack([np.diag(2 * X), 2 * np.eye(3)]))


def test_jacobian_of_a_tensor_without_elements() -> None:
    f = relay.parse_expr('fn(%x: Tensor[(3,), float64]) { zeros(shape=(0, 2), dtype="float64") }')
    assert relay.create_executor("debug").evaluate(relay.jacobian(f))(X).shape == (0, 2, 3)


def test_hessian() -> None:
    f = relay.parse_expr("fn(%x: Tensor[(3,), float64]) { sum(%x) * sum(%x * %x * %x) }")
    found = relay.create_executor("debug").evaluate(relay.hessian(f))(X)
    want = 3 * X[None] ** 2 + 3 * X[:, None] ** 2 + np.diag(6 * X) * X.sum()
    np.testing.assert_allclose(found, want, atol=1e-12)
