"""The runtime of compiled programs: one for the process, which all of them share.

It is compiled when a program first needs it, and kept in the cache of compiled programs; it stays until the
process ends, since its threads do.
"""

import ctypes
import os
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from relay.backend.native.llvm import jit
from relay.backend.native.runtime.cache_folder import keep, key_of_code, read_kept, usable_cache
from relay.backend.native.runtime.threads import default_threads

SYMBOLS = (
    "relay_enter", "relay_try", "relay_fail", "relay_outside", "relay_begin", "relay_end", "relay_stopped",
    "relay_parallel", "relay_threads", "relay_fail_at", "relay_allocate", "relay_allocate_bytes",
    "relay_new_tensor",
    "relay_free_large", "relay_give_away", "relay_forget", "relay_clear", "relay_dispose", "relay_give",
    "relay_retain", "relay_release", "relay_record", "relay_flush", "relay_stack", "relay_unstack",
    "relay_text_order", "relay_text_length", "relay_text_concat",
    "relay_text_slice", "relay_text_find", "relay_text_of_bool", "relay_text_of_int", "relay_text_of_uint",
    "relay_text_of_float", "relay_text_is_int", "relay_text_to_int", "relay_text_is_float",
    "relay_text_to_float",
)  # fmt: skip
"""What programs call."""
RELIED = 8
"""Bytes before the code in its file: what programs rely on."""


@cache
def compiled_runtime() -> tuple[str, bytes]:
    """What programs rely on in the runtime, as a few letters, and its code for this processor, compiled now
    or before.
    """
    with jit.compiling_for(None):
        return _compiled_runtime()


def _compiled_runtime() -> tuple[str, bytes]:
    folder = usable_cache()
    path = None if folder is None else folder / f"runtime-{key_of_code('runtime')}.o"
    if path is not None and (said := read_kept(path)):
        letters, code = said[:RELIED], said[RELIED:]
        if letters.isalnum() and jit.is_object_code([code], SYMBOLS):
            return letters.decode(), code
    from relay.backend.native.runtime.source import compatibility_tag, object_code

    letters, made = compatibility_tag(), object_code()
    assert len(letters) == RELIED
    if path is not None:
        keep(path, letters.encode() + made)
    return letters, made


class RuntimeLibrary:
    """The runtime in memory."""

    def __init__(self) -> None:
        """Load it; threads are made when they are first needed."""
        self.code = jit.LoadedCode([compiled_runtime()[1]])
        for name in SYMBOLS:
            jit.binding().add_symbol(name, self.code.address(name))
        word, number = ctypes.c_void_p, ctypes.c_int64
        start = self.function("relay_start", None, ctypes.c_uint64, number)
        start(threading.main_thread().ident or 0, default_threads())
        os.register_at_fork(after_in_child=self.function("relay_restart", None))
        self.workers: Callable[[], int] = self.function("relay_workers", number)
        """How many threads there are beside those of Python."""
        self.digest = self.function("relay_digest", None, word, word, number)
        """Goes on with blocks of data: a state, their address, how many."""
        self.forget = self.code.address("relay_forget")
        """Takes memory back that was given away, in a capsule of Python."""
        self.call = self.locked("relay_call", ctypes.c_int, word, word)
        """Runs code in a context; whether it has failed."""
        self.take = self.locked("relay_take", word, word)
        """A context of the list of free ones, None if there is none."""
        self.give = self.locked("relay_give", None, word, number)
        """Puts a context back, which has nothing any more if the second is not 0."""
        self.clear = self.locked("relay_clear", None, word)
        self.new_object = self.locked("relay_new_object", word, word, number)
        self.new_tensor = self.locked("relay_new_tensor", word, word, number)
        self.give_away = self.locked("relay_give_away", word, word, word)
        """Takes the memory of a tensor from a context."""
        self.retain = self.locked("relay_retain", None, word)
        self.release = self.locked("relay_release", None, word, word)
        self.free_memory = self.locked("relay_free_memory", None, word)
        """Gives back all memory of a context."""
        self.code.engine.detach()

    def function(self, name: str, result: Any, *params: Any) -> Callable[..., Any]:
        """A function of the runtime; other threads of Python may run meanwhile."""
        return ctypes.CFUNCTYPE(result, *params)(self.code.address(name))

    def locked(self, name: str, result: Any, *params: Any) -> Callable[..., Any]:
        """A function of the runtime that keeps the lock of Python's interpreter."""
        return ctypes.PYFUNCTYPE(result, *params)(self.code.address(name))


@cache
def runtime_library() -> RuntimeLibrary:
    """The runtime of this process: of threads that ask for it at once, the first one loads it."""
    with _loading:
        return _load()


@cache
def _load() -> RuntimeLibrary:
    return RuntimeLibrary()


_loading = threading.RLock()
