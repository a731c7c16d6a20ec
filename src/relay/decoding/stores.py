"""Where the caches of sessions are: memory of their own, or pages of a pool."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay.decoding.cache_arrays import arrays
from relay.decoding.pool import Pool

Array = np.ndarray[Any, Any]
STEP = 64
"""Caches have room for a multiple of so many tokens."""


class Own:
    """A cache of the session's own, which grows with the longest row."""

    def __init__(self, model: Any, rows: int, length: int) -> None:
        self.model, self.rows, self.length = model, rows, rounded(length)
        self.value = model.cache(rows, self.length)

    def reserve(self, lengths: Sequence[int]) -> None:
        """Have room for so many tokens in each row, and keep those that are there."""
        length = max(lengths)
        if length <= self.length:
            return
        length = rounded(max(length, min(2 * self.length, length + 4096)))
        larger = self.model.cache(self.rows, length)
        for (new, _), (old, _) in zip(arrays(larger), arrays(self.value), strict=True):
            new[:, : old.shape[1]] = old
        self.value, self.length = larger, length

    def shared(self, row: int, prompt: Sequence[int]) -> int:
        """How many tokens of a prompt a row has from elsewhere."""
        return 0

    def clear(self, row: int) -> None:
        """A row begins anew: its states, which know no places, are those before the first token."""
        if self.model.memory.is_state:
            for x, _ in arrays(self.value):
                x[row] = 0

    def forget(self, counts: Sequence[int]) -> None:
        """Give up what is behind so many tokens of each row."""

    def note(self, tokens: Sequence[Sequence[int]]) -> None:
        """Note which tokens each row has."""

    def saved(self, used: int) -> list[Array]:
        """The arrays of a cache of which `used` tokens of each row are needed."""
        return [x[:, :used] if grows else x for x, grows in arrays(self.value)]

    def restore(self, found: Sequence[Array], used: int) -> None:
        """Take arrays that `saved` has given."""
        for x, own in zip(found, self.saved(used), strict=True):
            own[...] = x


class Paged:
    """A cache in pages of a pool."""

    def __init__(self, rows: int, pool: Pool) -> None:
        self.rows, self.pool = rows, pool
        self.pages: list[list[int]] = [[] for _ in range(rows)]

    def __del__(self) -> None:
        """The pages go back."""
        self.forget([0] * self.rows)

    @property
    def value(self) -> Any:
        """The cache as the program takes it."""
        return self.pool.value(self.pages)

    @value.setter
    def value(self, new: Any) -> None:
        self.pool.take(new)

    def reserve(self, lengths: Sequence[int]) -> None:
        """Have pages for so many tokens in each row (`pool-full`)."""
        self.pool.extend(self.pages, lengths)

    def shared(self, row: int, prompt: Sequence[int]) -> int:
        """Share the pages of the pool that have the first tokens of a prompt: how many tokens they have."""
        return self.pool.share(self.pages[row], prompt)

    def clear(self, row: int) -> None:
        """A row begins anew."""

    def forget(self, counts: Sequence[int]) -> None:
        """Give back the pages behind so many tokens of each row."""
        for own, count in zip(self.pages, counts, strict=True):
            self.pool.shorten(own, count)

    def note(self, tokens: Sequence[Sequence[int]]) -> None:
        """Note which tokens the pages have, so that others may share those that are full."""
        for own, row in zip(self.pages, tokens, strict=True):
            self.pool.note(own, row)

    def saved(self, used: int) -> list[Array]:
        """The keys and values of `used` tokens of each row, copied out of the pages."""
        return self.pool.copied(self.pages, used)

    def restore(self, found: Sequence[Array], used: int) -> None:
        """Write arrays that `saved` has given into pages."""
        self.pool.write(self.pages, found)


def rounded(length: int) -> int:
    """A number of tokens to have room for."""
    return max(STEP, -(-length // STEP) * STEP)
