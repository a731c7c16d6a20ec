"""The files of a workspace, with the text, the imports and the last check of each.

A file can name a definition of another one only if its text has the name, and imports that file, perhaps
through others.  The rest of the files are not checked when a name is looked for.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from relay.lsp.index import Document
from relay.text.imports import STANDARD, SUFFIX

MOST_FILES = 1000
"""Files of a folder that are looked at for a name."""
IMPORT = re.compile(r'import\s*"([^"\\\n]+)"')


@dataclass(frozen=True, slots=True)
class Entry:
    """A text, and the files that it imports."""

    stamp: object
    """The state of the file: its time and size, or the text of an open document."""
    text: str
    imports: tuple[Path, ...]


class Workspace:
    """The entries of files by path, made anew for those that have changed."""

    def __init__(self) -> None:
        self.entries: dict[Path, Entry] = {}
        self.documents: dict[Path, tuple[object, Document]] = {}
        """The last check of a file, and the state of all that it depends on then."""

    def entry(self, path: Path, texts: Mapping[str, str]) -> Entry | None:
        """Return the entry of a file, which may be open; None if it cannot be read."""
        stamp: object = texts.get(str(path))
        try:
            if stamp is None:
                about = path.stat()
                stamp = about.st_mtime_ns, about.st_size
            known = self.entries.get(path)
            if known is not None and known.stamp == stamp:
                return known
            text = stamp if isinstance(stamp, str) else path.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError):
            self.entries.pop(path, None)
            return None
        new = self.entries[path] = Entry(stamp, text, _paths_of_imports(path, text))
        return new

    def closure(self, path: Path, texts: Mapping[str, str]) -> dict[Path, Entry | None]:
        """Return the entries of a file and of all that it imports, directly or not."""
        reached: dict[Path, Entry | None] = {}
        pending = [path]
        while pending:
            at = pending.pop()
            if at not in reached:
                entry = reached[at] = self.entry(at, texts)
                pending += () if entry is None else entry.imports
        return reached

    def candidates(
        self, name: str, home: Path | None, folders: Mapping[str, Path], texts: Mapping[str, str]
    ) -> Iterator[Path]:
        """Yield the files, open or in folders, that can name a definition of the file `home`.

        Without `home`, they are those that have the name in their text.
        """
        paths = dict.fromkeys([Path(p) for p in texts] + [p for f in folders.values() for p in files_of(f)])
        for path in paths:
            entry = self.entry(path, texts)
            if entry is None or name not in entry.text:
                continue
            if home is None or home in self.closure(path, texts):
                yield path

    def document(self, path: Path, texts: Mapping[str, str], check: Callable[[str], Document]) -> Document:
        """Return the check of a file, made anew if the file or one that it imports has changed."""
        reached = self.closure(path, texts)
        state = {p: None if e is None else e.stamp for p, e in reached.items()}
        known = self.documents.get(path)
        if known is None or known[0] != state:
            entry = reached[path]
            known = self.documents[path] = state, check("" if entry is None else entry.text)
        return known[1]


def files_of(folder: Path) -> list[Path]:
    """Return the first files of programs in a folder and below, but for hidden ones."""
    paths: list[Path] = []
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        paths += [Path(root, f) for f in sorted(files) if f.endswith(SUFFIX) and not f.startswith(".")]
        if len(paths) >= MOST_FILES:
            break
    real = [Path(os.path.realpath(p)) for p in paths[:MOST_FILES]]
    return [p for p in real if p.is_file()]


def _paths_of_imports(path: Path, text: str) -> tuple[Path, ...]:
    names = [name for name in IMPORT.findall(text) if not name.startswith(STANDARD)]
    names = [name if name.endswith(SUFFIX) else name + SUFFIX for name in names]
    return tuple([Path(os.path.realpath(path.parent / name)) for name in names])
