"""The formatter's comments: found, and carried to the same place of another text of the same program."""

import pytest

from relay.cli.comments import Comment, carry_over, scan


def test_comments_are_told_from_strings_operators_and_file_attributes() -> None:
    text = '#[version = "1"]\nlet %a = "// no";  # yes\n%a / 2 // and\n/* one /* two */ one */ %"# no"'
    tokens, comments = scan(text)
    assert [c.text for c in comments] == ["# yes", "// and", "/* one /* two */ one */"]
    assert '"// no"' in [t.text for t in tokens]
    assert '%"# no"' in [t.text for t in tokens]


def test_a_comment_behind_code_hangs_on_the_token_before_it() -> None:
    _, comments = scan("a // first\n// second\nb")
    assert comments == [Comment("// first", 0, True), Comment("// second", 1, False)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("// top\ndef @f() { 1 }", "def @f() {\n  1\n}\n", "// top\ndef @f() {\n  1\n}\n"),
        ("def @f() {\n// inside\n1 }", "def @f() {\n  1\n}\n", "def @f() {\n  // inside\n  1\n}\n"),
        ("def @f() { 1 // one\n}", "def @f() {\n  1\n}\n", "def @f() {\n  1  // one\n}\n"),
        ("def @f() { 1 }\n// last", "def @f() {\n  1\n}\n", "def @f() {\n  1\n}\n// last\n"),
        (
            "def @f(%x: /* why */ int32) { %x }",
            "def @f(%x: int32) { %x }\n",
            "def @f(%x: int32) { %x }  /* why */\n",
        ),
        ("// only", "", "// only\n"),
        ("def @f() { 1 }\n\n// last", "def @f() {\n  1\n}\n", "def @f() {\n  1\n}\n\n// last\n"),
        (
            "def @f() { 1 }\n// the type\ntype T { A }\n// the rest\n@f()",
            "type T {\n  A,\n}\n\ndef @f() {\n  1\n}\n\ndef @main() {\n  @f()\n}\n",
            "// the type\ntype T {\n  A,\n}\n\ndef @f() {\n  1\n}\n\ndef @main() {\n"
            "  // the rest\n  @f()\n}\n",
        ),
        ('// top\n\nimport "a"', 'import "a"\n', '// top\n\nimport "a"\n'),
        ("a\n// x\n// y\nb", "a\nb\n", "a\n// x\n// y\nb\n"),
    ],
)
def test_comment_goes_to_its_place(old: str, new: str, expected: str) -> None:
    assert carry_over(old, new) == expected


def test_no_comment_is_lost_in_a_long_file() -> None:
    old = "\n".join(f"def @f{i}(%x: int32) {{ // says {i}\n  %x + {i}  # {i}\n}}" for i in range(3000))
    new = "\n".join(f"def @f{i}(%x: int32) -> int32 {{\n  %x + {i}\n}}" for i in range(3000))
    assert sorted(c.text for c in scan(carry_over(old, new))[1]) == sorted(c.text for c in scan(old)[1])


def test_a_text_without_comments_is_untouched() -> None:
    assert carry_over("let %a = 1;\n%a", "let %a = 1; %a\n") == "let %a = 1; %a\n"
