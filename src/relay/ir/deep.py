"""Calls that nest as deeply as a program does, without a stack that overflows.

A visitor's method is plain Python: it visits a child in the middle of its own work, so its calls nest as
the program does.  `call_with_room` notices when the present stack is half used up and goes on in a thread
with a fresh one, for which the caller waits.  Order, results and exceptions are those of a plain call.
"""

import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from functools import wraps
from typing import Any, TypeVar, cast

R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


def is_half_used() -> bool:
    """Whether the present stack has reached half the depth that Python allows."""
    try:
        sys._getframe(sys.getrecursionlimit() // 2)  # pyright: ignore[reportPrivateUsage]
    except ValueError:
        return False
    return True


def call_with_room(f: Callable[[Any], R], x: Any) -> R:
    """`f(x)`, on a fresh stack where the present one is half used up."""
    return _on_fresh_stack(f, x) if is_half_used() else f(x)


def with_room(f: F) -> F:
    """A function that calls itself as deeply as a type or value nests, with the stack that it needs."""

    @wraps(f)
    def called(*args: Any, **named: Any) -> Any:
        return _on_fresh_stack(lambda _: f(*args, **named), None) if is_half_used() else f(*args, **named)

    return cast("F", called)


def _on_fresh_stack(f: Callable[[Any], R], x: Any) -> R:
    outcome: list[Any] = [None, None]
    context = copy_context()

    def run() -> None:
        try:
            outcome[0] = context.run(f, x)
        except BaseException as error:
            outcome[1] = error

    thread = threading.Thread(target=run, name="relay-deep", daemon=True)
    thread.start()
    thread.join()
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0]
