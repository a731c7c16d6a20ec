"""The native runtime: what is in the package is made of its C sources, which run clean under sanitizers."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

import native_runtime
from relay.backend.native.host.context import Context
from relay.backend.native.llvm import jit
from relay.backend.native.memory import layout
from support import ROOT

MADE = [
    native_runtime.HERE / "memory" / "layout.py",
    *[
        native_runtime.SOURCES / f"{name}.{architecture}.ll"
        for architecture in native_runtime.ARCHITECTURES
        for name in ("runtime", "inlined", "entry", "library")
    ],
    *[native_runtime.SOURCES / f"{name}.{native_runtime.MACOS}.ll" for name in ("runtime", "library")],
]


@pytest.mark.parametrize("path", MADE, ids=lambda p: p.name)
def test_file_is_of_these_sources(path: Path) -> None:
    assert native_runtime.digest() in path.read_text(encoding="utf-8").split("\n", 1)[0], "run `make runtime`"


@pytest.mark.skipif(native_runtime.missing() != "", reason=f"needs {native_runtime.missing()}")
def test_clang_makes_the_same_files() -> None:
    made = dict(native_runtime.files())
    assert sorted(made) == sorted(MADE)
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `make runtime`"


@pytest.mark.parametrize("path", MADE[1:], ids=lambda p: p.name)
def test_llvm_reads_the_files_of_every_architecture(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    text = "\n".join([line for line in lines if not line.startswith("module asm")])
    jit.binding().parse_assembly(text).verify()


def test_a_context_has_room_for_all_of_it() -> None:
    context = Context(results=3, slots=1)
    assert len(context.memory) >= layout.RESULTS_OFFSET + 3 * 8


@pytest.mark.long
@pytest.mark.skipif(shutil.which(native_runtime.CLANG) is None, reason=f"needs {native_runtime.CLANG}")
@pytest.mark.parametrize("sanitizers", ["address,undefined", "thread"])
def test_runtime_is_clean_under_sanitizers(sanitizers: str, tmp_path: Path) -> None:
    program = tmp_path / "stress"
    sources = [ROOT / "tests/runtime/stress.c", native_runtime.SOURCES / f"entry_{platform.machine()}.s"]
    flags = ["-std=gnu11", "-g", "-O1", f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all", "-pthread"]
    flags += ["-Wl,-z,noexecstack", f"-I{native_runtime.SOURCES}", "-o", str(program)]
    subprocess.run([native_runtime.CLANG, *flags, *map(str, sources)], check=True)
    # Results that are used after a return are looked for in stacks that are not of the program's own making.
    options = {"ASAN_OPTIONS": "detect_stack_use_after_return=0", "TSAN_OPTIONS": "die_after_fork=0"}
    done = subprocess.run([program], env=os.environ | options, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
