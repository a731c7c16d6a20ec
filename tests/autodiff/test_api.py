"""Derivatives from Python."""

from typing import Any

import numpy as np
import pytest

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


MODES = pytest.mark.parametrize("mode", [None, "forward", "reverse"])


def both(f: relay.Expr, *args: Any) -> Any:
    """What the interpreter and machine code give, which is the same."""
    found = relay.create_executor("debug").evaluate(f)(*args)
    for a, b in zip(flat(found), flat(relay.build(f)(*args)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-12)
    return found


def flat(x: Any) -> list[Any]:
    return [part for field in x for part in flat(field)] if isinstance(x, tuple) else [x]


@MODES
def test_jacobian_of_symbolic_sizes(mode: Any) -> None:
    f = relay.parse_expr("fn(%x: Tensor[(n, m), float64]) { sum(%x * %x, axis=1) }")
    made = relay.jacobian(f, mode=mode)
    assert str(relay.infer_expr(made).ret_type) == "Tensor[(n, n, m), float64]"
    for x in (X[:, None], X.reshape(1, 3), np.zeros((0, 2))):
        found = both(made, x)
        assert found.shape == (x.shape[0], *x.shape)
        np.testing.assert_allclose(found, 2 * x * np.eye(len(x))[:, :, None], atol=1e-12)


@MODES
def test_jacobian_of_tuples_has_their_structure(mode: Any) -> None:
    f = relay.parse_expr(
        "fn(%p: (Tensor[(3,), float64], (float64, float64))) { (%p.0 * %p.1.0, (%p.1.1 * sum(%p.0),)) }"
    )
    by_first, ((by_x, (by_a, by_b)),) = both(
        relay.jacobian(f, mode=mode), (X, (np.float64(2), np.float64(5)))
    )
    np.testing.assert_allclose(by_first[0], 2 * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(by_first[1][0], X)
    np.testing.assert_allclose(by_first[1][1], 0 * X)
    np.testing.assert_allclose(by_x, [5, 5, 5])
    assert (by_a, by_b) == pytest.approx((0, X.sum()))


@MODES
def test_jacobian_of_recursion_whose_rounds_depend_on_the_argument(mode: Any) -> None:
    mod = relay.parse("""
    def @doubled(%x: Tensor[(n,), float64]) -> Tensor[(n,), float64] {
      if (sum(%x) > 10.0) { %x * %x } else { @doubled(%x * 2.0) }
    }
    """)
    made = relay.jacobian(mod.get_global_var("doubled"), mod=mod, mode=mode)
    mod["main"] = made
    for found in (relay.run(mod, "main", [X]), relay.build(mod)(X)):
        np.testing.assert_allclose(found, np.diag(2 * X * 16 * 16), atol=1e-12)


def test_hessian_of_tuples_is_symmetric() -> None:
    f = relay.parse_expr("fn(%p: (Tensor[(3,), float64], float64)) { sum(tanh(%p.0) * %p.0) * %p.1 * %p.1 }")
    (xx, xs), (sx, ss) = both(relay.hessian(f), (X, np.float64(2)))
    np.testing.assert_allclose(xx, xx.T, atol=1e-12)
    np.testing.assert_allclose(xs, sx)
    assert ss == pytest.approx(2 * (np.tanh(X) * X).sum())


def test_hvp_is_the_product_with_the_hessian() -> None:
    f = relay.parse_expr("fn(%x: Tensor[(n,), float64], %s: float64) { sum(%x) * sum(%x * %x * %x) * %s }")
    v, s = np.array([1.0, -2.0, 0.5]), np.float64(3)
    want = relay.create_executor("debug").evaluate(relay.hessian(f))(X, s) @ v
    np.testing.assert_allclose(both(relay.hvp(f), X, s, v), want)
    assert both(relay.hvp(f, 1), X, s, np.float64(1)) == 0


def test_hvp_of_a_data_type() -> None:
    mod = relay.parse("""
    type Layer { Layer { w: Tensor[(2,), float64], b: float64 } }
    def @f(%l: Layer) { sum(%l.w * %l.w) * %l.b }
    """)
    mod["main"] = relay.hvp(mod.get_global_var("f"), mod=mod)
    point = {"w": np.array([1.0, 2.0]), "b": np.float64(3)}
    found = relay.run(mod, "main", [point, {"w": np.array([1.0, 0.0]), "b": np.float64(1)}])
    np.testing.assert_allclose(found.w, [8, 4])
    assert found.b == 2


def test_what_has_no_jacobian_is_told() -> None:
    f = relay.parse_expr("fn(%x: Tensor[(3,), float64]) { argwhere(%x) }")
    with pytest.raises(relay.RelayError, match="in tensors of known sizes, not") as caught:
        relay.jacobian(f)
    assert caught.value.codes == ("jacobian-shape",)
    with pytest.raises(relay.RelayError, match="numbers"):
        relay.jacobian(relay.parse_expr("fn(%x: string) { %x }"))
    with pytest.raises(ValueError, match="argnum is from 0 to 0, not 1"):
        relay.hvp(f, 1)
    with pytest.raises(ValueError, match="mode is 'forward' or 'reverse', not 'fwd'"):
        relay.jacobian(f, mode="fwd")  # pyright: ignore[reportCallIssue, reportArgumentType]
    with pytest.raises(TypeError, match="3 is not an expression"):
        relay.hessian(3)
