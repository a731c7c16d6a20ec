"""Object files for macOS: what they show and need, that a program links with them, and that they run.

There is no Mac here.  What links is the package `ziglang`, which has the symbols of macOS's libSystem.  What
runs is an emulated processor under Linux, where `tests/runtime/macos_system.c` is macOS's C library.
"""

import importlib.util
import shutil
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mach_o
import relay
from backend.test_native_library_aarch64 import (
    COMPILER,
    EMULATOR,
    differences,
    entry_names,
    programs,
    run,
    write_inputs,
)
from backend.test_native_library_valgrind import PROGRAM
from relay.backend.native.library.c_library import FUNCTIONS
from relay.diagnostic import RelayError
from support import ROOT

RUNTIME = ROOT / "tests" / "runtime"
LIBC = {
    "aligned_alloc", "bzero", "calloc", "free", "madvise", "malloc", "memcpy", "memmove", "memset", "mmap",
    "munmap", "sched_yield", "snprintf", "sysconf", "vsnprintf",
}  # fmt: skip
"""What objects need of macOS's C library beside functions that begin with `pthread_`."""
BASE = 0x4000000
"""Where an image is: as far from the program as a call reaches."""
needs_arm = pytest.mark.skipif(
    shutil.which(COMPILER) is None or shutil.which(EMULATOR) is None,
    reason=f"needs {COMPILER} and {EMULATOR}",
)


def test_an_object_file_shows_the_interface_and_needs_the_system_alone(tmp_path: Path) -> None:
    mod = programs()
    header = relay.write_library(mod, tmp_path / "model.o", entries=entry_names(mod), target="apple-m1")
    assert header == tmp_path / "model.h"
    found = mach_o.read((tmp_path / "model.o").read_bytes())
    assert found.minimum == 11
    assert set(found.shown) == {f"model_{name}" for name in FUNCTIONS}
    assert {name for name in found.needed if not name.startswith("pthread_")} <= LIBC


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
    relay.write_library(mod, tmp_path / "model.o", entries=entry_names(mod), target="apple-m1")
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-macos"]
    run(tmp_path, *compiler, "-I.", str(RUNTIME / "library_entries.c"), "model.o", "-o", "main")
    magic, machine, _, kind = struct.unpack_from("<4I", (tmp_path / "main").read_bytes())
    assert (magic, machine, kind) == (mach_o.MAGIC, mach_o.ARM64, mach_o.EXECUTABLE)


def emulated(folder: Path, source: str, arguments: Sequence[str] = ()) -> str:
    """What a program says that calls `model.o`, on an emulated processor."""
    placed = mach_o.Placed(mach_o.read((folder / "model.o").read_bytes()), BASE)
    (folder / "image").write_bytes(placed.image)
    slots = " ".join([f"SLOT({name}, {at:#x})" for name, at in placed.slots.items()])
    (folder / "placed.h").write_text(f"#define BASE {BASE:#x}\n#define SLOTS {slots}\n")
    addresses = [f"-Wl,--defsym={name}={at:#x}" for name, at in placed.shown.items()]
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-static", "-no-pie", "-I."]
    sources = [str(RUNTIME / source), str(RUNTIME / "macos_system.c")]
    run(folder, COMPILER, "-o", "calls", *flags, *sources, *addresses, "-pthread")
    return run(folder, EMULATOR, "./calls", *arguments)


@pytest.mark.extras
@needs_arm
def test_each_operator_is_right_with_the_conventions_of_macos(tmp_path: Path) -> None:
    mod = programs()
    relay.write_library(mod, tmp_path / "model.o", entries=entry_names(mod), target="apple-m1")
    expected = write_inputs(mod, tmp_path)
    for threads in ("1", "3"):
        emulated(tmp_path, "library_entries.c", ["inputs", "outputs", threads])
        assert not differences(expected, tmp_path)


@pytest.mark.extras
@needs_arm
def test_calls_and_failures_of_several_threads_are_right(tmp_path: Path) -> None:
    params: dict[str, Any] = {"w": np.arange(256 * 256, dtype="float32").reshape(256, 256) % 5}
    relay.write_library(relay.parse(PROGRAM), tmp_path / "model.o", params=params, target="apple-m1")
    assert emulated(tmp_path, "library_lifetime.c") == "ok\n"
