"""How models keep what they need of the tokens so far: caches before the first token."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relay.diagnostic import fail
from relay.models.settings import NO_WINDOW, unsupported
from relay.models.values import Made, made

KINDS = ("whole", "int8", "ring", "paged")
SPARE = 16
"""Places of a ring beyond its window: so many tokens can be taken back."""
PAGE = 16
"""Tokens of a page."""
EMPTY = {
    "whole": "Whole {{ keys: {zeros}, values: {zeros} }}",
    "int8": "Rounded {{ keys: {bytes}, values: {bytes}, key_scales: {scales}, value_scales: {scales} }}",
    "ring": "Ring {{ keys: {zeros}, values: {zeros}, window: {window} }}",
    "paged": "Paged {{ keys: {zeros}, values: {zeros}, pages: arange(stop=b, dtype=int32)[:, None] }}",
}
"""The empty part of a layer with room for `t` tokens in each of `b` rows, as text."""

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Memory:
    """How the keys and values of tokens are kept (`option-value`)."""

    kind: str = "whole"
    window: int | None = None
    """How many tokens a ring has of layers that see all."""
    is_state: bool = False
    """Whether layers carry a state instead, as Mamba's do."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            hint = f"it is {', '.join(KINDS[:-1])} or {KINDS[-1]}"
            fail("option-value", f"`cache` cannot be {self.kind!r}", hint=hint)
        if self.window is not None and self.kind != "ring":
            hint = 'leave `window` out, or say cache="ring"'
            fail("option-value", f"a cache of the kind {self.kind!r} has no `window`", hint=hint)
        if self.window is not None and not 1 <= self.window < NO_WINDOW:
            fail("option-value", f"`window` cannot be {self.window}", hint="it is at least 1")

    def of(self, family: str) -> "Memory":
        """How a family keeps them, if it is asked to do so (`model-unsupported`)."""
        if family != "mamba":
            return self
        if self.kind != "whole":
            unsupported(f"states instead of keys and values: a cache of the kind {self.kind!r}")
        return replace(self, is_state=True)

    @property
    def is_endless(self) -> bool:
        """Whether its size does not limit how many tokens are read."""
        return self.is_state or self.window is not None

    @property
    def overwrites(self) -> bool:
        """Whether what tokens leave takes the place of what earlier ones have left."""
        return self.is_state or self.kind == "ring"

    @property
    def page(self) -> int:
        """Tokens of a page."""
        return PAGE

    def windows(self, own: Sequence[int], layers: int) -> list[int]:
        """How many tokens each layer keeps; `NO_WINDOW` for all of them (`option-value`)."""
        found = [NO_WINDOW] * layers
        if self.kind == "ring":
            most = NO_WINDOW if self.window is None else self.window
            found = [min(most, w) for w in own or found]
            if min(found) == NO_WINDOW:
                hint = "say how many tokens to keep: `window=1024`"
                fail("option-value", "each layer of this model sees all tokens", hint=hint)
        return found

    def keeps(self, windows: Sequence[int], end: int, count: int) -> bool:
        """Whether a cache in which `end` tokens were written still serves those after the first `count`."""
        if self.is_state:
            return count == end
        return end - count <= SPARE or end <= min(windows) + SPARE

    def parts(self, sizes: Sizes, windows: Sequence[int], rows: int, length: int) -> list[Made]:
        """The empty cache: a part for each layer."""
        if self.is_state:
            inputs, states = (rows, sizes["taps"] - 1, sizes["kv"]), (rows, sizes["kv"], sizes["size"])
            return [made("State", zeros(inputs), zeros(states)) for _ in windows]
        return [self.part(sizes, w, rows, length) for w in windows]

    def part(self, sizes: Sizes, window: int, rows: int, length: int) -> Made:
        """The empty part of a layer of attention."""
        heads = (sizes["kv"], sizes["size"])
        if self.kind == "paged":
            count = -(-length // PAGE)
            pages = np.arange(rows * count, dtype="int32").reshape(rows, count)
            pool = (rows * count, PAGE, *heads)
            return made("Paged", zeros(pool), zeros(pool), pages)
        if window != NO_WINDOW:
            ring = (rows, window + SPARE, *heads)
            return made("Ring", zeros(ring), zeros(ring), window)
        shape = (rows, length, *heads)
        if self.kind == "int8":
            scales = (*shape[:-1], 1)
            return made("Rounded", zeros(shape, "int8"), zeros(shape, "int8"), zeros(scales), zeros(scales))
        return made("Whole", zeros(shape), zeros(shape))

    def empty_text(self, sizes: Sizes) -> str:
        """The empty part of a layer, in text; its tokens are `%tokens`."""
        if self.is_state:
            return "@empty_state(%weights, %tokens)"
        heads = f"(b, t, {sizes['kv']}, {sizes['size']})"
        return EMPTY[self.kind].format(
            zeros=f"zeros(shape={heads}, dtype=float32)",
            bytes=f"zeros(shape={heads}, dtype=int8)",
            scales=f"zeros(shape=(b, t, {sizes['kv']}, 1), dtype=float32)",
            window=NO_WINDOW if self.window is None else self.window,
        )


def zeros(shape: tuple[int, ...], dtype: str = "float32") -> Any:
    """An array of zeros."""
    return np.zeros(shape, dtype)


WHOLE = Memory()
"""All keys and values, in float32."""
