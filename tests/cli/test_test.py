"""`relay test` and `relay new`."""

import json
from pathlib import Path

import pytest

import relay
from relay.interpreter.coverage import CoveringInterpreter
from support import cli

PROGRAM = """
// The double of a number.
//
//     relay> @double(2.0)
//     4.0
//     relay> (@double(3.0), @double(1.0))
//     (6.0, 2.0)
def @double(%x: float32) { %x * 2f }

def @sign(%x: float32) {
  if (%x > 0f) {
    1f
  } else {
    -1f * (%x / %x)
  }
}

attributes @test_sign { test: true }
def @test_sign() { @sign(3f) == 1f }
"""
WRONG = """
def @test_says_why(test=True) {
  assert(1 == 2, "one is two");
  ()
}
def @test_is_false(test=True) { 1f > 2f }
// relay> 1 + 1
// 3
def @helper() { 1 / 0 }
def @test_divides(test=True) { @helper() }
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_tests_and_examples_pass(backend: str) -> None:
    Path("p.relay").write_text(PROGRAM)
    ran = cli("test", "-v", "--backend", backend, "p.relay")
    assert ran.status == 0
    assert ran.output.splitlines() == [
        "p.relay:19: @test_sign: passes",
        "p.relay:4: @double: passes",
        "p.relay:6: @double: passes",
        "3 tests: passed",
    ]


def test_what_fails_is_shown_with_its_diagnostic() -> None:
    Path("p.relay").write_text(WRONG)
    ran = cli("test", "p.relay")
    assert ran.status == 1
    assert "p.relay:2: @test_says_why: fails\n  error[assertion]: one is two\n" in ran.output
    assert "p.relay:6: @test_is_false: fails\n  error[assertion]: it is False\n" in ran.output
    assert "@helper: fails\n  error[assertion]: `1 + 1` is\n  2\n  and not\n  3\n" in ran.output
    assert "error[divide-by-zero]" in ran.output
    assert ran.output.endswith("4 tests: 4 failed\n")
    found = json.loads(cli("test", "--json", "-k", "false", "p.relay").output.rpartition("]")[0] + "]")
    assert found == [
        {"file": "p.relay", "line": 6, "name": "@test_is_false", "fault": "error[assertion]: it is False"}
    ]


def test_a_program_that_is_wrong_fails_and_others_are_tested() -> None:
    Path("a.relay").write_text("def @f(%x: float32) { %y }")
    Path("b.relay").write_text(PROGRAM)
    ran = cli("test", ".")
    assert ran.status == 1
    assert "a.relay:1: the program: fails\n  error[unknown-variable]" in ran.output
    assert ran.output.endswith("4 tests: 1 failed\n")


def test_a_program_from_standard_input_has_its_examples() -> None:
    ran = cli("test", "-v", "-", stdin=PROGRAM.encode())
    assert ran.output.splitlines()[-2:] == ["<stdin>:6: @double: passes", "3 tests: passed"]


def test_no_tests_are_no_success() -> None:
    Path("p.relay").write_text("def @f(%x: float32) { %x }")
    ran = cli("test", "p.relay")
    assert ran.status == 1
    assert ran.output.startswith("no tests in p.relay: `attributes @name { test: true }` makes one")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def @f(%x: float32, test=True) { %x }", "`@f` is a test and has parameters"),
        ("def @f(test=3) { 1 }", "the attribute `test` of `@f` is true or false, not 3"),
    ],
)
def test_a_test_takes_nothing(text: str, said: str) -> None:
    Path("p.relay").write_text(text)
    ran = cli("test", "p.relay")
    assert ran.status == 1
    assert f"error[attribute-value]: {said}" in ran.output


def test_lines_that_are_not_evaluated_are_listed() -> None:
    Path("p.relay").write_text(
        PROGRAM + "def @never(%x: float32) {\n  let %f = fn() { tanh(%x) };\n  %f()\n}\n"
    )
    ran = cli("test", "--coverage", "p.relay")
    assert "p.relay: 50% of 6 lines, not 14, 21-22\n" in ran.output
    assert cli("test", "--coverage", "--backend", "native", "p.relay").status == 2


def test_lines_of_loops_branches_and_inner_functions_are_noted() -> None:
    text = """def @main(%n: int32) {
  let %go = fn(%i: int32, %a: int32) -> int32 {
    if (%i == 0) {
      %a + 0
    } else {
      match (%i > 2) {
        True => %go(%i - 1, %a + 2),
        False =>
          %go(%i - 1, %a + 1),
      }
    }
  };
  %go(%n, 0)
}"""
    mod = relay.parse(text, "p")
    machine = CoveringInterpreter(mod)
    main = mod.get_global_var("main")
    assert machine.evaluate("main", 4) == relay.run(mod, "main", [4])
    machine.look_at([main])
    assert machine.covered == machine.lines
    few = CoveringInterpreter(mod)
    few.evaluate("main", 0)
    few.look_at([main])
    assert few.lines == machine.lines
    assert {n for _, n in few.lines - few.covered} >= {7, 9}


def test_a_new_project_is_right_from_the_start() -> None:
    assert cli("new", "shapes").output == "shapes/ has a program and its tests: relay test shapes\n"
    assert {p.name for p in Path("shapes").iterdir()} == {
        "shapes.relay",
        "tests.relay",
        "README.md",
        ".gitignore",
    }
    assert cli("check", "shapes").status == 0
    assert cli("fmt", "--check", "shapes").output == ""
    ran = cli("test", "--coverage", "shapes")
    assert ran.output.splitlines() == [
        "shapes/shapes.relay: 100% of 5 lines",
        "shapes/tests.relay: 100% of 6 lines",
        "3 tests: passed",
    ]
    again = cli("new", "shapes")
    assert again.status == 1
    assert "error[cannot-write]: `shapes` is there already" in again.output
    assert cli("new", "a b").status == 2
    Path("file").write_text("")
    assert "error[cannot-write]" in cli("new", "file/inside").output
