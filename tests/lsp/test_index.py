"""What a document's names mean, and what is answered about them, without an editor."""

import pytest

from relay.lsp.actions import actions
from relay.lsp.coloring import between, colored, encoded
from relay.lsp.completion import completions
from relay.lsp.hover import hover
from relay.lsp.index import Document, check
from relay.lsp.inlay import inlays
from relay.lsp.places import definition
from relay.lsp.references import RefusedError, check_new_name, references, renamable
from relay.lsp.signature import signature
from relay.lsp.store import Opened, View

PROGRAM = """\
import "std/list"
type Layer[o: Dim, i: Dim] { Layer { w: Tensor[(o, i), float32], b: Tensor[(o,), float32] } }
// One layer.
def @layer(%l: Layer[o, i], %x: Tensor[(n, i), float32]) {
  let %y = nn.dense(%x, %l.w);
  %0 = nn.relu(%y + %l.b);
  %0
}
def @first(%l) { match (%l) { Cons(%h, _) => %h, Nil => 0f } }
"""


def checked(text: str) -> Document:
    return check(text, None, "<text>")


def of(document: Document, mark: str, skip: int = 0) -> int:
    """The offset behind the first character of the `skip`th occurrence of a text."""
    offset = -1
    for _ in range(skip + 1):
        offset = document.text.index(mark, offset + 1)
    return offset + 1


def named(document: Document, mark: str, skip: int = 0) -> list[str]:
    """The texts of everything that a name means the same as."""
    occurrence = document.occurrence(of(document, mark, skip))
    assert occurrence is not None
    return [document.text[o.start : o.end] for o in document.by_symbol[occurrence.symbol]]


def now(text: str, before: str | None = None) -> View:
    """A text that was checked, perhaps before it was edited."""
    opened = Opened("uri", None, text, 1)
    return View(opened, checked(text if before is None else before))


@pytest.mark.parametrize(
    ("mark", "skip", "count"),
    [
        ("%y", 0, 2),
        ("%x", 0, 2),
        ("%0", 0, 2),
        ("o:", 0, 3),
        ("n,", 0, 1),
        ("w:", 0, 2),
        ("Layer[", 1, 2),
        ("%h", 0, 2),
    ],
)
def test_a_name_is_found_wherever_it_means_the_same(mark: str, skip: int, count: int):
    assert len(named(checked(PROGRAM), mark, skip)) == count


def test_shadowed_locals_are_apart():
    document = checked("def @f(%x: int32) { let %x = %x + 1; %x }")
    assert [o.start for o in document.by_symbol[document.occurrence(8).symbol]] == [7, 29]


def test_names_of_the_library_are_defined_in_its_files():
    document = checked(PROGRAM)
    occurrence = document.occurrence(of(document, "Cons"))
    place = definition(document, occurrence.symbol)
    assert place.path.name == "list.relay"
    assert place.text[place.start : place.end] == "Cons"
    with pytest.raises(RefusedError, match="not defined in your files"):
        renamable(document, occurrence)


@pytest.mark.parametrize(
    ("mark", "name"), [("%y", "x"), ("%y", "a b"), ("@layer", "first"), ("w:", "b"), ("o:", "i")]
)
def test_a_name_that_is_taken_or_none_is_refused(mark: str, name: str):
    document = checked(PROGRAM)
    symbol = document.occurrence(of(document, mark)).symbol
    with pytest.raises(RefusedError):
        check_new_name(symbol, name, references(document, symbol, []))


def test_a_rename_that_captures_a_use_is_refused():
    document = checked("def @f(%x: int32) { let %y = 1; %x + %y }")
    symbol = document.occurrence(of(document, "%x")).symbol
    with pytest.raises(RefusedError):
        check_new_name(symbol, "y", references(document, symbol, []))


@pytest.mark.parametrize(
    ("mark", "shown"),
    [
        ("%y", "%y: Tensor[(n, o), float32]"),
        ("%0 =", ""),
        ("@layer", "One layer."),
        ("nn.relu", "nn.relu(…): Tensor[(n, o), float32]"),
        ("+ %l", "… + …: Tensor[(n, o), float32]"),
        ("w)", "w: Tensor[(o, i), float32]"),
        ("0f", "0f: float32"),
        ("Cons", "List"),
    ],
)
def test_hover_shows_what_is_known(mark: str, shown: str):
    document = checked(PROGRAM)
    found = hover(document, of(document, mark) - (mark[0] in "+0w"))
    assert shown in (found.text if found else "")


def test_types_are_known_in_a_program_with_errors():
    document = checked(
        "def @f(%x: Tensor[(2, 3), float32]) { let %y = nn.relu(%x); let %z = ; %q + %y }\ndef @g() { 1 }"
    )
    assert [d.code for d in document.diagnostics] == ["unexpected-token", "unknown-variable"]
    assert "%y: Tensor[(2, 3), float32]" in hover(document, of(document, "%y")).text
    assert document.types.of_global("g") == "fn() -> int32"


def labels(text: str, before: str | None = None) -> list[str]:
    view = now(text.replace("|", ""), before)
    return [p.label for p in completions(view, text.index("|"))[1]]


def test_locals_in_scope_are_proposed():
    text = "def @f(%x: int32) { let %y = %x; % }\ndef @g(%z: int32) { %z }"
    found = labels(text.replace("% }", "%| }"))
    assert set(found) == {"%x", "%y"}


def test_fields_of_records_are_proposed_while_one_types():
    before = PROGRAM.replace("%l.w", "%l")
    text = PROGRAM.replace("%l.w", "%l.|")
    assert labels(text, before) == ["%l.w", "%l.b"]


def test_attributes_that_are_not_given_are_proposed_in_a_call():
    found = labels("def @f(%x: Tensor[(2, 3), float32]) { sum(%x, axis=1, k| }")
    assert "keepdims=" in found
    assert "axis=" not in found


def test_modules_types_and_globals_are_proposed_where_they_stand():
    assert "std/list" in labels('import "std/|')
    assert "float32" in labels("def @f(%x: fl|")
    assert "n" in labels("def @f(%x: Tensor[(n,), float32]) -> Tensor[(|")
    assert {"@f", "@map"} <= set(labels("def @f() { @| }"))
    assert labels("def @f() { // %|") == []


def test_the_signature_of_an_open_call_has_the_argument_that_is_written():
    text = "def @f(%x: Tensor[(2, 3), float32]) { nn.dense(%x, | }"
    found = signature(now(text.replace("|", "")), text.index("|"))
    assert found.parameters[found.active] == "weight"
    text = "def @g(%a: int32, %b: float32) { 1 }\ndef @f() { @g((1, 2).0, | }"
    found = signature(now(text.replace("|", "")), text.index("|"))
    assert found.parameters[found.active] == "%b: float32"


def test_types_that_are_not_written_are_inlaid():
    document = checked("def @f(%x: int32) { let %y = %x + 1; let %z: int32 = %y; %z }")
    shown = [(document.text[: i.at][-2:], i.text) for i in inlays(document, 0, len(document.text))]
    assert shown == [("2)", " -> int32"), ("%y", ": int32")]


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("def @f(%xs: int32) { %xz }", "def @f(%xs: int32) { %xs }"),
        ("def @f(%l) { @length(%l) }", '\nimport "std/list"\ndef @f(%l) { @length(%l) }'),
        ("def @f(%x: int32) { nn.rellu(%x) }", "def @f(%x: int32) { nn.relu(%x) }"),
        ("def @f(x: int32) { %x }", "def @f(%x: int32) { %x }"),
        ("def @f() { %x = 1; %x }", "def @f() { let %x = 1; %x }"),
        ("def @f() { return 1 }", "def @f() { 1 }"),
    ],
)
def test_hints_become_edits(text: str, fixed: str):
    document = checked(text)
    action = actions(document, 0, len(text))[0]
    new = text[: action.start] + action.text + text[action.end :]
    assert new.strip() == fixed.strip()
    assert not [d for d in checked(new).diagnostics if d.code == action.diagnostic.code]


def test_tokens_are_coloured_by_what_they_mean():
    document = checked(PROGRAM)
    words = {document.text[a:b]: kind for a, b, kind, _ in colored(document)}
    assert words["@layer"] == 3
    assert words["def"] == 8
    assert words["w"] == 6


def test_places_are_moved_by_what_was_typed_since_the_check():
    text = PROGRAM.replace("// One layer.", "// One\n// layer.")
    view = now(text, PROGRAM)
    line, units = view.lines.position(text.index("%y") + 1)
    found = hover(view.document, view.checked(line, units))
    assert "%y: Tensor[(n, o), float32]" in found.text
    assert view.position(found.start) == (line, units - 1)


def test_a_range_is_coloured_as_in_the_whole():
    view = now(PROGRAM)
    tokens = view.document.once(colored)
    start = PROGRAM.index("  %0 = nn")
    some = between(tokens, start, len(PROGRAM))
    line, units, *rest = encoded(some, view.edit, view.lines)[:5]
    assert (line, units) == view.lines.position(PROGRAM.index("%0 = nn"))
    assert rest == [2, 0, 1]
    assert view.document.once(colored) is tokens


def test_a_dimension_is_defined_where_a_fault_follows_in_its_type():
    document = checked("def @f(%x: Tensor[(n, 2 * n, /), float32]) { %x }")
    assert [o.is_definition for o in document.by_symbol[document.occurrence(20).symbol]] == [True, False]
