"""Object files for macOS: what they show and need, and that a program links with them.

They are not run: what links here is the package `ziglang`, which has the symbols of macOS's libSystem.
"""

import importlib.util
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import relay
from backend.test_native_library_aarch64 import programs
from relay.backend.native.library.c_library import FUNCTIONS
from relay.diagnostic import RelayError
from support import ROOT

MACH_O_64, ARM64, RELOCATABLE = 0xFEEDFACF, 0x0100000C, 1
SYMBOL_TABLE, BUILD_VERSION, MACOS = 2, 0x32, 1
LIBM = {
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "exp", "fmod",
    "ldexp", "ilogb", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "tan", "tanh",
}  # fmt: skip
LIBC = {
    "aligned_alloc", "atoi", "bzero", "calloc", "free", "madvise", "malloc", "memcmp", "memcpy", "memmove",
    "memset", "memset_pattern16", "mmap", "munmap", "nanosleep", "sched_yield", "snprintf", "strtod",
    "strtof", "sysconf", "vsnprintf",
}  # fmt: skip
"""What macOS's C library has, in libSystem, beside functions that begin with `pthread_`."""


def symbols(code: bytes) -> tuple[set[str], set[str]]:
    """The external names of a Mach-O file: those that it defines, and those that it needs."""
    magic, machine, _, kind, commands = struct.unpack_from("<5I", code)
    assert (magic, machine, kind) == (MACH_O_64, ARM64, RELOCATABLE)
    at, found = 32, {}
    for _ in range(commands):
        command, size = struct.unpack_from("<2I", code, at)
        found[command] = struct.unpack_from("<4I", code, at + 8) if size >= 24 else ()
        at += size
    platform, minimum, *_ = found[BUILD_VERSION]
    assert (platform, minimum >> 16) == (MACOS, 11)
    start, count, strings, _ = found[SYMBOL_TABLE]
    defined: set[str] = set()
    needed: set[str] = set()
    for i in range(count):
        text, flags = struct.unpack_from("<IB", code, start + 16 * i)
        name = code[strings + text : code.index(0, strings + text)].decode()
        if flags & 1:
            (defined if flags & 0x0E else needed).add(name.removeprefix("_"))
    return defined, needed


def test_an_object_file_shows_the_interface_and_needs_the_system_alone(tmp_path: Path) -> None:
    mod = programs()
    names = [v.name_hint for v in mod.functions if v.name_hint not in ("turn", "sums")]
    header = relay.write_library(mod, tmp_path / "model.o", entries=names, target="apple-m1")
    assert header == tmp_path / "model.h"
    defined, needed = symbols((tmp_path / "model.o").read_bytes())
    assert defined == {f"model_{name}" for name in FUNCTIONS}
    assert {name for name in needed if not name.startswith("pthread_")} <= LIBC | LIBM


def test_weights_are_in_the_object_file(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).random((300, 4), "float32")
    mod = relay.parse("def @main(%x: Tensor[(4,), float32], %w: Tensor[(300, 4), float32]) { %x + %w }")
    relay.write_library(mod, tmp_path / "model.o", params={"w": weights}, target="apple-m1")
    assert weights.tobytes() in (tmp_path / "model.o").read_bytes()


@pytest.mark.parametrize("kind", ["shared", "static"])
def test_libraries_are_left_to_the_tools_of_a_mac(kind: str, tmp_path: Path) -> None:
    path = tmp_path / ("libmodel.so" if kind == "shared" else "libmodel.a")
    mod = relay.parse("def @main(%x: float32) { %x + 1f }")
    with pytest.raises(RelayError, match=f"unknown-target.*no {kind} library") as found:
        relay.write_library(mod, path, target="apple-m1")
    assert "--emit object" in str(found.value)
    assert not path.exists()


@pytest.mark.extras
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs the package ziglang")
def test_a_program_links_with_an_object_file(tmp_path: Path) -> None:
    mod = programs()
    names = [v.name_hint for v in mod.functions if v.name_hint not in ("turn", "sums")]
    relay.write_library(mod, tmp_path / "model.o", entries=names, target="apple-m1")
    source = str(ROOT / "tests" / "runtime" / "library_entries.c")
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-macos"]
    command = [*compiler, "-I.", source, "model.o", "-o", "main"]
    done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    magic, machine, _, kind = struct.unpack_from("<4I", (tmp_path / "main").read_bytes())
    assert (magic, machine, kind) == (MACH_O_64, ARM64, 2)  # MH_EXECUTE
