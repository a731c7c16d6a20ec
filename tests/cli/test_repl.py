"""Conversations with Relay."""

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

import relay
from relay.cli.repl import inputs, words
from relay.cli.session import QuitError, Session, is_open
from support import cli


def answers(*texts: str, backend: str = "interpreter") -> list[str]:
    session = Session(backend)
    return [session.answer(text) for text in texts]


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_expressions_definitions_and_values(backend: str) -> None:
    assert answers(
        "1 + 2",
        "let %x = [1.0, 2.0]",
        "%x * 2.0",
        "def @f(%a: Tensor[(n,), float32]) { sum(%a) }",
        "@f(%x)",
        "let (%a, %b) = (3, %x);",
        "%a",
        "let %c = 1; %c + %a",
        "type T { A, B(float32) }",
        "let %t = B(2f)",
        "match (%t) { A => 1f, B(%v) => %v }",
        "grad(fn(%x: float32) { %x * %x })(3f)",
        "// nothing",
        "",
        backend=backend,
    ) == [
        "3 : int32",
        "",
        "[2.0, 4.0] : Tensor[(2,), float32]",
        "",
        "3.0 : float32",
        "",
        "3 : int32",
        "4 : int32",
        "",
        "",
        "2.0 : float32",
        "(9.0, (6.0,)) : (float32, (float32,))",
        "",
        "",
    ]


def test_functions_references_and_imports_are_kept() -> None:
    assert answers(
        'import "std/list"',
        "let %l = [| 1, 2, 3 |]",
        "@sum(%l)",
        "let %g = fn(%x: float32) { %x * 2f }",
        "%g(3f)",
        "let %r = ref(1)",
        "ref_write(%r, 5)",
        "ref_read(%r)",
        "[[1.0, 2.0], [3.0, 4.0]]",
    )[2:] == [
        "6 : int32",
        "",
        "6.0 : float32",
        "",
        "() : ()",
        "5 : int32",
        "[[1.0, 2.0],\n [3.0, 4.0]]\n: Tensor[(2, 2), float32]",
    ]


def test_a_definition_may_be_given_again() -> None:
    first, second = "def @f(%x: float32) { %x + 1f }", "def @f(%x: float32) { %x + 2f }"
    assert answers(first, "@f(1f)", second, "@f(1f)")[1::2] == ["2.0 : float32", "3.0 : float32"]


def test_commands(tmp_path: Path) -> None:
    file = tmp_path / "p.relay"
    file.write_text("def @double(%x: float32) { %x * 2f }")
    session = Session()
    assert session.answer(f":load {file}") == "@double: fn(float32) -> float32"
    assert session.answer(":type @double") == "fn(float32) -> float32"
    assert session.answer("@double(4f)") == "8.0 : float32"
    assert "0.5f" in session.answer(":passes fold_constants 1f / 2f")
    assert [line.split(":")[0] for line in session.answer(":time @double(4f)").splitlines()] == [
        "interpreter",
        "native",
    ]
    assert session.answer(":op tanh").startswith("tanh(data)\n")
    assert session.answer(":explain arity").startswith("# arity\n")
    assert ":load FILE" in session.answer(":help")
    session.answer("let %x = 3")
    assert session.answer(":list") == "@double: fn(float32) -> float32\n%x: int32"
    session.answer(":reset")
    assert session.answer(":list") == ""
    with pytest.raises(QuitError):
        session.answer(":quit")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("%nope", "unknown-variable"),
        (":typ 1", "unknown-name"),
        ("1 + True", "literal-kind"),
        ("def @f(%x: float32) { %y }", "unknown-variable"),
        (":load nowhere.relay", "cannot-read"),
        (":op tanhh", "unknown-operator"),
        (":explain nothing", "unknown-code"),
        ("1 / 0", "divide-by-zero"),
        ("let %x = @f(1)", "unknown-global"),
        ("(1", "unexpected-token"),
        ("]", "unexpected-token"),
    ],
)
def test_what_is_wrong_has_its_diagnostic_and_changes_nothing(text: str, code: str) -> None:
    session = Session()
    session.answer("let %kept = 7")
    with pytest.raises(relay.RelayError) as error:
        session.answer(text)
    assert error.value.codes[0] == code
    assert session.answer("%kept") == "7 : int32"


def test_inputs_go_on_while_brackets_are_open() -> None:
    assert [is_open(t) for t in ("def @f() {", "(1 + [2, 3]", "1 + 2", ":load (a", '"("')] == [
        True,
        True,
        False,
        False,
        False,
    ]
    lines = iter(["def @f() {\n", "  1\n", "}\n", "@f()\n", "(2\n"])
    assert list(inputs(lines)) == ["def @f() {\n  1\n}\n", "@f()\n", "(2\n"]


def test_words_are_completed() -> None:
    session = Session()
    session.answer("let %value = 3")
    session.answer("type T { Apple, Pear }")
    session.answer("def @other() { 1 }")
    assert {":type", "@other", "%value", "Apple", "nn.relu"} <= set(words(session))


def run(text: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "relay", "repl", *options]
    paths = {**os.environ, "PYTHONPATH": str(Path(relay.__file__).parents[1])}
    return subprocess.run(command, input=text, capture_output=True, text=True, env=paths, check=True)


def test_lines_from_a_pipe_are_answered(tmp_path: Path) -> None:
    file = tmp_path / "p.relay"
    file.write_text("def @double(%x: float32) { %x * 2f }")
    ran = run("let %x = @double(\n 2f)\n%x\n%y\n1 + 1\n:quit\n3\n", str(file))
    assert ran.stdout == "4.0 : float32\n2 : int32\n"
    assert "error[unknown-variable]" in ran.stderr
    assert cli("repl", "nowhere.relay").status == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs terminals as Unix has them")
def test_a_person_is_answered_at_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(relay.__file__).parents[1]),
        "XDG_STATE_HOME": str(tmp_path),
        "TERM": "dumb",
    }
    command = [sys.executable, "-m", "relay", "repl"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    said = b""

    def until(text: bytes) -> None:
        nonlocal said
        end = time.monotonic() + 60
        while text not in said and time.monotonic() < end:
            said += os.read(ours, 4096)
        assert text in said, said

    until(b"relay> ")
    os.write(ours, b"6 * 7\r")
    until(b"42 : int32")
    os.write(ours, b":quit\r")
    assert process.wait(timeout=60) == 0
    os.close(ours)
