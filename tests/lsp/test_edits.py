"""Random edits of random programs: nothing that an editor may ask fails, and every place is right."""

from random import Random

import pytest

from generators.programs import random_program
from generators.sugared import sugared_program
from relay.lsp.actions import actions
from relay.lsp.coloring import colored, encoded, replacement
from relay.lsp.completion import completions
from relay.lsp.hover import hover
from relay.lsp.index import Document, check
from relay.lsp.inlay import inlays
from relay.lsp.lines import Lines
from relay.lsp.outline import foldings, outline
from relay.lsp.places import definition
from relay.lsp.references import RefusedError, check_new_name, references
from relay.lsp.signature import signature
from relay.lsp.store import Opened, View

TYPED = [
    "%",
    "@",
    ".",
    "(",
    ")",
    "{",
    "}",
    ",",
    ";",
    '"',
    "\r\n",
    "//",
    "/*",
    "nn.",
    "é\U0001f600",
    "let %x = ",
]
EDITS = 4
"""How often each program is edited."""


def edited(text: str, rng: Random) -> str:
    """The text with a range left out, typed over or typed twice."""
    start = rng.randrange(len(text) + 1)
    end = min(len(text), start + rng.choice([0, 0, 1, 1, 5, 40]))
    new = rng.choice(["", rng.choice(TYPED), rng.choice(TYPED) + text[start:end], text[start:end] * 2])
    return text[:start] + new + text[end:]


def assert_sound(document: Document) -> None:
    text = document.text
    for o in document.occurrences:
        assert 0 <= o.start < o.end <= len(text)
        written = text[o.start : o.end].lstrip("%@")
        assert written == o.symbol.name.lstrip("%@") or '"' in written or o.symbol.kind == "operator"
        if o.symbol.kind in ("local", "parameter", "graph") and isinstance(o.symbol.owner, int):
            assert document.definition(o.symbol) is not None
    for d in document.diagnostics:
        if d.span is not None and d.span.source is document.source:
            assert 0 <= d.span.start <= len(text)
    for entry in outline(document):
        assert entry.start <= entry.name_start <= entry.name_end <= entry.end
    assert all(first < last for first, last, _ in foldings(document))


def ask(view: View, rng: Random) -> None:
    """Everything that an editor asks, at a random place of the text as it is now."""
    document = view.document
    offset = rng.randrange(len(view.text) + 1)
    line, units = view.lines.position(offset)
    at = view.checked(line, units)
    assert 0 <= at <= len(document.text)
    hover(document, at)
    completions(view, offset)
    signature(view, offset)
    inlays(document, 0, len(document.text))
    actions(document, 0, len(document.text))
    data = encoded(colored(document), view.edit, view.lines)
    assert all(n >= 0 for n in data)
    occurrence = document.occurrence(at)
    if occurrence is not None:
        definition(document, occurrence.symbol)
        found = references(document, occurrence.symbol, [])
        assert occurrence in found[0].occurrences
        if occurrence.symbol.kind in ("local", "global", "constructor", "type", "field", "parameter"):
            try:
                check_new_name(occurrence.symbol, "fresh_name", found)
            except RefusedError as refused:
                assert "already" in str(refused)  # noqa: PT017


def one_program(seed: int) -> None:
    rng = Random(seed)
    text = sugared_program(seed).text if seed % 2 else str(random_program(seed, 20).mod)
    before = check(text, None, "<text>")
    assert_sound(before)
    for _ in range(EDITS):
        text = edited(text, rng)
        opened = Opened("uri", None, text, 1)
        ask(View(opened, before), rng)
        before = check(text, None, "<text>")
        assert_sound(before)
        view = View(opened, before)
        assert [view.lines.offset(*view.lines.position(i)) for i in (0, len(text))] == [0, len(text)]
        ask(view, rng)


@pytest.mark.parametrize("seed", range(10))
def test_edits_of_programs_are_answered_about(seed: int):
    one_program(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 260))
def test_a_thousand_edits_are_answered_about(seed: int):
    one_program(seed)


def test_a_renamed_local_leaves_the_program_as_it_was():
    text = "def @f(%x: int32) { let %y = %x; let %g = fn (%z) { %z + %y }; %g(%x) + %y }"
    document = check(text, None, "<text>")
    for o in list(document.occurrences):
        if o.symbol.kind != "local":
            continue
        new = text
        for place in reversed(document.by_symbol[o.symbol]):
            new = new[: place.start] + "%fresh" + new[place.end :]
        assert not check(new, None, "<text>").diagnostics
    assert Lines(text).position(len(text)) == (0, len(text))


def test_colours_that_have_changed_are_one_replacement() -> None:
    rng = Random(3)
    for _ in range(300):
        old = [rng.randrange(3) for _ in range(rng.randrange(12))]
        new = [rng.randrange(3) for _ in range(rng.randrange(12))]
        first, deleted, inserted = replacement(old, new)
        assert [*old[:first], *inserted, *old[first + deleted :]] == new
