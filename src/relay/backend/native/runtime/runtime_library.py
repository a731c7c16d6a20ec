"""The runtime of compiled programs: one for the process, which all of them share.

It is compiled when a program first needs it, and kept in the cache of compiled programs; it stays until the
process ends, since its threads do.
"""

import ctypes
import hashlib
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from relay.backend.native.llvm import jit
from relay.backend.native.runtime.cache_folder import cache_folder, package
from relay.backend.native.runtime.threads import default_threads
from relay.diagnostic import RelayError
from relay.text.files import write_atomically

SYMBOLS = (
    "relay_enter", "relay_try", "relay_fail", "relay_outside", "relay_begin", "relay_end", "relay_poll",
    "relay_stopped", "relay_parallel", "relay_threads", "relay_fail_at",
    "relay_allocate", "relay_allocate_bytes",
    "relay_free_large", "relay_give_away", "relay_forget", "relay_clear", "relay_dispose", "relay_give",
    "relay_retain", "relay_release",
)  # fmt: skip
"""What programs call."""
DIGEST, RELIED = 16, 8
"""Bytes before the code in its file: the digest of what follows, and what programs rely on."""
Door = Callable[[int, int], int | None]
"""A function of the runtime that takes a context and a number, and lets nobody in meanwhile."""


@cache
def runtime() -> tuple[str, bytes]:
    """What programs rely on in the runtime, as a few letters, and its code, compiled now or before."""
    around = repr((package(), jit.triple(), jit.processor(), jit.features())).encode()
    number = hashlib.blake2b(around, digest_size=16).hexdigest()
    folder = cache_folder()
    path = None if folder is None else folder / f"runtime-{number}.o"
    if path is not None:
        with suppress(OSError):
            said = path.read_bytes()
            if said[:DIGEST] == hashlib.blake2b(said[DIGEST:], digest_size=DIGEST).digest():
                return said[DIGEST : DIGEST + RELIED].decode(), said[DIGEST + RELIED :]
    from relay.backend.native.runtime.source import compiled, relied

    letters, made = relied(), compiled()
    assert len(letters) == RELIED
    if path is not None:
        kept = letters.encode() + made
        kept = hashlib.blake2b(kept, digest_size=DIGEST).digest() + kept
        with suppress(OSError, RelayError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(str(path), lambda out: out.write(kept))
    return letters, made


class Pool:
    """The runtime in memory."""

    def __init__(self) -> None:
        """Load it; threads are made when they are first needed."""
        self.code = jit.Compiled([runtime()[1]])
        for name in SYMBOLS:
            jit.binding().add_symbol(name, self.code.address(name))
        self.get_size = ctypes.CFUNCTYPE(ctypes.c_int64)(self.code.address("pool.size"))
        reset = ctypes.CFUNCTYPE(None)(self.code.address("pool.reset"))
        reset()
        os.register_at_fork(after_in_child=reset)
        main = ctypes.c_uint64.from_address(self.code.global_address("watch.main"))
        main.value = threading.main_thread().ident or 0
        default = ctypes.c_int64.from_address(self.code.global_address("pool.default"))
        default.value = default_threads()
        names = ("take", "give", "clear", "new", "new_bytes", "away", "keep", "drop")
        kind = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        self.doors: dict[str, Door] = {n: kind(self.code.address(f"door.{n}")) for n in names}
        self.forget = self.code.address("relay_forget")
        """Takes memory back that was given away, in a capsule of Python."""
        enter = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self.enter: Callable[[int, int], int] = enter(self.code.address("door.enter"))
        """Runs code in a context; whether it has failed."""
        digest = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        self.digest: Callable[[int, int, int], None] = digest(self.code.address("relay_digest"))
        """Reads blocks of data; others may run meanwhile."""
        self.code.engine.detach()

    @property
    def size(self) -> int:
        """How many threads it has made."""
        return self.get_size()


@cache
def pool() -> Pool:
    """The runtime of this process: of threads that ask for it at once, the first one loads it."""
    with _loading:
        return _loaded()


@cache
def _loaded() -> Pool:
    return Pool()


_loading = threading.RLock()
