"""Scripts as users of `tvm` wrote them, run unchanged; what each prints lies beside it.

They compare numbers with NumPy themselves.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent / "scripts"
NEEDS = {"onnx_quantized": "onnx"}
Ran = subprocess.CompletedProcess[str]


def run(*args: str, folder: Path) -> Ran:
    command = [sys.executable, "-m", "relay.compat.tvm", *args]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Ran]]:
    """Do what `run` does in forks of one process, which has imported Relay."""
    streams = [tmp_path_factory.mktemp("streams") / name for name in ("stdout", "stderr")]
    command = [sys.executable, str(Path(__file__).with_name("launcher.py"))]
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # what forks has one thread
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=alone
    ) as launcher:
        assert launcher.stdin is not None
        assert launcher.stdout is not None

        def run_in_fork(*args: str, folder: Path) -> Ran:
            for path in streams:
                path.write_text("")
            request = dict(zip(("stdout", "stderr"), map(str, streams), strict=True))
            request |= {"args": args, "folder": str(folder), "environment": dict(os.environ)}
            print(json.dumps(request), file=launcher.stdin, flush=True)
            status = int(launcher.stdout.readline())
            return subprocess.CompletedProcess(args, status, *[path.read_text() for path in streams])

        yield run_in_fork
        launcher.stdin.close()
    assert launcher.returncode == 0


def params() -> list[object]:
    names = [path.stem for path in sorted(SCRIPTS.glob("*.py")) if path.stem != "passes_tested"]
    return [pytest.param(n, marks=[getattr(pytest.mark, NEEDS[n])] if n in NEEDS else []) for n in names]


@pytest.mark.parametrize("name", params())
def test_script_runs_unchanged(name: str, tmp_path: Path, bless: bool, forked: Callable[..., Ran]) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    ran = forked(str(SCRIPTS / f"{name}.py"), folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    expected = SCRIPTS / f"{name}.txt"
    if bless:
        expected.write_text(ran.stdout)
    assert ran.stdout == expected.read_text()


@pytest.mark.parametrize("arguments", [("-m", "pytest", "-q", "test_passes.py"), ("test_passes.py",)])
def test_tests_run_unchanged(arguments: tuple[str, ...], tmp_path: Path, forked: Callable[..., Ran]) -> None:
    shutil.copy(SCRIPTS / "passes_tested.py", tmp_path / "test_passes.py")
    ran = forked(*arguments, folder=tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert "7 passed, 1 skipped" in ran.stdout


def test_there_are_twenty() -> None:
    assert len(list(SCRIPTS.glob("*.py"))) >= 20


def test_arguments_and_status_are_those_of_the_script(tmp_path: Path, forked: Callable[..., Ran]) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys\nfrom tvm import relay\nprint(__name__, sys.argv[1:])\nsys.exit(3)\n")
    ran = run(str(script), "--layers", "2", folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (3, "__main__ ['--layers', '2']\n")
    script.write_text("from tvm import relay\nrelay.build(relay.const(1.0) + relay.ones((2,), 'int8'))\n")
    ran = forked(str(script), folder=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.startswith("error[")
    assert "Traceback" not in ran.stderr
    assert run(folder=tmp_path).stderr.startswith("usage:")


def test_nothing_is_called_tvm_elsewhere() -> None:
    code = "import relay.compat.tvm, importlib.util; print(importlib.util.find_spec('tvm'))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "None\n"


def test_relay_does_not_import_it() -> None:
    code = "import sys, relay; relay.build; print([m for m in sys.modules if m.startswith('relay.compat')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
