"""Programs are coloured as they are read."""

from pathlib import Path

import pytest
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String, Token

from relay.diagnostic import Report, Source
from relay.text.lexer import lex
from relay.text.pygments_lexer import RelayLexer
from support import ROOT, blocks

PROGRAMS = [
    *[p.read_text() for p in sorted((ROOT / "examples").glob("*.relay"))],
    *[p.read_text() for p in sorted((ROOT / "src" / "relay" / "std").glob("*.relay"))],
    *[b.text for b in blocks((ROOT / "docs" / "language.md").read_text()) if b.language == "relay"],
]


def colours(text: str) -> list[tuple[object, str]]:
    return [(kind, piece) for kind, piece in RelayLexer().get_tokens(text) if piece.strip()]


@pytest.mark.parametrize("text", PROGRAMS, ids=range(len(PROGRAMS)))
def test_every_program_is_coloured_as_a_whole(text: str) -> None:
    pieces = list(RelayLexer(stripnl=False, ensurenl=False).get_tokens(text))
    assert "".join([piece for _, piece in pieces]) == text
    assert not [piece for kind, piece in pieces if kind is Error]


@pytest.mark.parametrize("text", PROGRAMS, ids=range(len(PROGRAMS)))
def test_variables_and_strings_are_those_of_the_parser(text: str) -> None:
    tokens = lex(Source("p", text), Report())
    places: dict[int, object] = {}
    at = 0
    for kind, piece in RelayLexer(stripnl=False, ensurenl=False).get_tokens(text):
        places[at] = kind
        at += len(piece)
    wanted = {"LOCAL": Name.Variable, "GRAPH": Name.Variable, "GLOBAL": Name.Function, "STRING": String}
    for kind, start in zip(tokens.kinds, tokens.starts, strict=True):
        if kind in wanted:
            assert places.get(start) is wanted[kind], text[start : start + 20]


def test_the_kinds_of_pieces() -> None:
    text = 'def @f(%x: Tensor[(n,), float32]) { nn.relu(%x, axis=1) * 2.5f + 3 } // "c" /* /* */ */'
    found = dict.fromkeys(colours(text))
    for one in (
        (Keyword.Declaration, "def"),
        (Name.Function, "@f"),
        (Name.Variable, "%x"),
        (Keyword.Type, "Tensor"),
        (Keyword.Type, "float32"),
        (Name.Builtin, "nn.relu"),
        (Name.Attribute, "axis"),
        (Number.Float, "2.5f"),
        (Number.Integer, "3"),
        (Operator, "*"),
        (Comment.Single, '// "c" /* /* */ */'),
    ):
        assert one in found
    assert all(kind in Comment for kind, _ in colours("/* a /* b */ c */"))
    assert colours('"a \\" b" %"x y"')[0] == (String, '"a \\" b"')
    assert colours("$")[0][0] is Token.Error


def test_pygments_finds_it_by_its_names() -> None:
    from importlib.metadata import entry_points

    found = [e for e in entry_points(group="pygments.lexers") if e.name == "relay"]
    assert [e.load() for e in found] in ([RelayLexer], [])
    assert Path("p.relay").match(RelayLexer.filenames[0])
