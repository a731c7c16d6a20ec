"""What is found, in the types of the protocol."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from relay.diagnostic import Diagnostic, Span
from relay.lint.run import default_findings
from relay.lsp.index import Document
from relay.lsp.library import load
from relay.lsp.lines import Encoding, Lines
from relay.lsp.outline import Entry
from relay.lsp.places import Place, file_of, imported_file, located
from relay.lsp.store import View
from relay.text.imports import PACKAGE


class Converter:
    """Ranges and locations for a client that counts in `encoding`."""

    def __init__(self, encoding: Encoding) -> None:
        self.types = load("lsprotocol.types")
        self.encoding: Encoding = encoding

    def range(self, view: View, start: int, end: int) -> Any:
        """A range of the text that was checked, where it is now."""
        return self.span(view.lines, view.edit.new(start), view.edit.new(end))

    def span(self, lines: Lines, start: int, end: int) -> Any:
        """A range of a text."""
        t = self.types
        return t.Range(t.Position(*lines.position(start)), t.Position(*lines.position(max(start, end))))

    def location(self, place: Place, views: Iterable[View]) -> Any:
        """A place as a location: of an open document where it is now."""
        for view in views:
            if place.path is not None and view.document.path == place.path:
                return self.types.Location(view.uri, self.range(view, place.start, place.end))
        uri = "" if place.path is None else place.path.as_uri()
        return self.types.Location(uri, self.span(Lines(place.text, self.encoding), place.start, place.end))

    # --- diagnostics --------------------------------------------------------------------------------------

    def diagnostics(self, view: View) -> list[Any]:
        """Everything that is wrong with a document, and what could be written better."""
        linted = [f.diagnostic for f in view.document.once(default_findings)]
        return [self.diagnostic(view, d) for d in [*view.document.diagnostics, *linted]]

    def diagnostic(self, view: View, d: Diagnostic) -> Any:
        """A diagnostic: its label and hint in the message, its notes beside it, its page behind the code."""
        t = self.types
        where, own = self._where(view, d.span)
        hint = d.advice
        unplaced = [note.message for note in d.notes if note.span is None]
        parts = [d.message, d.label, *unplaced, f"hint: {hint}" if hint else ""]
        notes = [(n.message, n.span) for n in d.notes if n.span is not None]
        if not own and d.span is not None:
            notes.insert(0, (d.message, d.span))
        related = [self._related(view, message, span) for message, span in notes]
        page = PACKAGE / "errors" / f"{d.code}.md"
        severity = {"error": 1, "warning": 2, "note": 3}[d.severity]
        return t.Diagnostic(
            range=where,
            message="\n".join([part for part in parts if part]),
            severity=t.DiagnosticSeverity(severity),
            code=d.code,
            code_description=t.CodeDescription(page.as_uri()) if page.is_file() else None,
            source="relay",
            related_information=[r for r in related if r is not None] or None,
        )

    def _where(self, view: View, span: Span | None) -> tuple[Any, bool]:
        """The range of a span, and whether it is in the document: else the import of its file has it."""
        document = view.document
        if span is not None and span.source is document.source:
            return self.range(view, span.start, min(span.end, len(document.text))), True
        return self.range(view, *import_of(document, span)), False

    def _related(self, view: View, message: str, span: Span) -> Any:
        place = located(view.document, span)
        if place is None:
            return None
        if place.path is None or place.path == view.document.path:
            location = self.types.Location(view.uri, self.range(view, place.start, place.end))
        else:
            location = self.location(place, [])
        return self.types.DiagnosticRelatedInformation(location, message)

    # --- outlines -----------------------------------------------------------------------------------------

    def symbols(self, view: View, entries: Iterable[Entry]) -> list[Any]:
        """An outline; entries nest two deep."""
        t = self.types
        kinds = {
            "function": t.SymbolKind.Function,
            "constant": t.SymbolKind.Constant,
            "type": t.SymbolKind.Struct,
            "constructor": t.SymbolKind.Constructor,
            "field": t.SymbolKind.Field,
        }

        def one(entry: Entry, children: list[Any]) -> Any:
            return t.DocumentSymbol(
                name=entry.name or "_",
                kind=kinds[entry.kind],
                range=self.range(view, entry.start, entry.end),
                selection_range=self.range(view, entry.name_start, entry.name_end),
                detail=entry.detail or None,
                children=children,
            )

        return [one(e, [one(c, [one(f, []) for f in c.children]) for c in e.children]) for e in entries]


def import_of(document: Document, span: Span | None) -> tuple[int, int]:
    """The import in a document that leads to the file of a span, else its first line."""
    path: Path | None = None if span is None else file_of(span.source)
    for item in document.items:
        if item.word == "import" and path is not None:
            place = imported_file(document, item.name.strip('"'))
            if place is not None and place.path == path:
                return item.start, item.end
    first = next((item for item in document.items if item.word == "import"), None)
    return (0, 0) if first is None else (first.start, first.end)
