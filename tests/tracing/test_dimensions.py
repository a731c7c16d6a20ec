"""`x.shape[0]` of symbolic size is a number: in arithmetic with traced values, in sizes, in subscripts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay

X = np.arange(12, dtype="float32").reshape(3, 4)

USES: dict[str, Callable[[Any, Any], Any]] = {
    "mean": lambda x, n: x.sum(0) / n,
    "on the left": lambda x, n: n - x * n,
    "a quotient": lambda x, n: x * (1 / n),
    "a root": lambda x, n: x / n**0.5,
    "half": lambda x, n: x * (n / 2),
    "integers": lambda x, n: (x > 1).astype("int32") * n + n,
    "a shape": lambda x, n: x.reshape((n * 2, -1)),
    "two sizes": lambda x, n: x.reshape(x.shape[1], n),
    "part of the shape": lambda x, n: x.reshape(n, 2, 2),
    "an index": lambda x, n: x[n - 1],
    "a slice": lambda x, n: x[: n - 1, 1:],
    "a slice from there": lambda x, n: x[n - 2 :],
}


def traced(python: Callable[[Any], Any], annotation: str) -> Any:
    """A function of `x`, which has a type, as a Relay function."""

    def f(x: Any) -> Any:
        return python(x)

    f.__annotations__["x"] = annotation
    return relay.function(f)


@pytest.mark.parametrize("use", USES.values(), ids=list(USES))
def test_a_size_is_a_number(use: Any) -> None:
    found = traced(lambda x: use(x, x.shape[0]), "Tensor[(n, 4), float32]")(X)
    expected = use(X, 3)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)


def test_sizes_make_tensors_in_machine_code_too() -> None:
    def sizes(x: Any) -> Any:
        n, m = x.shape
        return relay.zeros((n, 2 * m), "float32") + n, relay.one_hot(0, 1.0, 0.0, n + m), x[: n - 1] * m

    f = traced(sizes, "Tensor[(n, m), float32]")
    for run in (f, relay.compile(f)):
        zeros, hot, part = run(X)
        np.testing.assert_allclose(np.asarray(zeros), np.full((3, 8), 3.0))
        assert np.asarray(hot).tolist() == [1.0, *[0.0] * 6]
        np.testing.assert_allclose(np.asarray(part), X[:2] * 4)


def test_gradients_know_sizes() -> None:
    f = traced(lambda x: (x * x).reshape(x.shape[0] * 2, -1).sum() / x.shape[0], "Tensor[(n, 4), float32]")
    _, (gradient,) = relay.grad(f)(X)
    np.testing.assert_allclose(np.asarray(gradient), 2 * X / 3, rtol=1e-6)


def test_an_expression_takes_a_dimension_as_a_number() -> None:
    n = relay.TypeVar("n", relay.TypeKind.ShapeVar)
    x = relay.var("x", relay.TensorType((n,), "int64"))
    more: Any = n + 1
    assert str(relay.add(x, more).args[1]) == "dim_value(dim=n + 1)"
    body: Any = n * x  # type: ignore[operator]
    fn = relay.Function([x], body, None, [n])
    found = relay.create_executor("interpreter", mod=relay.IRModule.from_expr(fn)).evaluate()(np.arange(3))
    assert np.asarray(found).tolist() == [0, 3, 6]


def test_an_unknown_size_is_not_a_number() -> None:
    with pytest.raises((TypeError, relay.RelayError)):
        traced(lambda x: x / x.shape[0], "Tensor[(?,), float32]")
