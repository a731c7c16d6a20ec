"""The open documents of an editor: their texts now, and as they were when they were last checked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from relay.lsp.edits import Edit
from relay.lsp.index import Document, check
from relay.lsp.lines import Encoding, Lines
from relay.text.imports import SUFFIX

MOST_FILES = 1000
"""How many files of a folder are looked at for a name."""


@dataclass(slots=True)
class Opened:
    """An open document: its text, its version, and what was last found of it."""

    uri: str
    path: Path | None
    text: str
    version: int | None
    document: Document | None = None
    checking_s: float = 0.0
    """How long the last check took, in seconds."""
    colored: tuple[int, list[int]] = (0, [])
    """The number of the last answer about colours, and the answer."""
    view: "View | None" = None
    """What was last answered about; see `view_of`."""

    @property
    def is_current(self) -> bool:
        """Whether the text is that which was checked."""
        return self.document is not None and self.document.text == self.text


class View:
    """An open document to answer about: the text now, the last check, and how offsets of both correspond."""

    def __init__(self, opened: Opened, document: Document, encoding: Encoding = "utf-16") -> None:
        """`document` is the last check of what is opened."""
        self.uri = opened.uri
        self.text = opened.text
        self.document = document
        self.is_current = document.text == opened.text
        self.encoding: Encoding = encoding
        self.lines = Lines(opened.text, encoding)
        self.edit = Edit(document.text, opened.text)

    def offset(self, line: int, units: int) -> int:
        """The offset, in the text now, of a position."""
        return self.lines.offset(line, units)

    def checked(self, line: int, units: int) -> int:
        """The offset, in the text that was checked, of a position."""
        return self.edit.old(self.offset(line, units))

    def position(self, checked: int) -> tuple[int, int]:
        """The position of an offset of the text that was checked."""
        return self.lines.position(self.edit.new(checked))


def view_of(opened: Opened, document: Document, encoding: Encoding) -> View:
    """The view of an open document, made once for a text and a check of it."""
    view = opened.view
    if view is None or view.document is not document or view.text is not opened.text:
        view = opened.view = View(opened, document, encoding)
    return view


class Store:
    """Documents by URI."""

    def __init__(self) -> None:
        self.opened: dict[str, Opened] = {}

    def texts(self) -> dict[str, str]:
        """The texts of the open files, by path: what imports read."""
        return {str(o.path.resolve()): o.text for o in list(self.opened.values()) if o.path is not None}

    def check(self, opened: Opened) -> Document:
        """Check what is opened now; the caller keeps the result."""
        return self.check_text(opened.text, opened.path, opened.uri)

    def check_text(self, text: str, path: Path | None, uri: str = "") -> Document:
        """Check a text with the other open files as they are."""
        return check(text, path, uri if path is None else str(path), self.texts())

    def documents(self, word: str, folders: Mapping[str, Path]) -> Iterator[Document]:
        """The last checks of the open documents, and those of files in folders that have a word in them."""
        seen: set[Path] = set()
        for o in list(self.opened.values()):
            if o.path is not None:
                seen.add(o.path.resolve())
            if word in o.text:
                yield o.document if o.document is not None and o.is_current else self.check(o)
        for folder in folders.values():
            for i, path in enumerate(sorted(folder.rglob("*" + SUFFIX))):
                if i == MOST_FILES:
                    break
                if path.resolve() in seen or any(p.startswith(".") for p in path.relative_to(folder).parts):
                    continue
                seen.add(path.resolve())
                text = _text_of(path)
                if word in text:
                    yield self.check_text(text, path)


def _text_of(path: Path) -> str:
    """The text of a file; empty where it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return ""
