"""Text to tokens: kinds, places, dialects, and what is not a token."""

import pytest

from relay.diagnostic import Report, Source
from relay.text.lexer import LOOK_AHEAD, Tokens, lex


def tokens(text: str) -> tuple[Tokens, Report]:
    report = Report()
    return lex(Source("t", text), report), report


def kinds(text: str) -> str:
    found, report = tokens(text)
    assert report.diagnostics == []
    return " ".join(found.kinds[:-LOOK_AHEAD])


def texts(text: str) -> list[str]:
    return tokens(text)[0].texts[:-LOOK_AHEAD]


def codes(text: str) -> list[str]:
    return [d.code for d in tokens(text)[1].diagnostics]


def test_the_text_between_start_and_end_is_the_token() -> None:
    text = 'let %x : Tensor[(1, n), f32] = @f(%0.1, "a b") // c\n  + nn.relu(-2.5e-3f)'
    found, _ = tokens(text)
    assert [text[s:e] for s, e in zip(found.starts, found.ends, strict=True)] == found.texts


def test_operators_need_no_white_space() -> None:
    assert kinds("1+2") == "NUMBER + NUMBER"
    assert kinds("%n-1") == "LOCAL - NUMBER"
    assert kinds("%x/2") == "LOCAL / NUMBER"
    assert kinds("%a<=%b") == "LOCAL <= LOCAL"
    assert kinds("2**-%x") == "NUMBER ** - LOCAL"
    assert kinds("%a&&!%b||%c") == "LOCAL && ! LOCAL || LOCAL"


def test_digits_behind_a_point_are_an_index() -> None:
    assert texts("%t.0.1") == ["%t", ".0", ".1"]
    assert texts("%0.1.2") == ["%0", ".1", ".2"]
    assert texts("f(x).10") == ["f", "(", "x", ")", ".10"]
    assert kinds("1.0.1") == "NUMBER PROJ"


def test_percent_is_an_operator_before_white_space_and_parentheses() -> None:
    assert kinds("%a % %b") == "LOCAL % LOCAL"
    assert kinds("%a %(%b)") == "LOCAL % ( LOCAL )"
    assert kinds("%a %b") == "LOCAL LOCAL"


def test_names_with_points_are_one_token() -> None:
    assert texts("nn.conv2d(%x)") == ["nn.conv2d", "(", "%x", ")"]
    assert texts("random.threefry_key") == ["random.threefry_key"]


@pytest.mark.parametrize(
    "number", ["1", "1i64", "1u8", "1.0", "1e-3", "3f16", "1bf16", "1.0f", "2.5E+10f64", "1float8_e5m2"]
)
def test_numbers_carry_their_suffix(number: str) -> None:
    assert texts(f"({number})") == ["(", number, ")"]


def test_quoted_names_are_unquoted_and_keep_their_sigil() -> None:
    assert texts('%"features.0/weight" @"my.fn" %"x" %"a\\"b"') == [
        "%features.0/weight",
        "@my.fn",
        "%x",
        '%a"b',
    ]
    assert kinds('%"0" %0') == "LOCAL GRAPH"


def test_slashes_belong_to_names_of_the_strict_dialect_only() -> None:
    assert texts('#[version = "0.0.5"]\n%a/b @m/f') == ["%a/b", "@m/f"]
    assert texts("%a/b") == ["%a", "/", "b"]


def test_dots_and_colons_within_names_of_the_strict_dialect_are_no_fields() -> None:
    text = '#[version = "0.0.5"]\n%layer1.0.weight.1 %a::b %x.0.1 %x.'
    assert texts(text) == ["%layer1.0.weight", ".1", "%a::b", "%x", ".0", ".1", "%x", "."]
    assert texts("%layer1.0.weight") == ["%layer1", ".0", ".", "weight"]
    assert texts('#[version = "0.0.5"]\n%a//b') == ["%a"]
    assert texts('#[version = "0.0.5"]\n%a/*b*/') == ["%a"]


def test_comments_are_left_out() -> None:
    assert kinds("1 // + 2\n+ 3") == "NUMBER + NUMBER"
    assert kinds("1 # + 2\n+ 3") == "NUMBER + NUMBER"
    assert kinds("1 /* a /* b */ * c */ + 3") == "NUMBER + NUMBER"
    assert kinds('"/* text */" + 1') == "STRING + NUMBER"
    assert kinds("1 // /* no\n+ 2") == "NUMBER + NUMBER"
    assert kinds("#") == ""
    assert kinds("# [1]\n2") == "NUMBER"


def test_a_block_comment_leaves_places_and_lines_alone() -> None:
    found, _ = tokens("/* a\nb */ %x")
    assert found.source.position(found.starts[0]) == (2, 6)


def test_the_version_selects_the_dialect() -> None:
    assert not tokens("1")[0].strict
    assert not tokens('#[version = "1"]\n1')[0].strict
    assert tokens('// c\n /* d */ # e\n#[ version="0.0.5" ]\n1')[0].strict
    assert codes('#[version = "0.0.6"] 1') == ["unknown-version"]


def test_the_metadata_section_is_the_rest_of_the_file() -> None:
    found, report = tokens('%x\n#[metadata]\n{"a": "\\" // #[b]"}\n')
    assert report.diagnostics == []
    assert found.metadata == '\n{"a": "\\" // #[b]"}\n'
    assert found.texts[:-LOOK_AHEAD] == ["%x"]


def test_unknown_file_attributes_are_errors() -> None:
    assert codes("#[versoin = 1]\n1") == ["unknown-file-attribute"]
    assert codes('1\n#[version = "1"]') == ["unknown-file-attribute"]
    assert codes("1\n#[metadata") == ["unknown-file-attribute"]
    assert codes("1\n#[metadata = 2]\n{}") == ["unknown-file-attribute"]


def test_every_fault_is_reported_and_the_rest_is_lexed() -> None:
    found, report = tokens("%x \0 é & $ %y")
    assert found.texts[:-LOOK_AHEAD] == ["%x", "&&", "%y"]
    assert [d.code for d in report.diagnostics] == ["unexpected-character"] * 4


@pytest.mark.parametrize("text", ['"abc', '%"abc', '@"', '"', '"a\\"', '"a\nb"'])
def test_strings_end_on_their_line(text: str) -> None:
    assert codes(text)[0] == "unterminated-string"


def test_what_closes_the_line_of_an_unclosed_string_is_no_part_of_it() -> None:
    found, report = tokens('f("ab, c );\n%y')
    assert [d.code for d in report.diagnostics] == ["unterminated-string"]
    assert found.texts[:6] == ["f", "(", '"ab, c"', ")", ";", "%y"]
    assert found.starts[3:5] == [9, 10]


def test_comments_end() -> None:
    assert codes("1 /* /* */") == ["unterminated-comment"]


def test_strings_of_the_strict_dialect_may_have_newlines() -> None:
    assert tokens('#[version = "0.0.5"]\n"a\nb"')[1].diagnostics == []


def test_bad_escapes_in_names_are_found() -> None:
    assert codes('%"a\\qb"') == ["bad-escape"]


def test_brackets_find_their_partners() -> None:
    found, _ = tokens("f({[1]}, (2)")
    assert found.brackets() == {2: 6, 6: 2, 3: 5, 5: 3, 8: 10, 10: 8}


def test_a_brace_closes_what_is_open_inside_it() -> None:
    found, _ = tokens("{ ( [ }")
    assert found.brackets() == {0: 3, 3: 0}


def test_a_definition_closes_what_is_open_before_it() -> None:
    found, _ = tokens("{ ( def @f { }")
    assert found.brackets() == {4: 5, 5: 4}


def test_a_million_characters_of_noise_take_a_moment() -> None:
    _, report = tokens("\0\x01é%@$" * 100_000)
    assert 0 < len(report.diagnostics) < 200
