"""A process that builds many programs keeps no memory of those that are gone."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

BUILDS = """
import gc, sys
from pathlib import Path
import numpy as np
import relay

KINDS = [
    "def @main(%x: int32) { %x + NUMBER }",
    "def @main(%x: Tensor[(SIZE,), float32]) { exp(%x) * NUMBERf }",
    "def @main(%x: Tensor[(SIZE, 3), float32]) { sum(%x, axis=1) + NUMBERf }",
    "def @main(%x: int32) -> int32 { if (%x <= 0) { NUMBER } else { @main(%x - 1) } }",
]

def build(i):
    text = KINDS[i % len(KINDS)].replace("SIZE", str(i % 7 + 1)).replace("NUMBER", str(i))
    relay.build(relay.parse(text), threads=1)

def kept_kib():
    gc.collect()
    lines = [line.split() for line in Path("/proc/self/status").read_text().splitlines()]
    return sum([int(words[1]) for words in lines if words[0] in ("RssAnon:", "VmSwap:")])

for i in range(100):  # the allocator settles: the first hundred grow by 1 to 2 MiB
    build(i)
before = kept_kib()
for i in range(int(sys.argv[1])):
    build(100 + i)
print(kept_kib() - before)
"""


def growth_kib(count: int) -> int:
    """Return the growth of the memory of a process that builds so many programs.

    Pages of files, such as LLVM's code, are left out: the system drops and reads them as it likes.  Pages
    that it has swapped out count.
    """
    done = subprocess.run([sys.executable, "-c", BUILDS, str(count)], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return int(done.stdout)


@pytest.mark.long
def test_a_hundred_builds_keep_little_memory() -> None:
    # 0.2 MiB on 2026-11-28; with LLVM's pass managers kept, 8 MiB.
    assert growth_kib(100) < 2 << 10


@pytest.mark.long
def test_two_thousand_builds_keep_little_memory() -> None:
    # Resident memory grew by 3.5 MiB on 2026-11-28, after 50 builds; llvmlite 0.50 never gives back the
    # callbacks of a pass builder (`LLVMPY_CreatePassBuilder`), 1.5 KiB for each module of a program.
    assert growth_kib(2000) < 20 << 10
