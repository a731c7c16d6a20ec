"""Sessions: the cache of a model, and the tokens that are in it."""

import json
import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np

from relay.diagnostic import fail
from relay.interpreter.value import ConstructorValue

Array = np.ndarray[Any, Any]
FORMAT = 1
STEP = 64
"""Caches have room for a multiple of so many tokens."""


class Session:
    """The cache of a model for some rows, and the tokens that each row has in it.

    What a later prompt has in common with them is not read again.  Rolling back is to forget tokens: places
    behind the position are written before they are read.
    """

    def __init__(self, model: Any, rows: int = 1, length: int = 0) -> None:
        """`length` is the number of tokens to have room for at first; more is made when it is needed.

        Raises `option-value`.
        """
        if rows < 1:
            fail("option-value", f"`rows` cannot be {rows}", hint="it is at least 1")
        self.model, self.rows, self.length = model, rows, rounded(length)
        self.cache = model.cache(rows, self.length)
        self.tokens: list[list[int]] = [[] for _ in range(rows)]
        self.lock = threading.Lock()

    def reserve(self, length: int) -> None:
        """Have room for so many tokens, and keep those that are there."""
        if length <= self.length:
            return
        length = rounded(max(length, min(2 * self.length, length + 4096)))
        larger = self.model.cache(self.rows, length)
        for new, old in zip(arrays(larger), arrays(self.cache), strict=True):
            if new.shape != old.shape:
                new[:, : old.shape[1]] = old
            else:
                new[...] = old
        self.cache, self.length = larger, length

    def common(self, prompts: Sequence[Sequence[int]]) -> int:
        """How many tokens all rows have in common with their prompts, less than any prompt has."""
        found = min([len(p) for p in prompts]) - 1
        for own, prompt in zip(self.tokens, prompts, strict=True):
            same = 0
            while same < min(len(own), found) and own[same] == prompt[same]:
                same += 1
            found = min(found, same)
        return max(found, 0)

    def roll_back(self, count: int = 0) -> None:
        """Forget all but the first `count` tokens of each row."""
        self.tokens = [t[:count] for t in self.tokens]

    def save(self, path: str | Path) -> None:
        """Write the tokens and what the cache has of them to a .safetensors file (`cannot-write`)."""
        library: Any = import_module("safetensors.numpy")
        used = max(map(len, self.tokens))
        tensors = {str(i): np.ascontiguousarray(x[:, :used]) for i, x in enumerate(arrays(self.cache))}
        said = {"format": str(FORMAT), "tokens": json.dumps(self.tokens), "model": repr(self.model)}
        try:
            library.save_file(tensors, str(path), said)
        except OSError as error:
            fail("cannot-write", f"`{path}` cannot be written: {error.strerror or error}")

    @classmethod
    def load(cls, model: Any, path: str | Path) -> "Session":
        """A session from a file that `save` has written (`cannot-read`, `bad-session`)."""
        library: Any = import_module("safetensors")
        said: dict[str, str]
        found: dict[str, Array]
        try:
            with library.safe_open(str(path), "numpy") as file:
                said = file.metadata() or {}
                found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except OSError as error:
            fail("cannot-read", f"`{path}` cannot be read: {error.strerror or error}")
        except library.SafetensorError as error:
            fail("bad-session", f"`{path}` is damaged: {error}")
        if said.get("format") != str(FORMAT) or said.get("model") != repr(model):
            hint = "a cache is of use to the model that made it"
            fail("bad-session", f"`{path}` is not a saved session of {model!r}", hint=hint)
        tokens = tokens_in(said.get("tokens", ""))
        if not tokens:
            fail("bad-session", f"`{path}` is damaged: it does not say which tokens it has")
        used = max(map(len, tokens))
        made = cls(model, len(tokens), used)
        own = list(arrays(made.cache))
        if found.keys() != {str(i) for i in range(len(own))} or any(
            found[str(i)].shape != x[:, :used].shape or found[str(i)].dtype != x.dtype
            for i, x in enumerate(own)
        ):
            fail("bad-session", f"`{path}` has a cache of another shape than the model's")
        for i, x in enumerate(own):
            x[:, :used] = found[str(i)]
        made.tokens = tokens
        return made


def tokens_in(text: str) -> list[list[int]]:
    """The tokens of each row that a text of JSON has; none if it has something else."""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return []
    rows = cast("list[Any]", found) if isinstance(found, list) else []
    is_good = all(isinstance(r, list) and all(type(t) is int for t in cast("list[Any]", r)) for r in rows)
    return rows if is_good else []


def rounded(length: int) -> int:
    """A number of tokens to have room for."""
    return max(STEP, -(-length // STEP) * STEP)


def arrays(root: Any) -> Iterator[Array]:
    """The arrays in a nested value, in order."""
    pending = [root]
    while pending:
        x = pending.pop()
        if isinstance(x, ConstructorValue):
            pending += reversed(x.fields)
        elif isinstance(x, list | tuple):
            pending += reversed(cast("list[Any]", x))
        elif isinstance(x, np.ndarray):
            yield x
