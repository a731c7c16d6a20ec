"""The runtime as LLVM IR: clang has made it of the C sources beside this file (`make runtime`)."""

import hashlib
from functools import cache
from pathlib import Path

from relay.backend.native.llvm import jit
from relay.backend.native.llvm.builder import METADATA
from relay.backend.native.llvm.codegen import Optimised
from relay.backend.native.llvm.modules import Effort
from relay.diagnostic import fail

PROCESSORS = ("aarch64", "x86_64")
"""Those that there are `.ll` files for, as `platform.machine` names them."""
CALLING_C = ("runtime", "library")
"""The parts that call the C library: macOS has its own types and numbers, and so files of its own."""
NOT_INLINED = """
declare void @relay_retain(ptr) nounwind
declare void @relay_release(ptr, ptr) nounwind
declare ptr @relay_record(ptr, ptr) nounwind
declare ptr @relay_stack(ptr, ptr, i64, i64, i64, i64, i64) nounwind
declare void @relay_unstack(ptr, i64, i64, ptr) nounwind
"""


def llvm_of(name: str) -> str:
    """A part of the runtime as LLVM IR for the processor that code is for (`unsupported-processor`)."""
    machine = jit.architecture()
    if machine not in PROCESSORS:
        fail(
            "unsupported-processor",
            f"the native backend has no runtime for `{machine}`, only for {' and '.join(PROCESSORS)}",
            hint='interpret the program: `relay run --backend interpreter`, `relay.create_executor("debug")`',
        )
    system = "-macos" if name in CALLING_C and jit.is_apple_silicon() else ""
    return read_text(f"{name}.{machine}{system}.ll")


@cache
def read_text(file: str) -> str:
    """The text of a file beside this one."""
    return Path(__file__).with_name(file).read_text(encoding="utf-8")


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
