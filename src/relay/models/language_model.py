"""Language models: programs, their weights, and what they need around them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from relay.decoding.adapters import Choice, expect_adapters, is_by_row
from relay.diagnostic import fail
from relay.driver.compilation import build
from relay.ir.module import IRModule
from relay.models.adapters import Weighted, Weights
from relay.models.caches import WHOLE, Memory
from relay.models.checkpoint import Adapter, Checkpoint, stacked
from relay.models.conversion import as_folder, as_gguf
from relay.models.extended import extended
from relay.models.generating import Generating
from relay.models.gguf_vocabulary import gguf_tokenizer
from relay.models.program import specialised, text_of
from relay.models.settings import Settings, describe
from relay.models.tokenizer import Message, Tokenizer, folder_tokenizer
from relay.models.values import Made, made, parts_of, value_of

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
        memory: Memory = WHOLE,
    ) -> None:
        """`assemble` makes weights of the checkpoint, and `again` a model of another one; `activations` is
        what data is when it is multiplied with weights in blocks, and `memory` the kind of cache.
        """
        self.activations = activations
        self.checkpoint, self._adapters, self._assemble, self._again = checkpoint, adapters, assemble, again
        plain = assemble(checkpoint, None)
        self.family, self.settings, self.sizes, self.made = plain
        self.adapted = {name: assemble(checkpoint, a).made for name, a in adapters.items()}
        self.memory = memory.of(self.family)
        self.windows = self.memory.windows(self.settings.windows, self.settings.layers)
        """How many tokens each layer keeps."""
        self.text = text_of(self.family, self.sizes, self.settings.layers, self.memory.empty_text(self.sizes))

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
        return self.program(by_row=False)

    def program(self, by_row: bool) -> IRModule:
        """The program; with `by_row`, one whose weights have an adapter for each row of a batch."""
        used = self.used([*self.every(by_row).values()])
        return specialised(self.text, used, "model", self.activations)

    def used(self, every: Sequence[Made]) -> set[str]:
        """The constructors that such weights and the cache have."""
        parts = [*every, *self.memory.parts(self.sizes, self.windows, 1, 1)]
        return {part.name for part in parts_of(parts)} | {"Cons", "Nil"}

    @cached_property
    def weights(self) -> Any:
        """The argument `%weights`: a record over arrays that are mapped from files."""
        return self._weights.of(None)

    @cached_property
    def adapters(self) -> Mapping[str, Any]:
        """Arguments `%weights` with an adapter each, by name; they share their arrays and the program."""
        return {name: self._weights.of(name) for name in self.adapted}

    @cached_property
    def _weights(self) -> Weights:
        return self.weights_of(self.module, by_row=False)

    @cached_property
    def by_row(self) -> Weighted:
        """The weights of which each row of a batch has an adapter of its own."""
        found = stacked([*self._adapters.values()])
        return Weighted(self._assemble(self.checkpoint, found).made, found.rows)

    def extended(self, text: str, draft: Any = None, by_row: bool = False) -> tuple[IRModule, Weights, Any]:
        """The program with more definitions, its weights, and those of a draft model: see
        `relay.models.extended`.  With `by_row`, each row has the adapter of its own.
        """
        every = self.every(by_row)
        mod, others = extended(self, [*every.values()], text, draft)
        return mod, self.weights_of(mod, by_row), others

    def every(self, by_row: bool) -> Mapping[str | None, Made]:
        """The weights that are given to one program."""
        return {None: self.by_row.made} if by_row else {None: self.made, **self.adapted}

    def weights_of(self, mod: IRModule, by_row: bool) -> Weights:
        """The weights as a program takes them."""
        rows = self.by_row.rows if by_row else None
        return Weights(mod.constructors(), self.every(by_row), [*self.adapted], rows)

    def quantize(self, form: str) -> "LanguageModel":
        """The model in blocks of `form`: `"q8_0"`, `"q4_0"` or `"q4_1"` (`attribute-value`)."""
        return self._again(self.checkpoint.quantized(form))

    def save(self, path: str | Path) -> None:
        """Write the model: a GGUF file, if the name ends in `.gguf`, or a folder as Hugging Face has it.

        Blocks stay as they are; the tokenizer and the template of conversations are written as well.
        Raises `cannot-write`; `model-unsupported` for what the other kind of file cannot say.
        """
        path, found = Path(path), self.checkpoint
        if found.is_gguf != (path.suffix == ".gguf"):
            convert = as_folder if found.is_gguf else as_gguf
            found = convert(found, self.settings, self.tokenizer)
        found.save(path)

    def cache(self, batch: int, length: int) -> Any:
        """The argument `%cache`: room for `length` tokens in each of `batch` rows."""
        parts = self.memory.parts(self.sizes, self.windows, batch, length)
        return value_of(parts, self.module.constructors())

    def paged_cache(self, parts: Sequence[tuple[Array, Array]], pages: Array) -> Any:
        """The argument `%cache` over the keys and values of the pages of each layer; of rows `(b, n)`, the
        pages of each.
        """
        found = [made("Paged", keys, values, pages.copy()) for keys, values in parts]
        return value_of(found, self.module.constructors())

    def step(self, tokens: Any, cache: Any, position: Any, adapter: Choice = None) -> tuple[Array, Any]:
        """What `@step` gives for tokens `(b, t)` from `position` on: of all rows, or `(b,)`.

        The cache is given up: go on with the one that comes back.  `adapter` is a name, or a list with one
        for each row, None for those without (`unknown-name`, `option-value`).
        """
        tokens = np.asarray(tokens, "int32")
        places = np.broadcast_to(np.asarray(position, "int32"), tokens.shape[:1])
        entry = self._entry("step", adapter, len(tokens))
        return entry(tokens, cache, np.ascontiguousarray(places))

    def logits(self, tokens: Any, adapter: Choice = None) -> Array:
        """Scores `(b, t, vocab)` of the tokens after each of `(b, t)`; `adapter` as in `step`."""
        tokens = np.asarray(tokens, "int32")
        return self._entry("logits", adapter, len(tokens))(tokens)

    def _entry(self, name: str, adapter: Choice, rows: int) -> Callable[..., Any]:
        """An entry function with the weights that have those adapters."""
        expect_adapters(adapter, [*self.adapted], rows)
        key = name, is_by_row(adapter)
        if key not in self._compiled:
            mod = self.program(by_row=True) if key[1] else self.module
            weights = self.weights_of(mod, by_row=True) if key[1] else self._weights
            self._compiled[key] = build(mod, entries=[name])[name], weights
        call, weights = self._compiled[key]
        return partial(call, weights.of(adapter))

    @cached_property
    def _compiled(self) -> dict[tuple[str, bool], tuple[Callable[..., Any], Weights]]:
        return {}

    def __repr__(self) -> str:
        return f"<LanguageModel {self.family}: {describe(self.settings)}>"
