"""`relay check` and `relay fmt` on folders."""

from pathlib import Path

import pytest

from support import cli


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.relay", "inner/b.relay", ".hidden/c.relay", "inner/notes.txt"):
        path = Path("programs") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("def @main() { 1 }")
    Path("empty").mkdir()


def test_all_programs_of_a_folder_are_checked() -> None:
    ran = cli("check", "programs")
    assert ran.status == 0
    assert ran.output == "programs/a.relay: no errors\nprograms/inner/b.relay: no errors\n"


def test_all_programs_of_a_folder_are_formatted() -> None:
    assert cli("fmt", "--check", "programs").status == 1
    assert cli("fmt", "programs").output == "programs/a.relay: formatted\nprograms/inner/b.relay: formatted\n"
    assert cli("fmt", "--check", "programs").status == 0
    assert Path("programs/.hidden/c.relay").read_text() == "def @main() { 1 }"


@pytest.mark.parametrize("command", ["check", "fmt"])
def test_a_folder_without_programs_is_a_mistake(command: str) -> None:
    ran = cli(command, "empty")
    assert ran.status == 1
    assert "the folder `empty` has no programs" in ran.output
