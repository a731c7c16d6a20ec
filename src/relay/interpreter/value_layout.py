"""Lines of the text of a value: one if it fits, else a line for each field of a tuple."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

WIDTH = 100
"""The most characters of a line that has more than one piece."""
INDENT = 2


class Role(Enum):
    """What a piece of text is."""

    ITEM = auto()
    TUPLE = auto()
    """The opening bracket of a tuple, which has a line for each field where it does not fit on one."""
    FIELDS = auto()
    """The opening bracket of an instance, whose lines are filled."""
    COMMA = auto()
    CLOSE = auto()


@dataclass(frozen=True)
class Piece:
    """A text that is not cut; `lines` is another form of it, which takes several."""

    text: str
    role: Role = Role.ITEM
    lines: tuple[str, ...] = ()


COMMA = Piece(", ", Role.COMMA)


def laid_out(pieces: Sequence[Piece]) -> str:
    """The text of a value."""
    flat = shortened("".join([p.text for p in pieces]))
    if len(flat) <= WIDTH:
        return flat
    return shortened(_Layout(pieces).text())


def shortened(text: str) -> str:
    """The text with a short end, where it is cut and a long run of brackets closes what is open."""
    tail = len(text) - len(text.rstrip(")"))
    return text if tail <= WIDTH else text[: len(text) - tail] + ")"


class _Layout:
    """Pieces on lines."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces
        self.out: list[str] = []
        self.column = 0
        self.room = _widths(pieces)

    def text(self) -> str:
        """All of it."""
        open_groups: list[tuple[Role, int]] = []
        flat_until = -1
        for k, p in enumerate(self.pieces):
            role, indent = open_groups[-1] if open_groups else (Role.ITEM, 0)
            if k <= flat_until:
                self._put(p.text)
            elif p.role in (Role.TUPLE, Role.FIELDS):
                if self.column + self.room[k] <= WIDTH:
                    flat_until = self._end_of(k)
                    self._put(p.text)
                    continue
                self._put(p.text)
                if p.role is Role.TUPLE:
                    open_groups.append((p.role, indent + INDENT))
                    self._new_line(indent + INDENT)
                else:
                    open_groups.append((p.role, indent if role is Role.FIELDS else indent + INDENT))
            elif p.role is Role.COMMA:
                if role is Role.TUPLE or self.column + self.room[k] > WIDTH:
                    self._put(",")
                    self._new_line(indent)
                else:
                    self._put(p.text)
            elif p.role is Role.CLOSE:
                open_groups.pop()
                if role is Role.TUPLE:
                    self._put("," if p.text.startswith(",") else "")
                    self._new_line(indent - INDENT)
                    self._put(p.text.lstrip(","))
                else:
                    self._put(p.text)
            elif p.lines and self.column + len(p.text) > WIDTH:
                self._put(("\n" + " " * self.column).join(p.lines))
            else:
                self._put(p.text)
        return "".join(self.out)

    def _put(self, text: str) -> None:
        self.out.append(text)
        last = text.rfind("\n")
        self.column = self.column + len(text) if last < 0 else len(text) - last - 1

    def _new_line(self, indent: int) -> None:
        self.out.append("\n" + " " * indent)
        self.column = indent

    def _end_of(self, k: int) -> int:
        """Where a group that begins at a piece is closed."""
        depth = 0
        while True:
            role = self.pieces[k].role
            depth += (role in (Role.TUPLE, Role.FIELDS)) - (role is Role.CLOSE)
            if depth == 0:
                return k
            k += 1


def _widths(pieces: Sequence[Piece]) -> list[int]:
    """Of an opening bracket, the width of its whole group; of a comma, that of what has to stay behind it:
    up to the next comma, and that.
    """
    room = [len(p.text) for p in pieces]
    at, before = 0, [0]
    for n in room:
        at += n
        before.append(at)
    opened: list[int] = []
    comma: int | None = None
    for k, p in enumerate(pieces):
        if p.role in (Role.TUPLE, Role.FIELDS):
            opened.append(k)
        elif p.role is Role.CLOSE:
            start = opened.pop()
            room[start] = before[k + 1] - before[start]
        elif p.role is Role.COMMA:
            if comma is not None:
                room[comma] = before[k] - before[comma] + 1
            comma = k
    if comma is not None:
        room[comma] = before[len(pieces)] - before[comma]
    return room
