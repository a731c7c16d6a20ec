"""How much memory a worker may take: a bound on its address space (`RLIMIT_AS`), which Linux alone keeps.

Beyond the bound there is a reserve, for the libraries of machine code while they are loaded, and for the
answer that says that memory has run out.
"""

import os
from contextlib import suppress

RESERVE_BYTES = 1 << 30


def limit_memory(memory_bytes: int) -> None:
    """Let this process take so much memory beside what it has now."""
    with suppress(ImportError, ValueError, OSError):  # Windows, macOS
        import resource

        most = size_bytes() + memory_bytes
        _, last = resource.getrlimit(resource.RLIMIT_AS)
        if last == resource.RLIM_INFINITY:
            last = most + RESERVE_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (min(most, last), last))


def lift_memory_limit() -> None:
    """Let this process take its reserve too."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, last = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (last, last))


def size_bytes() -> int:
    """The address space of this process, 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
