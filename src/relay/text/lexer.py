"""Text to tokens: one regular expression cuts a text into pieces, one table names the kind of each.

The pieces cover the whole text, so that a token's place is the sum of the lengths before it, and everything
is done by C loops over lists (about 3 us a line).  Block comments nest, which no regular expression can
follow: they are blanked out first, in texts that have any.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, compress, islice
from typing import Any

from relay.diagnostic import Report, Source, Span, did_you_mean, readable
from relay.text.literals import short, unescape
from relay.text.versions import check_version, header_of

KEYWORDS = frozenset({"let", "fn", "fun", "def", "if", "else", "match"})

_NAME = "[A-Za-z_][A-Za-z0-9_]*"
# `features/0`, `aten::bias`, `layer1.0.weight`; what ends in `.0` is a field of a tuple.
_PATH = rf"(?:(?:/(?![/*])|::)[A-Za-z0-9_]*|(?:\.[0-9]+)*\.{_NAME})*"
# Each pattern matches in one way only, so a failure costs no second try.  Repeated groups are not possessive:
# CPython before 3.11.5 matches too little then (gh-106052).
_STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
_LONG_STRING = r'"[^"\\]*(?:\\[\s\S][^"\\]*)*"'
_NUMBER = "[0-9]+(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?[A-Za-z0-9_]*"
_WHOLE_STRING = re.compile(_LONG_STRING + r"\Z")
_PUNCTUATION = r"->|=>|==|!=|<=|>=|&&|\[\||\|\]|\|\||\||\*\*|\.\.\.?|[-+*/%@<>=!?:;,.(){}\[\]]"
_COMMENT_OR_STRING = re.compile(rf"{_STRING}|//[^\n]*|#(?!\[)[^\n]*|#\[\s*metadata\s*\]|/\*")
_METADATA = re.compile(r"#\[\s*metadata\s*\]")
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_NOT_NEWLINE = re.compile(r"[^\n]")


@lru_cache
def _pieces(strict: bool) -> re.Pattern[str]:
    """What a text is made of; names of the strict dialect may be paths, and its strings have newlines."""
    sigiled = _NAME + (_PATH if strict else "")
    string = _LONG_STRING if strict else _STRING
    return re.compile(
        "|".join(
            [
                r"[ \t\n\r\f\v\ufeff]+",
                f"[%@]{sigiled}",
                "[(),;]",
                "%[0-9]+",
                rf"{_NAME}(?:\.{_NAME})*",
                r"\.[0-9]+",
                _NUMBER,
                string,
                f"[%@]{string}",
                "//[^\n]*",
                _PUNCTUATION,
                r"#\[\s*metadata\s*\][\s\S]*",
                r"#\[\s*[A-Za-z_][^\]\n]*\]?",
                r"#(?!\[\s*[A-Za-z_])[^\n]*",
                '[%@]?"[^\n]*',
                r"'[^'\"\n]*'",
                r"[^\x00-\x7f]+|[\s\S]",
            ]
        )
    )


class _Kinds(dict[str, str | None]):
    """The kind of each piece, found once; None for what no parser wants to see."""

    odd = False
    """Whether a piece was seen that needs a second look."""

    def __missing__(self, piece: str) -> str | None:
        kind = self[piece] = _token_kind(piece)
        if kind in _ODD:
            self.odd = True
        return kind


_ODD = frozenset({"QUOTED", "FILE", "BAD"})


_PUNCTUATION_MARKS = frozenset(
    [
        *("->", "=>", "==", "!=", "<=", ">=", "&&", "||", "[|", "|]", "**", "..", "..."),
        *"-+*/%@<>=!?:;,.(){}[]|",
    ]
)


def _token_kind(piece: str) -> str | None:
    first = piece[0]
    if first in "%@" and len(piece) > 1:
        if piece[1] == '"':
            return "QUOTED" if _WHOLE_STRING.match(piece, 1) else "BAD"
        return "GRAPH" if piece[1].isdigit() else "LOCAL" if first == "%" else "GLOBAL"
    if first in " \t\n\r\f\v\ufeff" or piece.startswith("//"):
        return None
    if first == "#":
        return "FILE" if piece.startswith("#[") and re.match(r"#\[\s*[A-Za-z_]", piece) else None
    if first == '"':
        return "STRING" if _WHOLE_STRING.match(piece) else "BAD"
    if piece in KEYWORDS or piece in _PUNCTUATION_MARKS:
        return piece
    if first.isascii() and first.isdigit():
        return "NUMBER"
    if first == ".":
        return "PROJ"
    return "NAME" if first.isascii() and (first.isalpha() or first == "_") else "BAD"


@dataclass(slots=True)
class Tokens:
    """Parallel lists over the tokens; the last ones are `END`, empty, at the end of the text.

    Kinds are `LOCAL GLOBAL GRAPH NAME NUMBER STRING PROJ END`, and for keywords and punctuation the text
    itself.  Quoted names are unquoted in `texts` (their sigil stays), so `%"x"` and `%x` are the same.
    """

    source: Source
    strict: bool
    kinds: list[str]
    texts: list[str]
    starts: list[int]
    ends: list[int]
    metadata: str | None = None
    metadata_span: Span | None = None

    def brackets(self) -> dict[int, int]:
        """For each bracket that has a partner, the index of it.

        A brace closes parentheses left open inside it, and a `def @name` whatever is open.
        """
        partner: dict[int, int] = {}
        open_: list[int] = []
        kinds = self.kinds
        for i in [i for i, k in enumerate(kinds) if k in _BRACKETS]:
            kind = kinds[i]
            if kind == "def":
                if kinds[i + 1] == "GLOBAL":
                    open_.clear()
            elif kind in _CLOSER:
                open_.append(i)
            else:
                while open_ and _STRENGTH[kinds[open_[-1]]] < _STRENGTH[kind]:
                    open_.pop()
                if open_ and _CLOSER[kinds[open_[-1]]] == kind:
                    partner[i] = open_[-1]
                    partner[open_.pop()] = i
        return partner

    def enclosing(self) -> list[int]:
        """For each token the bracket it is directly inside of, or -1; of unclosed ones braces alone count."""
        partner = self.brackets()
        around: list[int] = []
        open_ = [-1]
        for i, kind in enumerate(self.kinds):
            if kind in _CLOSER:
                around.append(open_[-1])
                if kind == "{" or i in partner:
                    open_.append(i)
                continue
            if kind == "def" and self.kinds[i + 1] == "GLOBAL":
                open_ = [-1]
            elif i in partner:
                while open_.pop() != partner[i]:
                    pass
            around.append(open_[-1])
        return around

    def unclosed(self) -> int | None:
        """The last bracket that has no partner."""
        partner = self.brackets()
        return next(
            (i for i in range(len(self.kinds) - 1, -1, -1) if self.kinds[i] in _CLOSER and i not in partner),
            None,
        )

    def angles(self) -> dict[int, int]:
        """For each `<` that could open a list of types, the index of its `>`."""
        partner: dict[int, int] = {}
        open_: list[int] = []
        for i, k in enumerate(self.kinds):
            if k == "<":
                open_.append(i)
            elif k == ">":
                if open_:
                    partner[open_.pop()] = i
            elif k in _NOT_IN_TYPES:
                open_.clear()
        return partner


_CLOSER = {"(": ")", "[": "]", "[|": "|]", "{": "}"}
_STRENGTH = {"[": 1, "]": 1, "[|": 1, "|]": 1, "(": 2, ")": 2, "{": 3, "}": 3}
_BRACKETS = frozenset({*_STRENGTH, "def"})
_NOT_IN_TYPES = frozenset(
    {";", "{", "}", "LOCAL", "GRAPH", "let", "def", "if", "match", "&&", "||", "==", "END"}
)


LOOK_AHEAD = 5
"""How many `END`s close the lists: a parser may look that far ahead without asking where the text ends."""


def lex(source: Source, report: Report) -> Tokens:
    """The tokens of a text; what is none is reported and left out.

    Codes: `unexpected-character`, `unterminated-string`, `unterminated-comment`, `bad-escape`,
    `unknown-file-attribute`, `unknown-version`.
    """
    text = _blank_comments(source, report) if "/*" in source.text else source.text
    header = header_of(text)
    check_version(header, source, report)
    pieces = _pieces(header.is_strict).findall(text, header.after)
    kinds = _Kinds()
    found = list(map(kinds.__getitem__, pieces))
    offsets = list(accumulate(map(len, pieces), initial=header.after))
    tokens = Tokens(
        source,
        header.is_strict,
        list(filter(None, found)),
        list(compress(pieces, found)),
        list(compress(offsets, found)),
        list(compress(islice(offsets, 1, None), found)),
    )
    if kinds.odd:
        _second_look(tokens, report)
    tokens.kinds += ["END"] * LOOK_AHEAD
    tokens.texts += [""] * LOOK_AHEAD
    tokens.starts += [len(text)] * LOOK_AHEAD
    tokens.ends += [len(text)] * LOOK_AHEAD
    return tokens


def _second_look(tokens: Tokens, report: Report) -> None:
    """Unquote names, take file attributes out, report what is not a token."""
    drop: set[int] = set()
    behind: dict[int, int] = {}
    for i, kind in enumerate(tokens.kinds):
        if kind not in _ODD:
            continue
        piece = tokens.texts[i]
        if kind == "QUOTED":
            name = unescape(piece[1:], Span(tokens.source, tokens.starts[i] + 1, tokens.ends[i]), report)
            tokens.kinds[i] = "LOCAL" if piece[0] == "%" else "GLOBAL"
            tokens.texts[i] = piece[0] + name
            continue
        span = Span(tokens.source, tokens.starts[i], tokens.ends[i])
        if kind == "BAD" and piece.lstrip("%@").startswith('"'):
            report.error(
                "unterminated-string",
                "unterminated string",
                span,
                hint='close it with `"`; a newline inside is written `\\n`',
            )
            behind[i] = tokens.starts[i] + max(len(piece.rstrip(_CLOSERS)), piece.index('"') + 1)
            tokens.texts[i] = piece[: behind[i] - tokens.starts[i]] + '"'
            tokens.kinds[i] = "STRING" if piece[0] == '"' else "LOCAL" if piece[0] == "%" else "GLOBAL"
            continue
        if kind == "BAD" and len(piece) > 1 and piece[0] == "'":
            quoted = f'"{piece[1:-1]}"'
            report.error(
                "unexpected-character",
                "strings are in double quotes",
                span,
                hint=f"write `{readable(short(quoted))}`",
            )
            tokens.texts[i], tokens.kinds[i] = quoted, "STRING"
            continue
        if kind == "BAD" and piece in _INFIX:
            tokens.texts[i] = tokens.kinds[i] = _INFIX[piece]
        else:
            drop.add(i)
        if len(report.diagnostics) > MOST_ERRORS:
            continue
        if kind == "FILE":
            _file_attribute(tokens, piece, span, report)
        else:
            report.error(
                "unexpected-character",
                f"{_character(piece)} has no meaning here",
                span,
                hint=_CHARACTER_HINTS.get(
                    piece, 'a name with other characters is quoted: `%"é"`' if piece[0].isalpha() else ""
                ),
            )
    if drop:
        several: Any = (tokens.kinds, tokens.texts, tokens.starts, tokens.ends)
        for values in several:
            values[:] = [v for i, v in enumerate(values) if i not in drop]
    elif behind:
        _close(tokens, behind)


_CLOSERS = " \t;,)}]"


def _close(tokens: Tokens, behind: dict[int, int]) -> None:
    """Strings that are not closed end before what closes their line, which is tokens of its own from the
    offsets in `behind` on: one fault leads to no other.
    """
    found: list[tuple[str, str, int, int]] = []
    for i, token in enumerate(zip(tokens.kinds, tokens.texts, tokens.starts, tokens.ends, strict=True)):
        found.append(token)
        if i in behind:
            kind, text, start, end = token
            found[-1] = (kind, text, start, behind[i])
            line = tokens.source.text[behind[i] : end]
            found += [(c, c, behind[i] + k, behind[i] + k + 1) for k, c in enumerate(line) if c not in " \t"]
    several: Any = (tokens.kinds, tokens.texts, tokens.starts, tokens.ends)
    for values, column in zip(several, zip(*found, strict=True), strict=True):
        values[:] = column


MOST_ERRORS = 100
_CHARACTER_HINTS = {
    "&": "the logical operator is `&&`; bits are combined with `bitwise_and(a, b)`",
    "'": 'strings are in double quotes: `"…"`',
    "^": "a power is `**`; bits are combined with `bitwise_xor(a, b)`",
    "\\": "a function is `fn (%x) { … }`",
    "~": "bits are inverted with `bitwise_not(x)`, a truth value with `!`",
}


_INFIX = {"&": "&&", "^": "**"}
"""What an infix operator of other languages is read as: one fault leads to no other."""


def _character(piece: str) -> str:
    c = piece[0]
    return f"`{c}`" if c.isprintable() else f"the character U+{ord(c):04X}"


def _file_attribute(tokens: Tokens, piece: str, span: Span, report: Report) -> None:
    section = _METADATA.match(piece)
    if section is not None:
        tokens.metadata = piece[section.end() :]
        tokens.metadata_span = Span(span.source, span.start, span.start + section.end())
        return
    name = re.sub(r"#\[\s*([A-Za-z_][A-Za-z0-9_]*)[\s\S]*", r"\1", piece)
    if name == "metadata":
        hint = "the section at the end of the text begins with `#[metadata]`"
        report.error(
            "unknown-file-attribute", "the section of metadata does not begin like this", span, hint=hint
        )
        return
    if name == "version":
        hint = 'it comes first and once: #[version = "1"]'
        report.error("unknown-file-attribute", "the version is in the wrong place", span, hint=hint)
        return
    report.error(
        "unknown-file-attribute",
        f"there is no file attribute `{name}`",
        span,
        hint=did_you_mean(name, ["version", "metadata"]) or "a comment may not begin with `#[` and a name",
    )


def _blank_comments(source: Source, report: Report) -> str:
    """The text with `/* … */` (which nest) as white space that keeps the newlines."""
    text, parts, at = source.text, list[str](), 0
    for start, end in _comments(source, report):
        parts += [text[at:start], _NOT_NEWLINE.sub(" ", text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


def _comments(source: Source, report: Report) -> Iterator[tuple[int, int]]:
    text, at = source.text, 0
    while (found := _COMMENT_OR_STRING.search(text, at)) is not None:
        at = found.end()
        if found[0].startswith("#["):
            return
        if found[0] != "/*":
            continue
        depth, start = 1, found.start()
        while depth:
            edge = _COMMENT_EDGE.search(text, at)
            if edge is None:
                report.error(
                    "unterminated-comment",
                    "unterminated comment",
                    Span(source, start, start + 2),
                    hint="comments nest: each `/*` needs its `*/`",
                )
                yield start, len(text)
                return
            depth += 1 if edge[0] == "/*" else -1
            at = edge.end()
        yield start, at
