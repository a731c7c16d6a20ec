"""What stands before the cursor, in a text that need not parse: the word, and the call that is open."""

import re
from dataclasses import dataclass
from typing import Literal

from relay.diagnostic import Report, Source
from relay.text.lexer import LOOK_AHEAD, Tokens, lex

ITEM = re.compile(r"^(?:def|type|data|extern|import|attributes|free_var)\b", re.MULTILINE)
WORD = re.compile(r"[%@]?[A-Za-z0-9_]*(?:\.[A-Za-z0-9_]*)*\Z")
IMPORT = re.compile(r'^\s*import\s+"([^"\n]*)\Z', re.MULTILINE)
_OPENS = {"(": ")", "[": "]", "{": "}", "[|": "|]"}
_CLOSES = {closer: opener for opener, closer in _OPENS.items()}
_BEFORE_TYPES = frozenset({":", "->"})
_IN_TYPES = frozenset({"NAME", "NUMBER", ",", "[", "(", ")", "]", "<", "*", "+", "-", "/", "?", "fn", "->"})
LONGEST_ITEM_CHARS = 20_000
"""How far before the cursor the beginning of its item is looked for, in characters."""


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call whose `(` is open: the callee as written, how many arguments stand before the cursor's, the
    attribute that is being written, and those that are given by name.
    """

    callee: str
    arguments: int
    attribute: str
    given: frozenset[str]


@dataclass(frozen=True, slots=True)
class Context:
    """What is being written: a `word` that begins at `start`; where that is; the innermost open call."""

    place: Literal["import", "nothing", "type", "expression"]
    word: str
    start: int
    call: OpenCall | None


def context(text: str, offset: int) -> Context:
    """The context of an offset."""
    line_start = text.rfind("\n", 0, offset) + 1
    line = text[line_start:offset]
    named = IMPORT.search(line)
    if named is not None:
        return Context("import", named[1], offset - len(named[1]), None)
    tokens, is_code = _before(text, offset)
    found = WORD.search(line)
    word = "" if found is None else found[0]
    call = _open_call(tokens)
    if not is_code:
        return Context("nothing", word, offset - len(word), call)
    place = "type" if _in_type(tokens, word) else "expression"
    return Context(place, word, offset - len(word), call)


def _before(text: str, offset: int) -> tuple[Tokens, bool]:
    """The tokens of the item up to an offset, and whether that is outside of strings and comments."""
    first = max(0, offset - LONGEST_ITEM_CHARS)
    starts = [m.start() for m in ITEM.finditer(text, first, offset)]
    begin = starts[-1] if starts else first
    report = Report()
    tokens = lex(Source("", text[begin:offset]), report)
    is_open = any(d.code in ("unterminated-string", "unterminated-comment") for d in report.diagnostics)
    end = tokens.ends[-LOOK_AHEAD - 1] if len(tokens.ends) > LOOK_AHEAD else 0
    behind = text[begin + end : offset].rpartition("\n")[2]
    return tokens, not is_open and "//" not in behind and "#" not in behind


def _open_call(tokens: Tokens) -> OpenCall | None:
    """The innermost open `(` behind a name, and what stands in it."""
    kinds, texts = tokens.kinds, tokens.texts
    depth: list[str] = []
    commas, attribute, given, at_argument = 0, "", list[str](), True
    for i in range(len(kinds) - LOOK_AHEAD - 1, -1, -1):
        kind = kinds[i]
        if kind in _CLOSES:
            depth.append(_CLOSES[kind])
        elif kind in _OPENS:
            if depth and depth[-1] == kind:
                depth.pop()
            elif depth:
                return None
            elif kind == "(" and i and kinds[i - 1] in ("NAME", "GLOBAL", "LOCAL"):
                before = commas - len(given) + bool(attribute)
                is_call = i == 1 or kinds[i - 2] != "def"
                return OpenCall(texts[i - 1], before, attribute, frozenset(given)) if is_call else None
            elif kind in ("{", "[|"):
                return None
            else:
                commas, attribute, given, at_argument = 0, "", [], True
        elif not depth and kind == ",":
            commas, at_argument = commas + 1, False
        elif not depth and kind == "=" and i and kinds[i - 1] == "NAME":
            given.append(texts[i - 1])
            attribute = attribute or (texts[i - 1] if at_argument else "")
        elif not depth and kind in (";", "def", "let"):
            return None
    return None


def _in_type(tokens: Tokens, word: str) -> bool:
    """Whether a type is being written: behind `:` or `->`, with nothing but parts of types since."""
    if word.startswith(("%", "@")):
        return False
    i = len(tokens.kinds) - LOOK_AHEAD - 1
    if i >= 0 and tokens.kinds[i] in ("NAME", "PROJ", ".") and word:
        i -= 1
    while i >= 0 and tokens.kinds[i] in _IN_TYPES and tokens.kinds[i] not in _BEFORE_TYPES:
        i -= 1
    return i >= 0 and tokens.kinds[i] in _BEFORE_TYPES
