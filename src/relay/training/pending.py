"""Saves that go on while the program does, at most one to a directory."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

_running: dict[Path, Future[Any]] = {}
"""The saves that have begun, by their directories."""


def begin(root: Path, write: Callable[[], object]) -> None:
    """Have a thread do a save to a directory; the interpreter does not end before it has."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="relay save")
    _running[root.resolve()] = pool.submit(write)
    pool.shutdown(wait=False)


def finish(root: Path) -> None:
    """Wait for the save to a directory that has begun, and raise what it raised."""
    found = _running.pop(root.resolve(), None)
    if found is not None:
        found.result()


def finish_saves() -> None:
    """Wait for all saves that were begun with `wait=False` (`cannot-write`)."""
    while _running:
        try:
            _, found = _running.popitem()
        except KeyError:  # another thread waits for the last one
            return
        found.result()
