"""What language models do with the loop of decoding."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from relay.decoding.generate import generate, stream
from relay.diagnostic import fail
from relay.models.caches import Memory
from relay.models.values import Made, parts_of


class Generating:
    """A language model as `relay.decoding` takes it."""

    tokenizer: Any = None
    config: Any
    activations: str
    family: str
    sizes: Mapping[str, int]
    settings: Any
    memory: Memory
    made: Made
    """Its weights, before they are those of a program."""
    adapted: Mapping[str, Made]
    """Its weights with each adapter, by name."""

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

    @property
    def limit(self) -> int:
        """The most tokens that it reads and writes; 0 if there is no end to it."""
        learned = any(part.name == "Learned" for part in parts_of(self.made))
        return 0 if self.memory.is_endless and not learned else self.context

    @property
    def reads_ragged(self) -> bool:
        """Whether rows of different length are read at once."""
        return not self.memory.is_state

    def cache_type(self, rows: int) -> str:
        """The type of the cache, in text."""
        return f"Cache[{rows}, {self.sizes['kv']}, {self.sizes['size']}]"

    def encode(self, text: str) -> list[int]:
        """The tokens of a text (`no-tokenizer`)."""
        if self.tokenizer is None:
            fail("no-tokenizer", "the model has no tokenizer", hint="give tokens instead of a text")
        return list(self.tokenizer.encode(text))

    def generate(self, prompt: Any, **options: Any) -> Any:
        """What the model writes after a prompt, a text or tokens: see `relay.decoding.generate`."""
        return generate(self, prompt, **options)

    def stream(self, prompt: Any, **options: Any) -> Iterator[str]:
        """The text that the model writes, in pieces as they come: see `relay.decoding.stream`."""
        return stream(self, prompt, **options)
