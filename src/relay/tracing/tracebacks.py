"""Tracebacks of errors in traced functions, without the frames of this package."""

import os
from types import TracebackType

from relay.diagnostic import RelayError

SHOW_ALL_FRAMES = "RELAY_TRACEBACK"
"""The environment variable that keeps all frames, by the value `full`."""
PACKAGE = __name__.partition(".")[0]
REFUSALS = (RelayError, TypeError, AttributeError)
"""Errors by which this package refuses what a caller asks; others that it raises are its own faults."""


def hide_own_frames(error: BaseException) -> None:
    """Remove the frames of this package from the traceback of an error and of the errors that it names.

    A fault of this package keeps them, so that it can be reported.
    """
    is_fault = is_raised_here(error) and not isinstance(error, REFUSALS)
    if is_fault or os.environ.get(SHOW_ALL_FRAMES) == "full":
        return
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        e = pending.pop()
        if e is not None and id(e) not in seen:
            seen.add(id(e))
            e.__traceback__ = frames_of_callers(e.__traceback__)
            pending += [e.__cause__, e.__context__]


def is_raised_here(error: BaseException) -> bool:
    """Return whether the innermost frame of an error is of this package."""
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        entry = entry.tb_next
    return entry is not None and is_own(entry)


def is_own(entry: TracebackType) -> bool:
    """Return whether a frame is of this package."""
    return entry.tb_frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE


def frames_of_callers(entry: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this package."""
    entries: list[TracebackType] = []
    while entry is not None:
        if not is_own(entry):
            entries.append(entry)
        entry = entry.tb_next
    rest: TracebackType | None = None
    for e in reversed(entries):
        rest = TracebackType(rest, e.tb_frame, e.tb_lasti, e.tb_lineno)
    return rest
