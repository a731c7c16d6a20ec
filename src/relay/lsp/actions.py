"""What the hints of diagnostics say to do, as edits."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from relay.diagnostic import Diagnostic
from relay.lint.run import default_findings
from relay.lsp.completion import import_place
from relay.lsp.index import Document

MEANT = re.compile(r"did you mean `([^`…]+)`\?")
WRITE = re.compile(r"write `([^`…]+)`\Z")
LOCAL = re.compile(r"write ([%@]\w+)(?: for the local)?\Z")
IMPORT = re.compile(r'import "(std/\w+)"\Z')
MODULE = re.compile(r'did you mean "([^"]+)"\?')


@dataclass(frozen=True, slots=True)
class Action:
    """An edit that a diagnostic asks for: the text from `start` to `end` becomes `text`."""

    title: str
    diagnostic: Diagnostic
    start: int
    end: int
    text: str


def actions(document: Document, start: int, end: int) -> list[Action]:
    """What can be done about the diagnostics between two offsets."""
    found: list[Action] = []
    for d in document.diagnostics:
        if (
            d.span is not None
            and d.span.source is document.source
            and d.span.start <= end
            and d.span.end >= start
        ):
            found += _of(document, d)
    for f in document.once(default_findings):
        span, edit = f.diagnostic.span, f.edit
        if edit is not None and span is not None and span.start <= end and span.end >= start:
            found.append(Action(edit.title, f.diagnostic, edit.start, edit.end, edit.text))
    return found


def _of(document: Document, d: Diagnostic) -> Iterator[Action]:
    assert d.span is not None
    start, end = d.span.start, min(d.span.end, len(document.text))
    old = document.text[start:end]
    hint = d.advice
    if d.code == "missing-let":
        yield Action("Insert `let`", d, start, start, "let ")
    elif d.code == "needless-return":
        yield Action(f"Remove `{old}`", d, start, _behind_spaces(document.text, end), "")
    elif (module := IMPORT.search(hint)) is not None:
        at = import_place(document)
        line = f'import "{module[1]}"'
        yield Action(f"Add {line}", d, at, at, f"\n{line}" if at else f"{line}\n")
    elif (path := MODULE.search(hint)) is not None and old.startswith('"'):
        yield Action(f'Change to "{path[1]}"', d, start, end, f'"{path[1]}"')
    elif (name := MEANT.search(hint) or WRITE.search(hint) or LOCAL.search(hint)) is not None:
        new = _with_mark(old, name[1])
        if new != old and "\n" not in old:
            yield Action(f"Change to `{new}`", d, start, end, new)


def _with_mark(old: str, new: str) -> str:
    """The new name with what stood before the old one: the dot of a field, a sigil, a data type."""
    if old[:1] in (".", "@", "%") and new[:1] != old[0]:
        return old[0] + new
    return new


def _behind_spaces(text: str, at: int) -> int:
    while at < len(text) and text[at] == " ":
        at += 1
    return at
