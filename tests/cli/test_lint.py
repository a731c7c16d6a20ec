"""`relay lint`."""

import json
from pathlib import Path

import pytest

from generators.sugared import sugared_program
from relay.cli.fmt import formatted
from relay.lint.finding import RULES
from relay.lint.run import findings, fixed
from relay.lsp.actions import actions
from relay.lsp.index import check
from relay.text.parser import parse_module
from relay.typecheck.infer import infer
from support import ROOT, cli

PROGRAM = """\
import "std/list"
import "std/option"

// main
def @main(%x: Tensor[(3,), float32], %c: bool) {
  // kept
  let %unused = %x + 1f;
  let %r = cast(%x, dtype="float32");
  let (%a, %b) = (1, 2);
  let %q = if (%c == False) { [| %a |] } else { [| 2 |] }; // list
  let %w = (%r, %q);
  %w
}
"""
FIXED = """\
import "std/list"

// main
def @main(%x: Tensor[(3,), float32], %c: bool) {
  // kept
  let %r = %x;
  let (%a, _) = (1, 2);
  let %q = if (!%c) { [| %a |] } else { [| 2 |] };  // list
  (%r, %q)
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.relay"
    path.write_text(PROGRAM)
    return path


def test_edits_are_made_and_comments_stay(program: Path) -> None:
    ran = cli("lint", "--fix", str(program))
    assert ran.output == "6 fixed, nothing left\n"
    assert ran.status == 0
    assert program.read_text() == FIXED
    assert cli("lint", "--fix", str(program)).output == "nothing found\n"


def test_standard_input_is_printed_with_the_edits() -> None:
    assert cli("lint", "--fix", "-", stdin=PROGRAM.encode()).output.startswith(FIXED)


def test_rules_are_chosen_by_name(program: Path) -> None:
    def codes(*options: str) -> list[str]:
        printed = cli("lint", "--json", *options, str(program)).output
        return [d["code"] for d in json.loads(printed[: printed.rindex("]") + 1])]

    assert codes("--select", "needless-cast") == ["needless-cast"]
    assert codes("--select", "needless-cast,unused-import") == ["unused-import", "needless-cast"]
    assert "unused-variable" not in codes("--ignore", "unused-variable")
    assert codes("--ignore", "all") == []
    wrong = cli("lint", "--select", "unused-variabel", str(program))
    assert wrong.status == 1
    assert "did you mean `unused-variable`" in wrong.output


def test_findings_for_machines_have_places(program: Path) -> None:
    ran = cli("lint", "--json", "--select", "needless-cast", str(program))
    (found,) = json.loads(ran.output[: ran.output.rindex("]") + 1])
    assert (found["line"], found["column"], found["fixable"], found["severity"]) == (8, 12, True, "warning")
    assert ran.status == 1


def test_a_program_with_errors_has_those_alone(tmp_path: Path) -> None:
    path = tmp_path / "wrong.relay"
    path.write_text("def @main(%x: float32) { let %y = 1; %z }\n")
    ran = cli("lint", str(path))
    assert ran.status == 1
    assert "error[unknown-variable]" in ran.output
    assert "unused-variable" not in ran.output


def test_wrong_usage(tmp_path: Path) -> None:
    assert cli("lint").status == 2
    assert cli("lint", "--fix", "--json", "-").status == 2
    assert "cannot-read" in cli("lint", str(tmp_path / "nothing.relay")).output
    assert cli("lint", "--rules").output.count("\n") == len(RULES)


@pytest.mark.parametrize(
    "text",
    [
        "def @main() { let %r = ref(1); let %u = ref_write(%r, 2); ref_read(%r) }",  # for its effect
        'def @main(%x: float32) { let %t = trace("x", %x); %x }',
        "def @f(%x: float32) { 1 }",  # a parameter is part of the type
        "def @main(%x: float32) { cast(%x, dtype=float64) }",
        "def @main(%a: Tensor[(n,), float32]) { let %_n = 1; %a }",
        "attributes @t { test: true }\ndef @t() { @f() == 1 }\ndef @f() { 1 }\ndef @main() { 2 }",
        'import "std/list"\ndef @main() { [| 1 |] }',
        'import "std/list"\nimport "std/tree"',
    ],
)
def test_what_is_meant_is_not_reported(text: str, tmp_path: Path) -> None:
    path = tmp_path / "meant.relay"
    path.write_text(text + "\n")
    assert cli("lint", str(path)).output == "nothing found\n"


def test_edits_of_random_programs_keep_them_right() -> None:
    rules = [name for name, rule in RULES.items() if rule.is_default]
    for seed in range(30):
        text = sugared_program(seed).text
        new, count = fixed(text, lambda t: check(t, None, "x"), rules, lambda t: formatted(t, "-"))
        infer(parse_module(new))
        assert count or new == text
        left = [f for f in findings(check(new, None, "x"), rules) if f.edit is not None]
        assert not left, (seed, [f.diagnostic.code for f in left])


def test_editors_show_findings_with_their_edits(program: Path) -> None:
    document = check(PROGRAM, program, str(program))
    at = PROGRAM.index("cast(")
    assert [a.title for a in actions(document, at, at)] == ["Remove the cast"]


def test_examples_are_linted() -> None:
    ran = cli("lint", str(ROOT / "examples"))
    assert ran.output == "nothing found\n"


@pytest.mark.parametrize(
    ("body", "codes", "better"),
    [
        ("sum(%x)", 1, "sum(cast(%x, dtype=int64))"),
        ("prod(%x, axis=1)", 1, "prod(cast(%x, dtype=int64), axis=1)"),
        ("cumsum(%x, axis=1)", 1, "cumsum(cast(%x, dtype=int64), axis=1)"),
        ("cumsum(%x, axis=0)", 0, ""),
        ("cumprod(%x)", 1, "cumprod(cast(%x, dtype=int64))"),
        ("sum(%x, axis=2)", 1, "sum(cast(%x, dtype=int64), axis=2)"),  # n of them
        ("sum(cast(%x == %x, int8))", 1, "sum(cast(cast(%x == %x, dtype=int8), dtype=int64))"),
        ("sum(cast(%x == %x, int8), axis=1)", 0, ""),  # three truth values
        ("sum(cast(%x, int16))", 1, "sum(cast(cast(%x, dtype=int16), dtype=int64))"),
        ("cumsum(cast(%x, int32), axis=1, dtype=int16)", 1, ""),  # the dtype is said
        ("sum(%x == %x)", 0, ""),
        ("sum(cast(%x, int32))", 0, ""),
        ("sum(cast(%x, float16))", 0, ""),
        ("cumsum(%x, axis=0, dtype=int64)", 0, ""),
        ("sum([100i8, 20i8])", 0, ""),
        ("sum([100i8, 28i8])", 1, "sum(cast([100i8, 28i8], dtype=int64))"),
        ("prod([1i8, -1i8, 1i8])", 0, ""),
        ("max(%x)", 0, ""),
    ],
)
def test_sums_of_narrow_integers(body: str, codes: int, better: str) -> None:
    text = f"def @main(%x: Tensor[(1, 3, n), int8]) {{ {body} }}\n"
    found = findings(check(text, None, "x"), ["sum-may-wrap"])
    assert [f.diagnostic.code for f in found] == ["sum-may-wrap"] * codes
    new, _ = fixed(text, lambda t: check(t, None, "x"), ["sum-may-wrap"], lambda t: formatted(t, "-"))
    assert (better or body) in " ".join(new.split())
