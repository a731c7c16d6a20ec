"""The cyclic garbage collector, paused while many nodes are made: programs are acyclic."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def paused() -> Generator[None]:
    """No cyclic collection inside (at 200,000 nodes it takes two thirds of the time).

    >>> with paused():
    ...     gc.isenabled()
    False
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
