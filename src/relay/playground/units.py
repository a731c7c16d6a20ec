"""Offsets as browsers count them: in units of UTF-16."""

import re
from bisect import bisect_left

LONG_CHARACTERS = re.compile("[\U00010000-\U0010ffff]")


class Units:
    """The correspondence of characters and units in a text."""

    def __init__(self, text: str) -> None:
        """`text` is a whole program."""
        self.text = text
        self.long = [m.start() for m in LONG_CHARACTERS.finditer(text)]
        self.long_units = [at + i for i, at in enumerate(self.long)]

    def of(self, offset: int) -> int:
        """The offset in units of an offset in characters; one beyond the text is its end."""
        offset = min(max(offset, 0), len(self.text))
        return offset + bisect_left(self.long, offset)

    def characters(self, units: int) -> int:
        """The offset in characters of an offset in units; one inside of a character is behind it."""
        return min(max(units - bisect_left(self.long_units, units), 0), len(self.text))
