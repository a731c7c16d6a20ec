"""Texts as tokens and back, and conversations as texts; vocabularies in Hugging Face's `tokenizer.json`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from relay.diagnostic import fail
from relay.models.chat_template import rendered
from relay.models.tensor_files import damaged, read_json

Message = Mapping[str, Any]


@dataclass(frozen=True)
class Tokenizer:
    """A vocabulary and what is known of it.

    `inside` is a `Tokenizer` of the library of that name, for what is not here.
    """

    inside: Any
    begin: int | None
    """The token that texts begin with."""
    ends: frozenset[int]
    """The tokens after which a text is at its end."""
    adds_begin: bool
    """Whether `encode` puts `begin` before a text, where the vocabulary's own rules do not."""
    template: str | None = None
    """How conversations are written, in Jinja."""

    def encode(self, text: str, *, special: bool = True) -> list[int]:
        """The numbers of the tokens of a text; with `special`, those that it begins and ends with as well."""
        found = list(self.inside.encode(text, add_special_tokens=special).ids)
        if special and self.adds_begin and self.begin is not None and found[:1] != [self.begin]:
            found.insert(0, self.begin)
        return found

    def decode(self, numbers: Iterable[int], *, special: bool = False) -> str:
        """The text of tokens; control tokens are left out, unless `special` is set."""
        return self.inside.decode([int(n) for n in numbers], skip_special_tokens=not special)

    def text_of(self, number: int) -> str | None:
        """A token as the vocabulary has it; None where there is none of that number."""
        return self.inside.id_to_token(int(number))

    def number_of(self, text: str) -> int | None:
        """The number of a token of the vocabulary; None where there is none."""
        return self.inside.token_to_id(text)

    def __len__(self) -> int:
        """How many tokens there are."""
        return self.inside.get_vocab_size()

    def chat(self, messages: Sequence[Message], *, answer: bool = True, **given: Any) -> str:
        """A conversation as the model was taught to read it, up to where its answer begins.

        Messages have a `role` and a `content`; `given` are further variables of the template, as `tools`.
        Raises `model-unsupported` where the model has no template, `model-file` where that fails.
        """
        if self.template is None:
            hint = "give the prompt as a text: `encode` takes it"
            fail("model-unsupported", "the model has no template of conversations", hint=hint)
        names = {"bos_token": self.begin, "eos_token": min(self.ends, default=None)}
        texts = {k: "" if n is None else self.text_of(n) or "" for k, n in names.items()}
        return rendered(
            self.template, {**texts, "messages": list(messages), "add_generation_prompt": answer, **given}
        )

    def chat_tokens(self, messages: Sequence[Message], **given: Any) -> list[int]:
        """`chat` as tokens."""
        return list(self.inside.encode(self.chat(messages, **given), add_special_tokens=False).ids)


def library() -> Any:
    """The library of tokenizers (`model-unsupported`)."""
    try:
        return import_module("tokenizers")
    except ImportError:
        message = "texts become tokens by the package `tokenizers`, which is missing"
        fail("model-unsupported", message, hint="pip install 'relay-ir[lm]'")


def folder_tokenizer(folder: Path, config: Mapping[str, Any]) -> Tokenizer | None:
    """The tokenizer of a Hugging Face folder; None if it has no `tokenizer.json` (`model-file`)."""
    path = folder / "tokenizer.json"
    if not path.exists():
        return None
    tokenizers = library()
    try:
        inside = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises this very class
        damaged(path, f"it is not a tokenizer ({error})")
    said = optional_json(folder / "tokenizer_config.json")
    ends = {*numbers(config.get("eos_token_id"))}
    ends |= {*numbers(optional_json(folder / "generation_config.json").get("eos_token_id"))}
    ends |= {*[n for n in [inside.token_to_id(spelled(said.get("eos_token")))] if n is not None]}
    begin = inside.token_to_id(spelled(said.get("bos_token")))
    if begin is None:
        begin = next(iter(numbers(config.get("bos_token_id"))), None)
    adds = said.get("add_bos_token") is True
    return Tokenizer(inside, begin, frozenset(ends), adds, folder_template(folder, said))


def optional_json(path: Path) -> dict[str, Any]:
    """An object of JSON in a file, which may be missing."""
    return read_json(path) if path.exists() else {}


def numbers(said: Any) -> list[int]:
    """A number or several."""
    every = cast("list[Any]", said) if isinstance(said, list) else [said]
    return [n for n in every if isinstance(n, int) and not isinstance(n, bool) and n >= 0]


def spelled(said: Any) -> str:
    """A token by its text, or as an object of JSON; empty if it is none."""
    found = cast("dict[str, Any]", said).get("content") if isinstance(said, dict) else said
    return found if isinstance(found, str) else ""


def folder_template(folder: Path, said: Mapping[str, Any]) -> str | None:
    """The template of conversations: of a file of its own, or of `tokenizer_config.json`."""
    own = folder / "chat_template.jinja"
    if own.exists():
        return own.read_text(encoding="utf-8", errors="replace")
    found = said.get("chat_template")
    if isinstance(found, list):
        named = [cast("dict[str, Any]", t) for t in cast("list[Any]", found) if isinstance(t, dict)]
        found = next((t.get("template") for t in named if t.get("name") == "default"), None)
    return found if isinstance(found, str) else None
