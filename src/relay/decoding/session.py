"""Sessions: the cache of a model, and the tokens that are in it."""

import json
import threading
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np

from relay.decoding.pool import Pool
from relay.decoding.stores import Own, Paged
from relay.diagnostic import fail

Array = np.ndarray[Any, Any]
FORMAT = 2


class Session:
    """The cache of a model for some rows, and the tokens that each row has in it.

    What a later prompt has in common with them is not read again.  Rolling back is to forget tokens: places
    behind the position are written before they are read.  Of a ring only its last 16 tokens can be taken
    back, and of states none: what has to go further back begins anew.
    """

    def __init__(self, model: Any, rows: int = 1, length: int = 0, *, pool: Pool | None = None) -> None:
        """`length` is the number of tokens to have room for at first; more is made when it is needed.  A
        model whose cache has pages takes them from a `pool`, or else from one of the session's own
        (`option-value`).
        """
        if rows < 1:
            fail("option-value", f"`rows` cannot be {rows}", hint="it is at least 1")
        self.model, self.rows = model, rows
        if model.memory.kind == "paged":
            pool = Pool(model) if pool is None else pool
            if pool.model is not model:
                fail("option-value", "the pool is of another model", hint="make `Pool(model)` of this one")
            self.store = Paged(rows, pool)
        elif pool is not None:
            hint = 'say `relay.models.load(path, cache="paged")`'
            fail("option-value", "a pool is for a model whose cache has pages", hint=hint)
        else:
            self.store = Own(model, rows, length)
        self.tokens: list[list[int]] = [[] for _ in range(rows)]
        self.written = [0] * rows
        """How many places of each row have been written to."""
        self.lock: Any = threading.Lock() if pool is None else pool.lock

    @property
    def cache(self) -> Any:
        """The cache as the program takes it."""
        return self.store.value

    def begin(self, prompts: Sequence[Sequence[int]]) -> list[int]:
        """How many tokens of each prompt, less than all, the cache has; the others are forgotten."""
        found: list[int] = []
        for row, (own, prompt) in enumerate(zip(self.tokens, prompts, strict=True)):
            most = min(len(own), len(prompt) - 1)
            same = next((i for i in range(most) if own[i] != prompt[i]), most)
            same = max(self.shortened(row, same), self.store.shared(row, prompt))
            self.tokens[row] = list(prompt[:same])
            found.append(same)
        self.store.forget(found)
        return found

    def shortened(self, row: int, count: int) -> int:
        """Forget all but the first `count` tokens of a row; or all, if what they need is lost."""
        memory = self.model.memory
        if count == 0 or not memory.keeps(self.model.windows, self.written[row], count):
            self.tokens[row], self.written[row] = [], 0
            self.store.clear(row)
            return 0
        self.tokens[row] = self.tokens[row][:count]
        return count

    def finish(self, cache: Any, tokens: Sequence[list[int]], ends: Sequence[int]) -> None:
        """Take the cache after tokens, each row of which was written to up to `ends`."""
        self.store.value = cache
        self.tokens = list(tokens)
        self.written = [max(a, b) for a, b in zip(self.written, ends, strict=True)]
        self.store.forget([len(t) for t in self.tokens])
        self.store.note(self.tokens)

    def abandon(self) -> None:
        """Forget what a program that was interrupted may have overwritten."""
        if self.model.memory.overwrites:
            self.roll_back()

    def roll_back(self, count: int = 0) -> None:
        """Forget all but the first `count` tokens of each row; of a ring or states that have lost what those
        need, all.
        """
        self.store.forget([self.shortened(row, min(count, len(t))) for row, t in enumerate(self.tokens)])

    def save(self, path: str | Path) -> None:
        """Write the tokens and what the cache has of them to a .safetensors file (`cannot-write`)."""
        library: Any = import_module("safetensors.numpy")
        used = max(map(len, self.tokens))
        tensors = {str(i): np.ascontiguousarray(x) for i, x in enumerate(self.store.saved(used))}
        said = {
            "format": str(FORMAT), "tokens": json.dumps(self.tokens), "written": json.dumps(self.written),
            "model": repr(self.model),
        }  # fmt: skip
        try:
            library.save_file(tensors, str(path), said)
        except OSError as error:
            fail("cannot-write", f"`{path}` cannot be written: {error.strerror or error}")

    @classmethod
    def load(cls, model: Any, path: str | Path, *, pool: Pool | None = None) -> "Session":
        """A session from a file that `save` has written, in a `pool` if one is given (`cannot-read`,
        `bad-session`).
        """
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
        tokens, written = tokens_in(said.get("tokens", "")), tokens_in(f"[{said.get('written', '')}]")
        if not tokens or [len(w) for w in written] != [len(tokens)]:
            fail("bad-session", f"`{path}` is damaged: it does not say which tokens it has")
        made = cls(model, len(tokens), pool=pool)
        made.tokens, made.written = tokens, written[0]
        used = max(map(len, tokens))
        made.store.reserve([used] * made.rows)
        own = made.store.saved(used)
        arrays = [found[str(i)] for i in range(len(own)) if str(i) in found]
        if len(found) != len(own) or [(x.shape, x.dtype) for x in own] != [
            (x.shape, x.dtype) for x in arrays
        ]:
            fail("bad-session", f"`{path}` has a cache of another kind or shape than the model's")
        made.store.restore(arrays, used)
        made.store.note(made.tokens)
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
