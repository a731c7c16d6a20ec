"""The native backend on aarch64: its own tests, run by a Python that qemu-user emulates.

`tests/aarch64/make-environment FOLDER` makes that Python, and `RELAY_AARCH64=FOLDER` names it.
"""

import os
import subprocess
from pathlib import Path

import pytest

from support import ROOT

FOLDER = os.environ.get("RELAY_AARCH64")
pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(FOLDER is None, reason="needs RELAY_AARCH64, see tests/aarch64/make-environment"),
]
FILES = ("test_native_digests",)
"""Files that many programs are compiled in take tens of gigabytes under qemu-user 7.2."""
TIME_LIMIT_SECONDS = 2400


def emulated(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What an aarch64 Python does with these arguments."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    environment = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {k: v for k, v in environment.items() if not k.startswith("PYTEST_")}
    return subprocess.run(
        [str(Path(FOLDER or "") / "python"), *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_SECONDS,
        check=False,
    )


def test_programs_are_compiled_for_aarch64() -> None:
    code = "from relay.backend.native.llvm import jit; print(jit.triple())"
    done = emulated("-c", code)
    assert done.stdout.startswith("aarch64"), done.stderr


@pytest.mark.parametrize("name", FILES)
def test_native_tests_pass_on_aarch64(name: str) -> None:
    done = emulated("-m", "pytest", "-p", "no:cacheprovider", f"tests/backend/{name}.py")
    assert done.returncode == 0, f"{done.stdout[-4000:]}{done.stderr[-2000:]}"
