"""References in a large workspace look only at the files that can name a definition."""

import os
from pathlib import Path

import pytest

from relay.lsp.index import Symbol
from relay.lsp.places import home_of
from relay.lsp.references import references
from relay.lsp.store import Opened, Store
from relay.lsp.workspace import Workspace, files_of

LIBRARY = "def @scale(%x: Tensor[(n,), float32]) { %x * 2.0f }\n"
BETWEEN = 'import "library"\ndef @twice(%x: Tensor[(n,), float32]) { @scale(@scale(%x)) }\n'
USER = 'import "between.relay"\ndef @main(%x: Tensor[(3,), float32]) { @twice(%x) + @scale(%x) }\n'
OTHER = "def @scale(%x: Tensor[(n,), float32]) { %x }\n" + "".join(
    f"def @other{i}(%x: Tensor[(n,), float32]) {{ @scale(%x) + {i}.0f }}\n" for i in range(599)
)


class Counted(Store):
    """A store that notes which files it checks."""

    def __init__(self) -> None:
        super().__init__()
        self.checked: list[str] = []

    def check_text(self, text: str, path: Path | None, uri: str = "") -> object:
        self.checked.append("" if path is None else path.name)
        return super().check_text(text, path, uri)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("library", LIBRARY), ("between", BETWEEN), ("user", USER)):
        path = tmp_path / f"{name}.relay"
        path.write_text(text)
    for i in range(40):  # 24,000 lines that have nothing to do with it
        (tmp_path / f"other{i}.relay").write_text(OTHER)
    return tmp_path


def opened(store: Store, path: Path) -> Opened:
    document = Opened(path.as_uri(), path, path.read_text(), 1)
    store.opened[document.uri] = document
    document.document = store.check(document)
    return document


def names_of(store: Store, of: Opened, folder: Path) -> dict[str, int]:
    """Return how often each file names `@scale`."""
    symbol = Symbol("global", "scale")
    assert of.document is not None
    home = home_of(of.document, symbol)
    documents = store.documents("scale", {"": folder}, home)
    return {
        found.document.path.name: len(found.occurrences)
        for found in references(of.document, symbol, documents)
        if found.document.path is not None
    }


EXPECTED = {"library.relay": 1, "between.relay": 2, "user.relay": 1}


def test_files_that_have_nothing_to_do_with_a_name_are_not_checked(folder: Path) -> None:
    store = Counted()
    library = opened(store, folder / "library.relay")
    store.checked.clear()
    assert names_of(store, library, folder) == EXPECTED
    assert sorted(store.checked) == ["between.relay", "user.relay"]
    store.checked.clear()
    assert names_of(store, library, folder) == EXPECTED
    assert store.checked == []


def test_the_index_follows_files_and_open_documents(folder: Path) -> None:
    store = Counted()
    library = opened(store, folder / "library.relay")
    assert names_of(store, library, folder) == EXPECTED
    between = folder / "between.relay"
    between.write_text(BETWEEN.replace("@scale(@scale(%x))", "@scale(%x)"))
    os.utime(between, ns=(1, 1))
    store.checked.clear()
    assert names_of(store, library, folder) == EXPECTED | {"between.relay": 1}
    assert sorted(store.checked) == ["between.relay", "user.relay"]
    editor = opened(store, folder / "other0.relay")  # of which the editor's text is newer than the file
    editor.text = 'import "library"\ndef @main(%x: Tensor[(n,), float32]) { @scale(%x) }\n'
    store.checked.clear()
    assert names_of(store, library, folder) == EXPECTED | {"between.relay": 1, "other0.relay": 1}
    assert store.checked == ["other0.relay"]
    (folder / "user.relay").unlink()
    del store.opened[editor.uri]
    assert names_of(store, library, folder) == {"library.relay": 1, "between.relay": 1}


def test_only_files_that_have_changed_are_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace()
    home = folder / "library.relay"
    first = list(workspace.candidates("scale", home, {"": folder}, {}))
    assert [p.name for p in first] == ["between.relay", "library.relay", "user.relay"]
    monkeypatch.setattr(Path, "read_bytes", None)
    assert list(workspace.candidates("scale", home, {"": folder}, {})) == first


def test_hidden_files_are_left_out(tmp_path: Path) -> None:
    for name in (".hidden.relay", ".git/a.relay", "a/b.relay", "c.relay", "c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert [p.name for p in files_of(tmp_path)] == ["c.relay", "b.relay"]
