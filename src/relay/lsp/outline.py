"""The outline of a document: its items with what they declare, and what of it can be folded."""

from dataclasses import dataclass, field

from relay.lsp.index import Document, Item
from relay.text.lexer import LOOK_AHEAD

KINDS = {"def": "function", "type": "type", "data": "type", "extern": "type", "": "function"}


@dataclass(slots=True)
class Entry:
    """Something declared: a `function`, `constant`, `type`, `constructor` or `field`."""

    kind: str
    name: str
    detail: str
    start: int
    end: int
    name_start: int
    name_end: int
    children: list["Entry"] = field(default_factory=list["Entry"])


def outline(document: Document) -> list[Entry]:
    """The definitions and types, in the order of the text."""
    parsed = document.parsed
    found: list[Entry] = []
    for item in document.items:
        if item.word not in KINDS:
            continue
        kind = KINDS[item.word]
        sigil = "@" if kind == "function" else ""
        at = item.name_at if item.word else item.first
        detail = document.types.of_global(item.name) if sigil else ""
        if item.word == "def" and parsed.kinds[at + 1] in (":", "="):
            kind = "constant"
        name_end = parsed.ends[at]
        entry = Entry(kind, sigil + item.name, detail, item.start, item.end, parsed.starts[at], name_end)
        if kind == "type":
            entry.children = _constructors(document, item)
        found.append(entry)
    return found


def _constructors(document: Document, item: Item) -> list[Entry]:
    found: list[Entry] = []
    for o in document.occurrences:
        if not (o.is_definition and item.start <= o.start < item.end):
            continue
        if o.symbol.kind == "constructor":
            found.append(Entry("constructor", o.symbol.name, "", o.start, o.end, o.start, o.end))
        elif o.symbol.kind == "field" and found:
            found[-1].children.append(Entry("field", o.symbol.name, "", o.start, o.end, o.start, o.end))
            found[-1].end = o.end
    return found


def foldings(document: Document) -> list[tuple[int, int, str]]:
    """First and last line of each bracket over several lines, of comments and of imports, with its kind."""
    parsed, lines = document.parsed, document.lines
    found: dict[int, tuple[int, int, str]] = {}
    for opener, closer in parsed.partner.items():
        if opener > closer:
            continue
        first, last = (lines.position(parsed.starts[i])[0] for i in (opener, closer))
        if last - 1 > first:
            found.setdefault(first, (first, last - 1, ""))
    for kind, blocks in (("comment", _comments(document)), ("imports", _imports(document))):
        for first, last in blocks:
            if last > first:
                found.setdefault(first, (first, last, kind))
    return sorted(found.values())


def _imports(document: Document) -> list[tuple[int, int]]:
    at = [document.lines.position(item.start)[0] for item in document.items if item.word == "import"]
    return [(at[0], at[-1])] if at else []


def _comments(document: Document) -> list[tuple[int, int]]:
    """Runs of lines that are comments alone."""
    blocks: list[tuple[int, int]] = []
    occupied = {document.lines.position(s)[0] for s in document.parsed.starts[:-LOOK_AHEAD]}
    start = None
    lines = document.lines
    rows = [document.text[a:b] for a, b in zip(lines.starts, lines.ends, strict=True)]
    for i, row in enumerate([*rows, ""]):
        is_comment = row.lstrip().startswith(("//", "/*", "*")) and i not in occupied
        if is_comment and start is None:
            start = i
        elif not is_comment and start is not None:
            blocks.append((start, i - 1))
            start = None
    return blocks
