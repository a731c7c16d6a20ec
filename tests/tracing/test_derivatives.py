"""Derivatives of Python functions: called, compiled, and taken again."""
# ruff: noqa: F821 - annotations in quotes are Relay types

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import relay

X = np.array([0.5, -1.0, 2.0], "float32")


@relay.function
def k(x: "Tensor[(3,), float32]") -> "float32":
    return relay.sum(x * x * x)


def plain(x: Any) -> Any:
    return (x * x * x).sum()


BOTH = pytest.mark.parametrize(
    "f", [k, relay.function(plain), plain], ids=["annotated", "decorated", "plain"]
)


def slope(f: Callable[..., Any], x: np.ndarray[Any, Any], step: float = 1e-5) -> np.ndarray[Any, Any]:
    """The gradient of a scalar function by central differences, in float64."""
    x = x.astype("float64")
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        there = np.zeros_like(x)
        there[i] = step
        found[i] = (f(x + there) - f(x - there)) / (2 * step)
    return found


@BOTH
def test_gradient_is_something_to_call(f: Any) -> None:
    value, (by_x,) = relay.grad(f)(X)
    assert value == pytest.approx(k(X))
    np.testing.assert_allclose(by_x, 3 * X**2)
    np.testing.assert_allclose(by_x, slope(plain, X), rtol=1e-5)


@BOTH
def test_value_and_gradient_by_chosen_arguments(f: Any) -> None:
    value, by_x = relay.value_and_grad(f, 0)(X)
    np.testing.assert_allclose(by_x, 3 * X**2)
    assert value == pytest.approx(k(X))
    assert isinstance(relay.value_and_grad(f)(X)[1], tuple)
    with pytest.raises(ValueError, match="argnums are from 0 to 0, not 1"):
        relay.value_and_grad(f, 1)


def test_several_arguments_are_chosen_in_order() -> None:
    def f(x: Any, y: Any, z: Any) -> Any:
        return x * y * z

    assert relay.value_and_grad(f, (2, 0))(2.0, 3.0, 5.0) == (30, (6, 15))
    assert relay.value_and_grad(f, -1)(2.0, 3.0, 5.0) == (30, 6)
    x, y = relay.var("x", "float32"), relay.var("y", "float32")
    chosen = relay.value_and_grad(relay.Function([x, y], x * y), 1)
    assert relay.create_executor("debug").evaluate(chosen)(2.0, 3.0) == (6, 2)
    both = relay.value_and_grad(relay.Function([x, y], x * y), (1, 0))
    assert relay.create_executor("debug").evaluate(both)(2.0, 3.0) == (6, (2, 3))


@BOTH
def test_pull_back_and_push_forward(f: Any) -> None:
    value, back = relay.vjp(f)(X)
    assert value == pytest.approx(k(X))
    np.testing.assert_allclose(back(2.0)[0], 6 * X**2)
    value, tangent = relay.jvp(f)((X,), (np.ones_like(X),))
    assert value == pytest.approx(k(X))
    assert tangent == pytest.approx((3 * X**2).sum())


@BOTH
def test_jacobian_and_hessian(f: Any) -> None:
    np.testing.assert_allclose(relay.jacobian(f)(X), 3 * X**2)
    np.testing.assert_allclose(relay.hessian(f)(X), np.diag(6 * X))


@BOTH
def test_derivatives_are_compiled(f: Any) -> None:
    for build in (relay.compile, relay.build):
        value, (by_x,) = build(relay.grad(f))(X)
        np.testing.assert_allclose(by_x, 3 * X**2)
        assert value == pytest.approx(k(X))
    np.testing.assert_allclose(relay.compile(relay.hessian(f))(X), np.diag(6 * X))


@pytest.mark.parametrize("kind", ["debug", "native"])
@BOTH
def test_executors_take_python_functions(kind: str, f: Any) -> None:
    np.testing.assert_allclose(relay.create_executor(kind).evaluate(relay.grad(f))(X)[1][0], 3 * X**2)
    assert relay.create_executor(kind, f).evaluate()(X) == pytest.approx(k(X))


def test_executor_binds_parameters_by_name() -> None:
    @relay.function
    def scaled(x: "Tensor[(3,), float32]", s: "float32"):
        return x * s

    assert relay.create_executor("debug", scaled, params={"s": 2.0}).evaluate()(X).tolist() == [1, -2, 4]
    assert relay.build(scaled, params={"s": 2.0})(X).tolist() == [1, -2, 4]
    assert relay.build(lambda x, s: x * s, params={"s": np.float32(2)})(X).tolist() == [1, -2, 4]


def test_gradient_of_the_function_of_a_decorated_one() -> None:
    value, (by_x,) = relay.grad(k.function)(X)
    np.testing.assert_allclose(by_x, 3 * X**2)
    np.testing.assert_allclose(relay.compile(relay.grad(k.function))(X)[1][0], 3 * X**2)
    assert value == pytest.approx(k(X))
    assert isinstance(relay.grad(k.function)(relay.var("x")), relay.Call)
    assert isinstance(relay.gradient(k), relay.Function)


def test_compiled_derivative_of_a_polymorphic_function() -> None:
    @relay.function
    def norm(x: "Tensor[(n,), float32]"):
        return relay.sum(x * x)

    assert str(relay.grad(norm).function.ret_type) == "(float32, (Tensor[(n,), float32],))"
    assert relay.compile(relay.grad(norm))(X[:2])[1][0].tolist() == [1, -2]
    assert relay.jvp(norm)((X,), (X,)) == (5.25, 10.5)
    built = relay.compile(relay.grad(norm.function))
    assert built(X)[1][0].tolist() == [1, -2, 4]
    assert built(X[:2])[1][0].tolist() == [1, -2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_derivatives_of_a_function_without_types_are_those_at_the_arguments(dtype: str) -> None:
    general = relay.function(lambda x: relay.sin(x) * x).function
    x = np.asarray([0.5, 2.0], dtype)
    slope = np.sin(x) + x * np.cos(x)
    for found in (
        relay.grad(general)(x)[1][0],
        relay.vjp(general)(x)[1](np.ones_like(x))[0],
        relay.jvp(general)((x,), (np.ones_like(x),))[1],
    ):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, slope, rtol=1e-6)
    assert relay.grad(general)(0.0) == (0, (0,))
    with pytest.raises(relay.RelayError, match="annotate parameters with their dtype"):
        relay.build(relay.grad(general))
    with pytest.raises(relay.RelayError, match="takes 1 argument, not 2"):
        relay.grad(general)(x, x)


def test_derivatives_of_derivatives() -> None:
    def cube(x: Any) -> Any:
        return x * x * x

    first = lambda x: relay.grad(cube)(x)[1][0]  # noqa: E731 - a function of a line
    assert relay.grad(first)(2.0) == (12, (12,))
    assert relay.jvp(first)((2.0,), (1.0,)) == (12, 12)
    inner = lambda x: relay.value_and_grad(lambda y: x * y * y, 0)(x)[1]  # noqa: E731
    assert relay.value_and_grad(inner, 0)(2.0) == (8, 8)


def test_tangents_of_a_function_of_any_number_of_arguments() -> None:
    product = lambda *xs: xs[0] * xs[1]  # noqa: E731 - a function of a line
    assert relay.jvp(product)((2.0, 3.0), (1.0, 10.0)) == (6, 23)
    slope = lambda x: relay.value_and_grad(lambda *xs: xs[0] * xs[0] * xs[0], 0)(x)[1]  # noqa: E731
    assert relay.jvp(slope)((2.0,), (1.0,)) == (12, 12)


def test_untraced_parameters_go_through_derivatives() -> None:
    def power(x: Any, n: int = 2) -> Any:
        return x**n

    assert relay.grad(power)(3.0) == (9, (6,))
    assert relay.grad(power)(3.0, n=3) == (27, (27,))
    assert relay.compile(relay.grad(power))(3.0, n=3) == (27, (27,))


def test_rule_of_a_python_function() -> None:
    calls = []

    def rule(x: Any, y: Any, g: Any) -> Any:
        calls.append(len(x.shape))
        return (g * 10.0 + y * 0.0,)

    odd = relay.custom_vjp(lambda x: relay.sin(x), rule)
    np.testing.assert_allclose(odd(X), np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(relay.grad(odd)(X)[1][0], [10, 10, 10])
    np.testing.assert_allclose(relay.grad(lambda x: odd(x * 2).sum())(X)[1][0], [20, 20, 20])
    assert calls[0] == 1


def test_rule_of_nested_arguments() -> None:
    def f(p: Any, s: Any) -> Any:
        return {"y": p["w"] * s}

    def rule(p: Any, s: Any, y: Any, g: Any) -> Any:
        return {"w": g["y"] * 7.0}, s * 0.0 + y["y"].sum()

    _, (by_p, by_s) = relay.grad(relay.custom_vjp(f, rule))({"w": X}, 2.0)
    assert by_p["w"].tolist() == [7, 7, 7]
    assert by_s == 3


def test_checkpoint_of_a_python_function() -> None:
    f = relay.checkpoint(plain)
    np.testing.assert_allclose(f(X), k(X), rtol=1e-6)
    np.testing.assert_allclose(relay.grad(f)(X)[1][0], 3 * X**2)
    assert "checkpoint" in str(relay.checkpoint(k))


def test_names_say_what_was_made() -> None:
    assert repr(relay.grad(relay.jacobian(k))) == "<relay.function grad(jacobian(k))>"
    assert repr(relay.compile(plain)) == "<compiled plain>"
    assert repr(relay.create_executor("debug", plain)) == "<Executor of <relay.function plain>>"


def test_function_without_a_derivative_is_refused() -> None:
    with pytest.raises(relay.RelayError) as error:
        relay.jacobian(relay.argwhere)(X)
    assert error.value.codes == ("jacobian-shape",)


@pytest.mark.parametrize("run", [relay.function, relay.compile])
def test_none_is_a_cotangent_of_zeros(run: Any) -> None:
    scaled = relay.custom_vjp(lambda p, x: p["a"] * x, lambda p, x, y, g: (None, relay.clip(g, -1.0, 1.0)))
    params = {"a": np.float32(2), "b": np.ones(2, "float32")}
    value, (p, x) = run(relay.grad(lambda p, x: scaled(p, x) * 5))(params, 3.0)
    assert (value, x, p["a"], p["b"].tolist()) == (30, 1, 0, [0, 0])


def test_attribute_of_one_program_is_explained() -> None:
    compiled = relay.compile(lambda x: x)
    with pytest.raises(AttributeError, match=r"f\.specialised\(…\)\.export_library"):
        _ = compiled.export_library
    with pytest.raises(AttributeError, match="no attribute `nothing`"):
        _ = compiled.nothing


@pytest.mark.parametrize(("rule", "said"), [
    (lambda x, y, g: g * x, "gives no tuple for 1 argument"),
    (lambda x, y, g: (g * x, g), "gives 2 cotangents for 1 argument"),
])  # fmt: skip
def test_a_rule_that_gives_no_tuple_of_cotangents_is_told_so(rule, said):
    with pytest.raises(relay.RelayError, match=f"the rule of `custom_vjp` {said}") as error:
        relay.grad(relay.custom_vjp(lambda x: x.sum(), rule))(X)
    assert error.value.codes == ("type-mismatch",)


def squared(p: Any, x: Any) -> Any:
    return ((x * p["w"]).sum() + p["b"]) ** 2


def test_second_derivatives_of_nested_values() -> None:
    p = {"w": X, "b": np.float32(1)}
    found = relay.hessian(squared)(p, X)
    np.testing.assert_allclose(found["w"]["w"], 2 * np.outer(X, X))
    np.testing.assert_allclose(found["b"]["w"], 2 * X)
    assert found["b"]["b"] == 2
    v = {"w": np.ones_like(X), "b": np.float32(3)}
    for run in (relay.hvp(squared), relay.compile(relay.hvp(squared))):
        product = run(p, X, v)
        np.testing.assert_allclose(product["w"], 2 * X * (X.sum() + 3))
        assert product["b"] == 2 * (X.sum() + 3)


@pytest.mark.parametrize("mode", [None, "forward", "reverse"])
def test_jacobian_of_nested_values_has_both_structures(mode: Any) -> None:
    def f(p: Any) -> Any:
        return {"y": p["w"] * p["b"], "s": [p["w"].sum()]}

    found = relay.jacobian(f, mode=mode)({"w": X, "b": np.float32(2)})
    np.testing.assert_allclose(found["y"]["w"], 2 * np.eye(3))
    np.testing.assert_allclose(found["y"]["b"], X)
    np.testing.assert_allclose(found["s"][0]["w"], [1, 1, 1])
    assert found["s"][0]["b"] == 0


def test_second_derivatives_of_annotated_functions_have_symbolic_sizes() -> None:
    @relay.function
    def f(x: "Tensor[(n,), float32]", s: "float32"):
        return (x**3).sum() * s

    assert str(relay.hessian(f).function.ret_type) == "Tensor[(n, n), float32]"
    product = relay.compile(relay.hvp(f))
    for x in (X, X[:2]):
        np.testing.assert_allclose(relay.compile(relay.hessian(f))(x, 2.0), np.diag(12 * x))
        np.testing.assert_allclose(product(x, 2.0, x), 12 * x * x)


def test_vector_of_a_product_goes_behind_the_arguments() -> None:
    total = relay.hvp(lambda *xs: (xs[0] ** 3).sum() * xs[1])
    np.testing.assert_allclose(total(X, 2.0, X), 12 * X * X)
    named = relay.hvp(lambda v, *, s, n=2: (v**3).sum() * s * n)
    np.testing.assert_allclose(named(X, X, s=2.0, n=3), 36 * X * X)
    with pytest.raises(relay.RelayError, match="takes 3 arguments, not 2"):
        relay.hvp(squared)({"w": X, "b": 1.0}, X)
    with pytest.raises(relay.RelayError, match=r"has structure \*, and the argument"):
        relay.hvp(squared)({"w": X, "b": np.float32(1)}, X, X)
    with pytest.raises(ValueError, match="argnum is from 0 to 1, not 2"):
        relay.hvp(squared, 2)


# --- several arguments, and parts that are None (values: f = x² y z by hand)


def test_jacobian_and_hessian_by_several_arguments() -> None:
    x, y = np.array([1, 2], "float32"), np.float32(3)
    by_x, by_y = relay.jacobian(lambda x, y: x * x * y, (0, -1))(x, y)
    assert (by_x.tolist(), by_y.tolist()) == ([[6, 0], [0, 12]], [1, 4])
    (nested,) = relay.jacobian(lambda p, y: [p["x"] * y], (1, 0))({"x": x}, y)
    assert (nested[0].tolist(), nested[1]["x"].tolist()) == ([1, 2], [[3, 0], [0, 3]])
    for execute in (relay.function, relay.compile):
        (yy, yx), (xy, xx) = execute(relay.hessian(lambda x, y: (x * x * y).sum(), (1, 0)))(x, y)
        assert (float(yy), yx.tolist(), xy.tolist(), xx.tolist()) == (0, [2, 4], [2, 4], [[6, 0], [0, 6]])
    f = relay.parse_expr("fn (%x: Tensor[(n,), float32], %y: float32) { %x * %y }")
    run = relay.create_executor("debug").evaluate(relay.jacobian(f, (0, 1)))
    by_x, by_y = run(x, y)
    assert (by_x.tolist(), by_y.tolist()) == ([[3, 0], [0, 3]], [1, 2])


def test_rules_give_none_for_parts_of_nested_arguments() -> None:
    x = np.array([1, 2], "float32")

    class Two(NamedTuple):
        a: Any
        b: Any

    def rule(p: Any, q: Any, y: Any, g: Any) -> Any:
        return {"a": g, "b": None}, Two(None, [None, 2 * g])

    f = relay.custom_vjp(lambda p, q: p["a"] * q.a + q.b[1], rule)
    slopes = relay.value_and_grad(lambda p, q: f(p, q).sum(), None)({"a": x, "b": (x, 1.0)}, Two(x, [x, x]))[
        1
    ]
    first, second = slopes
    assert first["a"].tolist() == [1, 1]
    assert first["b"][0].tolist() == [0, 0]
    assert first["b"][1] == 0
    assert isinstance(second, Two)
    assert (second.a.tolist(), [b.tolist() for b in second.b]) == ([0, 0], [[0, 0], [2, 2]])


def test_stop_gradient_takes_nested_values() -> None:
    x = np.array([1, 2], "float32")

    def f(p: Any) -> Any:
        still = relay.stop_gradient(p)
        return (still["a"] * p["a"] + still["b"][0]).sum()

    value, slope = relay.value_and_grad(f, 0)({"a": x, "b": [x, None]})
    assert value == 8
    assert (slope["a"].tolist(), slope["b"][0].tolist(), slope["b"][1]) == ([1, 2], [0, 0], None)
