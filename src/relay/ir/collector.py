"""The cyclic garbage collector, paused while many nodes are made: programs are acyclic.

The collector is one for all threads.  So a setting is taken back only if it is still ours, the threads that
have one are counted, and a child that another thread forked gets the collector as it was.
"""

import gc
import os
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock

SELDOM = 200_000, 20, 20
"""Thresholds while stacks are deep: a collection looks at all of a stack."""

_is_pausing: ContextVar[bool] = ContextVar("relay_is_pausing", default=False)
"""True inside `paused` in this thread."""


class _Collector:
    """The settings that threads have changed."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.is_off = False
        """True if the collector is off because a thread of ours turned it off."""
        self.deep = 0
        """The number of threads inside `seldom`."""
        self.before = gc.get_threshold()
        """The thresholds before the first of these."""
        self.now = self.before
        """The thresholds that it set."""

    def pause(self) -> None:
        """Turn the collector off, if it is on."""
        with self.lock:
            if gc.isenabled():
                gc.disable()
                self.is_off = True

    def resume(self) -> None:
        """Turn the collector on again, if it is off because of us.

        It is on again even if another thread has still paused it: that one gets slower, but pauses of many
        threads that overlap without a gap cannot keep it off for good.
        """
        with self.lock:
            if self.is_off:
                self.is_off = False
                gc.enable()

    def widen(self) -> None:
        """Raise the thresholds for one more thread."""
        with self.lock:
            self.deep += 1
            if self.deep == 1:
                self.before = gc.get_threshold()
                a, b, c = map(max, self.before, SELDOM)
                self.now = a if self.before[0] else 0, b, c
                gc.set_threshold(*self.now)

    def narrow(self) -> None:
        """Restore the thresholds after the last thread, unless somebody else has changed them."""
        with self.lock:
            self.deep = max(0, self.deep - 1)
            if not self.deep and gc.get_threshold() == self.now:
                gc.set_threshold(*self.before)

    def restore_in_child(self) -> None:
        """Undo, in a forked child, the settings of threads that it does not have."""
        self.lock = RLock()
        if not _is_pausing.get():
            self.resume()
        self.deep = min(self.deep, 1)
        self.narrow()


_collector = _Collector()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_collector.restore_in_child)


@contextmanager
def paused() -> Generator[None]:
    """No cyclic collection inside (at 200,000 nodes it takes two thirds of the time).

    >>> with paused():
    ...     gc.isenabled()
    False
    """
    if _is_pausing.get():
        yield
        return
    token = _is_pausing.set(True)
    _collector.pause()
    try:
        yield
    finally:
        _collector.resume()
        _is_pausing.reset(token)


@contextmanager
def seldom() -> Generator[None]:
    """Fewer cyclic collections inside, which would look at deep stacks again and again."""
    _collector.widen()
    try:
        yield
    finally:
        _collector.narrow()
