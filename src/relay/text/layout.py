"""Lines of text in nested blocks: indented as they are made, joined once at the end, filled to a width."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

MAX_INDENT_LEVEL = 20
"""Blocks nested deeper than this are indented no further, so that a deep program stays linear in size."""


def pad(level: int) -> str:
    """The indentation of a line at nesting `level`."""
    return "  " * min(level, MAX_INDENT_LEVEL)


class Multi:
    """An expression of several lines: `first` goes after what precedes it, `last` before what follows.

    `middle` are whole lines, indentation included, and lists of such, nested at will.
    """

    __slots__ = ("first", "last", "middle")

    def __init__(self, first: str, middle: list[Any], last: str) -> None:
        self.first = first
        self.middle = middle
        self.last = last


Text = str | Multi


def flatten(lines: Sequence[Any]) -> list[str]:
    """All lines of nested lists of lines, in order."""
    out: list[str] = []
    stack: list[Any] = [iter(lines)]
    while stack:
        for item in stack[-1]:
            if isinstance(item, str):
                out.append(item)
            else:
                stack.append(iter(item))
                break
        else:
            stack.pop()
    return out


def wrapped(text: Text, before: str, after: str) -> Text:
    """`text` with something written directly before and after it."""
    if isinstance(text, str):
        return f"{before}{text}{after}"
    return Multi(before + text.first, text.middle, text.last + after)


def fill(items: Sequence[str], level: int, width: int, end: str = "") -> list[str]:
    """Items with commas between, as many on a line as fit."""
    margin, lines, line = pad(level), list[str](), ""
    room = max(width - len(margin), 20)
    for i, item in enumerate(items):
        part = item + ("," if i + 1 < len(items) else end)
        if line and len(line) + 1 + len(part) > room:
            lines.append(margin + line)
            line = part
        else:
            line = f"{line} {part}" if line else part
    return [*lines, margin + line] if line else lines


def bracketed(opening: str, items: Sequence[str], closing: str, level: int, width: int) -> Multi:
    """A list that does not fit on its line: brackets at `level`, items filled one level deeper."""
    return Multi(opening, fill(items, level + 1, width), closing)


_BREAKS = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|, |\[\||\|\]|[()\[\]{}]|(?<=[\w"])<|(?<![-= ])>')
_CLOSERS = {"(": ")", "[": "]", "[|": "|]", "{": "}", "<": ">"}
_MOST_LEVELS = 6
"""How deep brackets inside brackets are opened; what is nested deeper stays on its line."""
_MAX_BROKEN_LINE_CHARS = 20_000
"""Nobody reads a line with more characters than this; it is not broken."""


def broken(lines: Sequence[str], width: int) -> list[str]:
    """The lines, with those that are too long and have a list in brackets over several lines."""
    out: list[str] = []
    for line in lines:
        if width < len(line) <= _MAX_BROKEN_LINE_CHARS:
            out += _broken(line, width, 0)
        else:
            out.append(line)
    return out


def _broken(line: str, width: int, depth: int) -> Iterator[str]:
    """A line, its widest list in brackets filled one level deeper if it is too long."""
    found = _widest(line) if len(line) > width and depth < _MOST_LEVELS else None
    if found is None:
        yield line
        return
    margin = line[: len(line) - len(line.lstrip(" "))]
    start, end, commas = found
    yield from _broken(line[: start + 1], width, depth + 1)
    edges = [start, *commas, end]
    items = [line[a + (2 if i else 1) : b] for i, (a, b) in enumerate(pairwise(edges))]
    for inner in fill(items, min(len(margin) // 2 + 1, MAX_INDENT_LEVEL), width):
        yield from _broken(inner, width, depth + 1)
    yield from _broken(margin + line[end:], width, depth + 1)


def _widest(line: str) -> tuple[int, int, list[int]] | None:
    """Where the widest outermost `(…)` or `[…]` of a line begins and ends, and the commas directly in it."""
    best: tuple[int, int, list[int]] | None = None
    opened: list[tuple[str, int, list[int]]] = []
    braces = 0
    for m in _BREAKS.finditer(line):
        piece = m[0]
        if piece in _CLOSERS:
            opened.append((_CLOSERS[piece], m.start(), []))
            braces += piece == "{"
        elif piece == ", " and opened:
            opened[-1][2].append(m.start())
        elif opened and opened[-1][0] == piece:
            _, start, commas = opened.pop()
            braces -= piece == "}"
            wider = m.start() - start > (1 if best is None else best[1] - best[0])
            if wider and piece in (")", "]") and not braces:
                best = start, m.start(), commas
    return best


def indented(lines: Sequence[Any]) -> list[str]:
    """The lines, indented by one more level."""
    return [f"  {line}" for line in flatten(lines)]
