"""`docs/deploying.md` and `examples/native`: a shell and a C compiler do what they say, as readers do."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from relay.backend.native.library.targets import is_linux_here
from support import ROOT, blocks

EXAMPLES = ROOT / "examples" / "native"
needs_cc = pytest.mark.skipif(
    shutil.which("cc") is None or not is_linux_here(), reason="needs a C compiler, cc, on Linux"
)
COMMAND = f"""#!/bin/sh
exec {shlex.quote(sys.executable)} -c 'import sys; from relay.cli.main import main; sys.exit(main())' "$@"
"""
STRICT = "-Wall -Wextra -Werror -pedantic"
LINKED = "-L. -ldigits -Wl,-rpath,'$ORIGIN'"
CGO = "CGO_LDFLAGS_ALLOW='-Wl,-rpath.*' CGO_LDFLAGS='-Wl,-rpath,$ORIGIN' GOCACHE=$PWD/cache"
BUILDS = {
    "C": ("cc", f"cc -std=c11 {STRICT} -o digits main.c {LINKED}"),
    "C++": ("c++", f"c++ -std=c++11 {STRICT} -o digits main.cc {LINKED}"),
    "Rust": ("rustc", "rustc -O -D warnings -L . -C link-arg=-Wl,-rpath,'$ORIGIN' -o digits main.rs"),
    "Go": ("go", f"{CGO} go build -o digits main.go"),
    "CMake": ("cmake", "cmake -B build && cmake --build build && cp build/digits-cc digits"),
}
"""How examples are built: the tool, and the command."""


def shell(script: str, folder: Path) -> str:
    """What a script prints, in a folder, with `relay` among its commands."""
    commands = folder / "commands"
    commands.mkdir(exist_ok=True)
    (commands / "relay").write_text(COMMAND)
    (commands / "relay").chmod(0o755)
    environment = os.environ | {
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
    }
    done = subprocess.run(
        ["bash", "-ec", script], cwd=folder, env=environment, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout


@needs_cc
def test_the_page_is_true_in_a_shell(tmp_path: Path) -> None:
    for block in blocks((ROOT / "docs" / "deploying.md").read_text()):
        names = [m.removeprefix("file:").strip() for m in block.marks if m.startswith("file:")]
        if names:
            (tmp_path / names[0]).write_text(block.text)
        elif block.language in ("sh", "bash"):
            found = shell(block.text, tmp_path)
            assert block.expected is None or found == block.expected, f"line {block.line}"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples and the library that they call."""
    folder = tmp_path_factory.mktemp("examples") / "native"
    shutil.copytree(EXAMPLES, folder)
    shutil.copy(EXAMPLES.parent / "digits.safetensors", folder.parent)
    (command, *_) = [b for b in blocks((folder / "README.md").read_text()) if "relay compile" in b.text]
    shell(command.text, folder)
    return folder


def check_example(language: str, library: Path) -> None:
    tool, command = BUILDS[language]
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    page = (EXAMPLES / "README.md").read_text()
    (wanted,) = [b.expected for b in blocks(page) if b.expected is not None]
    shell(command, library)
    assert shell("./digits < digits.txt", library) == wanted


@needs_cc
@pytest.mark.parametrize("language", ["C", "C++"])
def test_example_prints_the_digits(language: str, library: Path) -> None:
    check_example(language, library)


@pytest.mark.extras
@pytest.mark.parametrize("language", ["Rust", "Go", "CMake"])
def test_example_in_another_language_prints_the_digits(language: str, library: Path) -> None:
    check_example(language, library)
