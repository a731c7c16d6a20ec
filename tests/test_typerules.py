"""The type rules, a page each in `tests/typerules`: programs with the types or the errors that are expected.

A block of Relay is followed by a block of text, which `pytest --bless` rewrites.  The word after
`relay` says what the text shows:

- nothing: the type of each definition, or the errors, and the warnings of inference;
- `annotated`: the whole program with its types filled in;
- `run`: the value of `@main`, or the error, which the interpreter and compiled code have to agree on.
"""

import re
from pathlib import Path

import pytest

import relay
from relay.diagnostic import Report
from relay.interpreter.show import show
from relay.typecheck.infer import infer
from support import ROOT

PAGES = sorted((ROOT / "tests" / "typerules").glob("*.md"))
BLOCK = re.compile(
    r"^```relay(?: (?P<shows>\w+))?\n(?P<program>.*?)^```\n(?:\n```text\n(?P<text>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
FEWEST_PAGES = 40


def types(program: str) -> str:
    """The type of each definition of a program, and its warnings."""
    report = Report()
    mod = infer(relay.parse(program, "rule.relay"), warnings=report)
    lines = [f"@{v.name}: {mod.type_of(v)}" for v in mod.functions if v.name not in mod.imported]
    return "\n".join([*lines, *[f"\n{d.render()}" for d in report.warnings]])


def annotated(program: str) -> str:
    """A program with its types filled in."""
    return str(infer(relay.parse(program, "rule.relay"))).rstrip()


def value(program: str) -> str:
    """The value of `@main`, on which the executors agree, or the error that both report."""
    mod = infer(relay.parse(program, "rule.relay"))
    interpreted, compiled = (result(mod, executor) for executor in ("debug", "native"))
    assert compiled == interpreted
    return interpreted


def result(mod: relay.IRModule, executor: str) -> str:
    try:
        return show(relay.create_executor(executor, mod).evaluate()())
    except relay.RelayError as error:
        return str(error)


SHOWS = {None: types, "annotated": annotated, "run": value}


def expected(block: re.Match[str]) -> str:
    """A block with what it shows."""
    program, shows = block["program"], block["shows"]
    try:
        found = SHOWS[shows](program)
    except relay.RelayError as error:
        found = str(error)
    return f"```relay{f' {shows}' if shows else ''}\n{program}```\n\n```text\n{found}\n```\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_type_rule(page: Path, bless: bool) -> None:
    text = page.read_text()
    found = BLOCK.sub(expected, text)
    if bless:
        page.write_text(found)
    else:
        assert found == text


def test_each_page_states_a_rule_and_shows_it() -> None:
    assert len(PAGES) >= FEWEST_PAGES
    for page in PAGES:
        text = page.read_text()
        assert text.startswith("# "), page
        assert len(BLOCK.findall(text)) >= 2, page
        assert len(BLOCK.findall(text)) == text.count("```relay"), page
