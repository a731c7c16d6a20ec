"""A cell taken apart: definitions first, then an expression, each at its place in the cell."""

from relay.cli.session import ITEMS
from relay.diagnostic import Report, Source
from relay.text.lexer import lex

CELL = "<cell>"
"""What a cell is called in diagnostics."""


def parts_of(text: str) -> tuple[str, str]:
    """The definitions of a cell, and what follows them, behind blanks that keep its place in the cell."""
    tokens = lex(Source(CELL, text), Report())
    partner, end, i = tokens.brackets(), 0, 0
    while tokens.kinds[i] != "END" and tokens.texts[i] in ITEMS:
        i += 1
        is_import = tokens.texts[i - 1] == "import"
        while tokens.kinds[i] != "END":
            kind = tokens.kinds[i]
            if kind == "{" and i in partner:
                i = partner[i]
            elif i in partner and partner[i] > i:
                i = partner[i] + 1
                continue
            i += 1
            if (kind == "{" and tokens.kinds[i] != "->") or (is_import and kind == "STRING") or kind == ";":
                break
        if tokens.kinds[i] == ";":
            i += 1
        end = tokens.ends[i - 1]
    blank = "".join([c if c == "\n" else " " for c in text[:end]])
    return text[:end], blank + text[end:]


def words_of(text: str) -> set[str]:
    """The names of variables that a text mentions, without `%`."""
    tokens = lex(Source(CELL, text), Report())
    return {t[1:] for k, t in zip(tokens.kinds, tokens.texts, strict=True) if k == "LOCAL"}
