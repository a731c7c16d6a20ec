"""A library under Valgrind: calls and failures from several threads lose no memory, and read none but theirs.

Valgrind does not know AVX-512, so the code is for processors without it.
"""

import platform
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import relay
from relay.backend.native.library.targets import is_linux_here
from relay.backend.native.runtime.threads import available_cores
from support import ROOT

pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(
        shutil.which("valgrind") is None or shutil.which("cc") is None, reason="needs valgrind and cc"
    ),
    pytest.mark.skipif(not is_linux_here() or platform.machine() != "x86_64", reason="needs Linux on x86-64"),
]
SOURCE = ROOT / "tests" / "runtime" / "library_lifetime.c"
PROGRAM = """
data Sums { Empty, More(Tensor[(256,), float32], Sums) }
def @collect(%x: Tensor[(n, 256), float32], %k: int32, %found: Sums) -> Sums {
  if (%k == 0) { %found } else {
    @collect(%x, %k - 1, More(take(%x, 0, axis=0) * cast(%k, "float32"), %found))
  }
}
def @total(%s: Sums, %so_far: Tensor[(256,), float32]) -> Tensor[(256,), float32] {
  match (%s) { Empty => %so_far, More(%x, %rest) => @total(%rest, %so_far + %x) }
}
def @main(%x: Tensor[(n, 256), float32], %w: Tensor[(256, 256), float32], %i: int32)
    -> (Tensor[(n, 256), float32], float32) {
  let %y = nn.softmax(nn.dense(%x, %w), axis=1);
  (%y, sum(%y[%i] + @total(@collect(%x, 50, Empty), zeros(shape=(256,), dtype="float32"))))
}
"""
"""A product on several threads, large results, small objects, and a failure that depends on an input."""
LOST = re.compile(
    r"(definitely lost|indirectly lost|possibly lost|still reachable): ([\d,]+) bytes in ([\d,]+)"
)
THREAD_BYTES_MAX = 512
"""What glibc has for a thread, 272 in version 2.36, lost as Valgrind sees it while the thread waits."""
ERROR_BYTES = 2056
"""The last error of the main thread."""
TIME_LIMIT_SECONDS = 1800


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, cwd=folder, text=True, capture_output=True, check=False, timeout=TIME_LIMIT_SECONDS
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr[-6000:]}"
    return done


def test_nothing_is_lost_and_no_access_is_wrong(tmp_path: Path) -> None:
    weights = np.arange(256 * 256, dtype="float32").reshape(256, 256) % 5
    params = {"w": weights}
    relay.write_library(relay.parse(PROGRAM), tmp_path / "libmodel.so", params=params, target="x86-64-v3")
    flags = ["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-I.", "-o", "calls", str(SOURCE)]
    run(tmp_path, "cc", *flags, "-L.", "-l:libmodel.so", "-Wl,-rpath,$ORIGIN", "-pthread")
    checks = ["--leak-check=full", "--errors-for-leak-kinds=definite,indirect", "--error-exitcode=99"]
    done = run(tmp_path, "valgrind", *checks, "./calls")
    assert done.stdout == "ok\n"
    assert "ERROR SUMMARY: 0 errors" in done.stderr
    lost = {kind: (int(b.replace(",", "")), int(n)) for kind, b, n in LOST.findall(done.stderr)}
    assert lost["definitely lost"] == lost["indirectly lost"] == (0, 0)
    size, threads = lost["possibly lost"]
    assert threads < max(2, available_cores())
    assert size <= threads * THREAD_BYTES_MAX
    assert lost["still reachable"] == (ERROR_BYTES, 1)
