"""Conversations: turns as a prompt, by the model's own template, and a session that keeps what was read."""

from collections.abc import Callable, Sequence
from typing import Any

from relay.decoding.generate import Generation, generate
from relay.decoding.session import Session

PLAIN_STOP = "\nUser:"
Message = dict[str, str]


def plain(messages: Sequence[Message]) -> str:
    """A conversation as a text for models without a template."""
    said = "\n".join([f"{m['role'].capitalize()}: {m['content']}" for m in messages])
    return f"{said}\nAssistant:"


class Conversation:
    """Turns of a user and of a model.

    A turn that is interrupted is as if it had not been.
    """

    def __init__(self, model: Any, system: str = "") -> None:
        """`system` is what the model is told first."""
        self.model, self.session = model, Session(model)
        self.messages: list[Message] = []
        self.reset(system)

    def reset(self, system: str | None = None) -> None:
        """Begin anew, with another first message if one is given."""
        kept = [m for m in self.messages if m["role"] == "system"]
        said = kept if system is None else [{"role": "system", "content": system}] if system else []
        self.messages = said

    @property
    def has_template(self) -> bool:
        """Whether the model says how conversations are written."""
        return getattr(self.model.tokenizer, "template", None) is not None

    def prompt(self, messages: Sequence[Message]) -> Any:
        """The text or the tokens of a conversation, up to where the model answers."""
        return self.model.tokenizer.chat_tokens(messages) if self.has_template else plain(messages)

    def say(self, text: str, *, on_text: Callable[[str], object] | None = None, **options: Any) -> Generation:
        """What the model answers; options are those of `generate`."""
        messages = [*self.messages, {"role": "user", "content": text}]
        if not self.has_template:
            given = options.get("stop", ())
            options["stop"] = [*([given] if isinstance(given, str) else given), PLAIN_STOP]
        found = generate(self.model, self.prompt(messages), session=self.session, on_text=on_text, **options)
        self.messages = [*messages, {"role": "assistant", "content": found.text.strip()}]
        return found
