"""Backtraces of failures in compiled code.

Machine code keeps no backtrace: most calls have been inlined or folded away.  A call that fails is repeated
by the interpreter, which fails in the same way and records the calls.  After a second it is abandoned, and
the failure is reported without a backtrace.
"""

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from relay.diagnostic import RelayError
from relay.interpreter.effects import is_repeated

MAX_SECONDS = 1.0
"""The time limit for the interpreter, and again for its thread to stop."""


class RerunTimeoutError(BaseException):
    """Stops an interpreter that exceeds the time limit."""


def with_backtrace(found: RelayError, again: Callable[[], Any]) -> RelayError:
    """The failure of `again`, which has a backtrace, if it comes in time with the same code; else `found`."""
    met: list[RelayError] = []

    def interpret() -> None:
        is_repeated.set(True)
        try:
            again()
        except RelayError as error:
            met.append(error)
        except (Exception, RerunTimeoutError):
            return

    thread = threading.Thread(target=interpret, daemon=True)
    try:
        thread.start()
    except RuntimeError:  # there is no memory for its stack
        return found
    thread.join(MAX_SECONDS)
    if thread.is_alive():
        stop = ctypes.pythonapi.PyThreadState_SetAsyncExc
        stop(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(RerunTimeoutError))
        thread.join(MAX_SECONDS)
    return met[0] if met and met[0].codes == found.codes else found
