"""The open documents of an editor: their texts now, and as they were when they were last checked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from relay.lsp.edits import Edit
from relay.lsp.index import Document, check
from relay.lsp.lines import Encoding, Lines
from relay.lsp.workspace import Workspace


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
        self.workspace = Workspace()

    def texts(self) -> dict[str, str]:
        """The texts of the open files, by path: what imports read."""
        return {str(o.path.resolve()): o.text for o in list(self.opened.values()) if o.path is not None}

    def check(self, opened: Opened) -> Document:
        """Check what is opened now; the caller keeps the result."""
        return self.check_text(opened.text, opened.path, opened.uri)

    def check_text(self, text: str, path: Path | None, uri: str = "") -> Document:
        """Check a text with the other open files as they are."""
        return check(text, path, uri if path is None else str(path), self.texts())

    def documents(
        self, name: str, folders: Mapping[str, Path], home: Path | None = None
    ) -> Iterator[Document]:
        """Yield the checks of the open documents and of files in folders that can name what the file `home`
        defines; without it, of those that have the name in their text.
        """
        texts = self.texts()
        opened = {o.path.resolve(): o for o in list(self.opened.values()) if o.path is not None}
        for path in self.workspace.candidates(name, None if home is None else home.resolve(), folders, texts):
            o = opened.get(path)
            if o is not None and o.document is not None and o.is_current:
                yield o.document
            else:
                check_file = partial(self.check_text, path=path if o is None else o.path)
                yield self.workspace.document(path, texts, check_file)
        for o in list(self.opened.values()):
            if o.path is None and name in o.text:
                yield o.document if o.document is not None and o.is_current else self.check(o)
