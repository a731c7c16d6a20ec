"""Requests that help to write: completion, signatures, inlaid types, colours, formatting, fixes, calls."""

from typing import Any

from relay.cli.fmt import formatted
from relay.diagnostic import RelayError
from relay.ir.expr import GlobalVar
from relay.lsp.actions import actions
from relay.lsp.coloring import between, colored, encoded, replacement
from relay.lsp.completion import Proposal, completions, explained, import_place
from relay.lsp.hierarchy import Caller, callees, callers
from relay.lsp.index import Symbol
from relay.lsp.inlay import inlays
from relay.lsp.navigation import location, named
from relay.lsp.places import Place, definition, home_of
from relay.lsp.server import Answer, Server
from relay.lsp.signature import signature
from relay.lsp.store import View
from relay.text.imports import SUFFIX

KINDS = {
    "variable": "Variable",
    "function": "Function",
    "operator": "Function",
    "constructor": "EnumMember",
    "type": "Struct",
    "parameter": "TypeParameter",
    "field": "Field",
    "attribute": "Property",
    "module": "Module",
    "form": "Keyword",
    "word": "Keyword",
}
"""Kinds of proposals as the protocol names them."""


def writing_features(t: Any) -> dict[str, Answer]:
    """What answers each request about a document, by its name."""
    return {
        t.TEXT_DOCUMENT_COMPLETION: complete,
        t.TEXT_DOCUMENT_SIGNATURE_HELP: signature_,
        t.TEXT_DOCUMENT_INLAY_HINT: inlays_,
        t.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: tokens,
        t.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA: changed_tokens,
        t.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: tokens_in_range,
        t.TEXT_DOCUMENT_FORMATTING: format_,
        t.TEXT_DOCUMENT_CODE_ACTION: actions_,
        t.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: prepare_hierarchy,
    }


def plain_features(t: Any) -> dict[str, Any]:
    """What answers each request that names no document."""
    return {
        t.COMPLETION_ITEM_RESOLVE: resolve,
        t.CALL_HIERARCHY_INCOMING_CALLS: incoming,
        t.CALL_HIERARCHY_OUTGOING_CALLS: outgoing,
    }


# --- completion and signatures


def complete(server: Server, view: View, params: Any) -> Any:
    """See `relay.lsp.completion`; a proposal replaces the word before the cursor."""
    t = server.types
    offset = view.offset(params.position.line, params.position.character)
    found, proposals = completions(view, offset)
    where = server.converter.span(view.lines, found.start, offset)
    return t.CompletionList(False, [_item(server, view, p, where) for p in proposals])


def _item(server: Server, view: View, p: Proposal, where: Any) -> Any:
    t = server.types
    more = None
    if p.module:
        at = import_place(view.document)
        line = f'import "{p.module}"'
        more = [t.TextEdit(server.converter.range(view, at, at), f"\n{line}" if at else f"{line}\n")]
    return t.CompletionItem(
        label=p.label,
        kind=getattr(t.CompletionItemKind, KINDS[p.kind]),
        detail=p.detail or None,
        text_edit=t.TextEdit(where, p.label),
        filter_text=p.label,
        additional_text_edits=more,
        data=None if p.data is None else [view.uri, *p.data],
    )


def resolve(server: Server, item: Any) -> Any:
    """A proposal with its documentation."""
    if item.data:
        uri, kind, name, owner = item.data
        opened = server.store.opened.get(uri)
        text = explained(None if opened is None else opened.document, (kind, name, owner))
        item.documentation = server.types.MarkupContent(server.types.MarkupKind.Markdown, text)
    return item


def signature_(server: Server, view: View, params: Any) -> Any:
    """See `relay.lsp.signature`."""
    t = server.types
    found = signature(view, view.offset(params.position.line, params.position.character))
    if found is None:
        return None
    about = [*found.about, *[""] * len(found.parameters)]
    parameters = [t.ParameterInformation(p, about[i] or None) for i, p in enumerate(found.parameters)]
    text = t.MarkupContent(t.MarkupKind.Markdown, found.text) if found.text else None
    shown = t.SignatureInformation(found.label, text, parameters)
    return t.SignatureHelp([shown], 0, found.active)


# --- what is shown in the text


def inlays_(server: Server, view: View, params: Any) -> Any:
    """See `relay.lsp.inlay`; what stands where something is typed waits for the next check."""
    t = server.types
    start = view.checked(params.range.start.line, params.range.start.character)
    end = view.checked(params.range.end.line, params.range.end.character)
    return [
        t.InlayHint(
            t.Position(*view.position(found.at)),
            found.text,
            t.InlayHintKind.Type,
            tooltip=None if found.text == found.whole else found.whole,
        )
        for found in inlays(view.document, start, end)
        if not view.edit.is_inside(found.at - 1, found.at)
    ]


def tokens(server: Server, view: View, params: Any) -> Any:
    """See `relay.lsp.coloring`."""
    opened = server.store.opened[view.uri]
    data = encoded(view.document.once(colored), view.edit, view.lines)
    opened.colored = (opened.colored[0] + 1, data)
    return server.types.SemanticTokens(data, str(opened.colored[0]))


def changed_tokens(server: Server, view: View, params: Any) -> Any:
    """What has changed of the colours since the last answer, as one edit; all where the client has others."""
    t, opened = server.types, server.store.opened[view.uri]
    number, old = opened.colored
    whole = tokens(server, view, params)
    if params.previous_result_id != str(number):
        return whole
    first, deleted, inserted = replacement(old, whole.data)
    edits = [t.SemanticTokensEdit(first, deleted, inserted)] if deleted or inserted else []
    return t.SemanticTokensDelta(edits, whole.result_id)


def tokens_in_range(server: Server, view: View, params: Any) -> Any:
    """See `relay.lsp.coloring`: what a window shows."""
    start = view.checked(params.range.start.line, params.range.start.character)
    end = view.checked(params.range.end.line, params.range.end.character)
    shown = between(view.document.once(colored), start, end)
    return server.types.SemanticTokens(encoded(shown, view.edit, view.lines))


async def format_(server: Server, view: View, params: Any) -> Any:
    """The canonical form, as one edit; none for a text with errors."""
    path = view.document.path
    name = str(path) if path is not None and path.suffix == SUFFIX else "-"

    def run() -> str | None:
        try:
            return formatted(view.text, name)
        except RelayError:
            return None

    new = await server.in_background(run)
    if new is None or new == view.text:
        return None if new is None else []
    return [server.types.TextEdit(server.converter.span(view.lines, 0, len(view.text)), new)]


def actions_(server: Server, view: View, params: Any) -> Any:
    """See `relay.lsp.actions`; of the parts of the text that are as they were checked."""
    t = server.types
    start = view.checked(params.range.start.line, params.range.start.character)
    end = view.checked(params.range.end.line, params.range.end.character)
    return [
        t.CodeAction(
            action.title,
            kind=t.CodeActionKind.QuickFix,
            diagnostics=[server.converter.diagnostic(view, action.diagnostic)],
            is_preferred=True,
            edit=t.WorkspaceEdit(
                changes={
                    view.uri: [
                        t.TextEdit(server.converter.range(view, action.start, action.end), action.text)
                    ]
                }
            ),
        )
        for action in actions(view.document, start, end)
        if not view.edit.is_inside(action.start, action.end)
    ]


# --- calls


def prepare_hierarchy(server: Server, view: View, params: Any) -> Any:
    """The definition that is named at a position."""
    occurrence = named(view, params)
    if occurrence is None or occurrence.symbol.kind != "global":
        return None
    place = definition(view.document, occurrence.symbol)
    return None if place is None else [_hierarchy_item(server, view, occurrence.symbol.name, place)]


def _hierarchy_item(server: Server, view: View, name: str, place: Place) -> Any:
    t = server.types
    where = location(server, view, place)
    detail = view.document.types.of_global(name) or None
    kind = t.SymbolKind.Function
    return t.CallHierarchyItem(
        f"@{name}", kind, where.uri, where.range, where.range, detail=detail, data=[view.uri, name]
    )


async def incoming(server: Server, params: Any) -> Any:
    """The definitions that mention one."""
    t = server.types
    uri, name = params.item.data
    view = await server.view(uri)
    if view is None:
        return None
    folders, home = server.folders(), home_of(view.document, Symbol("global", name))

    def run() -> list[Caller]:
        return callers(view.document, name, server.store.documents(name, folders, home))

    found: list[Any] = []
    for caller in await server.in_background(run):
        d, at = caller.document, caller.item.name_at if caller.item.word else caller.item.first
        place = Place(d.path, d.text, d.parsed.starts[at], d.parsed.ends[at])
        item = _hierarchy_item(server, view, caller.item.name, place)
        ranges = [location(server, view, Place(d.path, d.text, o.start, o.end)).range for o in caller.at]
        found.append(t.CallHierarchyIncomingCall(item, ranges))
    return found


async def outgoing(server: Server, params: Any) -> Any:
    """The definitions that one mentions."""
    t = server.types
    uri, name = params.item.data
    view = await server.view(uri)
    if view is None or GlobalVar(name) not in view.document.mod.functions:
        return None
    return [
        t.CallHierarchyOutgoingCall(
            _hierarchy_item(server, view, other, place),
            [server.converter.range(view, o.start, o.end) for o in at],
        )
        for other, place, at in callees(view.document, name)
    ]
