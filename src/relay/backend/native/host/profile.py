"""Where the time of a call goes, group by group of operators: a table, and a trace for Chrome."""

import ctypes
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic_ns
from typing import Any

import numpy as np

from relay.backend.native.host.artefact import Artefact
from relay.backend.native.host.context import read_leaf, write_leaf
from relay.backend.native.host.native_program import NativeProgram
from relay.backend.native.kernels.peak import peak_of_products
from relay.backend.native.memory.layout import PEAK_BYTES_OFFSET, WATCH_OFFSET
from relay.backend.native.program.instrumentation import (
    BETWEEN_GROUPS,
    COUNT_SYMBOL,
    EVENT_WORDS,
    EVENTS_SYMBOL,
    MAX_EVENTS,
    PEAK_SYMBOL,
    PEAK_WORDS,
    Group,
)
from relay.backend.native.runtime.threads import default_threads
from relay.ir.module import IRModule
from relay.picture.page import framed
from relay.picture.profile import Held, Moment, ProfileData, Spent, memory_text, place_text
from relay.picture.profile_page import profile_page
from relay.picture.times import format_seconds
from relay.text.files import write_atomically


@dataclass(frozen=True, slots=True)
class InstrumentedProgram:
    """A program that notes the times of its groups."""

    artefact: Artefact
    groups: Sequence[Group]


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """A group of operators in a call of the program."""

    group: Group
    calls: int
    seconds: float
    """For all its calls together."""

    @property
    def speed(self) -> str:
        """Operations and bytes in a second, as text."""
        said = [(self.flops, "GFLOP/s"), (self.bandwidth, "GB/s")]
        return ", ".join([f"{n / 1e9:.1f} {unit}" for n, unit in said if n is not None])

    @property
    def flops(self) -> float | None:
        """Operations of floating point in a second."""
        done = self.group.operations
        return self.calls * done / self.seconds if done and self.seconds else None

    @property
    def bandwidth(self) -> float | None:
        """Bytes of operands and results in a second."""
        moved = self.group.bytes
        return self.calls * moved / self.seconds if moved and self.seconds else None


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the time of a call goes; as text, a table."""

    name: str
    seconds: float
    """Of a whole call: the one whose time is the median."""
    rows: Sequence[ProfileRow]
    """The groups, those that take longest first."""
    peak: float
    """Operations of floating point in a second that the machine's threads reach in registers."""
    events: Sequence[tuple[int, int, int, int]]
    """The number of a group, nanoseconds when it began and ended, and the bytes of tensors
    at its end.
    """
    groups: Sequence[Group]
    tensor_bytes: int = 0
    """The most that tensors of more than 512 bytes have taken at once; those that are constants, or that the
    caller has, do not count.
    """
    outside_parts: Sequence[tuple[str, float]] = ()
    """What there is outside of groups, with seconds: before the first, between two, and after the last."""
    source: IRModule = field(default_factory=IRModule)
    """What was compiled; empty for a program from a file."""
    alive: Sequence[tuple[int, int]] = ()
    """Of the tensors that were alive when they took most: bytes, and the number of the group that took the
    memory, `BETWEEN_GROUPS` where none did.
    """
    running: int = BETWEEN_GROUPS
    """The group that was computed then."""

    @property
    def outside(self) -> float:
        """Seconds of a call outside of all groups: control flow, and values on their way in and out."""
        return max(0.0, self.seconds - sum([row.seconds for row in self.rows]))

    def __str__(self) -> str:
        head = f"{'time':>10}{'share':>8}{'calls':>7}{'GFLOP/s':>9}{'of peak':>9}{'GB/s':>8}  group"
        lines = [self.line(r.seconds, r.calls, r.flops, r.bandwidth, r.group.name) for r in self.rows]
        rest = self.line(self.outside, 1, None, None, "(outside of groups)")
        taken = f"{self.tensor_bytes / 1e6:.1f} MB of tensors"
        said = f"@{self.name}: {format_seconds(self.seconds)} a call, {taken}"
        parts = [
            f"{format_seconds(t):>10}{t / self.seconds if self.seconds else 0:>8.1%}{'':>33}    {what}"
            for what, t in self.outside_parts
        ]
        return "\n".join([said, head, *lines, rest, *parts, *memory_text(self.data())])

    def data(self) -> ProfileData:
        """The profile in the form that all backends have."""
        spent = [Spent(r.group.name, r.group.span, r.calls, r.seconds, r.speed) for r in self.rows]
        first = min([begin for _, begin, _, _ in self.events], default=0)
        memory = [
            Moment((end - first) / 1e9, taken, self.groups[i].name, self.groups[i].span)
            for i, _, end, taken in sorted(self.events, key=lambda event: event[2])
        ]
        tensors = [self.held(taken, i) for taken, i in sorted(self.alive, reverse=True)]
        then = self.held(0, self.running)
        peak_in = "" if self.running == BETWEEN_GROUPS else then.label + place_text(then.span)
        outside = self.outside_parts or [("outside of groups", self.outside)]
        return ProfileData(
            self.name,
            self.seconds,
            spent,
            outside,
            memory,
            self.tensor_bytes,
            tensors,
            peak_in,
            self.source,
        )

    def held(self, taken: int, i: int) -> Held:
        """A tensor of so many bytes, whose memory group `i` took."""
        if i == BETWEEN_GROUPS:
            return Held(taken, "(between groups)", None)
        return Held(taken, self.groups[i].name, self.groups[i].span)

    def _repr_html_(self) -> str:
        return framed(self.html(), f"profile of @{self.name}")

    def html(self) -> str:
        """A page that stands alone: a flame graph, memory over time, the program with time on it."""
        return profile_page(self.data())

    def save_html(self, path: str | Path) -> None:
        """Write the page (`cannot-write`)."""
        text = self.html().encode()
        write_atomically(str(path), lambda out: out.write(text))

    def line(
        self, seconds: float, calls: int, flops: float | None, bandwidth: float | None, name: str
    ) -> str:
        """A row of the table."""
        share = seconds / self.seconds if self.seconds else 0.0
        speed = "" if flops is None else f"{flops / 1e9:.1f}"
        part = "" if flops is None else f"{flops / self.peak:.0%}"
        moved = "" if bandwidth is None else f"{bandwidth / 1e9:.1f}"
        return f"{format_seconds(seconds):>10}{share:>8.1%}{calls:>7}{speed:>9}{part:>9}{moved:>8}  {name}"

    def trace(self) -> dict[str, Any]:
        """The call as `chrome://tracing` and Perfetto read it."""
        start = min([begin for _, begin, _, _ in self.events], default=0)
        found: list[dict[str, Any]] = []
        for i, begin, end, _ in self.events:
            group = self.groups[i]
            said = {"operations": group.operations, "bytes": group.bytes}
            times = {"ts": (begin - start) / 1000, "dur": (end - begin) / 1000}
            found.append({"name": group.name, "ph": "X", **times, "pid": 1, "tid": 1, "args": said})
        return {"traceEvents": found, "displayTimeUnit": "ns"}

    def save_trace(self, path: str | Path) -> None:
        """Write the trace (`cannot-write`)."""
        text = json.dumps(self.trace()).encode()
        write_atomically(str(path), lambda out: out.write(text))


def run_profiled(
    watched: InstrumentedProgram,
    entry: str,
    args: Sequence[Any],
    repeat: int,
    threads: int | None,
    source: IRModule | None = None,
) -> Profile:
    """Call an entry some times, and once before that, and look where the time of the median call goes;
    `source` is what was compiled.
    """
    program = NativeProgram.of(watched.artefact, threads)
    count, events = (
        event_buffer(program) if watched.groups else (ctypes.c_int64(), np.zeros((0, EVENT_WORDS), "int64"))
    )
    function = program.function(entry)
    calls: list[tuple[int, int, Any]] = []
    function(*args)
    alive, running = at_peak(program, lambda: function(*args)) if watched.groups else ([], BETWEEN_GROUPS)
    for _ in range(max(1, repeat)):
        count.value = 0
        start = monotonic_ns()
        function(*args)
        end = monotonic_ns()
        calls.append((start, end, events[: min(count.value, MAX_EVENTS)].copy()))
    calls.sort(key=lambda call: call[1] - call[0])
    start, end, seen = calls[(len(calls) - 1) // 2]
    counts = np.bincount(seen[:, 0], minlength=len(watched.groups))
    times = np.bincount(seen[:, 0], seen[:, 2] - seen[:, 1], len(watched.groups)) / 1e9
    rows = [
        ProfileRow(group, int(n), float(t))
        for group, n, t in zip(watched.groups, counts, times, strict=True)
        if n
    ]
    rows.sort(key=lambda row: -row.seconds)
    peak = peak_of_products() * (threads or default_threads())
    listed = [(int(i), int(begin), int(end), int(taken)) for i, begin, end, taken in seen]
    taken = sum([read_leaf(at + PEAK_BYTES_OFFSET, "i64") for at in program.contexts.known])
    said = tuple(zip(OUTSIDE, apart(start, end, seen), strict=True)) if listed else ()
    known = IRModule() if source is None else source
    seconds = (end - start) / 1e9
    return Profile(entry, seconds, rows, peak, listed, watched.groups, taken, said, known, alive, running)


OUTSIDE = (
    "before the first group: arguments are converted and checked",
    "between groups: calls, branches, data types, memory that is taken and given back",
    "after the last group: results go to Python, memory is given back",
)


def at_peak(program: NativeProgram, call: Callable[[], Any]) -> tuple[list[tuple[int, int]], int]:
    """The tensors that are alive when a call has most bytes of them, and the group that is computed then, as
    `Profile` has both; the call has been made before, so that the most is known.
    """
    peaks = {at: read_leaf(at + PEAK_BYTES_OFFSET, "i64") for at in program.contexts.known}
    main = max(peaks, key=lambda at: peaks[at])
    if not peaks[main]:
        return [], BETWEEN_GROUPS
    where = program.code.global_address(PEAK_SYMBOL)
    write_leaf(main + PEAK_BYTES_OFFSET, "i64", peaks[main] - 1)  # reaching it again is a new peak
    write_leaf(main + WATCH_OFFSET, "ptr", where)
    try:
        call()
    finally:
        write_leaf(main + WATCH_OFFSET, "ptr", 0)
    words = np.ctypeslib.as_array((ctypes.c_int64 * PEAK_WORDS).from_address(where))
    running = int(words[1]) or BETWEEN_GROUPS
    objects = words[3:].reshape(-1, 2)[: words[2]].tolist()
    return [(taken, number_of(group or running)) for taken, group in objects], number_of(running)


def number_of(group: int) -> int:
    """The number of a group that large objects know: one more, where there is one."""
    return group if group == BETWEEN_GROUPS else group - 1


def apart(start: int, end: int, events: Any) -> tuple[float, float, float]:
    """Seconds of a call before the first of its groups, between two of them, and after the last."""
    if not len(events):
        return 0.0, (end - start) / 1e9, 0.0
    first, last = int(events[:, 1].min()), int(events[:, 2].max())
    within = int((events[:, 2] - events[:, 1]).sum())
    return (first - start) / 1e9, max(0, last - first - within) / 1e9, (end - last) / 1e9


def event_buffer(program: NativeProgram) -> tuple[ctypes.c_int64, Any]:
    """Where a program counts its events, and where they are."""
    count = ctypes.c_int64.from_address(program.code.global_address(COUNT_SYMBOL))
    memory: Any = (ctypes.c_int64 * (EVENT_WORDS * MAX_EVENTS)).from_address(
        program.code.global_address(EVENTS_SYMBOL)
    )
    return count, np.frombuffer(memory, "int64").reshape(MAX_EVENTS, EVENT_WORDS)
