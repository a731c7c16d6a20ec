"""What a page shows while one types: diagnostics with their fixes, types that are not written, hovers."""

from functools import lru_cache
from typing import Any

from relay.diagnostic import Diagnostic
from relay.ir.expr import Function
from relay.lsp.actions import Action, actions
from relay.lsp.hover import hover as hover_at
from relay.lsp.index import Document, check
from relay.lsp.inlay import inlays
from relay.playground.fields import Request, number_of, text_of, width_of
from relay.playground.units import Units
from relay.text.printer import module_text
from relay.typecheck.messages import show

Answer = dict[str, Any]
NAME = "program.relay"
"""What the program is called in diagnostics."""


@lru_cache(maxsize=4)
def document_of(text: str) -> Document:
    """A program as it was checked; files are never read, so that it imports standard modules only."""
    return check(text, None, NAME)


def checked(request: Request) -> Answer:
    """Diagnostics, inlays and entries of `program`."""
    document = document_of(text_of(request, "program"))
    units = Units(document.text)
    fixes = actions(document, 0, len(document.text))
    return {
        "diagnostics": [shown(d, document, units, fixes) for d in document.diagnostics],
        "inlays": [
            {"at": units.of(i.at), "text": i.text, "whole": i.whole}
            for i in inlays(document, 0, len(document.text))
        ],
        "entries": entries(document),
    }


def shown(d: Diagnostic, document: Document, units: Units, fixes: list[Action]) -> Answer:
    """A diagnostic with its place in the program, and what can be done about it."""
    own = d.span is not None and d.span.source is document.source
    start, end = (d.span.start, d.span.end) if own and d.span is not None else (0, 0)
    return {
        **plain(d),
        "from": units.of(start),
        "to": units.of(end),
        "fixes": [
            {"title": a.title, "from": units.of(a.start), "to": units.of(a.end), "insert": a.text}
            for a in fixes
            if a.diagnostic is d
        ],
    }


def plain(d: Diagnostic) -> Answer:
    """A diagnostic by itself; `rendered` is how a terminal shows it."""
    return {
        "code": d.code,
        "severity": d.severity,
        "message": d.message,
        "label": d.label,
        "hint": d.advice,
        "rendered": d.render(),
        "line": None if d.span is None else d.span.line,
    }


def entries(document: Document) -> list[Answer]:
    """The program's own definitions, with the names and types of what they take."""
    found: list[Answer] = []
    for v, e in document.mod.functions.items():
        if v.name_hint in document.mod.imported:
            continue
        params = e.params if isinstance(e, Function) else ()
        types = [document.type_at(p.span.start, p) if p.span is not None else None for p in params]
        found.append(
            {
                "name": v.name_hint,
                "parameters": [
                    {"name": p.name_hint, "type": "_" if t is None else show(t)}
                    for p, t in zip(params, types, strict=True)
                ],
            }
        )
    return found


def hovered(request: Request) -> Answer:
    """Markdown about what stands at the offset `at` of `program`; empty where nothing is known."""
    document = document_of(text_of(request, "program"))
    units = Units(document.text)
    found = hover_at(document, units.characters(number_of(request, "at")))
    if found is None:
        return {"text": ""}
    return {"text": found.text, "from": units.of(found.start), "to": units.of(found.end)}


def typed(request: Request) -> Answer:
    """`program` with all types filled in, in lines of at most `width` columns; or its errors."""
    document = document_of(text_of(request, "program"))
    if document.types.annotated is None or any(d.severity == "error" for d in document.diagnostics):
        return checked(request)
    return {"text": module_text(document.types.annotated, width=width_of(request))}
