"""How much memory and how many frames a program may use."""

import os
from functools import lru_cache
from pathlib import Path

FRAME_BYTES = 600
"""What a frame of a small recursive function takes, values included (measured: 350 to 550)."""
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@lru_cache(maxsize=1)
def available_memory() -> int:
    """The memory of this machine in bytes, or of the container if that is less."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        total = 8 << 30
    for name in CGROUP_LIMITS:
        try:
            text = Path(name).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            total = min(total, int(text))
    return total


@lru_cache(maxsize=1)
def default_depth() -> int:
    """The maximum number of active calls: those that half of the memory holds, at most four million."""
    return min(4_000_000, available_memory() // (2 * FRAME_BYTES))
