"""Pages of tokens that the sessions of a model share."""

import threading
from collections.abc import Sequence
from itertools import count
from math import inf
from typing import Any

import numpy as np

from relay.decoding.cache_arrays import arrays
from relay.decoding.options import expect_number
from relay.diagnostic import fail

Array = np.ndarray[Any, Any]
Content = tuple[int, tuple[int, ...]]
"""What is in a page: the number of the content before it, and its tokens."""
BEGIN = 0
"""The number of what is before the first page."""


class Pool:
    """Memory for the tokens of many sessions, in pages of 16, for a model that was loaded with cache="paged".

    Pages with the same tokens after the same tokens are shared: a prompt that begins like an earlier one
    is read from where they differ, whoever has read the first, as long as its pages were not needed
    for something else.
    """

    def __init__(self, model: Any, tokens: int | None = None) -> None:
        """With `tokens`, the pool has memory for so many, and no more; without, it grows (`option-value`)."""
        if model.memory.kind != "paged":
            hint = 'say `relay.models.load(path, cache="paged")`'
            fail("option-value", "a pool is for a model whose cache has pages", hint=hint)
        if tokens is not None:
            expect_number("tokens", tokens, int, 1, inf)
        self.model, self.is_fixed = model, tokens is not None
        self.lock = threading.RLock()
        """Held while a program writes to pages."""
        self.parts: list[tuple[Array, Array]] = []
        self.users: list[int] = []
        """How many rows have each page."""
        self.held: dict[Content, int] = {}
        """Pages that are full, by what is in them."""
        self.contents: dict[int, tuple[int, Content]] = {}
        """The number of what is in such a page, which nothing else ever has, and what it is."""
        self.numbers = count(BEGIN + 1)
        self.free: dict[int, None] = {}
        """Pages that nobody has, those that were given back first at the begin."""
        self.size: int = model.memory.page
        """Tokens of a page."""
        self.grow(-(-(4 * self.size if tokens is None else tokens) // self.size))

    @property
    def used(self) -> int:
        """How many pages rows have."""
        return sum(n > 0 for n in self.users)

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return len(self.users)

    def grow(self, pages: int) -> None:
        """Have so many pages."""
        shape = (pages, self.size, self.model.sizes["kv"], self.model.sizes["size"])
        old = self.pages
        for i in range(self.model.settings.layers):
            new = np.zeros(shape, "float32"), np.zeros(shape, "float32")
            if old:
                for a, b in zip(new, self.parts[i], strict=True):
                    a[:old] = b
                self.parts[i] = new
            else:
                self.parts.append(new)
        self.users += [0] * (pages - old)
        self.free |= dict.fromkeys(range(old, pages))

    def page(self) -> int:
        """A page that nobody has (`pool-full`)."""
        if not self.free:
            if self.is_fixed:
                message = f"all {self.pages} pages of the pool, {self.pages * self.size} tokens, are in use"
                fail("pool-full", message, hint="end other sessions first, or make a larger pool")
            self.grow(2 * self.pages)
        page = next(iter(self.free))
        del self.free[page]
        self.drop(page)
        self.users[page] = 1
        return page

    def drop(self, page: int) -> None:
        """Forget what is in a page; what follows it is not found any more."""
        known = self.contents.pop(page, None)
        if known is not None:
            del self.held[known[1]]

    def extend(self, rows: Sequence[list[int]], lengths: Sequence[int]) -> None:
        """Give each row pages for so many tokens; all or none (`pool-full`)."""
        with self.lock:
            before = [len(own) for own in rows]
            try:
                for own, length in zip(rows, lengths, strict=True):
                    while len(own) * self.size < length:
                        own.append(self.page())
            except BaseException:
                for own, kept in zip(rows, before, strict=True):
                    self.shorten(own, kept * self.size)
                raise

    def shorten(self, own: list[int], tokens: int) -> None:
        """Take the pages behind the first `tokens` tokens from a row."""
        with self.lock:
            kept = -(-tokens // self.size)
            for page in own[kept:]:
                self.users[page] -= 1
                if not self.users[page]:
                    self.free[page] = None
            del own[kept:]
            if own and tokens % self.size:
                self.separate(own)

    def separate(self, own: list[int]) -> None:
        """Make the last page of a row one that nobody else reads, so that it can be written to."""
        last = own[-1]
        if self.users[last] == 1:
            self.drop(last)
            return
        own[-1] = self.page()
        for keys, values in self.parts:
            keys[own[-1]], values[own[-1]] = keys[last], values[last]
        self.users[last] -= 1

    def share(self, own: list[int], prompt: Sequence[int]) -> int:
        """Give a row the pages that have the first tokens of a prompt, if they have more than its own do."""
        with self.lock:
            found: list[int] = []
            before = BEGIN
            while (len(found) + 1) * self.size < len(prompt):
                begin = len(found) * self.size
                page = self.held.get((before, tuple(prompt[begin : begin + self.size])))
                if page is None:
                    break
                found.append(page)
                before, _ = self.contents[page]
            if len(found) <= len(own):
                return 0
            for page in found:
                self.free.pop(page, None)
                self.users[page] += 1
            self.shorten(own, 0)
            own += found
            return len(found) * self.size

    def note(self, own: Sequence[int], tokens: Sequence[int]) -> None:
        """Note the tokens of pages that are full."""
        with self.lock:
            before = BEGIN
            for i in range(len(tokens) // self.size):
                content = before, tuple(tokens[i * self.size : (i + 1) * self.size])
                if content not in self.held:
                    self.drop(own[i])
                    self.held[content] = own[i]
                    self.contents[own[i]] = next(self.numbers), content
                before, _ = self.contents[self.held[content]]

    def value(self, rows: Sequence[Sequence[int]]) -> Any:
        """The cache of rows that have those pages, as the program takes it."""
        width = max(1, max(map(len, rows)))
        table = np.asarray([[*own, *[0] * (width - len(own))] for own in rows], "int32")
        return self.model.paged_cache(self.parts, table)

    def take(self, value: Any) -> None:
        """The pages as a program has left them."""
        found = [x for x, _ in arrays(value)]
        self.parts = list(zip(found[::3], found[1::3], strict=True))

    def copied(self, rows: Sequence[Sequence[int]], used: int) -> list[Array]:
        """The keys and values of `used` tokens of rows, layer by layer."""
        width = -(-used // self.size)
        table = [[*own[:width], *[0] * (width - len(own))] for own in rows]
        heads = self.parts[0][0].shape[2:]
        return [x[table].reshape(len(rows), -1, *heads)[:, :used] for part in self.parts for x in part]

    def write(self, rows: Sequence[Sequence[int]], found: Sequence[Array]) -> None:
        """Write keys and values of the first tokens of rows into their pages."""
        tokens: int = found[0].shape[1]
        places = np.arange(tokens)
        every = [x for part in self.parts for x in part]
        for i, own in enumerate(rows):
            pages = np.asarray(own)[places // self.size]
            for x, new in zip(every, found, strict=True):
                x[pages, places % self.size] = new[i]
