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

def resident_kib():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4

for i in range(50):
    build(i)
before = resident_kib()
for i in range(int(sys.argv[1])):
    build(50 + i)
print(resident_kib() - before)
"""


def growth_kib(count: int) -> int:
    """Return the growth of the resident memory of a process that builds so many programs."""
    done = subprocess.run([sys.executable, "-c", BUILDS, str(count)], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return int(done.stdout)


def test_a_hundred_builds_keep_little_memory() -> None:
    assert growth_kib(100) < 2 << 10  # 0.3 MiB on 2026-11-28; with LLVM's pass managers kept, 8 MiB


@pytest.mark.long
def test_two_thousand_builds_keep_little_memory() -> None:
    assert growth_kib(2000) < 20 << 10
