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
    """How many operators the program of XLA has that was traced last."""
    structures: int
    """For how many structures of arguments XLA has been asked to compile it."""
    reasons: tuple[str, ...]
    """Why calls were left to the interpreter."""

    def __str__(self) -> str:
        if not self.calls:
            return f"@{self.name}: not called yet"
        whole = f"whole, {self.operators} operators" if self.operators else "nothing"
        host = f"; on the host where {'; '.join(self.reasons)}" if self.reasons else ""
        return f"@{self.name}: {whole}{host}"


@dataclass(frozen=True, slots=True)
class Report:
    """What became of each entry; `print` shows a line for each."""

    entries: tuple[EntryReport, ...]

    @staticmethod
    def of(entries: "Iterable[Entry]") -> "Report":
        """The report on entries."""
        return Report(tuple([of_entry(e) for e in entries]))

    def __str__(self) -> str:
        return "\n".join(map(str, self.entries))


def of_entry(e: "Entry") -> EntryReport:
    """The report on an entry."""
    w = e.whole
    reasons = tuple(dict.fromkeys(w.refused.values()))
    return EntryReport(w.name.name_hint, e.calls, w.operators, len(w.kept), reasons)
