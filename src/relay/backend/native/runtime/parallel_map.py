"""Work that is done side by side, where most of it runs without the lock of Python's interpreter."""

from collections.abc import Callable, Sequence
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

from relay.backend.native.runtime.threads import available_cores

T = TypeVar("T")
R = TypeVar("R")


def parallel_map(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """What `work` makes of each item, on all cores, in the caller's context; items are begun in their order.

    When one fails, what is under way ends, and the failure is raised.
    """
    found: dict[int, R] = {}
    failures: list[BaseException] = []
    numbers = iter(range(len(items)))

    def go_on() -> None:
        for i in numbers:
            try:
                found[i] = work(items[i])
            except BaseException as failure:
                failures.append(failure)
            if failures:
                return

    others = [
        Thread(target=copy_context().run, args=(go_on,))
        for _ in range(min(available_cores(), len(items)) - 1)
    ]
    for thread in others:
        thread.start()
    go_on()
    for thread in others:
        thread.join()
    if failures:
        raise failures[0]
    return [found[i] for i in range(len(items))]
