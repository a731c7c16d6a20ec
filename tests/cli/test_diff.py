"""`relay diff` and `relay completion`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import relay
from support import cli

OLD = """
type T { A, B(float32) }
def @same(%x: float32) { %x + 1f } // a comment
def @other(%x: float32) { tanh(exp(%x)) }
def @gone(%x: float32) { %x }
"""
NEW = """
type T { A, B(float64) }
def @same(%renamed: float32) {
  %renamed + 1f
}
def @other(%x: float32) { tanh(log(%x)) }
def @come(%x: float32) { %x }
"""


def test_folders_are_compared_program_by_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("a/same.relay", OLD), ("a/inner/x.relay", OLD), ("a/gone.relay", "def @g() { 1 }"),
        ("b/same.relay", OLD), ("b/inner/x.relay", NEW),
    ):  # fmt: skip
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    ran = cli("diff", "a", "b")
    assert ran.status == 1
    heads = [line for line in ran.output.splitlines() if not line.startswith(" ")]
    assert heads[:3] == ["gone.relay:", "- @g", "inner/x.relay:"]
    assert "same.relay:" not in heads
    assert {d["file"] for d in json.loads(cli("diff", "--json", "a", "b").output)} == {
        "gone.relay",
        "inner/x.relay",
    }
    assert cli("diff", "a", "a").status == 0
    ran = cli("diff", "a", "a/same.relay")
    assert (ran.status, ran.output.partition("\n")[0]) == (1, "error[cannot-read]: `a` is a directory")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.relay").write_text(OLD)
    Path("new.relay").write_text(NEW)


@pytest.mark.usefixtures("files")
def test_what_differs_is_listed_by_definition() -> None:
    ran = cli("diff", "old.relay", "new.relay")
    assert ran.status == 1
    heads = [line for line in ran.output.splitlines() if not line.startswith(" ")]
    assert heads == [
        "~ T: at B[0]: types `float32` and `float64`",
        "~ @other: at body.args[0].op: operators `exp` and `log`",
        "- @gone",
        "+ @come",
    ]
    assert "    -  tanh(exp(%x))\n    +  tanh(log(%x))\n" in ran.output


@pytest.mark.usefixtures("files")
def test_differences_are_json_for_machines() -> None:
    ran = cli("diff", "--json", "old.relay", "new.relay")
    found = json.loads(ran.output)
    assert [(d["name"], d["kind"]) for d in found] == [
        ("T", "changed"),
        ("@other", "changed"),
        ("@gone", "removed"),
        ("@come", "added"),
    ]
    assert cli("diff", "--json", "old.relay", "old.relay").output == "[]\n"


@pytest.mark.usefixtures("files")
def test_a_program_is_the_same_however_it_is_written() -> None:
    text = str(relay.parse(OLD)).replace("%x", "%y")
    Path("again.relay").write_text(text)
    ran = cli("diff", "old.relay", "again.relay")
    assert (ran.status, ran.output) == (0, "old.relay and again.relay are the same program\n")


@pytest.mark.usefixtures("files")
def test_a_file_that_is_no_program_has_its_diagnostic() -> None:
    assert "error[cannot-read]" in cli("diff", "old.relay", "none.relay").output
    Path("bad.relay").write_text("def @f(%x: float32) { %y }")
    assert "error[unknown-variable]" in cli("diff", "old.relay", "bad.relay").output


def completed(words: str, count: int) -> list[str]:
    """What bash is offered for the last of some words."""
    environment = {
        **os.environ,
        "_RELAY_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(count),
        "PYTHONPATH": str(Path(relay.__file__).parents[1]),
    }
    command = [sys.executable, "-m", "relay"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return ran.stdout.split()


def test_commands_and_options_are_completed() -> None:
    assert "plain,compile" in completed("relay comp", 1)
    assert "plain,--backend" in completed("relay run --ba", 2)
    assert {"plain,native", "plain,xla"} <= set(completed("relay run --backend ", 3))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_installed_in_the_home_of_the_user(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    printed = cli("completion", shell).output
    assert "_RELAY_COMPLETE" in printed
    ran = cli("completion", shell, "--install")
    (file,) = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert str(file) in ran.output
    assert file.read_text().strip() == printed.strip()


def test_the_shell_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert cli("completion").output == cli("completion", "fish").output
    monkeypatch.setenv("SHELL", "/bin/ksh")
    ran = cli("completion")
    assert ran.status == 2
    assert "name a shell: bash, zsh, fish" in ran.output
