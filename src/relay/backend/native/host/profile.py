"""Where the time of a call goes, group by group of operators: a table, and a trace for Chrome."""

import ctypes
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import monotonic_ns
from typing import Any

import numpy as np

from relay.backend.native.host.artefact import Artefact
from relay.backend.native.host.context import read_leaf
from relay.backend.native.host.native_program import NativeProgram
from relay.backend.native.host.timing import format_seconds
from relay.backend.native.kernels.peak import peak_of_products
from relay.backend.native.memory.layout import PEAK_BYTES_OFFSET
from relay.backend.native.program.instrumentation import COUNT_SYMBOL, EVENTS_SYMBOL, MAX_EVENTS, Group
from relay.backend.native.runtime.threads import default_threads
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
    """For all its calls together; the median over the repetitions."""

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
    """The median of whole calls."""
    rows: Sequence[ProfileRow]
    """The groups, those that take longest first."""
    peak: float
    """Operations of floating point in a second that the machine's threads reach in registers."""
    events: Sequence[tuple[int, int, int]]
    """Of the last call: the number of a group, and nanoseconds when it began and ended."""
    groups: Sequence[Group]
    tensor_bytes: int = 0
    """The most that tensors of more than 512 bytes have taken at once; those that are constants, or that the
    caller has, do not count.
    """

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
        return "\n".join([said, head, *lines, rest])

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
        """The last call as `chrome://tracing` and Perfetto read it."""
        start = min([begin for _, begin, _ in self.events], default=0)
        found: list[dict[str, Any]] = []
        for i, begin, end in self.events:
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
    watched: InstrumentedProgram, entry: str, args: Sequence[Any], repeat: int, threads: int | None
) -> Profile:
    """Call an entry some times, and once before that, and look where the time goes."""
    program = NativeProgram.of(watched.artefact, threads)
    count, events = event_buffer(program) if watched.groups else (ctypes.c_int64(), np.zeros((0, 3), "int64"))
    function = program.function(entry)
    whole: list[float] = []
    sums: list[Any] = []
    function(*args)
    for _ in range(max(1, repeat)):
        count.value = 0
        start = monotonic_ns()
        function(*args)
        whole.append((monotonic_ns() - start) / 1e9)
        seen = events[: min(count.value, MAX_EVENTS)]
        sums.append(np.bincount(seen[:, 0], seen[:, 2] - seen[:, 1], len(watched.groups)) / 1e9)
    last = events[: min(count.value, MAX_EVENTS)].copy()
    calls = np.bincount(last[:, 0], minlength=len(watched.groups))
    times = np.median(np.array(sums), axis=0)
    rows = [
        ProfileRow(group, int(n), float(t))
        for group, n, t in zip(watched.groups, calls, times, strict=True)
        if n
    ]
    rows.sort(key=lambda row: -row.seconds)
    peak = peak_of_products() * (threads or default_threads())
    listed = [(int(i), int(begin), int(end)) for i, begin, end in last]
    taken = sum([read_leaf(at + PEAK_BYTES_OFFSET, "i64") for at in program.contexts.known])
    return Profile(entry, median(whole), rows, peak, listed, watched.groups, taken)


def event_buffer(program: NativeProgram) -> tuple[ctypes.c_int64, Any]:
    """Where a program counts its events, and where they are."""
    count = ctypes.c_int64.from_address(program.code.global_address(COUNT_SYMBOL))
    memory: Any = (ctypes.c_int64 * (3 * MAX_EVENTS)).from_address(program.code.global_address(EVENTS_SYMBOL))
    return count, np.frombuffer(memory, "int64").reshape(MAX_EVENTS, 3)
