"""What became of the entries of a program for XLA."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relay.backend.xla.built import Entry


@dataclass(frozen=True, slots=True)
class EntryReport:
    """What became of the calls of an entry."""

    name: str
    calls: int
    operators: int
    """How many operators the program of XLA has that was traced last; 0 if none could be."""
    reasons: tuple[str, ...]
    """Why calls were not computed as a whole."""

    def __str__(self) -> str:
        if not self.calls:
            return f"@{self.name}: not called yet"
        whole = [f"whole, {self.operators} operators"] if self.operators else []
        parts = [f"in segments, since {'; '.join(self.reasons)}"] if self.reasons else []
        return f"@{self.name}: {'; '.join([*whole, *parts]) or 'whole'}"


@dataclass(frozen=True, slots=True)
class Report:
    """What became of each entry; `print` shows it."""

    entries: tuple[EntryReport, ...]
    segments: int
    """How many programs XLA has compiled for segments."""
    host: dict[str, str]
    """The operators in segments that the host computes, and why."""

    @staticmethod
    def of(entries: "Iterable[Entry]") -> "Report":
        """The report on entries, which run in segments on one machine."""
        several = list(entries)
        machine = several[0].hybrid
        return Report(tuple(map(of_entry, several)), len(machine.known), dict(machine.refused))

    def __str__(self) -> str:
        compiled = [f"segments compiled: {self.segments}"] if self.segments else []
        host = [f"on the host: {name} ({why})" for name, why in self.host.items()]
        return "\n".join([*map(str, self.entries), *compiled, *host])


def of_entry(e: "Entry") -> EntryReport:
    """The report on an entry."""
    w = e.whole
    reasons = [reason for by_shape in w.refused.values() for reason in by_shape.values()]
    return EntryReport(w.name.name_hint, e.calls, w.operators, tuple(dict.fromkeys(reasons)))
