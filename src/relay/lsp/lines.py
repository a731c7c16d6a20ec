"""Positions as editors count them: lines from 0, and units of an encoding from 0 within a line."""

import re
from bisect import bisect_right
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]
LINE_END = re.compile(r"\r\n|\n|\r")
LONG_CHARACTERS = {
    "utf-8": re.compile("[^\0-\x7f]"),
    "utf-16": re.compile("[\U00010000-\U0010ffff]"),
    "utf-32": None,
}
"""The characters that are more than one unit of an encoding."""


def width(c: str, encoding: Encoding) -> int:
    """How many units a character is; half of a pair of surrogates counts as three bytes."""
    if encoding == "utf-16":
        return 1 + (c > "\uffff")
    return len(c.encode("utf-8", "surrogatepass")) if encoding == "utf-8" else 1


class Lines:
    """The lines of a text, found once; a line feed, a carriage return or both end one."""

    __slots__ = ("encoding", "ends", "starts", "text", "wide")

    def __init__(self, text: str, encoding: Encoding = "utf-16") -> None:
        """`starts` and `ends` are offsets of characters; an end is before the characters that end a line."""
        self.text = text
        self.encoding: Encoding = encoding
        ends = [m.span() for m in LINE_END.finditer(text)]
        self.starts = [0, *[end for _, end in ends]]
        self.ends = [*[start for start, _ in ends], len(text)]
        wide = LONG_CHARACTERS[encoding]
        self.wide = None if wide is None or wide.search(text) is None else wide

    def position(self, offset: int) -> tuple[int, int]:
        """Line and unit of an offset; one inside of a line's end is at the end of that line."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self.starts, offset) - 1
        start = self.starts[line]
        stop = min(offset, self.ends[line])
        return line, self.units(start, stop)

    def units(self, start: int, stop: int) -> int:
        """How many units stand from `start` to `stop`, in one line."""
        if self.wide is None:
            return stop - start
        extra = [width(m[0], self.encoding) - 1 for m in self.wide.finditer(self.text, start, stop)]
        return stop - start + sum(extra)

    def offset(self, line: int, units: int) -> int:
        """The offset of a position; beyond its line it is the line's end, inside a character its start."""
        if line < 0:
            return 0
        if line >= len(self.starts):
            return len(self.text)
        at, end = self.starts[line], self.ends[line]
        if self.wide is None:
            return min(at + max(units, 0), end)
        while at < end:
            units -= width(self.text[at], self.encoding)
            if units < 0:
                break
            at += 1
        return at
