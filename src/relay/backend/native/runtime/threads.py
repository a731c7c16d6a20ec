"""How many threads parallel loops take."""

import os
from collections.abc import Sequence
from pathlib import Path

from relay.backend.native.memory.layout import THREADS_MAX
from relay.diagnostic import fail

DIGITS = 4
"""As many digits of a number say whether it is more than that."""


def default_threads() -> int:
    """How many threads a loop takes if its program does not say: `RELAY_NUM_THREADS`, or one for each core
    that this process may use (`thread-count`).
    """
    given = os.environ.get("RELAY_NUM_THREADS")
    return available_cores() if given is None else thread_count(given, "RELAY_NUM_THREADS")


def thread_count(given: object, name: str) -> int:
    """A number of threads that a user has given (`thread-count`)."""
    text = str(given).strip().lstrip("0")
    if not text.isdecimal():
        fail("thread-count", f"`{name}` is {given!r}", hint=f"a whole number from 1 to {THREADS_MAX}")
    return min(int(text[:DIGITS]), THREADS_MAX)


def available_cores() -> int:
    """How many cores this process may use: those it may run on, as far as its control group gives it time."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, THREADS_MAX, *cgroup_cores(Path("/sys/fs/cgroup"))))


def cgroup_cores(root: Path) -> Sequence[int]:
    """The cores' worth of time that a control group has, if it is limited, rounded up."""
    try:
        quota, period = (root / "cpu.max").read_text().split()
    except (OSError, ValueError):
        return ()
    return () if quota == "max" else (-(-int(quota) // int(period)),)
