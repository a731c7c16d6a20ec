"""Language models: programs, their weights, and what they need around them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from relay.diagnostic import did_you_mean, fail
from relay.driver.build import build
from relay.ir.module import IRModule
from relay.models.caches import EMPTY
from relay.models.checkpoint import Adapter, Checkpoint
from relay.models.generating import Generating
from relay.models.gguf_vocabulary import gguf_tokenizer
from relay.models.program import specialised, text_of
from relay.models.settings import Settings, describe
from relay.models.tokenizer import Message, Tokenizer, folder_tokenizer
from relay.models.values import Made, parts_of, value_of

Array = np.ndarray[Any, Any]


class Assembled(NamedTuple):
    """The weights of a model, and the text that takes them, at those sizes."""

    family: str
    settings: Settings
    sizes: Mapping[str, int]
    made: Made


class LanguageModel(Generating):
    """A language model: a Relay program, and weights that it is called with.

    `module` has the entry functions

        @step(%weights: Weights, %tokens: Tensor[(b, t), int32], %cache: Cache,
              %position: Tensor[(b,), int32]) -> (Tensor[(b, vocab), float32], Cache)
        @logits(%weights: Weights, %tokens: Tensor[(b, t), int32]) -> Tensor[(b, t, vocab), float32]

    `@step` gives scores of the token after the last of each row, and the cache with the given ones, which
    stand from `%position` of each row on.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        adapters: Mapping[str, Adapter],
        assemble: Callable[[Checkpoint, Adapter | None], Assembled],
        again: Callable[[Checkpoint], "LanguageModel"],
        activations: str = "float32",
    ) -> None:
        """`assemble` makes weights of the checkpoint, and `again` a model of another one; `activations` is
        what data is when it is multiplied with weights in blocks.
        """
        self.activations = activations
        self.checkpoint, self._again = checkpoint, again
        self._plain = assemble(checkpoint, None)
        self._adapted = {name: assemble(checkpoint, a) for name, a in adapters.items()}
        self.settings, self.sizes = self._plain.settings, self._plain.sizes

    @property
    def config(self) -> Mapping[str, Any]:
        """What the files say of the model, as they say it: `config.json`, or the metadata of a GGUF file."""
        return self.checkpoint.config

    @cached_property
    def tokenizer(self) -> Tokenizer | None:
        """Texts as tokens and back; None where the files have no vocabulary (`model-file`)."""
        if self.checkpoint.is_gguf:
            return gguf_tokenizer(self.config)
        folder = self.checkpoint.folder
        return None if folder is None else folder_tokenizer(folder, self.config)

    def chat(self, messages: Sequence[Message], **given: Any) -> list[int]:
        """A conversation as tokens, up to where the answer begins: `[{"role": "user", "content": "…"}]`."""
        if self.tokenizer is None:
            fail("no-tokenizer", "the model has no tokenizer", hint="put `tokenizer.json` beside the weights")
        return self.tokenizer.chat_tokens(messages, **given)

    @cached_property
    def module(self) -> IRModule:
        """The program, specialised to the model."""
        all_weights = [self._plain.made, *[a.made for a in self._adapted.values()]]
        used = {part.name for part in parts_of(all_weights)}
        text = text_of(self._plain.family, self.sizes, self.settings.layers)
        return specialised(text, used, "model", self.activations)

    @cached_property
    def weights(self) -> Any:
        """The argument `%weights`: a record over arrays that are mapped from files."""
        return value_of(self._plain.made, self.module.constructors())

    @cached_property
    def adapters(self) -> Mapping[str, Any]:
        """Arguments `%weights` with an adapter each, by name; they share their arrays and the program."""
        constructors = self.module.constructors()
        return {name: value_of(a.made, constructors) for name, a in self._adapted.items()}

    def quantize(self, form: str) -> "LanguageModel":
        """The model in blocks of `form`: `"q8_0"`, `"q4_0"` or `"q4_1"` (`attribute-value`)."""
        return self._again(self.checkpoint.quantized(form))

    def save(self, path: str | Path) -> None:
        """Write the model as it was read: a folder, or a GGUF file, blocks as they are (`cannot-write`)."""
        self.checkpoint.save(Path(path))

    def cache(self, batch: int, length: int, dtype: str = "float32") -> Any:
        """The argument `%cache`: room for `length` tokens in each of `batch` rows."""
        part = EMPTY[self._plain.family]
        parts = [part(self.sizes, batch, length, dtype) for _ in range(self.settings.layers)]
        return value_of(parts, self.module.constructors())

    def step(self, tokens: Any, cache: Any, position: Any, adapter: str | None = None) -> tuple[Array, Any]:
        """What `@step` gives for tokens `(b, t)` from `position` on: of all rows, or `(b,)`."""
        tokens = np.asarray(tokens, "int32")
        places = np.broadcast_to(np.asarray(position, "int32"), tokens.shape[:1])
        return self._step(self.chosen(adapter), tokens, cache, np.ascontiguousarray(places))

    def chosen(self, adapter: str | None) -> Any:
        """The weights with an adapter, or without any (`unknown-name`)."""
        if adapter is not None and adapter not in self.adapters:
            fail(
                "unknown-name",
                f"there is no adapter {adapter!r}",
                hint=did_you_mean(adapter, [*self.adapters]),
            )
        return self.weights if adapter is None else self.adapters[adapter]

    def logits(self, tokens: Any, adapter: str | None = None) -> Array:
        """Scores `(b, t, vocab)` of the tokens after each of `(b, t)`."""
        return self._logits(self.chosen(adapter), np.asarray(tokens, "int32"))

    @cached_property
    def _step(self) -> Any:
        return build(self.module, entries=["step"])["step"]

    @cached_property
    def _logits(self) -> Any:
        return build(self.module, entries=["logits"])["logits"]

    def __repr__(self) -> str:
        return f"<LanguageModel {self._plain.family}: {describe(self.settings)}>"
