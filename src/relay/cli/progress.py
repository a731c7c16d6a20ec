"""A sign of life on standard error while something takes long."""

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from relay.cli.terminal import is_watched

SPINNER_DELAY_SECONDS = 2.0
"""The spinner shows after this time."""


@contextmanager
def progress(what: str) -> Generator[None]:
    """Show a spinner with the time elapsed, on a terminal, once the block takes `SPINNER_DELAY_SECONDS`."""
    if not is_watched(sys.stderr):
        yield
        return
    lock = threading.Lock()
    shown: list[Any] = []
    over = False

    def show() -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with lock:
            if over:
                return
            columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
            bar = Progress(*columns, console=Console(stderr=True), transient=True)
            bar.add_task(what, total=None)
            bar.tasks[0].start_time = bar.get_time() - SPINNER_DELAY_SECONDS
            bar.start()
            shown.append(bar)

    timer = threading.Timer(SPINNER_DELAY_SECONDS, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:
            over = True
        for bar in shown:
            bar.stop()
