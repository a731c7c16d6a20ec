"""What people set for decoding, checked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from relay.diagnostic import did_you_mean, fail

Process = str | Callable[..., Any]
"""A function of Relay, in text, or of Python."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How tokens are chosen, and when a request ends (`option-type` for what cannot be).

    `process` changes the logits first: text of a Relay function `fn (%logits, %h) { … }` of logits
    `(rows, vocabulary)` and a `History` of "std/decode", or a function of Python from the tokens of each row
    so far, int32 `(rows, count)`, and float32 logits to such logits, as processors of transformers are.
    """

    max_tokens: int = 256
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    typical: float = 1.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int = 0
    stop: Sequence[str] = ()
    process: Process | None = None
    json_schema: str | Mapping[str, Any] | None = None
    regex: str | None = None
    grammar: str | None = None
    draft: Any = None
    lookup: int = 0
    adapter: str | None = None

    def __post_init__(self) -> None:
        limits = {
            "max_tokens": (0, None), "temperature": (0, None), "top_p": (0, 1), "min_p": (0, 1),
            "typical": (0, 1), "repetition_penalty": (1e-6, None), "seed": (0, 2**64 - 1), "lookup": (0, 64),
        }  # fmt: skip
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if value < low or (high is not None and value > high):
                upper = "" if high is None else f" and at most {high}"
                fail("option-value", f"`{name}` cannot be {value}", hint=f"it is at least {low}{upper}")
        chosen = [n for n in ("json_schema", "regex", "grammar") if getattr(self, n) is not None]
        if len(chosen) > 1:
            fail(
                "option-value",
                f"`{chosen[0]}` and `{chosen[1]}` are given",
                hint="one constraint is possible",
            )
        if self.is_speculative and (chosen or self.process is not None or self.has_penalties):
            hint = "leave out `draft` and `lookup`, or constraints, penalties and `process`"
            fail(
                "option-value", "tokens that depend on those before them cannot be proposed ahead", hint=hint
            )

    @property
    def is_speculative(self) -> bool:
        """Whether tokens are proposed ahead."""
        return self.draft is not None or self.lookup > 0

    @property
    def has_penalties(self) -> bool:
        """Whether tokens that have occurred are less likely."""
        return (self.repetition_penalty, self.presence_penalty, self.frequency_penalty) != (1.0, 0.0, 0.0)

    @property
    def settings(self) -> dict[str, Any]:
        """As a record `Settings` of "std/decode"."""
        return {
            "temperature": self.temperature, "top_k": self.top_k, "top_p": self.top_p, "min_p": self.min_p,
            "typical": self.typical, "repetition": self.repetition_penalty, "presence": self.presence_penalty,
            "frequency": self.frequency_penalty,
        }  # fmt: skip


def options_of(given: Mapping[str, Any]) -> Options:
    """Options by name (`unknown-option`, `option-value`)."""
    known = [f.name for f in fields(Options)]
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
            fail("unknown-option", f"there is no option `{name}`", hint=hint)
    return Options(**given)
