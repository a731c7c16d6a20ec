"""The kinds of all tokens, by what they mean: for editors that colour by the server."""

from bisect import bisect_left
from collections.abc import Sequence

from relay.lsp.edits import Edit
from relay.lsp.index import Document
from relay.lsp.lines import Lines
from relay.text.lexer import KEYWORDS

KINDS = (
    *("variable", "parameter", "typeParameter", "function", "type", "enumMember", "property", "string"),
    *("keyword", "number", "operator"),
)
MODIFIERS = ("definition", "defaultLibrary")
OF_SYMBOL = {
    "local": "variable",
    "graph": "variable",
    "parameter": "typeParameter",
    "global": "function",
    "type": "type",
    "constructor": "enumMember",
    "field": "property",
    "operator": "function",
    "attribute": "parameter",
    "import": "string",
    "form": "keyword",
}
"""What a symbol is to editors."""
_ITEM_WORDS = frozenset({"type", "data", "extern", "import", "attributes", "options", "free_var", "where"})
_SIGNS = frozenset({"+", "-", "*", "/", "%", "**", "==", "!=", "<=", ">=", "&&", "||", "!", "=>", "->"})

Colored = tuple[int, int, int, int]
"""A token: where it begins and ends, its kind as an index of `KINDS`, its modifiers as bits."""


def colored(document: Document) -> list[Colored]:
    """For each token that has one its start, end, kind (as an index) and modifiers (as bits)."""
    parsed = document.parsed
    named = {o.start: o for o in document.occurrences}
    found: list[Colored] = []
    for kind, text, start, end in zip(parsed.kinds, parsed.texts, parsed.starts, parsed.ends, strict=True):
        o = named.get(start)
        if o is not None:
            bits = o.is_definition + 2 * (o.symbol.kind == "operator")
            found.append((o.start, o.end, KINDS.index(OF_SYMBOL[o.symbol.kind]), bits))
            continue
        if kind in KEYWORDS or (kind == "NAME" and text in _ITEM_WORDS):
            name = "keyword"
        elif kind in ("NUMBER", "STRING"):
            name = kind.lower()
        elif kind == "NAME":
            name = "type"
        elif kind in _SIGNS:
            name = "operator"
        else:
            continue
        found.append((start, end, KINDS.index(name), 0))
    return found


def between(tokens: Sequence[Colored], start: int, end: int) -> Sequence[Colored]:
    """The tokens that begin between two offsets."""
    return tokens[bisect_left(tokens, (start,)) : bisect_left(tokens, (end + 1,))]


def encoded(tokens: Sequence[Colored], edit: Edit, lines: Lines) -> list[int]:
    """Tokens as the protocol has them: each by its distance from the one before, without those in an edit."""
    data: list[int] = []
    first = edit.new(tokens[0][0]) if tokens else 0
    line, last_line, last_column = lines.position(first)[0], 0, 0
    starts, ends = lines.starts, lines.ends
    for old_start, old_end, kind, bits in tokens:
        start, end = edit.new(old_start), edit.new(old_end)
        if end - start != old_end - old_start:
            continue
        while line + 1 < len(starts) and starts[line + 1] <= start:
            line += 1
        if end > ends[line] or end <= start:
            continue
        column = lines.units(starts[line], start)
        if line < last_line or (line == last_line and column < last_column):
            continue
        data += [
            line - last_line,
            column - last_column if line == last_line else column,
            lines.units(start, end),
            kind,
            bits,
        ]
        last_line, last_column = line, column
    return data


def replacement(old: list[int], new: list[int]) -> tuple[int, int, list[int]]:
    """Where two lists begin to differ, how many are gone there, and what is there instead."""
    most = min(len(old), len(new))
    first = next((i for i in range(most) if old[i] != new[i]), most)
    most -= first
    behind = next((i for i in range(most) if old[-1 - i] != new[-1 - i]), most)
    return first, len(old) - first - behind, new[first : len(new) - behind]
