"""`relay debug` at a prompt."""

import subprocess
import sys
from pathlib import Path

import pytest

from relay.cli.main import main

PROGRAM = """\
def @fact(%n: int32) -> int32 {
  if (%n == 0) {
    1
  } else {
    %n * @fact(%n - 1)
  }
}
def @main(%x: Tensor[(n,), float32]) {
  let %f = @fact(4);
  (sum(%x), %f)
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "fact.relay"
    path.write_text(PROGRAM)
    return path


def typed(program: Path, *lines: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "relay", "debug", str(program), "[1.0, 2.0]"]
    ran = subprocess.run(command, input="\n".join([*lines, ""]), capture_output=True, text=True, timeout=60)
    assert "Traceback" not in ran.stderr
    return ran.returncode, ran.stdout


def test_breakpoints_values_and_calls(program: Path) -> None:
    status, said = typed(
        program, "break 5 if %n == 2", "breakpoints", "c", "p %n + 1", "where", "up", "locals", "list",
        "print arange(0, 100, 1)", "delete", "finish", "c",
    )  # fmt: skip
    assert status == 0
    assert "breakpoint: @fact at" in said
    assert "3 : int32\n" in said
    assert "  2: @fact at" in said
    assert "%n = 3 : int32" in said
    assert "*>    5 |     %n * @fact(%n - 1)" in said
    assert "  mean: 49.5\n" in said
    assert said.endswith("(3.0, 24)\n")


def test_steps(program: Path) -> None:
    status, said = typed(program, "n", "p %f", "c")
    assert status == 0
    assert "@main at" in said
    assert "24 : int32" in said


def test_what_cannot_be_done_is_said(program: Path) -> None:
    status, said = typed(
        program, "brk 3", "break", "break 99", "break @fac", "delete 7", "frame 8", "frame x", "p", "p %y",
        "p 1 +", "help", "quit",
    )  # fmt: skip
    assert status == 1
    for text in (
        "there is no command `brk`", "`break` needs a place", "nothing is evaluated at line 99",
        "did you mean `fact`", "there is no breakpoint 7", "there is no call 8", "`x` is not a number",
        "`print` needs an expression", "`%y` has no value here", "unexpected-token", "EXPRESSION",
    ):  # fmt: skip
        assert text in said, text


def test_an_error_stops_with_its_diagnostic(tmp_path: Path) -> None:
    path = tmp_path / "divide.relay"
    path.write_text("def @main(%x: Tensor[(2,), float32]) {\n  let %n = 0;\n  (1 / %n, %x)\n}\n")
    ran = subprocess.run(
        [sys.executable, "-m", "relay", "debug", str(path), "[1.0, 2.0]"],
        input="c\np %n\nc\n", capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert ran.returncode == 1
    assert "error[divide-by-zero]" in ran.stdout
    assert "0 : int32" in ran.stdout
    assert "error[divide-by-zero]" in ran.stderr


def test_wrong_usage(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["debug"]) == 2
    assert main(["debug", "--stdio", str(program)]) == 2
    assert main(["debug", "--stdio", "--port", "0"]) == 2
    assert main(["debug", str(program), "--colour"]) == 2
    assert main(["debug", "missing.relay"]) == 1
    assert main(["debug", str(program)]) == 1
    assert "no value for parameter `x`" in capsys.readouterr().err


DERIVATIVE = """\
def @entropy(%p: Tensor[(n,), float32]) -> float32 { -sum(%p * log(%p)) }
def @main(%x: Tensor[(2,), float32]) { grad(@entropy)(%x / sum(%x)) }
"""


def test_a_function_of_which_only_the_derivative_runs_is_stopped_at(tmp_path: Path) -> None:
    (tmp_path / "entropy.relay").write_text(DERIVATIVE)
    status, said = typed(tmp_path / "entropy.relay", "break @entropy", "c", "where", "locals", "c")
    assert status == 0
    assert "function breakpoint: @entropy at" in said
    assert "entropy.relay:1\n" in said
    assert "_vjp" not in said
    assert "%p = " in said


def test_a_function_and_its_derivative_are_both_stopped_at(tmp_path: Path) -> None:
    text = DERIVATIVE.replace("grad(@entropy)(%x / sum(%x))", "(@entropy(%x), grad(@entropy)(%x))")
    (tmp_path / "entropy.relay").write_text(text)
    _, said = typed(tmp_path / "entropy.relay", "break @entropy", "c", "c", "c", "c")
    assert said.count("function breakpoint: @entropy at") == 2
