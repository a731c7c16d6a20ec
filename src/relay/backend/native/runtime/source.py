"""The runtime as LLVM IR: clang has made it of the C sources beside this file (`make runtime`)."""

import hashlib
import platform
from functools import cache
from pathlib import Path

from relay.backend.native.llvm.builder import METADATA
from relay.backend.native.llvm.codegen import Optimised
from relay.backend.native.llvm.modules import Effort

NOT_INLINED = """
declare void @relay_retain(ptr) nounwind
declare void @relay_release(ptr, ptr) nounwind
"""


@cache
def llvm_of(name: str) -> str:
    """A part of the runtime as LLVM IR for processors like that of this machine."""
    return Path(__file__).with_name(f"{name}.{platform.machine()}.ll").read_text(encoding="utf-8")


def inline_bodies() -> str:
    """What each module of a program has inside, for LLVM to work on: counting references, and the usual ways
    to make and free objects.
    """
    return METADATA + NOT_INLINED + llvm_of("inlined")


def object_code() -> bytes:
    """The runtime itself, as object code."""
    return Optimised(llvm_of("runtime"), Effort.LOOPS).code()


def compatibility_tag() -> str:
    """Eight letters that tell whether programs that rely on one runtime can run with another."""
    whole = llvm_of("runtime") + inline_bodies()
    return hashlib.blake2b(whole.encode(), digest_size=4).hexdigest()
