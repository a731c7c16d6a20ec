"""What became of each graph that PyTorch gave to the backend, and the warnings about those it runs itself."""

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

LOGGER = logging.getLogger("relay.torch")
MAX_RECORDS = 1000
"""How many graphs are remembered; the oldest goes first."""


@dataclass(frozen=True)
class GraphRecord:
    """One graph."""

    name: str
    """The number that PyTorch gave it, and which part: `0/inference`, `1/forward`, `1/backward`."""
    nodes: int
    """How many operators it has."""
    seconds: float
    """How long compiling it took."""
    reason: str = ""
    """Why PyTorch runs it; empty if it was compiled."""

    @property
    def is_compiled(self) -> bool:
        """Whether it is machine code of Relay."""
        return not self.reason


@dataclass(frozen=True)
class CompiledGraphs:
    """The graphs since the start of the process, or the last `forget_graphs`; `print` shows a table."""

    records: Sequence[GraphRecord]

    @property
    def share(self) -> float:
        """The part of them that is compiled: 1.0 for all."""
        return sum(r.is_compiled for r in self.records) / len(self.records) if self.records else 1.0

    def __str__(self) -> str:
        done = sum(r.is_compiled for r in self.records)
        lines = [f"{done} of {len(self.records)} graphs compiled"]
        width = max([len(r.name) for r in self.records], default=0)
        for r in self.records:
            how = f"compiled in {r.seconds:.2f} s" if r.is_compiled else f"left to PyTorch: {r.reason}"
            lines.append(f"{r.name.ljust(width)}  {r.nodes:5d} nodes  {how}")
        return "\n".join(lines)


class Records:
    """The graphs so far, and the reasons that were told."""

    def __init__(self) -> None:
        """None so far."""
        self.made: deque[GraphRecord] = deque(maxlen=MAX_RECORDS)
        self.told: set[str] = set()
        self.count = 0
        self.lock = Lock()

    def number(self) -> int:
        """The number of the next capture."""
        with self.lock:
            self.count += 1
            return self.count - 1

    def enter(self, record: GraphRecord) -> None:
        """Note a graph; a reason that was not told before is a warning."""
        with self.lock:
            self.made.append(record)
            is_new = bool(record.reason) and record.reason not in self.told
            self.told.add(record.reason)
        if record.is_compiled:
            LOGGER.info("graph %s: %d nodes compiled in %.2f s", record.name, record.nodes, record.seconds)
        elif is_new:
            LOGGER.warning("graph %s is left to PyTorch: %s (%s)", record.name, record.reason, SEE)

    def forget(self) -> None:
        """Begin anew."""
        with self.lock:
            self.count = 0
            self.made.clear()
            self.told.clear()


SEE = "print(relay.frontend.torch_compile.graphs()) lists all graphs"
RECORDS = Records()


def graphs() -> CompiledGraphs:
    """What became of the graphs that `torch.compile(..., backend="relay")` was given."""
    with RECORDS.lock:
        return CompiledGraphs(tuple(RECORDS.made))


def forget_graphs() -> None:
    """Forget the graphs so far and which reasons were told, and number anew."""
    RECORDS.forget()
