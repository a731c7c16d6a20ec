"""How well a model foretells a text."""

from collections.abc import Sequence
from math import exp

import numpy as np

from relay.diagnostic import fail
from relay.models.language_model import LanguageModel


def perplexity(
    model: LanguageModel, text: str | Sequence[int], *, window: int = 512, adapter: str | None = None
) -> float:
    """The exponential of the mean surprise, in nats, of each token of a text but the first.

    The text, or its tokens, is cut into pieces of `window` tokens, each of which is read by itself; in all
    but the first, the first half is there to be read alone.  Raises `bad-argument`, `no-tokenizer`.
    """
    tokens = model.encode(text) if isinstance(text, str) else list(text)
    if len(tokens) < 2 or window < 2:
        fail("bad-argument", "perplexity is of at least two tokens, in a window of two at least")
    surprises: list[float] = []
    begin = 0
    while True:
        piece = np.asarray(tokens[begin : begin + window], "int32")
        skipped = window // 2 if begin else 0
        surprises += surprise(model.logits(piece[None], adapter)[0], piece)[max(skipped - 1, 0) :].tolist()
        if begin + window >= len(tokens):
            return exp(float(np.mean(surprises)))
        begin += window - window // 2


def surprise(logits: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Of each token but the first, the negative logarithm of its probability, by scores `(t, vocab)`."""
    x = logits[:-1].astype("float64")
    highest = x.max(axis=-1, keepdims=True)
    total = np.log(np.exp(x - highest).sum(axis=-1)) + highest[:, 0]
    return total - x[np.arange(len(x)), tokens[1:]]
