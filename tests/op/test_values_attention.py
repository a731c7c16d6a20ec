"""Attention against its formula in NumPy: masks, causal ones, groups of heads, and rows that see nothing."""

from typing import Any

import numpy as np
import pytest

import relay
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


def test_rows_of_scores_that_are_all_minus_infinity_are_zero() -> None:
    """Values: PyTorch 2.13, `scaled_dot_product_attention(q, k, v, mask)`."""
    q, k, v = [[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]
    mask = [[-np.inf, -np.inf], [0.0, -1.0]]
    operands = [np.asarray(x, "float32") for x in (q, k, v, mask)]
    found = run("nn.attention", *operands)
    np.testing.assert_allclose(found, [[0, 0], [2.2041957, 3.2041955]], rtol=1e-6)
    assert np.isnan(run("nn.attention", *operands, masked_rows="nan")[0]).all()
    none = [np.ones(s, "float32") for s in ((3, 2), (0, 2), (0, 2))]
    np.testing.assert_array_equal(run("nn.attention", *none), np.zeros((3, 2)))


GRADIENTS = {
    "bool": "nn.attention(%q, %k, %v, %mask > -1f)",
    "float32": "nn.attention(%q, %k, %v, %mask)",
    "both": "nn.attention(%q, %k, %v, %mask, causal=True)",
}


@pytest.mark.parametrize("executor", ["debug", "native"])
@pytest.mark.parametrize("kind", GRADIENTS)
def test_rows_that_see_nothing_contribute_nothing_to_gradients(kind: str, executor: str) -> None:
    """The derivatives are those of the program without these rows, and 0 for their queries."""
    params = "%q: Tensor[(r, 3), float32], %k: Tensor[(4, 3), float32], %v: Tensor[(4, 2), float32]"
    text = f"def @f({params}, %mask: Tensor[(r, 4), float32]) {{ sum(sin({GRADIENTS[kind]})) }}"
    text += f" def @main({params}, %mask: Tensor[(r, 4), float32]) {{ grad(@f)(%q, %k, %v, %mask) }}"
    gradients = relay.create_executor(executor, relay.parse(text)).evaluate()
    q, k, v = (normal(*s).astype("float32") for s in ((4, 3), (4, 3), (4, 2)))
    mask = np.zeros((4, 4), "float32")
    mask[3] = mask[0, 1:] = -np.inf
    y, by_all = gradients(q, k, v, mask)
    z, by_seen = gradients(q[:3], k, v, mask[:3])
    np.testing.assert_allclose(y, z, rtol=1e-6)
    assert not by_all[0][3].any()
    assert not by_all[3][3].any()
    for a, b in zip(by_all, by_seen, strict=True):
        np.testing.assert_allclose(a[: len(b)], b, rtol=1e-5, atol=1e-7)
