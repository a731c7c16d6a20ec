"""Profiles of the interpreter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relay.interpreter.profile import Change, ProfilingInterpreter, live_at_peak
from relay.ir.module import IRModule
from relay.picture.page import framed
from relay.picture.profile import Held, Moment, ProfileData, Spent, memory_text, place_text
from relay.picture.profile_page import profile_page
from relay.picture.times import format_seconds
from relay.text.files import write_atomically

MAX_LISTED = 30
MAX_REPEATED_SECONDS = 2.0
"""Calls are repeated for so long at most."""


@dataclass(frozen=True, slots=True)
class InterpreterProfile:
    """Where the time and the memory of an interpreted call go; as text, a table."""

    data: ProfileData

    def __str__(self) -> str:
        data = self.data
        head = f"{'time':>10}{'share':>8}{'calls':>9}  operator"
        lines = [f"@{data.name}: {format_seconds(data.seconds)} a call, interpreted", head]
        for s in data.spent[:MAX_LISTED]:
            where = f"{s.label}{place_text(s.span)}"
            lines.append(
                f"{format_seconds(s.seconds):>10}{s.seconds / data.seconds:>8.1%}{s.calls:>9}  {where}"
            )
        rest = data.spent[MAX_LISTED:]
        if rest:
            took = sum([s.seconds for s in rest])
            lines.append(f"{format_seconds(took):>10}{took / data.seconds:>8.1%}{'':>9}  {len(rest)} more")
        for label, seconds in data.outside:
            lines.append(f"{format_seconds(seconds):>10}{seconds / data.seconds:>8.1%}{'':>9}  ({label})")
        return "\n".join([*lines, *memory_text(data)])

    def _repr_html_(self) -> str:
        return framed(self.html(), f"profile of @{self.data.name}")

    def html(self) -> str:
        """A page that stands alone: a flame graph, memory over time, the program with time on it."""
        return profile_page(self.data)

    def save_html(self, path: str) -> None:
        """Write the page (`cannot-write`)."""
        write_atomically(path, lambda out: out.write(self.html().encode()))


def interpreted_profile(
    mod: IRModule, entry: str, args: Sequence[Any], repeat: int = 3
) -> InterpreterProfile:
    """Call a definition of a module some times in the interpreter, and once before that."""
    interpreter = ProfilingInterpreter(mod)
    interpreter.run(entry, tuple(args))
    times: list[float] = []
    while not times or (len(times) < repeat and sum(times) < MAX_REPEATED_SECONDS):
        times.append(interpreter.run(entry, tuple(args)))
    sites = sorted([s for s in interpreter.sites if s.calls], key=lambda s: -s.seconds)
    spent = [Spent(s.name, s.span, s.calls, s.seconds) for s in sites]
    whole = times[-1]
    rest = max(0.0, whole - sum([s.seconds for s in spent]))
    peak, alive = live_at_peak(interpreter.changes)
    tensors = [Held(c.bytes, c.site.name, c.site.span) for c in alive]
    memory = moments(interpreter.changes)
    outside = [
        ("instructions of the interpreter: calls, branches, values taken apart and put together", rest)
    ]
    return InterpreterProfile(
        ProfileData(
            entry,
            whole,
            spent,
            outside,
            memory,
            peak,
            tensors,
            source=mod,
        )
    )


def moments(changes: Sequence[Change]) -> list[Moment]:
    """The bytes of all tensors after each change."""
    found: list[Moment] = []
    total = 0
    for c in changes:
        total += c.bytes
        found.append(Moment(c.seconds, total, c.site.name, c.site.span))
    return found
