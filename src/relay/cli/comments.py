"""Comments: found in a text, and put back into another text of the same program.

The parser drops comments, so the formatter carries them over.  A comment is anchored to the token after it,
or, behind code on the same line, to the token before it; the tokens of both texts are aligned, and
the comment goes to the line of the token that its anchor became.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<line>//[^\n]*|\#(?!\[[A-Za-z_])[^\n]*)
      | (?P<block>/\*)
      | (?P<string>[%@]?"(?:\\.|[^"\\])*")
      | (?P<word>[%@]?[A-Za-z_0-9]+(?:\.[A-Za-z_0-9]+)*)
      | (?P<mark>->|=>|==|!=|<=|>=|&&|\[\||\|\]|\|\||\*\*|\.\.\.?|.)""",
    re.VERBOSE | re.DOTALL,
)
BLOCK_EDGE = re.compile(r"/\*|\*/")
LARGEST_DIFF = 4000
"""Tokens of one item up to which the alignment looks for the longest matches, which is quadratic at worst."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text that is not a space and no comment; `start` is its offset."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment and where it hangs: on token number `anchor`, behind it on its line if `trailing`.

    `apart` says that an empty line stands before it, `loose` that one stands behind it.
    """

    text: str
    anchor: int
    trailing: bool
    apart: bool = False
    loose: bool = False


def scan(text: str) -> tuple[list[Token], list[Comment]]:
    """The tokens and the comments of a text."""
    tokens: list[Token] = []
    comments: list[Comment] = []
    at, fresh_line, apart = 0, True, False
    while at < len(text):
        found = TOKEN.match(text, at)
        assert found is not None
        end = found.end()
        match found.lastgroup:
            case "space":
                fresh_line = fresh_line or "\n" in found[0]
                apart = at > 0 and found[0].count("\n") > 1
                if apart and comments and comments[-1].anchor == len(tokens) and not comments[-1].trailing:
                    comments[-1] = replace(comments[-1], loose=True)
            case "line" | "block":
                end = _block_end(text, at) if found.lastgroup == "block" else end
                trailing = not fresh_line and bool(tokens)
                comments.append(Comment(text[at:end].rstrip(), len(tokens) - trailing, trailing, apart))
                apart = False
            case _:
                tokens.append(Token(found[0], at))
                fresh_line = apart = False
        at = end
    return tokens, comments


def _block_end(text: str, start: int) -> int:
    """The offset behind a block comment, which may hold others."""
    depth = 0
    for edge in BLOCK_EDGE.finditer(text, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(text)


def carry_over(old: str, new: str) -> str:
    """`new` with the comments of `old`, which is another text of the same program."""
    old_tokens, comments = scan(old)
    if not comments:
        return new
    new_tokens, _ = scan(new)
    place = align([t.text for t in old_tokens], [t.text for t in new_tokens])
    lines = new.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    before: dict[int, list[Comment]] = {}
    behind: dict[int, list[Comment]] = {}
    for c in comments:
        if c.anchor >= len(old_tokens) or not new_tokens:
            before.setdefault(len(lines), []).append(c)
            continue
        token = new_tokens[min(place[c.anchor], len(new_tokens) - 1)]
        line = bisect_right(starts, token.start) - 1
        is_block_in_code = c.trailing and "\n" in c.text
        (behind if c.trailing and not is_block_in_code else before).setdefault(line, []).append(c)
    return _merge(lines, before, behind)


def _merge(lines: Sequence[str], before: dict[int, list[Comment]], behind: dict[int, list[Comment]]) -> str:
    out: list[str] = []

    def stand_alone(comments: Sequence[Comment], indent: str) -> None:
        for c in comments:
            if c.apart and out and out[-1].strip() and not out[-1].endswith("{"):
                out.append("")
            out.append(indent + c.text)
        if comments and comments[-1].loose:
            out.append("")

    for i, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip())]
        stand_alone(before.get(i, ()), indent)
        notes = behind.get(i, ())
        # A line comment swallows what follows it, so all but the last of several become lines of their own.
        stand_alone(notes[:-1], indent)
        out.append(f"{line}  {notes[-1].text}" if notes else line)
    at_end = before.get(len(lines), [])
    if at_end:
        while out and not out[-1]:
            out.pop()
        stand_alone(at_end, "")
        out.append("")
    return "\n".join(out)


def align(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """For each old token the new token it became, or the one it would stand before."""
    place: list[int] = []
    by_key: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for key, start, end in reversed(_items(new)):
        by_key.setdefault(key, []).append((start, end))
    last = 0
    for key, start, end in _items(old):
        same = by_key.get(key)
        at, stop = same.pop() if same else (last, last)
        place += [at + k for k in _align_item(old[start:end], new[at:stop])]
        last = stop
    return place


def _items(tokens: Sequence[str]) -> list[tuple[tuple[str, str], int, int]]:
    """The items of a module with their token ranges, by kind and name; what is none of them is `@main`."""
    starts: list[int] = []
    depth, in_braces = 0, False
    for i, t in enumerate(tokens):
        if depth == 0 and (not starts or t in ITEMS or in_braces):
            starts.append(i)
            in_braces = False
        depth += (t in ("{", "(", "[", "[|")) - (t in ("}", ")", "]", "|]"))
        # A definition or a type ends with its brace; an expression may go on behind one.
        in_braces = depth == 0 and t == "}" and tokens[starts[-1]] in ITEMS
    ends = [*starts[1:], len(tokens)] if starts else []
    return [(_key(tokens[start:end]), start, end) for start, end in zip(starts, ends, strict=True)]


ITEMS = {"def", "type", "data", "import", "extern", "free_var", "attributes"}


def _key(item: Sequence[str]) -> tuple[str, str]:
    kind = {"data": "type", "extern": "type"}.get(item[0], item[0])
    if kind not in ITEMS:
        return ("def", "main")
    names = [t for t in item[1:3] if t != "type"]
    return (kind, names[0].lstrip("@%").strip('"') if names else "")


def _align_item(old: Sequence[str], new: Sequence[str]) -> list[int]:
    if max(len(old), len(new)) > LARGEST_DIFF:
        return _align_in_order(old, new)
    place = [-1] * len(old)
    for a, b, n in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        for k in range(n):
            place[a + k] = b + k
    following = len(new)
    for i in reversed(range(len(old))):
        following = place[i] = following if place[i] < 0 else place[i]
    return place


def _align_in_order(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """In linear time: each old token becomes the next equal one within a window, or stays here."""
    place: list[int] = []
    at = 0
    for t in old:
        found = next((k for k in range(at, min(at + 40, len(new))) if new[k] == t), None)
        place.append(at if found is None else found)
        at = at if found is None else found + 1
    return place
