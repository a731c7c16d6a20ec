"""What profiles of each backend say, in one form: where time goes, and memory; as text and for pages."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from relay.diagnostic import Span
from relay.ir.module import IRModule

MAX_LISTED_TENSORS = 5
MAX_LISTED_DEFINITIONS = 5


@dataclass(frozen=True, slots=True)
class Spent:
    """Time that a place of the program takes in a call, for all the times that it runs."""

    label: str
    span: Span | None
    calls: int
    seconds: float
    note: str = ""
    """How fast that is."""


@dataclass(frozen=True, slots=True)
class Held:
    """A tensor: how large it is, and what made it."""

    bytes: int
    label: str
    span: Span | None


@dataclass(frozen=True, slots=True)
class Moment:
    """The bytes of all tensors when something has just been computed."""

    seconds: float
    """Since the call began."""
    bytes: int
    label: str
    span: Span | None


@dataclass(frozen=True, slots=True)
class ProfileData:
    """Where the time and the memory of a call go."""

    name: str
    """The definition that is called."""
    seconds: float
    spent: Sequence[Spent]
    """Those that take longest first."""
    outside: Sequence[tuple[str, float]]
    """What the rest of the time is, with seconds."""
    memory: Sequence[Moment]
    peak_bytes: int
    tensors: Sequence[Held]
    """Those that were alive when there were most bytes of them, the largest first."""
    peak_in: str = ""
    """What was computed then, and its place, where that is known."""
    source: IRModule = field(default_factory=IRModule)
    """What was compiled or interpreted."""


class Places:
    """Finds the definition that a place is in: the last one that begins before it in the same text."""

    def __init__(self, mod: IRModule) -> None:
        """`mod` has the definitions, with their places."""
        self.starts: dict[str, list[tuple[int, str]]] = {}
        for v, e in mod.functions.items():
            if e.span is not None:
                self.starts.setdefault(e.span.source.name, []).append((e.span.start, v.name_hint))
        for several in self.starts.values():
            several.sort()

    def definition(self, span: Span | None) -> str:
        """The name of the definition around a place, empty if there is none."""
        several = [] if span is None else self.starts.get(span.source.name, [])
        at = 0 if span is None else bisect_right(several, span.start, key=lambda item: item[0])
        return several[at - 1][1] if at else ""


def size_text(count: float) -> str:
    """A number of bytes, in MB, or in kB or B where it is small."""
    if count < 1000:
        return f"{count:.0f} B"
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


def place_text(span: Span | None) -> str:
    """` (model.relay:3:5)`, or nothing."""
    return "" if span is None else f" ({span})"


def memory_text(data: ProfileData) -> list[str]:
    """What a profile says of memory, in lines."""
    if not data.peak_bytes and not data.tensors:
        return []
    lines = [f"memory: {size_text(data.peak_bytes)} of tensors at most"]
    last = max(data.memory, key=lambda m: m.bytes, default=None)
    if data.peak_in:
        lines[0] += f", while in {data.peak_in}"
    elif last is not None and last.bytes:
        lines[0] += f"; after {last.label}{place_text(last.span)} they are {size_text(last.bytes)}"
    found = by_definition(data)
    if found:
        listed = [f"@{name} {size_text(n)}" for name, n in found[:MAX_LISTED_DEFINITIONS]]
        lines.append(f"  most while in: {', '.join(listed)}")
    if data.tensors:
        lines.append("  largest tensors alive then:")
        lines += [
            f"{size_text(x.bytes):>14}  {x.label}{place_text(x.span)}"
            for x in data.tensors[:MAX_LISTED_TENSORS]
        ]
    return lines


def by_definition(data: ProfileData) -> list[tuple[str, int]]:
    """For each definition, the most bytes of tensors while it computes; the largest first."""
    places, found = Places(data.source), dict[str, int]()
    for moment in data.memory:
        name = places.definition(moment.span)
        if name:
            found[name] = max(found.get(name, 0), moment.bytes)
    return sorted([(name, n) for name, n in found.items() if n], key=lambda item: -item[1])
