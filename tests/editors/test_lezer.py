"""The Lezer grammar cuts texts into the tokens that Relay's lexer finds, and finds no fault with programs.

`npm install && npm run build` in `editors/lezer` makes what these need.
"""

import json
import random
import subprocess
from pathlib import Path

import pytest

from relay.diagnostic import RelayError, Report, Source
from relay.text.lexer import lex
from relay.text.parser import parse_module
from support import ROOT, blocks

LEZER = ROOT / "editors" / "lezer"
EXPECTED = "\n// ==> expect"
NO_PROGRAMS = ("aarch64", "array_api", "loops")
"""Folders of tests with other files of that name."""

pytestmark = pytest.mark.extras


def program_texts() -> dict[str, str]:
    """The text of every program of the repository, by where it stands."""
    found: dict[str, str] = {}
    for folder in ("examples", "src", "tests", "editors/vscode/tests"):
        for path in sorted((ROOT / folder).rglob("*.relay")):
            if not set(NO_PROGRAMS) & set(path.parts):
                found[str(path.relative_to(ROOT))] = path.read_text().partition(EXPECTED)[0]
    for path in [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]:
        for block in blocks(path.read_text()):
            if block.language == "relay":
                found[f"{path.relative_to(ROOT)}:{block.line}"] = block.text
    return found


def dumped(texts: list[str]) -> list[dict[str, list]]:
    """What Lezer finds in texts: tokens and errors."""
    ran = subprocess.run(
        ["node", "test/dump.js"],
        cwd=LEZER,
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(ran.stdout)


def is_program(name: str, text: str) -> bool:
    """Whether the parser takes a text."""
    try:
        parse_module(text, path=ROOT / name if Path(name).suffix == ".relay" else None)
    except RelayError:
        return False
    return True


@pytest.fixture(scope="module")
def programs() -> dict[str, str]:
    return {name: text for name, text in program_texts().items() if is_program(name, text)}


def tokens_of(text: str) -> list[list[int]] | None:
    """Relay's own tokens; None where some of the text is none."""
    report = Report()
    tokens = lex(Source("", text), report)
    pairs = zip(tokens.starts, tokens.ends, strict=True)
    return None if report.diagnostics else [[a, b] for a, b in pairs if a < b]


def test_no_program_has_an_error_node(programs: dict[str, str]):
    assert len(programs) > 300
    found = dumped(list(programs.values()))
    wrong = {name: one["errors"] for name, one in zip(programs, found, strict=True) if one["errors"]}
    assert not wrong


def test_tokens_are_those_of_the_lexer(programs: dict[str, str]):
    for (name, text), one in zip(programs.items(), dumped(list(programs.values())), strict=True):
        assert one["tokens"] == tokens_of(text), name


def test_wrong_texts_are_cut_into_the_same_tokens(programs: dict[str, str]):
    dice = random.Random(7)
    texts: list[str] = []
    for text in dice.choices(list(programs.values()), k=300):
        at = dice.randrange(len(text))
        wrong = dice.choice(["", "(", "}", "; let", " def ", "match", "]", " = "])
        texts.append(f"{text[:at]}{wrong}{text[at + 1 :]}\ndef @last(%x: float32) {{ %x }}\n")
    of_lexer = [tokens_of(text) for text in texts]
    compared = 0
    for text, tokens, one in zip(texts, of_lexer, dumped(texts), strict=True):
        if tokens is not None:
            assert one["tokens"] == tokens, text
            compared += 1
    assert compared > 200
