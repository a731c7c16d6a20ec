"""Requests that only read: hovers, definitions, references, renames, outlines."""

from collections.abc import Callable
from typing import Any

from relay.lsp.hover import hover
from relay.lsp.index import Occurrence
from relay.lsp.library import load
from relay.lsp.outline import foldings, outline
from relay.lsp.places import Place, definition, home_of
from relay.lsp.references import Found, RefusedError, check_new_name, references, renamable
from relay.lsp.server import Answer, Server
from relay.lsp.store import View


def reading_features(t: Any) -> dict[str, Answer]:
    """What answers each request, by its name; `t` are the types of the protocol."""
    return {
        t.TEXT_DOCUMENT_HOVER: hover_,
        t.TEXT_DOCUMENT_DEFINITION: definition_,
        t.TEXT_DOCUMENT_REFERENCES: references_,
        t.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: highlights,
        t.TEXT_DOCUMENT_PREPARE_RENAME: prepare_rename,
        t.TEXT_DOCUMENT_RENAME: rename_,
        t.TEXT_DOCUMENT_DOCUMENT_SYMBOL: symbols,
        t.TEXT_DOCUMENT_FOLDING_RANGE: foldings_,
    }


def named(view: View, params: Any) -> Occurrence | None:
    """The name at the position of a request."""
    return view.document.occurrence(view.checked(params.position.line, params.position.character))


def hover_(server: Server, view: View, params: Any) -> Any:
    """See `relay.lsp.hover`."""
    t = server.types
    found = hover(view.document, view.checked(params.position.line, params.position.character))
    if found is None:
        return None
    text = t.MarkupContent(t.MarkupKind.Markdown, found.text)
    return t.Hover(text, server.converter.range(view, found.start, found.end))


def definition_(server: Server, view: View, params: Any) -> Any:
    """Where the name at a position is defined."""
    occurrence = named(view, params)
    place = None if occurrence is None else definition(view.document, occurrence.symbol)
    return None if place is None else location(server, view, place)


def location(server: Server, view: View, place: Place) -> Any:
    """A place as a location, of a document that is open where it is now."""
    if place.path is None or place.path == view.document.path:
        return server.types.Location(view.uri, server.converter.range(view, place.start, place.end))
    return server.converter.location(place, server.views())


async def found_everywhere(server: Server, view: View, occurrence: Occurrence) -> list[Found]:
    """Where the symbol of a name is named, in the document and in the files of the workspace."""
    symbol, folders = occurrence.symbol, server.folders()
    home = home_of(view.document, symbol)

    def run() -> list[Found]:
        return references(view.document, symbol, server.store.documents(symbol.name, folders, home))

    return await server.in_background(run)


async def references_(server: Server, view: View, params: Any) -> Any:
    """Every place that names what the name at a position means."""
    occurrence = named(view, params)
    if occurrence is None:
        return None
    locations: list[Any] = []
    for found in await found_everywhere(server, view, occurrence):
        for o in found.occurrences:
            if params.context.include_declaration or not o.is_definition:
                place = Place(found.document.path, found.document.text, o.start, o.end)
                locations.append(location(server, view, place))
    return locations


def highlights(server: Server, view: View, params: Any) -> Any:
    """The places in the document that name what the name at a position means."""
    t = server.types
    occurrence = named(view, params)
    if occurrence is None:
        return None
    kinds = {True: t.DocumentHighlightKind.Write, False: t.DocumentHighlightKind.Read}
    return [
        t.DocumentHighlight(server.converter.range(view, o.start, o.end), kinds[o.is_definition])
        for o in view.document.by_symbol[occurrence.symbol]
    ]


def prepare_rename(server: Server, view: View, params: Any) -> Any:
    """The name that would be changed, without its sigil."""
    occurrence = named(view, params)
    if occurrence is None:
        return None
    with_message(server, lambda: renamable(view.document, occurrence))
    where = server.converter.range(view, occurrence.start, occurrence.end)
    return server.types.PrepareRenamePlaceholder(where, occurrence.symbol.name)


async def rename_(server: Server, view: View, params: Any) -> Any:
    """The edits that give what the name at a position means another name."""
    t = server.types
    occurrence = named(view, params)
    if occurrence is None:
        return None
    with_message(server, lambda: renamable(view.document, occurrence))
    found = await found_everywhere(server, view, occurrence)
    name = params.new_name.lstrip("%@")
    with_message(server, lambda: check_new_name(occurrence.symbol, name, found))
    changes: dict[str, list[Any]] = {}
    for each in found:
        for o in each.occurrences:
            old = each.document.text[o.start : o.end]
            new = old[0] + name if old[0] in "%@" else name
            place = Place(each.document.path, each.document.text, o.start, o.end)
            where = location(server, view, place)
            changes.setdefault(where.uri, []).append(t.TextEdit(where.range, new))
    return t.WorkspaceEdit(changes=changes)


def with_message(server: Server, asked: Callable[[], Any]) -> Any:
    """What was asked for; a refusal becomes an error that the editor shows."""
    try:
        return asked()
    except RefusedError as refused:
        raise load("pygls.exceptions").JsonRpcInvalidParams(str(refused)) from None


def symbols(server: Server, view: View, params: Any) -> Any:
    """See `relay.lsp.outline`."""
    return server.converter.symbols(view, view.document.once(outline))


def foldings_(server: Server, view: View, params: Any) -> Any:
    """See `relay.lsp.outline`; lines as they are now."""
    t = server.types
    found: list[Any] = []
    lines = view.document.lines
    for first, last, kind in view.document.once(foldings):
        start, _ = view.position(lines.starts[first])
        end, _ = view.position(lines.starts[last])
        if end > start:
            found.append(t.FoldingRange(start, end, kind=kind or None))
    return found
