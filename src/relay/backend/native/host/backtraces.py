"""The calls that led to a failure.

Machine code does not know them: most are gone, inlined or computed ahead, before there is any.  A call that
fails is made again, by the interpreter, which gives the same failure and tells how it got there.  It has a
second for it; a program that takes longer is shown without its calls.
"""

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from relay.diagnostic import RelayError

PATIENCE = 1.0
"""Seconds that the interpreter has."""


class AbandonedError(BaseException):
    """Takes the interpreter off a call that it has not finished in time."""


def with_calls(found: RelayError, again: Callable[[], Any]) -> RelayError:
    """The failure that `again` meets, if it is the one that was found and comes soon; else that."""
    met: list[RelayError] = []

    def interpret() -> None:
        try:
            again()
        except RelayError as error:
            met.append(error)
        except (Exception, AbandonedError):
            return

    thread = threading.Thread(target=interpret, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if thread.is_alive():
        stop = ctypes.pythonapi.PyThreadState_SetAsyncExc
        stop(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(AbandonedError))
        thread.join(PATIENCE)
    return met[0] if met and met[0].codes == found.codes else found
