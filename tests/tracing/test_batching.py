"""`relay.vmap` of Python functions: nested values, axes, and the order it is combined in with derivatives."""
# ruff: noqa: F821 - annotations in quotes are Relay types

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import relay

X = np.arange(12, dtype="float32").reshape(4, 3) / 7
Y = np.array([0.5, -1.0, 2.0], "float32")


def cubes(x: Any, y: Any) -> Any:
    return (x * x * x * y).sum()


@relay.function
def annotated(x: "Tensor[(3,), float32]", y: "Tensor[(3,), float32]") -> "float32":
    return relay.sum(x * x * x * y)


KINDS = pytest.mark.parametrize(
    "f", [annotated, relay.function(cubes), cubes], ids=["annotated", "decorated", "plain"]
)


@KINDS
def test_rows_of_arguments_and_a_shared_one(f: Any) -> None:
    want = [cubes(x, Y) for x in X]
    np.testing.assert_allclose(relay.vmap(f, (0, None))(X, Y), want, rtol=1e-6)
    np.testing.assert_allclose(relay.vmap(f, (1, None))(X.T, Y), want, rtol=1e-6)
    np.testing.assert_allclose(relay.vmap(f, [-1, None])(X.T, Y), want, rtol=1e-6)
    np.testing.assert_allclose(relay.vmap(f)(X, X), [cubes(x, x) for x in X], rtol=1e-6)


@KINDS
def test_it_is_compiled(f: Any) -> None:
    want = [cubes(x, Y) for x in X]
    many = relay.vmap(f, (0, None))
    for made in (relay.compile(many), relay.build(many)):
        np.testing.assert_allclose(made(X, Y), want, rtol=1e-6)
        np.testing.assert_allclose(made(X[:2], Y), want[:2], rtol=1e-6)


def test_annotated_function_has_any_number_of_rows() -> None:
    t = relay.vmap(annotated, (0, None)).function
    assert str(t).startswith("fn<b: Dim>(%x: Tensor[(b, 3), float32], %y: Tensor[(3,), float32])")


@dataclass
class Layer:
    w: Any
    b: Any


class Pair(NamedTuple):
    first: Any
    second: Any


def layer(p: Layer, data: dict[str, Any]) -> Any:
    return Pair({"y": data["x"] * p.w + p.b}, [data["x"].sum(), p.b])


def test_nested_values_and_axes_in_their_containers() -> None:
    p = Layer(np.arange(6, dtype="float32").reshape(2, 3), Y)
    data = {"x": X[:2], "unused": np.float32(1)}
    want = [layer(Layer(p.w[i], p.b), {"x": X[i]}) for i in range(2)]
    in_axes = (Layer(0, None), {"x": 0, "unused": None})
    made = relay.vmap(layer, in_axes, Pair({"y": 1}, [0, None]))(p, data)
    assert isinstance(made, Pair)
    np.testing.assert_allclose(made.first["y"].T, [w.first["y"] for w in want])
    np.testing.assert_allclose(made.second[0], [w.second[0] for w in want], rtol=1e-6)
    np.testing.assert_array_equal(made.second[1], Y)
    together = relay.vmap(layer, (Layer(0, None), 0), (1, 0))(p, {"x": X[:2]})
    assert together.first["y"].shape == (3, 2)
    assert together.second[1].shape == (2, 3)


def test_arguments_by_name_and_with_default_values() -> None:
    def f(x: Any, *, scale: Any, times: int = 2) -> Any:
        return x * scale * times

    np.testing.assert_allclose(relay.vmap(f)(X, scale=Y[[0, 0, 1, 2]]), X * Y[[0, 0, 1, 2], None] * 2)
    np.testing.assert_allclose(relay.vmap(f, (0,))(Y, scale=Y, times=3), 3 * Y * Y)
    total = relay.vmap(lambda *xs: sum(xs[1:], xs[0]), (0, None, 0))
    np.testing.assert_allclose(total(Y, np.float32(1), Y), 2 * Y + 1)


def test_it_nests() -> None:
    table = relay.vmap(relay.vmap(lambda x, y: x * y, (None, 0)), (0, None))
    np.testing.assert_allclose(table(Y, X[:, 0]), np.outer(Y, X[:, 0]))
    np.testing.assert_allclose(relay.compile(table)(Y, X[:, 0]), np.outer(Y, X[:, 0]))


@KINDS
def test_derivatives_inside_and_outside(f: Any) -> None:
    value, (by_x, by_y) = relay.vmap(relay.grad(f), (0, None))(X, Y)
    np.testing.assert_allclose(value, [cubes(x, Y) for x in X], rtol=1e-6)
    np.testing.assert_allclose(by_x, 3 * X**2 * Y, rtol=1e-6)
    np.testing.assert_allclose(by_y, X**3, rtol=1e-6)
    many = relay.vmap(f, (0, None))
    _, (by_x, by_y) = relay.grad(many)(X, Y)
    np.testing.assert_allclose(by_x, 3 * X**2 * Y, rtol=1e-6)
    np.testing.assert_allclose(by_y, (X**3).sum(0), rtol=1e-6)
    _, back = relay.vjp(many)(X, Y)
    np.testing.assert_allclose(back(np.arange(4, dtype="float32"))[1], np.arange(4) @ X**3, rtol=1e-6)
    _, tangent = relay.jvp(many)((X, Y), (np.ones_like(X), np.zeros_like(Y)))
    np.testing.assert_allclose(tangent, (3 * X**2 * Y).sum(1), rtol=1e-6)
    curves = relay.vmap(lambda x: relay.hessian(lambda x: cubes(x, Y))(x))(X)
    np.testing.assert_allclose(curves, [np.diag(6 * x * Y) for x in X], rtol=1e-6)
    np.testing.assert_allclose(relay.vmap(relay.checkpoint(f), (0, None))(X, Y), value, rtol=1e-6)
    slopes = relay.vmap(lambda x, y: relay.jacobian(f)(x, y), (0, None))(X, Y)
    np.testing.assert_allclose(slopes, 3 * X**2 * Y, rtol=1e-6)


def test_per_example_gradients_have_the_structure_of_the_parameters() -> None:
    def loss(p: dict[str, Any], x: Any, y: Any) -> Any:
        return ((x * p["w"]).sum() + p["b"] - y) ** 2

    p = {"w": Y, "b": np.float32(0.25)}
    value, found = relay.vmap(relay.value_and_grad(loss, 0), (None, 0, 0))(p, X, X[:, 0])
    error = X @ Y + 0.25 - X[:, 0]
    np.testing.assert_allclose(value, error**2, rtol=1e-5)
    np.testing.assert_allclose(found["w"], 2 * error[:, None] * X, rtol=1e-5)
    np.testing.assert_allclose(found["b"], 2 * error, rtol=1e-5)


def test_rows_go_different_ways() -> None:
    def f(x: Any) -> Any:
        n = relay.while_loop(lambda n: n * n < x, lambda n: n + 1.0, 0.0)
        return relay.cond(x > 10.0, lambda: n, lambda: -n)

    x = np.array([3, 30, 0, 100], "float32")
    np.testing.assert_array_equal(relay.vmap(f)(x), [-2, 6, 0, 10])
    np.testing.assert_array_equal(relay.compile(relay.vmap(f))(x), [-2, 6, 0, 10])


def test_of_an_expression() -> None:
    f = relay.parse_expr("fn(%x: Tensor[(3,), float32], %s: float32) { %x * %s }")
    made = relay.vmap(f, (0, None))
    assert isinstance(made, relay.VMap)
    np.testing.assert_allclose(made(X, np.float32(2)), 2 * X)


def refused(f: Callable[[], Any]) -> relay.Diagnostic:
    with pytest.raises(relay.RelayError) as caught:
        f()
    (found,) = caught.value.diagnostics
    return found


def test_sizes_that_differ_are_named() -> None:
    found = refused(lambda: relay.vmap(lambda p, x: p["w"] * x)({"w": X, "b": Y}, X[:2]))
    assert found.code == "batch-size"
    assert found.message == "`p['b']` has 3 rows along axis 0, `p['w']` has 4 along axis 0"
    found = refused(lambda: relay.vmap(cubes, (0, 1))(X, X))
    assert found.message == "`x` has 4 rows along axis 0, `y` has 3 along axis 1"


@pytest.mark.parametrize(
    ("code", "message", "run"),
    [
        ("batch-axes", "names no axis", lambda: relay.vmap(cubes, None)(X, Y)),
        ("batch-axes", "names no axis", lambda: relay.vmap(annotated, (None, None))),
        ("batch-axes", "is for 3, but `cubes` takes 2 arguments", lambda: relay.vmap(cubes, (0, 0, 0))),
        ("batch-axes", "a tuple of 2 for `x`, which is one", lambda: relay.vmap(cubes, ((0, 0), 0))(X, Y)),
        (
            "batch-axes",
            "has a dict with 'v' for `p`, which is a dict with 'w'",
            lambda: relay.vmap(lambda p: p["w"], ({"v": 0},))({"w": X}),
        ),
        ("batch-axes", "a tuple of 3 for `result`", lambda: relay.vmap(lambda x: (x, x), 0, (0, 0, 0))(X)),
        ("attribute-type", "`in_axes` of `vmap` is an axis", lambda: relay.vmap(cubes, "0")(X, Y)),
        ("axis-out-of-range", "`y`: axis 1 of", lambda: relay.vmap(cubes, (0, 1))(X, Y)),
        ("axis-out-of-range", "`s`: a scalar has no axis", lambda: relay.vmap(lambda x, s: x * s)(X, 2.0)),
        ("batch-type", "`f`: a function", lambda: relay.vmap(lambda f, x: f(x))(relay.function(abs), X)),
    ],
)
def test_what_cannot_be_batched_is_told(code: str, message: str, run: Callable[[], Any]) -> None:
    found = refused(run)
    assert found.code == code
    assert message in found.message
    assert found.hint
