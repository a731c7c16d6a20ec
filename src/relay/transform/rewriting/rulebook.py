"""Tables of rules that say what they do: `x * 1 => x`, and where that is not the same to the bit."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from relay.transform.rewriting.rewriter import Rule, Table


@dataclass(frozen=True)
class Entry:
    """A rule of a table: `text` is what it does, `but` how the value may differ (empty if it never does)."""

    text: str
    apply: Rule
    kinds: tuple[type, ...]
    but: str


class Rulebook:
    """Rules in the order in which they are tried."""

    def __init__(self) -> None:
        """Empty."""
        self.entries: list[Entry] = []

    def rule(self, text: str, *kinds: type, but: str = "") -> Callable[[Rule], Rule]:
        """Enter a rule over calls of some operators, or over other kinds of nodes."""

        def enter(function: Rule) -> Rule:
            self.entries.append(Entry(text, function, kinds, but))
            return function

        return enter

    def table(self, *, exact: bool = False) -> Table:
        """The rules by what they look at; with `exact` those alone that keep every bit."""
        return table(entry for entry in self.entries if not (exact and entry.but))


def table(entries: Iterable[Entry]) -> Table:
    """Rules by what they look at."""
    found: dict[type, list[Rule]] = {}
    for entry in entries:
        for kind in entry.kinds:
            found.setdefault(kind, []).append(entry.apply)
    return found
