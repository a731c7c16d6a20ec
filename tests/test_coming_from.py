"""The tasks of the pages for users of JAX and PyTorch: both programs run, and Relay's has no more lines."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import relay
from support import ROOT, Block, blocks, cli

PAGES = {"jax": "coming-from-jax.md", "torch": "coming-from-pytorch.md"}
TASKS = 5
LONGEST_LINE = 100
"""What both programs are formatted at."""


def tasks(peer: str) -> dict[str, tuple[list[Block], list[Block]]]:
    """By its heading: the snippets of the other system, and Relay's."""
    page = (ROOT / "docs" / PAGES[peer]).read_text().split("## Five tasks")[1].split("\n## ")[0]
    found: dict[str, tuple[list[Block], list[Block]]] = {}
    for section in page.split("\n### ")[1:]:
        python = [b for b in blocks(section) if b.language == "python"]
        theirs = [b for b in python if f"peer: {peer}" in b.marks]
        found[section.partition("\n")[0]] = theirs, [b for b in python if b not in theirs]
    return found


ALL = [pytest.param(peer, task, id=f"{peer}: {task}") for peer in PAGES for task in tasks(peer)]


def lines(snippets: list[Block]) -> list[str]:
    """The lines that say something, imports included."""
    return [line for b in snippets for line in b.text.splitlines() if line.strip()]


@pytest.mark.parametrize("peer", PAGES)
def test_there_are_five_tasks(peer: str) -> None:
    assert len(tasks(peer)) == TASKS


@pytest.mark.parametrize(("peer", "task"), ALL)
def test_relay_takes_no_more_lines(peer: str, task: str) -> None:
    theirs, ours = tasks(peer)[task]
    assert 0 < len(lines(ours)) <= len(lines(theirs))
    assert not any(line.lstrip().startswith("#") or ";" in line for line in lines(ours) + lines(theirs))


@pytest.mark.parametrize(("peer", "task"), ALL)
def test_both_are_formatted_alike(peer: str, task: str, tmp_path: Path) -> None:
    theirs, ours = tasks(peer)[task]
    assert max(map(len, lines(theirs) + lines(ours))) <= LONGEST_LINE
    ruff = shutil.which("ruff") or shutil.which("ruff", path=str(Path(sys.executable).parent))
    if ruff is None:
        pytest.skip("needs ruff")
    for i, snippet in enumerate(theirs + ours):
        (tmp_path / f"snippet{i}.py").write_text(snippet.text)
    options = ["--isolated", "--no-cache", "--line-length", str(LONGEST_LINE)]
    subprocess.run([ruff, "format", "--check", *options, str(tmp_path)], check=True)


NAME = re.compile(r"`((?:relay|optim|nn|training|random)(?:\.\w+)+)")


@pytest.mark.parametrize("peer", PAGES)
def test_relays_names_exist(peer: str) -> None:
    table = (ROOT / "docs" / PAGES[peer]).read_text().split("\n## Names\n")[1]
    rows = [line.split(" | ")[-1] for line in table.splitlines()[3:] if line.startswith("|")]
    found = [name.removeprefix("relay.") for row in rows for name in NAME.findall(row)]
    assert len(found) > len(rows) // 2
    for name in found:
        place: Any = relay
        for part in name.split("."):
            place = getattr(place, part)


@pytest.mark.extras
@pytest.mark.torch
@pytest.mark.parametrize(("peer", "task"), ALL)
def test_the_other_program_prints_the_same(
    peer: str, task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for needed in (peer, "optax", "onnx") if peer == "jax" else (peer, "onnx"):
        pytest.importorskip(needed)
    theirs, ours = tasks(peer)[task]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "digits.npz", "examples")
    page = blocks((ROOT / "docs" / PAGES[peer]).read_text())
    program = next(b for b in page if "file: affine.relay" in b.marks)
    Path("affine.relay").write_text(program.text)
    cli("export", "affine.relay", "-o", "affine.onnx")
    for snippet in theirs:
        ran = subprocess.run([sys.executable, "-c", snippet.text], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
    assert ours[-1].expected is not None
    assert digits(ran.stdout) == digits(ours[-1].expected)


def digits(printed: str) -> list[str]:
    """What was printed, numbers to four digits."""
    words = printed.replace("[", " ").replace("]", " ").replace("(", " ").replace(")", " ").split()
    return [f"{float(w):.4g}" if w[0].isdigit() and w[-1] != "," else w for w in words]
