"""Lines of text in nested blocks: indented as they are made, joined once at the end, filled to a width."""

from collections.abc import Sequence
from typing import Any

DEEPEST = 20
"""Blocks nested deeper than this are indented no further, so that a deep program stays linear in size."""


def pad(level: int) -> str:
    """The indentation of a line at nesting `level`."""
    return "  " * min(level, DEEPEST)


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


def indented(lines: Sequence[Any]) -> list[str]:
    """The same lines one level deeper."""
    return [f"  {line}" for line in flatten(lines)]
