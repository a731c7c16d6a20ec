"""The code of the runtime: the pool of threads (`thread_pool`, `chunks`), memory (`heap`, `disposal`), the
ways in and out (`entry`, `host_entry_points`), what Ctrl-C needs (`interrupts`), and `digests`.
"""

import hashlib
import platform

from relay.backend.native.host.direct_calls import DECLARATIONS
from relay.backend.native.llvm.codegen import Optimised
from relay.backend.native.llvm.modules import Effort
from relay.backend.native.runtime.chunks import SHARED_OUT
from relay.backend.native.runtime.digests import digest_code
from relay.backend.native.runtime.disposal import DISPOSAL
from relay.backend.native.runtime.entry import assembly
from relay.backend.native.runtime.heap import HEAP
from relay.backend.native.runtime.host_entry_points import DOORS
from relay.backend.native.runtime.inlined import INLINED, OUTSIDE
from relay.backend.native.runtime.interrupts import INTERRUPTS
from relay.backend.native.runtime.thread_pool import CREW

OWN = """
declare i32 @relay_enter(ptr, ptr)
declare i32 @relay_try(ptr, ptr, ptr, i64, i64, i64)
declare i64 @relay_outside(ptr, ptr)
declare void @relay_fail(ptr) noreturn nounwind
"""


def text() -> str:
    """All of it, as LLVM IR."""
    parts = INLINED, HEAP, DISPOSAL, DOORS, CREW, SHARED_OUT, INTERRUPTS, digest_code()
    return "\n".join([assembly(platform.machine()), OWN, *parts])


def compiled() -> bytes:
    """All of it, as object code."""
    return Optimised(text(), Effort.LOOPS).code()


def relied() -> str:
    """Eight letters that tell whether programs that rely on one runtime can run with another."""
    whole = "".join([text(), OUTSIDE, DECLARATIONS])
    return hashlib.blake2b(whole.encode(), digest_size=4).hexdigest()
