"""Constraints by context-free grammars: llguidance says which tokens may follow, and the loop applies it."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from relay.decoding.constraint import EXTRA
from relay.diagnostic import fail

Array = np.ndarray[Any, Any]
Mask = Callable[[Array, Any], Array]


class Vocabulary:
    """The tokens of a model as llguidance reads them."""

    def __init__(
        self, tokens: Sequence[bytes | None], end: int, encode: Callable[[str], Sequence[int]]
    ) -> None:
        """`tokens` are the bytes of each, None for one that is not text; `end` is what ends a text."""
        self.tokens = [b"\xff<%d>" % i if t is None else t for i, t in enumerate(tokens)]
        self.special_token_ids = [i for i, t in enumerate(tokens) if t is None]
        self.eos_token_id = end
        self.bos_token_id = None
        self.encode = encode

    def __call__(self, text: str) -> list[int]:
        """The tokens of a text."""
        return list(self.encode(text))


def of_grammar(text: str, vocabulary: Vocabulary, rows: int) -> tuple[Array, Mask]:
    """The tokens that may come first, `(rows, vocabulary)` of bool, and the function from the tokens that
    were chosen, of which -1 changes nothing, and that to those that may come next.

    The grammar is written as Lark writes it.  Raises `bad-constraint`, `cannot-read`.
    """
    try:
        kinds: Any = import_module("llguidance")
        bits: Any = import_module("llguidance.numpy")
    except ImportError:
        fail("cannot-read", "grammars need the package llguidance", hint=EXTRA)
    tokenizer = kinds.LLTokenizer(kinds.TokenizerWrapper(vocabulary))
    matchers = [kinds.LLMatcher(tokenizer, kinds.LLMatcher.grammar_from_lark(text)) for _ in range(rows)]
    if matchers[0].is_error():
        lines = str(matchers[0].get_error()).strip().splitlines()
        fail(
            "bad-constraint",
            f"the grammar cannot be read: {lines[0]}",
            hint="it is written as Lark writes them",
        )
    size = len(vocabulary.tokens)
    words: Any = bits.allocate_token_bitmask(1, size)

    def allowed(matcher: Any) -> Array:
        bits.fill_next_token_bitmask(matcher, words)
        return np.unpackbits(words.view("uint8"), bitorder="little")[:size].astype(bool)

    def follow(tokens: Array, before: Any) -> Array:
        mask = np.array(before, dtype=bool)
        for i, token in enumerate(tokens.tolist()):
            if token >= 0 and matchers[i].consume_token(token):
                mask[i] = allowed(matchers[i])
        return mask

    return np.stack([allowed(m) for m in matchers]), follow
