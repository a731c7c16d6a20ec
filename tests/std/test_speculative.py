"""`std/speculative`: the tokens of the model alone, exactly or by their shares, whatever is proposed."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import relay
import tiny_decoder

pytestmark = pytest.mark.long
PROGRAM = (
    """import "std/speculative"
"""
    + tiny_decoder.TEXT
    + """
def @verify_with(%w: Tiny[v, d], %x: Tensor[(1, k), int32], %c: Tensor[(1, n, d), float32], %p: int32) {
  let (%logits, %c) = @read_all(%w, %x, %c, %p);
  (%logits[0], %c)
}
def @start(%w: Tiny[v, d], %prompt: Tensor[(1, t), int32]) {
  @read(%w, %prompt, zeros(shape=(1, 60, d), dtype=float32), 0)
}
def @by_model(
  %w: Tiny[v, d], %draft: Tiny[v, e], %prompt: Tensor[(1, t), int32], %emit: fn(Tensor[(4,), int32]) -> bool
) {
  let (%logits, %cache) = @start(%w, %prompt);
  let (_, %own) = @start(%draft, %prompt);
  let %small = fn (%x: Tensor[(1, 1), int32], %c, %p: int32) { @read(%draft, %x, %c, %p) };
  let %greedy = fn (%l, %k) { (@greedy(%l), %k) };
  let %like = zeros(shape=(3, v), dtype=float32);
  let %keys = @keys_of([0]);
  let %propose = fn (%new, %n, %p, %s) { @propose_by_model(%small, %greedy, %like, %new, %n, %p, %s) };
  let %first = broadcast_to(@greedy(%logits), (4,));
  let %state = Draft { cache: %own, read: cast(t, int32), last: 0, keys: @keys_of([1]) };
  let %verify = fn (%x: Tensor[(1, 4), int32], %c, %p: int32) { @verify_with(%w, %x, %c, %p) };
  if (%emit(where(arange(stop=4, dtype=int32) == 0, %first, -1))) {
    @speculate(%verify, %propose, @accept_greedy, %emit, %first, %cache, cast(t, int32), %state, %keys).1
  } else { 0 }
}
def @by_lookup(%w: Tiny[v, d], %prompt: Tensor[(1, t), int32], %emit: fn(Tensor[(4,), int32]) -> bool) {
  let (%logits, %cache) = @start(%w, %prompt);
  let %like = zeros(shape=(3, v), dtype=float32);
  let %keys = @keys_of([0]);
  let %propose = fn (%new, %n, %p, %s) { @propose_by_lookup(2, %like, %new, %n, %p, %s) };
  let %first = broadcast_to(@greedy(%logits), (4,));
  let %room = zeros(shape=(60,), dtype=int32);
  let %state = (@append(%room, 0, %prompt[0], cast(t, int32)), cast(t, int32));
  let %verify = fn (%x: Tensor[(1, 4), int32], %c, %p: int32) { @verify_with(%w, %x, %c, %p) };
  @speculate(%verify, %propose, @accept_greedy, %emit, %first, %cache, cast(t, int32), %state, %keys).1
}
def @accepted(%p: Tensor[(k + 1, v), float32], %q: Tensor[(k, v), float32], %keys: Tensor[(n, 10), uint64]) {
  vmap(fn (%key: Tensor[(10,), uint64]) {
    let %own = fn (%i: int32) { %key with { [1]: cast(%i, uint64) } };
    let (%tokens, _) = @draw(%q, vmap(%own)(arange(stop=k, dtype=int32)));
    let (%n, %next, _) = @accept_sampled(%p, %tokens, %q, expand_dims(%key with { [2]: 1u64 }, axis=0));
    concatenate((where(arange(stop=k, dtype=int32) < %n, %tokens, -1), stack((%n, %next))))
  })(%keys)
}
"""
)


@cache
def program() -> Any:
    return relay.build(relay.parse(PROGRAM), entries=["by_model", "by_lookup"])


def collected(entry: str, *args: Any, count: int) -> tuple[list[int], list[int], int]:
    """The first tokens, how many each round gave, and the position at the end."""
    tokens: list[int] = []
    rounds: list[int] = []

    def emit(new: Any) -> bool:
        kept = [int(t) for t in new if t >= 0]
        tokens.extend(kept)
        rounds.append(len(kept))
        return len(tokens) < count

    position = program()[entry](*args, emit)
    return tokens[:count], rounds, position


@pytest.mark.parametrize("seed", range(4))
def test_greedy_tokens_are_those_of_the_model_alone(seed: int) -> None:
    w, prompt = tiny_decoder.weights(seed), [3, 1, 4, 1, 5]
    expected = tiny_decoder.greedy(w, prompt, 30)
    given = np.asarray([prompt], "int32")
    for draft in (w, tiny_decoder.weights(seed + 10, width=4)):
        tokens, rounds, position = collected("by_model", w, draft, given, count=30)
        assert tokens == expected
        assert position == len(prompt) + sum(rounds) - 1
        assert (draft is not w) or rounds[1:] == [4] * len(rounds[1:]), "its own proposals are all taken"
    tokens, rounds, _ = collected("by_lookup", w, given, count=29)
    assert tokens == expected[1:], "the first is known before"


def test_lookup_finds_what_repeats() -> None:
    w = tiny_decoder.weights(6)
    prompt = [3, 1, 4]
    prompt += tiny_decoder.greedy(w, prompt, 25)
    _, rounds, _ = collected("by_lookup", w, np.asarray([prompt], "int32"), count=20)
    assert max(rounds) > 1


def test_sampled_tokens_have_the_shares_of_the_model() -> None:
    random = np.random.default_rng(0)
    p = random.standard_normal((3, 5)).astype("float32") * 2
    q = random.random((2, 5)).astype("float32")
    q /= q.sum(axis=1, keepdims=True)
    n = 4_000
    keys = np.zeros((n, 10), "uint64")
    keys[:, 0], keys[:, 8] = np.arange(n), 1 << 63
    mod = relay.parse(PROGRAM)
    found = relay.build(mod, entries=["accepted"])["accepted"](p, q, keys)
    shares = np.exp(p - p.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    taken, following = found[:, 2], found[:, 3]
    chosen = np.where(np.arange(2) < taken[:, None], found[:, :2], -1)
    first = np.where(taken > 0, chosen[:, 0], following)
    check(first, shares[0])
    second = np.where(taken > 1, chosen[:, 1], following)[taken > 0]
    check(second, shares[1])
    check(following[taken == 2], shares[2])
    overlap = np.minimum(shares[0], q[0]).sum()
    assert abs(np.mean(taken > 0) - overlap) < 4 * np.sqrt(overlap * (1 - overlap) / n)


def check(tokens: Any, p: Any) -> None:
    """That tokens have the shares `p`, within four standard deviations."""
    n = len(tokens)
    assert n > 200
    shares = np.bincount(tokens, minlength=len(p)) / n
    assert np.all(np.abs(shares - p) < 4 * np.sqrt(p * (1 - p) / n))
