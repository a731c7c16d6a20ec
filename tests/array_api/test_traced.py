"""Functions of `relay.numpy` in traces: derivatives, machine code, nested values, branches and loops."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import relay
from relay.diagnostic import RelayError

xp = relay.numpy
X = np.array([[0.5, -1.25, 2.0], [1.5, 0.75, -0.5]])
SQUARE = X.T @ X + np.eye(3)


def derivative(f: Any, x: np.ndarray) -> np.ndarray:
    """The gradient of a scalar function by central differences."""
    found = np.zeros(x.size)
    for i in range(x.size):
        step = np.zeros(x.size)
        step[i] = 1e-6
        high, low = [float(f(xp.asarray(x + s * step.reshape(x.shape)))) for s in (1, -1)]
        found[i] = (high - low) / 2e-6
    return found.reshape(x.shape)


OTHER = np.array([[2.0, -0.5, 1.0], [0.25, 3.0, -1.5]])
WEIGHTS = np.array([1.0, -2.0, 0.5])
FUNCTIONS = {
    "arithmetic": lambda x: xp.sum((x * 2 - 1) / (xp.square(x) + 3) + x**2 - 2.0**x),
    "elements": lambda x: xp.sum(
        xp.sin(x) * xp.exp(x) + xp.atan2(x, OTHER) + xp.log1p(xp.abs(x)) + xp.tanh(x)
    ),
    "pairs": lambda x: xp.sum(xp.hypot(x, OTHER) + xp.logaddexp(x, OTHER) + xp.copysign(x, OTHER)),
    "bounds": lambda x: xp.sum(xp.clip(x, -1.0, 1.75) * xp.maximum(x, OTHER) + xp.minimum(x, OTHER)),
    "reductions": lambda x: (
        xp.std(x, correction=1) + xp.sum(xp.var(x, axis=0) * WEIGHTS) + xp.mean(x) * xp.prod(x)
    ),
    "maxima": lambda x: xp.sum(xp.max(x, axis=1)) - 2 * xp.min(x),
    "accumulated": lambda x: xp.sum(xp.cumulative_sum(x, axis=1, include_initial=True)[:, 1:] * OTHER),
    "differences": lambda x: xp.sum(xp.diff(x, n=2, append=xp.zeros_like(x)) ** 2),
    "shapes": lambda x: xp.sum(xp.roll(xp.flip(xp.permute_dims(x, (1, 0)), axis=0), 2) * OTHER.reshape(3, 2)),
    "joined": lambda x: (
        xp.sum(xp.concat([x, x * 2], axis=1)[:, ::2] ** 2) + xp.sum(xp.stack([x, OTHER]) ** 2)
    ),
    "repeated": lambda x: xp.sum(xp.tile(x, (2, 1))[:3] * xp.repeat(x, np.array([1, 2]), axis=0)),
    "taken": lambda x: xp.sum(xp.take(x, np.array([2, 0, 2]), axis=1) * OTHER) + x[0, 1] * x[-1, 0],
    "sorted": lambda x: xp.sum(xp.sort(x, axis=-1) * OTHER),
    "chosen": lambda x: xp.sum(xp.where(x > 0.6, x**2, x * OTHER)),
    "products": lambda x: (
        xp.sum((x @ xp.asarray(OTHER).T) ** 2) + xp.tensordot(x, OTHER) + xp.sum(xp.vecdot(x, OTHER))
    ),
    "masked": lambda x: xp.sum(x[x > 0] ** 3),
    "set": lambda x: xp.sum(x.at[0].set(x[1] * 2).at[:, 1].add(1.0) ** 2),
    "triangle": lambda x: xp.sum(xp.tril(x) * xp.triu(x, k=-1) * OTHER),
}
OF_MATRICES = {
    "factors": lambda x: xp.sum(xp.linalg.cholesky(x) * SQUARE) + xp.linalg.slogdet(x).logabsdet,
    "systems": lambda x: (
        xp.sum(xp.linalg.solve(x, WEIGHTS) ** 2) + xp.sum(xp.linalg.inv(x)) + xp.linalg.det(x)
    ),
    "values": lambda x: xp.sum(xp.linalg.svdvals(x) ** 3) + xp.linalg.eigvalsh((x + x.T) / 2)[0],
    "norms": lambda x: xp.linalg.matrix_norm(x) + xp.linalg.vector_norm(x, ord=3) + xp.linalg.trace(x),
    "pinv": lambda x: xp.sum(xp.linalg.pinv(x) * SQUARE) + xp.sum(xp.linalg.matrix_power(x, 3)),
    "vectors": lambda x: xp.sum(xp.linalg.cross(x, WEIGHTS) ** 2) + xp.sum(xp.linalg.outer(x[0], x[1])),
}


@pytest.mark.parametrize("name", [*FUNCTIONS, *OF_MATRICES])
def test_gradients_are_differences(name: str) -> None:
    f, x = (FUNCTIONS[name], X) if name in FUNCTIONS else (OF_MATRICES[name], SQUARE)
    value, slope = relay.value_and_grad(f, 0)(xp.asarray(x))
    assert isinstance(slope, xp.Array)
    np.testing.assert_allclose(float(value), float(f(xp.asarray(x))), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(slope), derivative(f, x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["arithmetic", "reductions", "shapes", "chosen", "taken", "products"])
def test_machine_code_agrees(name: str) -> None:
    f, x = FUNCTIONS[name], xp.asarray(X)
    np.testing.assert_allclose(float(relay.compile(f)(x)), float(f(x)), rtol=1e-12)


def test_results_are_arrays_where_they_come_from_the_namespace() -> None:
    @relay.function
    def f(x, y):
        return x * 2, xp.sin(x), y * 2, {"both": xp.add(x, y)}

    plain, sine, doubled, both = f(X, xp.asarray(X))
    assert type(plain) is np.ndarray
    assert all(type(a) is xp.Array for a in (sine, doubled, both["both"]))


def test_promotion_is_the_standards_for_arrays_and_relays_for_others() -> None:
    n = np.array([3, 4], "int32")
    half = relay.function(lambda x: x / 2 + np.float64(0.5))
    assert half(xp.asarray(n)).tolist() == [2.0, 2.5]
    assert half(xp.asarray(n)).dtype == xp.float64
    with pytest.raises(RelayError):
        half(n)


@dataclass
class Layer:
    w: Any
    b: Any


def test_gradients_have_the_structure_of_nested_values() -> None:
    def loss(layer, x):
        return xp.mean((x @ layer.w + layer.b) ** 2)

    layer = Layer(xp.ones((3, 2)), np.zeros(2, "float32"))
    slope = relay.value_and_grad(loss, 0)(layer, xp.asarray(X, dtype=xp.float32))[1]
    assert (type(slope.w), type(slope.b)) == (xp.Array, np.ndarray)
    assert slope.w.shape == (3, 2)


def test_pull_backs_and_second_derivatives_take_arrays() -> None:
    x = xp.asarray(X)
    _, back = relay.vjp(lambda x: xp.sin(x))(x)
    np.testing.assert_allclose(np.asarray(back(xp.ones_like(x))[0]), np.cos(X))
    _, t = relay.jvp(lambda x: xp.sin(x))((x,), (xp.ones_like(x),))
    assert isinstance(t, xp.Array)
    np.testing.assert_allclose(
        relay.hessian(lambda x: xp.sum(x**3))(xp.asarray([1.0, 2.0])), [[6, 0], [0, 12]]
    )


def test_branches_and_loops_carry_arrays_and_plain_values() -> None:
    def f(x):
        grown = relay.fori(0, 3, lambda i, total: total + xp.sum(x) * 2, np.float64(0))
        halved = relay.while_loop(lambda a: xp.max(a) > 1, lambda a: a / 2, x)
        chosen = relay.cond(xp.sum(x) > 0, lambda: xp.sin(x), lambda: x * 0)
        last, rows = relay.scan(lambda c, row: (c + row, xp.max(row)), xp.zeros(3, dtype=xp.float64), x)
        return grown, halved, chosen, last, rows

    grown, halved, chosen, last, rows = relay.function(f)(xp.asarray(X))
    np.testing.assert_allclose(grown, 6 * X.sum())
    np.testing.assert_allclose(np.asarray(halved), X / 2)
    np.testing.assert_allclose(np.asarray(chosen), np.sin(X))
    np.testing.assert_allclose(np.asarray(last), X.sum(0))
    np.testing.assert_allclose(np.asarray(rows), X.max(1))


def test_arrays_are_made_in_traces() -> None:
    f = relay.function(
        lambda x: xp.eye(3, dtype=xp.float64) + xp.zeros(3) + xp.arange(3) + xp.linspace(0, 1, 3) + x
    )
    expected = np.eye(3) + np.arange(3) + np.linspace(0, 1, 3) + X[0]
    np.testing.assert_allclose(np.asarray(f(X[0])), expected, rtol=1e-6)


def test_symbolic_sizes() -> None:
    @relay.function
    def centred(x: "Tensor[(n, 3), float64]"):  # noqa: F821 - a Relay type
        return xp.permute_dims(x - xp.mean(x, axis=0), (1, 0)), xp.unique_counts(xp.sign(x)).counts

    @relay.function
    def sizes(x: "Tensor[(n, 3), float64]"):  # noqa: F821 - a Relay type
        n = x.shape[0]
        mean = xp.sum(x, axis=0) / n
        assert (x * n).dtype == xp.float64
        assert (xp.astype(x, xp.float32) * n).dtype == xp.float32
        rows = xp.arange(n) + xp.arange(1, n + 1) + xp.zeros(n, dtype=xp.int64)
        return mean, xp.var(x, axis=0, correction=1), xp.roll(x, 3, axis=0), rows, xp.full((n, 2), 7)

    mean, variance, rolled, rows, sevens = sizes(X)
    np.testing.assert_allclose(np.asarray(mean), X.mean(axis=0))
    np.testing.assert_allclose(np.asarray(variance), X.var(axis=0, ddof=1))
    np.testing.assert_array_equal(np.asarray(rolled), np.roll(X, 3, axis=0))
    assert (rows.tolist(), sevens.tolist()) == ([1, 3], [[7, 7], [7, 7]])
    y, counts = centred(X)
    np.testing.assert_allclose(np.asarray(y), (X - X.mean(0)).T)
    assert counts.tolist() == [2, 4]


def test_parts_are_set_as_in_arrays_of_known_elements() -> None:
    x, i = xp.asarray(X), xp.asarray([1, 0])
    for f in (
        lambda x, i: x.at[i].set(xp.asarray([1, 2, 3])),
        lambda x, i: x.at[x > 0].add(1),
        lambda x, i: x.at[0].set(np.float32(3)),
        lambda x, i: xp.zeros(3).at[i].set(7),
        lambda x, i: x[xp.sum(x) > 0],
        lambda x, i: x.at[xp.asarray(X > 0)].set(xp.asarray(0)),
    ):
        np.testing.assert_array_equal(np.asarray(relay.function(f)(x, i)), np.asarray(f(x, i)))


def test_what_only_a_run_can_tell() -> None:
    for ask in (bool, int, float, lambda x: x.__setitem__(0, 1.0), np.asarray):
        with pytest.raises(RelayError, match="traced-control-flow"):
            relay.function(lambda x, ask=ask: ask(xp.sum(x)))(xp.asarray(X))


def test_traced_arrays_have_the_attributes_of_arrays() -> None:
    def f(x):
        assert x.__array_namespace__() is xp
        assert (x.device, x.dtype, x.shape, x.ndim, x.size) == ("cpu", xp.float64, (2, 3), 2, 6)
        assert x.to_device("cpu") is x
        return x.mT + x.T, x.sum(axis=0), x.reshape(3, 2)

    assert [r.shape for r in relay.function(f)(xp.asarray(X))] == [(3, 2), (3,), (3, 2)]
