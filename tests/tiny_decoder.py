"""A language model of a page: one head of attention over a cache of what it has read, for tests."""

from typing import Any

import numpy as np

TEXT = """
type Tiny[v: Dim, d: Dim] {
  Tiny { embed: Tensor[(v, d), float32], query: Tensor[(d, d), float32], head: Tensor[(v, d), float32] },
}

def @written<b: Dim, n: Dim, d: Dim, t: Dim>(
  %cache: Tensor[(b, n, d), float32], %x: Tensor[(b, t, d), float32], %position: int32
) -> Tensor[(b, n, d), float32] {
  %cache with { [:, %position:%position + cast(t, int32)]: %x }
}

def @read_all<b: Dim, n: Dim, v: Dim, d: Dim, t: Dim>(
  %w: Tiny[v, d], %tokens: Tensor[(b, t), int32], %cache: Tensor[(b, n, d), float32], %position: int32
) -> (Tensor[(b, t, v), float32], Tensor[(b, n, d), float32]) {
  let %x = take(%w.embed, %tokens, axis=0);
  let %cache = @written(%cache, %x, %position);
  let %scores = nn.batch_matmul(%x @ %w.query, %cache);
  let %last = expand_dims(%position + arange(stop=t, dtype=int32), axis=1);
  let %seen = expand_dims(arange(stop=n, dtype=int32), axis=0) <= %last;
  let %mixed = nn.softmax(where(%seen, %scores, -1e9)) @ %cache;
  (reshape((%x + %mixed) @ transpose(%w.head, (1, 0)), newshape=(b, t, v)), %cache)
}

def @read<b: Dim, n: Dim, v: Dim, d: Dim, t: Dim>(
  %w: Tiny[v, d], %tokens: Tensor[(b, t), int32], %cache: Tensor[(b, n, d), float32], %position: int32
) -> (Tensor[(b, v), float32], Tensor[(b, n, d), float32]) {
  let (%logits, %cache) = @read_all(%w, %tokens, %cache, %position);
  (%logits[:, -1], %cache)
}
"""


def weights(seed: int, vocabulary: int = 11, width: int = 8) -> dict[str, Any]:
    """Weights that make a model whose choices depend on all that it has read."""
    random = np.random.default_rng(seed)
    shapes = {"embed": (vocabulary, width), "query": (width, width), "head": (vocabulary, width)}
    return {name: random.standard_normal(shape).astype("float32") for name, shape in shapes.items()}


def logits(w: dict[str, Any], tokens: list[int]) -> Any:
    """What the model says after tokens, in float64, without a cache."""
    x = w["embed"].astype("float64")[tokens]
    scores = x @ w["query"].astype("float64") @ x.T
    scores[np.triu_indices(len(tokens), 1)] = -np.inf
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    mixed = shares / shares.sum(axis=1, keepdims=True) @ x
    return (x + mixed) @ w["head"].astype("float64").T


def greedy(w: dict[str, Any], prompt: list[int], count: int) -> list[int]:
    """The most likely tokens after a prompt."""
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(logits(w, tokens)[-1].argmax()))
    return tokens[len(prompt) :]
