"""`std/sampling`: each processor against NumPy in float64, with ties and `-inf`; draws by their shares."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import relay

Logits = np.ndarray[Any, Any]
PROGRAM = """import "std/sampling"
def @kept_k(%x: Tensor[(b, v), float32], %k: int32) { @top_k(%x, %k) }
def @kept_p(%x: Tensor[(b, v), float32], %p: float32) { @top_p(%x, %p) }
def @kept_min(%x: Tensor[(b, v), float32], %p: float32) { @min_p(%x, %p) }
def @kept_typical(%x: Tensor[(b, v), float32], %p: float32) { @typical(%x, %p) }
def @rarer(%x: Tensor[(b, v), float32], %seen: Tensor[(b, v), bool], %p: float32) {
  @repetition_penalty(%x, %seen, %p)
}
def @fresh(%x: Tensor[(b, v), float32], %n: Tensor[(b, v), int32], %p: float32, %f: float32) {
  @count_penalty(%x, %n, %p, %f)
}
def @sampled(%x: Tensor[(b, v), float32], %k: Tensor[(b, 10), uint64]) { @sample(%x, %k) }
def @keys(%seeds: Tensor[(b,), uint64]) { @keys_of(%seeds) }
"""
ENTRIES = ["kept_k", "kept_p", "kept_min", "kept_typical", "rarer", "fresh", "sampled", "keys"]


@cache
def program() -> Any:
    return relay.build(relay.parse(PROGRAM), entries=ENTRIES)


def some(seed: int) -> Logits:
    """Four rows: numbers, numbers with ties, with `-inf`, and all alike."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((4, 37)) * 3
    x[1] = np.round(x[1])
    x[2, random.permutation(37)[:30]] = -np.inf
    x[3] = 1.5
    return x.astype("float32")


def softmax(x: Logits) -> Logits:
    e = np.exp(np.asarray(x, "float64") - np.max(x))
    return e / e.sum()


def by_row(x: Logits, rule: Callable[[Logits], Logits]) -> Logits:
    """Rows without the tokens that a rule leaves out."""
    return np.stack([np.where(rule(row), row, -np.inf) for row in x]).astype("float32")


def nucleus(row: Logits, p: float) -> Logits:
    """The most likely tokens that together have `p`, and those that are alike the last of them."""
    order = np.argsort(-row, kind="stable")
    sums = np.cumsum(softmax(row)[order])
    count = min(int(np.searchsorted(sums, p)) + 1, len(row))
    return row >= row[order[count - 1]]


def locally_typical(row: Logits, mass: float) -> Logits:
    p = softmax(row)
    surprise = -np.log(p, where=p > 0, out=np.full_like(p, -np.inf))
    away = np.abs(surprise - np.sum(p[p > 0] * surprise[p > 0]))
    order = np.argsort(away, kind="stable")
    last = min(int(np.sum(np.cumsum(p[order]) < mass)), len(row) - 1)
    return away <= away[order[last]] + 1e-6


@pytest.mark.parametrize("k", [-1, 0, 1, 5, 36, 37, 90])
def test_top_k(k: int) -> None:
    x = some(k + 1)
    expected = x if k < 1 else by_row(x, lambda row: row >= np.sort(row)[::-1][min(k, len(row)) - 1])
    np.testing.assert_array_equal(program()["kept_k"](x, k), expected)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.55, 0.9, 0.999, 1.0])
def test_top_p(p: float) -> None:
    x = some(1)
    expected = x if p >= 1 else by_row(x, lambda row: nucleus(row, p))
    np.testing.assert_array_equal(program()["kept_p"](x, p), expected)


@pytest.mark.parametrize("p", [0.0, 0.05, 0.5, 1.0])
def test_min_p(p: float) -> None:
    x = some(2)
    expected = by_row(x, lambda row: softmax(row) >= p * softmax(row).max() * (1 - 1e-6))
    np.testing.assert_array_equal(program()["kept_min"](x, p), expected)


@pytest.mark.parametrize("mass", [0.05, 0.4, 0.95])
def test_typical(mass: float) -> None:
    x = some(3)
    np.testing.assert_array_equal(
        program()["kept_typical"](x, mass), by_row(x, lambda row: locally_typical(row, mass))
    )


def test_penalties() -> None:
    x = some(4)
    counts = np.random.default_rng(4).integers(0, 3, x.shape).astype("int32")
    wide = x.astype("float64")
    rarer = np.where(counts > 0, np.where(x < 0, wide * 1.3, wide / 1.3), wide)
    np.testing.assert_allclose(program()["rarer"](x, counts > 0, 1.3), rarer, rtol=1e-6)
    fresh = wide - 0.2 * counts - 0.7 * (counts > 0)
    np.testing.assert_allclose(program()["fresh"](x, counts, 0.7, 0.2), fresh, rtol=1e-6, atol=1e-6)


def test_keys_are_those_of_seeds_and_a_row_draws_alone() -> None:
    seeds = np.asarray([0, 7, 2**64 - 1], "uint64")
    keys = program()["keys"](seeds)
    for key, seed in zip(keys, seeds.tolist(), strict=True):
        np.testing.assert_array_equal(key, relay.random.threefry_key(seed).data)
    x = some(5)[:3]
    tokens, after = program()["sampled"](x, keys)
    for i in range(3):
        token, key = program()["sampled"](x[i : i + 1], keys[i : i + 1])
        assert token[0] == tokens[i]
        np.testing.assert_array_equal(key[0], after[i])
    found = relay.run(relay.infer(relay.parse(PROGRAM)), "sampled", [x, keys])
    np.testing.assert_array_equal(found[0], tokens)
    np.testing.assert_array_equal(found[1], after)


def test_draws_have_their_shares() -> None:
    x = np.asarray([0.5, -1.0, 2.0, -np.inf, 1.0], "float32")
    n = 20_000
    keys = program()["keys"](np.arange(n, dtype="uint64"))
    tokens, _ = program()["sampled"](np.broadcast_to(x, (n, 5)).copy(), keys)
    shares, p = np.bincount(tokens, minlength=5) / n, softmax(x)
    assert shares[3] == 0
    assert np.all(np.abs(shares - p) < 4 * np.sqrt(p * (1 - p) / n) + 1e-9)


def test_no_draw_is_of_a_token_without_a_chance() -> None:
    x = np.full((50, 9), -np.inf, "float32")
    places = np.arange(50) % 9
    x[np.arange(50), places] = -80.0
    np.testing.assert_array_equal(
        program()["sampled"](x, program()["keys"](np.arange(50, dtype="uint64")))[0], places
    )


@pytest.mark.torch
def test_processors_are_those_of_transformers() -> None:
    torch = pytest.importorskip("torch")
    warpers = pytest.importorskip("transformers.generation.logits_process")
    random = np.random.default_rng(8)
    for _ in range(20):
        x = (random.standard_normal((3, 300)) * 3).astype("float32")
        x[1, random.permutation(300)[:200]] = -np.inf
        ids = random.integers(0, 300, (3, 12))
        seen = np.zeros(x.shape, bool)
        np.put_along_axis(seen, ids, True, 1)
        k, p, penalty = int(random.integers(1, 300)), float(random.random()), float(random.random() + 0.5)
        for warper, found in (
            (warpers.TopKLogitsWarper(k), program()["kept_k"](x, k)),
            (warpers.TopPLogitsWarper(p), program()["kept_p"](x, p)),
            (warpers.MinPLogitsWarper(p), program()["kept_min"](x, p)),
            (warpers.TypicalLogitsWarper(p), program()["kept_typical"](x, p)),
            (warpers.RepetitionPenaltyLogitsProcessor(penalty), program()["rarer"](x, seen, penalty)),
        ):
            expected = warper(torch.from_numpy(ids), torch.from_numpy(x.copy())).numpy()
            np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=type(warper).__name__)
