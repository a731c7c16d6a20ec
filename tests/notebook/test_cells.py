"""What of a cell is definitions, and what an expression."""

import pytest

from relay.notebook.cells import parts_of, words_of
from relay.notebook.extension import coloured, options


@pytest.mark.parametrize(
    ("cell", "definitions"),
    [
        ("1 + 2", ""),
        ("def @f() { 1 }\n@f()", "def @f() { 1 }"),
        ('import "std/list"\n@length(%x)', 'import "std/list"'),
        ('import "std/list";\ntype T { A, B(float32) }\nA', 'import "std/list";\ntype T { A, B(float32) }'),
        ("// def @g() { 2 }\ndef @f() { 1 }", "// def @g() { 2 }\ndef @f() { 1 }"),
        ("def @f(%x: (int32, int32)) -> int32 { if (True) { 1 } else { 2 } }\nlet %y = 1; %y", None),
        ("let %x = 1", ""),
        ("", ""),
    ],
)
def test_definitions_come_before_the_expression(cell: str, definitions: str | None) -> None:
    head, rest = parts_of(cell)
    assert head == (cell.split("\n")[0] if definitions is None else definitions)
    assert len(rest) == len(cell)
    assert rest.count("\n") == cell.count("\n")
    assert rest.strip() == cell[len(head) :].strip()


def test_names_in_texts_and_comments_do_not_count() -> None:
    assert words_of('%x + @f(%y, "%z") // %w') == {"x", "y"}


def test_options_of_a_cell() -> None:
    assert options("") == ("native", "")
    assert options("--backend interpreter out") == ("interpreter", "out")
    assert options("--backend=interpreter") == ("interpreter", "")


def test_diagnostics_have_colours_and_keep_their_text() -> None:
    import re

    text = "error[a-b]: no\n --> x:1:2\n  |\n1 | %x\n  | ^^ here\n  = hint: do"
    assert "\x1b[31m" in coloured(text)
    assert re.sub(r"\x1b\[\d+m", "", coloured(text)) == text
