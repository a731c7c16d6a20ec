"""First values of weights: their distributions, and that a key decides them."""

from math import erf, sqrt
from typing import Any

import numpy as np
import pytest

import relay
from relay import training

LAYER = (300, 40, 3, 3)
INTO, OUT = 40 * 9, 300 * 9
EVEN = {
    "xavier_uniform": sqrt(6 / (INTO + OUT)),
    "kaiming_uniform": sqrt(6 / INTO),
}
NORMAL = {
    "xavier_normal": sqrt(2 / (INTO + OUT)),
    "kaiming_normal": sqrt(2 / INTO),
    "normal": 1.0,
}


def is_from(values: Any, distribution: Any) -> bool:
    """Whether values have a distribution function, by the greatest distance (Kolmogorov, 1933)."""
    x = np.sort(np.asarray(values, "float64").ravel())
    wanted = np.vectorize(distribution)(x)
    return np.abs(np.arange(1, len(x) + 1) / len(x) - wanted).max() < 2 / sqrt(len(x))


@pytest.mark.parametrize("name", EVEN)
def test_even_values_fill_their_limits(name: str) -> None:
    values, bound = getattr(training, name)(1, LAYER), EVEN[name]
    assert values.shape == LAYER
    assert values.dtype == np.float32
    assert is_from(values, lambda x: (x + bound) / (2 * bound))


@pytest.mark.parametrize("name", NORMAL)
def test_normal_values_have_their_scale(name: str) -> None:
    values, scale = getattr(training, name)(2, LAYER), NORMAL[name]
    assert is_from(values, lambda x: (1 + erf(x / scale / sqrt(2))) / 2)


def test_gains_and_the_backward_direction() -> None:
    forward = training.kaiming_normal(3, LAYER)
    np.testing.assert_allclose(training.kaiming_normal(3, LAYER, gain=1.0), forward / sqrt(2), rtol=1e-6)
    np.testing.assert_allclose(
        training.kaiming_normal(3, LAYER, backward=True), forward * sqrt(INTO / OUT), rtol=1e-6
    )
    np.testing.assert_allclose(
        training.xavier_uniform(3, LAYER, 2.0), 2 * training.xavier_uniform(3, LAYER), atol=1e-7
    )


@pytest.mark.parametrize("limit", [0.5, 2.0, 3.5])
def test_a_truncated_normal_is_one_within_its_limits(limit: float) -> None:
    values = training.truncated_normal(4, (200, 200), 1.0, 0.5, limit=limit)
    assert np.abs(values - 1.0).max() <= 0.5 * limit + 1e-6

    def distribution(x: float) -> float:
        return (erf((x - 1.0) / 0.5 / sqrt(2)) + erf(limit / sqrt(2))) / (2 * erf(limit / sqrt(2)))

    assert is_from(values, distribution)


def test_one_key_gives_the_same_values_everywhere() -> None:
    key = training.split(7, 3)[1]
    want = training.xavier_uniform(key, (4, 5))
    np.testing.assert_array_equal(training.xavier_uniform(key, (4, 5)), want)
    assert (training.xavier_uniform(training.split(7, 3)[2], (4, 5)) != want).all()
    k = relay.var("key", shape=(10,), dtype="uint64")
    made = relay.Function([k], training.xavier_uniform(k, (4, 5)))
    for backend in ("debug", "native"):
        np.testing.assert_array_equal(relay.create_executor(backend).evaluate(made)(key), want)
    traced = relay.function(lambda k: training.truncated_normal(k, (4, 5)))
    np.testing.assert_array_equal(traced(key), training.truncated_normal(key, (4, 5)))


def test_keys_of_a_split_are_those_of_the_operator() -> None:
    first, second = training.split(5, 2)
    rest = relay.random.threefry_key(5)
    run = relay.create_executor("debug")
    left, right = run.evaluate(relay.random.threefry_split(rest))
    np.testing.assert_array_equal(first, left)
    np.testing.assert_array_equal(second, run.evaluate(relay.random.threefry_split(relay.const(right)))[0])


def test_traced_keys_split_as_known_ones_do() -> None:
    key, seed = training.split(3, 2)[1], np.int32(3)
    assert training.split(key, 0).shape == (0, 10)
    keys = training.split(key, 5)
    assert keys.shape == (5, 10)
    for make in (relay.function, relay.compile):
        np.testing.assert_array_equal(make(lambda k: training.split(k, 5))(key), keys)
    np.testing.assert_array_equal(relay.function(lambda s: training.split(s, 5))(seed), training.split(3, 5))
    rows = relay.vmap(lambda k: training.split(k, 3))(keys)
    np.testing.assert_array_equal(rows, np.stack([training.split(k, 3) for k in keys]))
    k = relay.var("key", shape=(10,), dtype="uint64")
    made = relay.Function([k], training.split(k, 5))
    np.testing.assert_array_equal(relay.create_executor("debug").evaluate(made)(key), keys)


DRAWS = {
    "uniform": lambda k: training.uniform(k, (2, 3), -1.0, 1.0),
    "normal": lambda k: training.normal(k, (2, 3)),
    "truncated_normal": lambda k: training.truncated_normal(k, (2, 3)),
    "xavier_uniform": lambda k: training.xavier_uniform(k, (2, 3)),
    "xavier_normal": lambda k: training.xavier_normal(k, (2, 3)),
    "kaiming_uniform": lambda k: training.kaiming_uniform(k, (2, 3)),
    "kaiming_normal": lambda k: training.kaiming_normal(k, (2, 3)),
    "orthogonal": lambda k: training.orthogonal(k, (2, 3)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_keys_and_seeds_may_be_traced_and_rows_of_a_batch(name: str) -> None:
    draw, keys = DRAWS[name], training.split(3, 2)
    wanted = np.stack([draw(k) for k in keys])
    np.testing.assert_allclose(relay.vmap(draw)(keys), wanted, rtol=1e-5)
    np.testing.assert_allclose(relay.function(draw)(np.int64(7)), draw(7), rtol=1e-5)
    np.testing.assert_allclose(relay.vmap(draw)(np.array([7, 8], "int32"))[1], draw(8), rtol=1e-5)


def test_operators_take_traced_seeds() -> None:
    x, seed = np.ones(8, "float32"), np.uint32(5)
    key = relay.random.threefry_key(5).value
    np.testing.assert_array_equal(relay.function(relay.random.threefry_key)(seed), key)
    for draw in (
        lambda k: relay.random.uniform(k, (3,))[1],
        lambda k: relay.random.threefry_generate(k, (3,))[1],
        lambda k: relay.random.threefry_split(k)[0],
        lambda k: relay.random.multinomial(k, np.ones(4, "float32"), num_samples=3)[1],
        lambda k: relay.nn.dropout(x, k, rate=0.5),
    ):
        np.testing.assert_array_equal(relay.function(draw)(seed), relay.function(draw)(key))


def test_other_dtypes() -> None:
    assert training.kaiming_uniform(1, (3, 4), dtype="float64").dtype == np.float64
    assert training.truncated_normal(1, (3, 4), dtype="float16").dtype == np.float16


@pytest.mark.parametrize(
    "make",
    [
        lambda: training.xavier_normal(1, (3,)),
        lambda: training.kaiming_uniform(1, (0, 3)),
        lambda: training.truncated_normal(1, (3,), limit=0.0),
        lambda: training.normal(-1, (3,)),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any) -> None:
    with pytest.raises(relay.RelayError, match="attribute-value"):
        make()


@pytest.mark.parametrize("backend", ["debug", "native"])
def test_embedding_takes_rows_and_gives_padding_no_gradient(backend: str) -> None:
    mod = relay.parse("""
    def @loss(%i: Tensor[(a, b), int32], %w: Tensor[(n, d), float32]) -> float32 {
      let %rows = nn.embedding(%i, %w, padding_idx=1);
      sum(%rows * %rows)
    }
    def @main(%i: Tensor[(a, b), int32], %w: Tensor[(n, d), float32]) { grad(@loss)(%i, %w) }
    """)
    run = relay.create_executor(backend, mod=mod).evaluate()
    w = np.arange(1, 9, dtype="float32").reshape(4, 2)
    i = np.asarray([[0, 1], [2, 0]], "int32")
    value, (_, slope) = run(i, w)
    assert value == (w[i] ** 2).sum()
    np.testing.assert_array_equal(slope, [[4, 8], [0, 0], [10, 12], [0, 0]])
    with pytest.raises(relay.RelayError, match="index-out-of-range"):
        run(np.asarray([[4]], "int32"), w)


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (5, 5), (8, 2, 2, 3)])
def test_orthogonal_layers_keep_lengths(shape: tuple[int, ...]) -> None:
    for dtype, tolerance in (("float32", 1e-5), ("float64", 1e-12)):
        w = training.orthogonal(3, shape, gain=2.0, dtype=dtype)
        assert (w.shape, w.dtype) == (shape, dtype)
        m = w.reshape(shape[0], -1)
        product = m @ m.T if m.shape[0] <= m.shape[1] else m.T @ m
        np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=tolerance)


def test_orthogonal_layers_are_evenly_distributed() -> None:
    """Each element has the distribution of a coordinate on the circle, and both determinants occur."""
    found = np.array([training.orthogonal(k, (2, 2)) for k in training.split(0, 100)])
    assert is_from(found[:, 0, 0], lambda x: 1 - np.arccos(np.clip(x, -1, 1)) / np.pi)
    assert 20 < (np.linalg.det(found) > 0).sum() < 80


def test_orthogonal_layer_of_a_traced_key() -> None:
    key = relay.random.threefry_key(5).value
    traced = relay.function(lambda k: training.orthogonal(k, (3, 4)))(key)
    np.testing.assert_array_equal(traced, training.orthogonal(key, (3, 4)))
    assert str(training.orthogonal(key, (3, 4), dtype="bfloat16").dtype) == "bfloat16"
