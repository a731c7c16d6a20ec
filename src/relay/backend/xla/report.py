"""What became of the entries of a program for XLA."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from relay.backend.xla.collectives import collectives_in
from relay.backend.xla.layout import OverMesh

if TYPE_CHECKING:
    from relay.backend.xla.built import Entry
    from relay.backend.xla.whole import Whole

MANY_FORMS = "it is batched, and given data of a type that has several forms"
"""Why a call is not compiled for the structure of its arguments."""


@dataclass(frozen=True, slots=True)
class EntryReport:
    """What became of the calls of an entry."""

    name: str
    calls: int
    operators: int
    """How many operators the program of XLA has that was traced last; 0 if none could be."""
    reasons: tuple[str, ...]
    """Why calls were not computed as a whole."""
    mesh: str = ""
    """The mesh that it is computed on, and what its devices send each other; empty where there is none."""

    def __str__(self) -> str:
        if not self.calls:
            return f"@{self.name}: not called yet"
        over = f" over {self.mesh}" if self.mesh else ""
        whole = [f"whole{over}, {self.operators} operators"] if self.operators else []
        parts = [f"in segments, since {'; '.join(self.reasons)}"] if self.reasons else []
        return f"@{self.name}: {'; '.join([*whole, *parts]) or 'whole'}"


@dataclass(frozen=True, slots=True)
class Report:
    """What became of each entry; `print` shows it."""

    entries: tuple[EntryReport, ...]
    segments: int
    """How many programs XLA has compiled for segments."""
    dispatches: int
    """How many times programs of XLA ran for segments."""
    calls: int
    """How many calls of segments these have made."""
    host: dict[str, str]
    """The operators in segments that the host computes, and why."""

    @staticmethod
    def of(entries: "Iterable[Entry]") -> "Report":
        """The report on entries, of which several may run in segments on one machine."""
        several = list(entries)
        machines = list({id(e.hybrid): e.hybrid for e in several if e.hybrid is not None}.values())
        return Report(
            tuple(map(of_entry, several)),
            sum([len(m.known) for m in machines]),
            sum([m.dispatches for m in machines]),
            sum([m.calls for m in machines]),
            {name: why for m in machines for name, why in m.refused.items()},
        )

    def __str__(self) -> str:
        compiled = [f"segments compiled: {self.segments}"] if self.segments else []
        if self.dispatches:
            calls = "" if self.calls == self.dispatches else f" for {self.calls:,} calls of segments"
            compiled.append(f"dispatches: {self.dispatches:,}{calls}")
        host = [f"on the host: {name} ({why})" for name, why in self.host.items()]
        return "\n".join([*map(str, self.entries), *compiled, *host])


def of_entry(e: "Entry") -> EntryReport:
    """The report on an entry."""
    w = e.whole
    reasons = [reason for by_shape in w.refused.values() for reason in by_shape.values()]
    reasons += [MANY_FORMS] if e.is_batched_by_form else []
    return EntryReport(w.name.name_hint, e.calls, w.operators, tuple(dict.fromkeys(reasons)), mesh_text(w))


def mesh_text(w: "Whole") -> str:
    """The mesh that a definition is computed on, and what its devices send, by the structure of arguments."""
    if not isinstance(w.layout, OverMesh):
        return ""
    sent = [str(collectives_in(w.lowered(s).compile().as_text())) for s in w.kept if s not in w.refused]
    return f"{w.layout} ({'; '.join(dict.fromkeys(sent))})" if sent else str(w.layout)
