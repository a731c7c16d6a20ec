"""Every program of `examples/` prints what its last comment says."""

import re
from pathlib import Path

import pytest

from support import ROOT, cli

EXAMPLES = ROOT / "examples"
COMMAND = re.compile(r"^// \$ relay (.*)\n((?://.*\n?)*)\Z", re.MULTILINE)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.relay")), ids=lambda p: p.stem)
def test_example_prints_what_it_says(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    shown = COMMAND.search(path.read_text())
    assert shown is not None, "an example ends with `// $ relay run …` and its output, as comments"
    expected = [line.removeprefix("//").removeprefix(" ") for line in shown[2].splitlines()]
    ran = cli(*shown[1].split())
    assert ran.output.splitlines() == expected
    assert ran.status == 0


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.relay")), ids=lambda p: p.stem)
def test_example_is_formatted(path: Path) -> None:
    ran = cli("fmt", "--check", str(path))
    assert (ran.output, ran.status) == ("", 0)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.relay")), ids=lambda p: p.stem)
def test_example_has_no_warnings(path: Path) -> None:
    ran = cli("check", str(path))
    assert ran.output == f"{path}: no errors\n"
