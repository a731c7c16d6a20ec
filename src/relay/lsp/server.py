"""The server: documents as they are edited, checked in the background, and what editors ask about them."""

import asyncio
import gc
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import Any

from relay.ir.collector import paused
from relay.lint.run import default_findings
from relay.lsp.coloring import colored
from relay.lsp.convert import Converter
from relay.lsp.index import Document
from relay.lsp.library import load
from relay.lsp.outline import foldings, outline
from relay.lsp.store import Opened, Store, View, view_of
from relay.text.imports import STANDARD
from relay.version import VERSION

DEBOUNCE_S = 0.15
"""How long nothing is typed before a document is checked, in seconds."""
QUICK_S = 0.05
"""An answer waits for a check that takes less than this, in seconds; else it is of the last one."""
IDLE_S = 2.0
"""How long nothing is asked before the collector of cycles runs, which is slow in large files, in seconds."""

Answer = Callable[["Server", View, Any], Any]
"""What answers a request about an open document."""


class Server:
    """The state of one server, and when it checks what."""

    def __init__(self) -> None:
        """Loads pygls (`no-language-server`)."""
        self.types = load("lsprotocol.types")
        library = load("pygls.lsp.server")
        # In ranges of texts the library takes characters for line ends that the protocol does not.
        sync = self.types.TextDocumentSyncKind.Full
        self.pygls = library.LanguageServer("relay", VERSION, text_document_sync_kind=sync)
        self.uris = load("pygls.uris")
        self.store = Store()
        self.pool = ThreadPoolExecutor(1)
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.lock = asyncio.Lock()
        self.asked_at_s = time.monotonic()
        self.collecting: asyncio.Task[None] | None = None

    def feature(self, name: str, answer: Callable[[Any], Any], options: Any = None) -> None:
        """Register what answers a request or takes a notification."""

        async def handler(params: Any) -> Any:
            self.asked_at_s = time.monotonic()
            found: Any = answer(params)
            return (await found) if isawaitable(found) else found

        self.pygls.feature(name, options)(handler)

    def about(self, answer: Answer) -> Callable[[Any], Any]:
        """A feature of one document: nothing is answered about one that is not open."""

        async def answered(params: Any) -> Any:
            view = await self.view(params.text_document.uri)
            found: Any = None if view is None else answer(self, view, params)
            return (await found) if isawaitable(found) else found

        return answered

    def with_server(self, answer: Callable[["Server", Any], Any]) -> Callable[[Any], Any]:
        """A feature that no document is named for."""
        return lambda params: answer(self, params)

    @property
    def converter(self) -> Converter:
        """For the units that the client counts in."""
        return Converter(self.encoding)

    @property
    def encoding(self) -> Any:
        """The encoding that was agreed on."""
        return str(getattr(self.pygls.workspace.position_encoding, "value", "utf-16"))

    def path_of(self, uri: str) -> Path | None:
        """The file of a URI, if it is that of a file."""
        name = self.uris.to_fs_path(uri) if uri.startswith("file:") else None
        return None if not name else Path(name)

    def folders(self) -> dict[str, Path]:
        """The folders of the workspace."""
        found = {uri: self.path_of(uri) for uri in self.pygls.workspace.folders}
        root = self.pygls.workspace.root_uri
        if not found and root:
            found[root] = self.path_of(root)
        return {uri: path for uri, path in found.items() if path is not None and path.is_dir()}

    # --- documents ----------------------------------------------------------------------------------------

    def did_open(self, params: Any) -> None:
        """A document is opened."""
        d = params.text_document
        self.store.opened[d.uri] = Opened(d.uri, self.path_of(d.uri), d.text, d.version)
        self.soon(d.uri, 0.0)

    def did_change(self, params: Any) -> None:
        """A document is edited; each change is the whole of its text."""
        opened = self.store.opened.get(params.text_document.uri)
        if opened is None:
            return
        opened.text = params.content_changes[-1].text
        opened.version = params.text_document.version
        self.soon(opened.uri, DEBOUNCE_S)

    def did_close(self, params: Any) -> None:
        """A document is closed: what was wrong with it is of no interest any more."""
        uri = params.text_document.uri
        self.store.opened.pop(uri, None)
        task = self.tasks.pop(uri, None)
        if task is not None:
            task.cancel()
        self.pygls.text_document_publish_diagnostics(self.types.PublishDiagnosticsParams(uri, []))

    async def did_change_files(self, params: Any) -> None:
        """Files have changed on disk, which open documents may import."""
        for opened in list(self.store.opened.values()):
            if opened.document is not None and _imports_files(opened.document):
                await self.checked(opened, again=True)

    # --- checks -------------------------------------------------------------------------------------------

    def soon(self, uri: str, delay_s: float) -> None:
        """Check a document when nothing was typed for a while."""
        task = self.tasks.pop(uri, None)
        if task is not None:
            task.cancel()
        self.tasks[uri] = asyncio.ensure_future(self._later(uri, delay_s))

    async def _later(self, uri: str, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        opened = self.store.opened.get(uri)
        if opened is None:
            return
        await asyncio.shield(self.checked(opened))
        for other in list(self.store.opened.values()):
            if other is not opened and other.document is not None and _imports_files(other.document):
                await asyncio.shield(self.checked(other, again=True))

    async def checked(self, opened: Opened, again: bool = False) -> None:
        """Check a document if it has changed (or `again`), and publish what is wrong with it."""
        async with self.lock:
            if opened.is_current and not again:
                return
            text, version = opened.text, opened.version
            run = partial(self._check, text, opened)
            begin = time.monotonic()
            document = await self.in_background(run)
            opened.document = document
            opened.checking_s = time.monotonic() - begin
        if self.collecting is None or self.collecting.done():
            self.collecting = asyncio.ensure_future(self._collect())
        if self.store.opened.get(opened.uri) is opened and opened.text == text:
            view = view_of(opened, document, self.encoding)
            found = self.converter.diagnostics(view)
            self.pygls.text_document_publish_diagnostics(
                self.types.PublishDiagnosticsParams(opened.uri, found, version)
            )

    def _check(self, text: str, opened: Opened) -> Document:
        """Check a text, and find what is asked about all of it."""
        with paused():
            document = self.store.check_text(text, opened.path, opened.uri)
            for find in (colored, outline, foldings, default_findings):
                document.once(find)
            gc.freeze()
        return document

    async def _collect(self) -> None:
        """Free what checks have left behind, when nothing is asked: nothing else runs meanwhile."""
        while (rest_s := self.asked_at_s + IDLE_S - time.monotonic()) > 0:
            await asyncio.sleep(rest_s)
        gc.unfreeze()
        gc.collect()
        gc.freeze()

    async def in_background(self, run: Callable[[], Any]) -> Any:
        """What `run` returns on the thread for long work."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, run)

    async def view(self, uri: str) -> View | None:
        """A document to answer about, checked anew where that is quick; None if it is not open."""
        opened = self.store.opened.get(uri)
        if opened is None:
            return None
        if opened.document is None or (not opened.is_current and opened.checking_s < QUICK_S):
            await self.checked(opened)
        return None if opened.document is None else view_of(opened, opened.document, self.encoding)

    def views(self) -> list[View]:
        """The open documents that have been checked."""
        opened = list(self.store.opened.values())
        return [view_of(o, o.document, self.encoding) for o in opened if o.document is not None]


def _imports_files(document: Document) -> bool:
    return any(not use.path.startswith(STANDARD) for use in document.mod.imports)
