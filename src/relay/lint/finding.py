"""What a rule finds, and how rules are registered by name."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from relay.diagnostic import Diagnostic, Span
from relay.lsp.index import Document


@dataclass(frozen=True, slots=True)
class Edit:
    """The text from `start` to `end` becomes `text`; `title` says so."""

    title: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What is found: a warning whose code is the name of the rule, and the edit that answers it, if any."""

    diagnostic: Diagnostic
    edit: Edit | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name, what it finds, and whether it is asked for by default."""

    name: str
    find: Callable[[Document], Iterable[Finding]]
    is_default: bool


RULES: dict[str, Rule] = {}
"""All rules by name."""


def rule(
    name: str, *, is_default: bool = True
) -> Callable[[Callable[[Document], Iterable[Finding]]], Callable[[Document], Iterable[Finding]]]:
    """Register what finds something as the rule of a name."""

    def register(find: Callable[[Document], Iterable[Finding]]) -> Callable[[Document], Iterable[Finding]]:
        RULES[name] = Rule(name, find, is_default)
        return find

    return register


def finding(
    code: str, message: str, span: Span, label: str = "", *, hint: str, edit: Edit | None = None
) -> Finding:
    """A finding as a warning."""
    return Finding(Diagnostic(code, message, span, label, (), hint, "warning"), edit)


def has_comment(text: str) -> bool:
    """Whether a piece of a text has a comment, which an edit would lose."""
    return "//" in text or "/*" in text
