"""What language models do with the loop of decoding."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from relay.decoding.generate import generate, stream
from relay.diagnostic import did_you_mean, fail
from relay.ir.module import IRModule
from relay.models.extended import extended


class Generating:
    """A language model as `relay.decoding` takes it."""

    tokenizer: Any = None
    settings: Any
    sizes: Any
    config: Any
    activations: str
    _plain: Any
    _adapted: Any

    @cached_property
    def programs(self) -> dict[Any, Any]:
        """What has been compiled for decoding, by what it depends on."""
        return {}

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        return self.sizes["vocab"]

    @property
    def context(self) -> int:
        """The most tokens that it was made for."""
        return self.settings.context

    @property
    def end_tokens(self) -> list[int]:
        """The tokens that end a text."""
        known = getattr(self.tokenizer, "ends", None)
        if known:
            return sorted(known)
        said = self.config.get("eos_token_id")
        return [] if said is None else np.atleast_1d(np.asarray(said, "int64")).tolist()

    def cache_type(self, rows: int, length: str = "l") -> str:
        """The type of the cache, in text; `length` is the name of a dimension."""
        return f"Cache[{rows}, {length}, {self.sizes['kv']}, {self.sizes['size']}]"

    def encode(self, text: str) -> list[int]:
        """The tokens of a text (`no-tokenizer`)."""
        if self.tokenizer is None:
            fail("no-tokenizer", "the model has no tokenizer", hint="give tokens instead of a text")
        return list(self.tokenizer.encode(text))

    def expect_adapter(self, name: str | None) -> None:
        """Fail unless there is an adapter of that name (`unknown-name`)."""
        if name is not None and name not in self._adapted:
            hint = did_you_mean(name, [*self._adapted])
            fail("unknown-name", f"there is no adapter {name!r}", hint=hint)

    def extended(self, text: str, draft: Any = None) -> tuple[IRModule, dict[str | None, Any], Any]:
        """The program with more definitions, its weights, and those of a draft model.

        The weights are by the name of an adapter, those without one by None; see `relay.models.extended`.
        """
        every = {None: self._plain.made, **{name: a.made for name, a in self._adapted.items()}}
        return extended(
            self._plain.family, self.sizes, self.settings.layers, every, text, draft, self.activations
        )

    @property
    def written(self) -> tuple[str, Any, Any]:
        """The text that the program imports, its sizes, and the weights."""
        return self._plain.family, self.sizes, self._plain.made

    def generate(self, prompt: Any, **options: Any) -> Any:
        """What the model writes after a prompt, a text or tokens: see `relay.decoding.generate`."""
        return generate(self, prompt, **options)

    def stream(self, prompt: Any, **options: Any) -> Iterator[str]:
        """The text that the model writes, in pieces as they come: see `relay.decoding.stream`."""
        return stream(self, prompt, **options)
