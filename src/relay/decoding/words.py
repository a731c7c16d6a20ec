"""Tokens as text while they come, and the texts that end a request."""

import json
from collections.abc import Sequence
from typing import Any

REPLACEMENT = "\ufffd"
"""What decoders write for bytes that are not a whole character yet."""


class Words:
    """The text of tokens, as far as it is certain; ended by one of some texts, which is left out."""

    def __init__(self, tokenizer: Any, stops: Sequence[str] = ()) -> None:
        """`tokenizer` has `decode(numbers) -> str`; None for a model without texts."""
        self.tokenizer = tokenizer
        self.stops = [s for s in stops if s]
        self.tokens: list[int] = []
        self.text = ""
        """What the tokens say, without what may yet change."""
        self.given = 0
        self.is_stopped = False
        self.known = self.read = 0

    def add(self, token: int) -> str:
        """The text that has become certain with one more token."""
        self.tokens.append(token)
        if self.tokenizer is None or self.is_stopped:
            return ""
        # Decoders look at neighbours: what is new is the difference that the last tokens make.
        before = self.tokenizer.decode(self.tokens[self.known : self.read])
        now = self.tokenizer.decode(self.tokens[self.known :])
        if not now.endswith(REPLACEMENT) and len(now) > len(before):
            self.text += now[len(before) :]
            self.known, self.read = self.read, len(self.tokens)
        return self.certain()

    def certain(self, is_last: bool = False) -> str:
        """The text that is certain and was not given before: none that may begin a text that ends it."""
        begin = max(0, self.given - max(map(len, self.stops), default=0))
        places = [self.text.find(s, begin) for s in self.stops]
        if any(p >= 0 for p in places):
            self.is_stopped = True
            self.text = self.text[: min(p for p in places if p >= 0)]
        end = len(self.text)
        if not self.is_stopped and not is_last:
            end -= max([held(self.text, s) for s in self.stops], default=0)
        new = self.text[self.given : end]
        self.given = max(self.given, end)
        return new

    def rest(self) -> str:
        """The text that is left when no more tokens come."""
        if self.tokenizer is not None and not self.is_stopped and self.read < len(self.tokens):
            before = self.tokenizer.decode(self.tokens[self.known : self.read])
            self.text += self.tokenizer.decode(self.tokens[self.known :])[len(before) :]
            self.read = len(self.tokens)
        return self.certain(is_last=True)


def held(text: str, stop: str) -> int:
    """How many characters at the end of a text may begin another."""
    return next((n for n in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:n])), 0)


def byte_letters() -> dict[str, int]:
    """The byte of each letter by which tokenizers write bytes.  Source: Radford et al., 2019 (GPT-2)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(others)}


def bytes_of_tokens(tokenizer: Any, size: int) -> list[bytes | None]:
    """The bytes of each of `size` tokens, None for one that is not text.

    `tokenizer` is one of the library `tokenizers`, has one `inside`, or has `token_bytes(number)`.
    """
    if hasattr(tokenizer, "token_bytes"):
        return [tokenizer.token_bytes(i) for i in range(size)]
    inner = getattr(tokenizer, "inside", tokenizer)
    said = json.loads(inner.to_str())
    special = {t["id"] for t in said.get("added_tokens", ()) if t["special"]}
    is_by_bytes = "ByteLevel" in json.dumps([said.get("decoder"), said.get("pre_tokenizer")])
    letters = byte_letters() if is_by_bytes else {}
    found: list[bytes | None] = []
    for i in range(size):
        token = None if i in special else inner.id_to_token(i)
        found.append(None if token is None else spelled(token, letters))
    return found


def spelled(token: str, letters: dict[str, int]) -> bytes:
    """The bytes of a token as tokenizers write it: by letters for bytes, or with `▁` for a space."""
    if letters and all(c in letters for c in token):
        return bytes([letters[c] for c in token])
    if not letters and len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        return bytes([int(token[3:5], 16)])
    return token.replace("\u2581", " ").encode()
