"""Attention against its formula in NumPy: masks, causal ones, groups of heads, and rows that see nothing."""

from typing import Any

import numpy as np
import pytest

from op.concrete import run

rng = np.random.default_rng(3)


def normal(*shape: int) -> Any:
    return rng.standard_normal(shape)


def attention(q: Any, k: Any, v: Any, scale: float, keep: Any = True, added: Any = 0.0) -> Any:
    """By the formula, a head of keys for each of the queries; rows that see nothing are 0."""
    scores = np.where(keep, q @ np.swapaxes(k, -1, -2) * scale + added, -np.inf)
    most = np.maximum(scores.max(-1, keepdims=True), -1e300)
    grown = np.exp(scores - most)
    total = grown.sum(-1, keepdims=True)
    return grown / np.where(total == 0, 1, total) @ v


Q, K, V = normal(2, 4, 5, 8), normal(2, 4, 7, 8), normal(2, 4, 7, 6)


def test_the_scale_is_that_of_the_size_of_a_query() -> None:
    np.testing.assert_allclose(run("nn.attention", Q, K, V), attention(Q, K, V, 8**-0.5), rtol=1e-12)
    np.testing.assert_allclose(run("nn.attention", Q, K, V, scale=0.3), attention(Q, K, V, 0.3), rtol=1e-12)
    np.testing.assert_allclose(run("nn.attention", Q, K, V, scale=1.0), attention(Q, K, V, 1.0), rtol=1e-12)


@pytest.mark.parametrize("shape", [(5, 7), (4, 5, 7), (2, 1, 1, 7), (7,)])
def test_masks_broadcast(shape: tuple[int, ...]) -> None:
    added, keep = normal(*shape), normal(*shape) > 0
    found = run("nn.attention", Q, K, V, added)
    np.testing.assert_allclose(found, attention(Q, K, V, 8**-0.5, added=added), rtol=1e-12)
    found = run("nn.attention", Q, K, V, keep)
    np.testing.assert_allclose(found, attention(Q, K, V, 8**-0.5, keep), rtol=1e-12)


def test_a_row_that_sees_nothing_is_zero() -> None:
    keep = np.arange(7) < np.asarray([0, 1, 7, 0, 3])[:, None]
    found = run("nn.attention", Q, K, V, keep)
    assert not found[:, :, [0, 3]].any()
    np.testing.assert_allclose(found, attention(Q, K, V, 8**-0.5, keep), rtol=1e-12)


def test_causal_attention_sees_the_keys_up_to_its_own_place() -> None:
    keep, mask = np.tri(5, 7, dtype=bool), normal(5, 7) > 0
    found = run("nn.attention", Q, K, V, causal=True)
    np.testing.assert_allclose(found, attention(Q, K, V, 8**-0.5, keep), rtol=1e-12)
    found = run("nn.attention", Q, K, V, mask, causal=True)
    np.testing.assert_allclose(found, attention(Q, K, V, 8**-0.5, keep & mask), rtol=1e-12)


@pytest.mark.parametrize("shape", [(5, 7), (4, 5, 7), (1, 5, 7)])
def test_heads_of_keys_serve_groups_of_queries(shape: tuple[int, ...]) -> None:
    keep = normal(*shape) > 0
    found = run("nn.attention", Q, K[:, :2], V[:, :2], keep, group_size=2)
    wanted = attention(Q, *[np.repeat(x[:, :2], 2, 1) for x in (K, V)], 8**-0.5, keep)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
