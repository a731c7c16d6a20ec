"""What people set for decoding, checked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import Any, NoReturn, cast

import numpy as np

from relay.decoding.adapters import Choice
from relay.diagnostic import did_you_mean, fail

Process = str | Callable[..., Any]
"""A function of Relay, in text, or of Python."""


NUMBERS: dict[str, tuple[type, float, float]] = {
    "max_tokens": (int, 0, 2**31 - 1), "temperature": (float, 0, inf), "top_k": (int, 0, 2**31 - 1),
    "top_p": (float, 0, 1), "min_p": (float, 0, 1), "typical": (float, 0, 1),
    "repetition_penalty": (float, 1e-6, inf), "presence_penalty": (float, -inf, inf),
    "frequency_penalty": (float, -inf, inf), "seed": (int, 0, 2**64 - 1), "lookup": (int, 0, 64),
}  # fmt: skip
"""Of the options that are numbers the type, the least value and the greatest."""
TEXTS = ("regex", "grammar")


@dataclass(frozen=True, kw_only=True)
class Options:
    """How tokens are chosen, and when a request ends (`option-value` for what cannot be).

    At most `max_tokens` tokens are written.  `temperature` 0 takes the most likely one; above, tokens are
    drawn: from the `top_k` most likely (0: all), from the fewest with the probability `top_p` together, from
    those with `min_p` of the greatest probability, or by locally typical sampling with the mass `typical`.
    The penalties make tokens less likely that were there before.  Row `i` of a batch draws with `seed + i`.
    A text in `stop` ends a request and is left out.

    `json_schema`, `regex` and `grammar` (in Lark's notation) say what may be written; one of them is
    possible.  A model `draft`, or the text by its last `lookup` tokens, proposes tokens ahead.  `adapter`
    names one of the model's.

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
    stop: str | Sequence[str] = ()
    process: Process | None = None
    json_schema: str | Mapping[str, Any] | None = None
    regex: str | None = None
    grammar: str | None = None
    draft: Any = None
    lookup: int = 0
    adapter: Choice = None

    def __post_init__(self) -> None:
        for name, (kind, low, high) in NUMBERS.items():
            expect_number(name, getattr(self, name), kind, low, high)
        for name in TEXTS:
            if not isinstance(getattr(self, name), str | None):
                cannot_be(name, getattr(self, name), "it is a text")
        names: Any = [*self.adapter] if isinstance(self.adapter, list | tuple) else [self.adapter]
        if not all(isinstance(name, str | None) for name in names):
            cannot_be("adapter", self.adapter, "it is a text, or a list with a text or None for each row")
        stops: Any = (self.stop,) if isinstance(self.stop, str) else self.stop
        if not is_list_of_texts(stops):
            cannot_be("stop", self.stop, "it is a text, or a list of texts")
        object.__setattr__(self, "stop", tuple(cast("list[str]", stops)))
        schema: Any = self.json_schema
        if not isinstance(schema, str | Mapping | None):
            cannot_be("json_schema", self.json_schema, "it is a dict, or JSON as a text")
        if not (self.process is None or isinstance(self.process, str) or callable(self.process)):
            cannot_be("process", self.process, "it is a function of Python, or of Relay in text")
        if self.draft is not None and not hasattr(self.draft, "vocabulary"):
            cannot_be("draft", self.draft, "it is a model of relay.models.load")
        self._expect_together()

    def _expect_together(self) -> None:
        """Fail where options exclude each other (`option-value`)."""
        chosen = [n for n in ("json_schema", "regex", "grammar") if getattr(self, n) is not None]
        if len(chosen) > 1:
            said = f"`{chosen[0]}` and `{chosen[1]}` are given"
            fail("option-value", said, hint="one constraint is possible")
        if self.is_speculative and (chosen or self.process is not None or self.has_penalties):
            said = "tokens that depend on those before them cannot be proposed ahead"
            hint = "leave out `draft` and `lookup`, or constraints, penalties and `process`"
            fail("option-value", said, hint=hint)

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


def is_list_of_texts(x: Any) -> bool:
    """Whether that is a list or a tuple of strings."""
    return isinstance(x, list | tuple) and all(isinstance(s, str) for s in cast("list[Any]", x))


def expect_number(name: str, value: Any, kind: type, low: float, high: float) -> None:
    """Fail unless an option is a number between two that is not infinite (`option-value`)."""
    kinds = (int, np.integer) if kind is int else (int, float, np.integer, np.floating)
    if not issubclass(type(value), kinds) or type(value) is bool:
        cannot_be(name, value, "it is an integer" if kind is int else "it is a number")
    number = float(value)
    if not low <= number <= high or abs(number) == inf:
        least = f"it is at least {low}" if low > -inf else "it is finite"
        cannot_be(name, value, least + (f" and at most {high}" if high < inf else ""))


def cannot_be(name: str, value: object, hint: str) -> NoReturn:
    """Say what an option may be (`option-value`)."""
    shown = repr(value)
    shown = shown if len(shown) <= 60 else type(value).__name__
    fail("option-value", f"`{name}` cannot be {shown}", hint=hint)


def options_of(given: Mapping[str, Any]) -> Options:
    """Options by name (`unknown-option`, `option-value`)."""
    known = [f.name for f in fields(Options)]
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
            fail("unknown-option", f"there is no option `{name}`", hint=hint)
    return Options(**given)
