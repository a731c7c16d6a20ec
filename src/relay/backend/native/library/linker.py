"""Shared libraries: what makes them of object files is the C compiler that the user has, or one from PyPI.

A compiler knows where the C library is, and which of its own routines code may call; a bare `ld` does not.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from relay.backend.native.library.targets import Target
from relay.backend.native.llvm import jit
from relay.diagnostic import fail

VARIABLE = "CC"
"""The environment variable that names the compiler, as it does for `make`."""
FLAGS = (
    "-shared",
    "-Wl,-z,noexecstack",
    "-Wl,-z,nodelete",  # its threads may wait for work when a program closes it
    "-Wl,-z,defs",
    "-Wl,-z,relro",
    "-Wl,-z,now",
    "-Wl,--as-needed",
    "-Wl,--hash-style=gnu",
    "-Wl,-s",
)
ZIG_FLAGS = ("-shared", "-Wl,-z,nodelete", "-Wl,-z,now", "-s")
"""Of zig's own linker, which has the others by default."""
LIBRARIES = ("-lm", "-lpthread")
TIME_LIMIT_SECONDS = 600


def shared_library(code: bytes, target: Target, name: str) -> bytes:
    """A shared library of an object file, called by a name (`no-linker`)."""
    command, flags = compiler_for(target)
    with TemporaryDirectory(prefix="relay-") as folder:
        source, made = Path(folder) / "model.o", Path(folder) / "model.so"
        source.write_bytes(code)
        whole = [*command, *flags, f"-Wl,-soname,{name}", "-o", str(made), str(source), *LIBRARIES]
        try:
            done = subprocess.run(
                whole, capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS, check=False
            )
            said = done.stderr.strip() or done.stdout.strip()
        except (OSError, subprocess.TimeoutExpired) as error:
            said = str(error)
        if made.exists() and made.stat().st_size:
            return made.read_bytes()
    shown = said.splitlines()[:4] or ["it said nothing"]
    fail(
        "no-linker",
        f"`{shlex.join(command)}` did not link the library: {'; '.join(shown)}",
        hint=hint(target),
    )


def compiler_for(target: Target) -> tuple[Sequence[str], Sequence[str]]:
    """A command that links for a target, and its flags (`no-linker`)."""
    chosen = os.environ.get(VARIABLE, "").strip()
    if chosen:
        return shlex.split(chosen), FLAGS
    for command in candidates(target):
        if shutil.which(command[0]):
            return command, FLAGS
    if find_spec("ziglang") is not None:
        zig = [sys.executable, "-m", "ziglang", "cc", "-target", zig_target(target)]
        return zig, ZIG_FLAGS
    fail("no-linker", f"no C compiler is here that links for {target.triple}", hint=hint(target))


def candidates(target: Target) -> list[Sequence[str]]:
    """The commands that may link for a target, the best first."""
    cross = [f"{target.triple}-gcc"]
    if not is_here(target):
        return [cross]
    return [["cc"], ["gcc"], ["clang"], cross]


def is_here(target: Target) -> bool:
    """Whether a target is a machine of this kind, with this system."""
    here = jit.binding().get_default_triple().split("-")
    return target.triple.split("-")[0] == here[0] and "linux" in here


def zig_target(target: Target) -> str:
    """A target as zig calls it, with a C library that is old enough for most systems."""
    return f"{target.triple.partition('-')[0]}-linux-gnu.2.28"


def hint(target: Target) -> str:
    """What to do where nothing links."""
    package = "gcc" if is_here(target) else f"gcc-{target.triple.replace('_', '-')}"
    return (
        f"install one (`apt install {package}`, or `pip install ziglang`) or name one in the environment "
        f"variable {VARIABLE}; `--emit static` and `--emit object` need none"
    )
