"""Language models: programs, their weights, and what they need around them."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from relay.driver.build import build
from relay.ir.module import IRModule
from relay.models.program import specialised, text_of
from relay.models.settings import Settings, describe
from relay.models.values import Made, parts_of, value_of

Array = np.ndarray[Any, Any]


class LanguageModel:
    """A language model: a Relay program, and weights that it is called with.

    `module` has the entry functions

        @step(%weights: Weights, %tokens: Tensor[(b, t), int32], %cache: Cache,
              %position: Tensor[(b,), int32]) -> (Tensor[(b, vocab), float32], Cache)
        @logits(%weights: Weights, %tokens: Tensor[(b, t), int32]) -> Tensor[(b, t, vocab), float32]

    `@step` gives scores of the token after the last of each row, and the cache with the given ones, which
    stand from `%position` of each row on.
    """

    def __init__(
        self, family: str, settings: Settings, sizes: Mapping[str, int], made: Made,
        config: Mapping[str, Any], tokenizer: Any = None,
    ) -> None:  # fmt: skip
        """`family` is the text that the program imports; `made` are the weights."""
        self.family, self.settings, self.sizes, self.made = family, settings, dict(sizes), made
        self.config = config
        """What the file says of the model, as it says it."""
        self.tokenizer = tokenizer
        """`encode(text) -> list[int]` and `decode(numbers) -> str`; None where the file has none."""

    @cached_property
    def module(self) -> IRModule:
        """The program, specialised to the model."""
        used = {part.name for part in parts_of(self.made)} | {"KeysValues", "Cons", "Nil"}
        text = text_of(self.family, self.sizes, self.settings.layers)
        return specialised(text, used, "model")

    @cached_property
    def weights(self) -> Any:
        """The argument `%weights`: a record over arrays that are mapped from files."""
        return value_of(self.made, self.module.constructors())

    def cache(self, batch: int, length: int, dtype: str = "float32") -> Any:
        """The argument `%cache`: room for `length` tokens in each of `batch` rows."""
        shape = (batch, length, self.sizes["kv"], self.sizes["size"])
        constructor = self.module.constructors()["KeysValues"]
        return value_of(
            [
                Made("KeysValues", (np.zeros(shape, dtype), np.zeros(shape, dtype)))
                for _ in range(self.settings.layers)
            ],
            {"KeysValues": constructor},
        )

    def step(self, tokens: Any, cache: Any, position: Any) -> tuple[Array, Any]:
        """What `@step` gives for tokens `(b, t)` from `position` on: of all rows, or `(b,)`."""
        tokens = np.asarray(tokens, "int32")
        places = np.broadcast_to(np.asarray(position, "int32"), tokens.shape[:1])
        return self._step(self.weights, tokens, cache, np.ascontiguousarray(places))

    def logits(self, tokens: Any) -> Array:
        """Scores `(b, t, vocab)` of the tokens after each of `(b, t)`."""
        return self._logits(self.weights, np.asarray(tokens, "int32"))

    @cached_property
    def _step(self) -> Any:
        return build(self.module, entries=["step"])["step"]

    @cached_property
    def _logits(self) -> Any:
        return build(self.module, entries=["logits"])["logits"]

    def __repr__(self) -> str:
        s = self.settings
        return f"<LanguageModel {self.family}: {describe(s)}>"
