"""Types that are not written, shown where they could be."""

from bisect import bisect_left
from dataclasses import dataclass

from relay.ir.expr import Function, GlobalVar, Var
from relay.ir.type import FuncType
from relay.lsp.index import Document
from relay.typecheck.messages import show

MOST_CHARS = 60
"""Longer types are cut, in characters."""


@dataclass(frozen=True, slots=True)
class Inlay:
    """A text to show at an offset; `whole` is what was cut."""

    at: int
    text: str
    whole: str


def inlays(document: Document, start: int, end: int) -> list[Inlay]:
    """The types of variables without annotation and of results, between two offsets."""
    found: list[Inlay] = []
    first = bisect_left(document.occurrences, start, key=lambda o: o.start)
    for i in range(first, len(document.occurrences)):
        o = document.occurrences[i]
        if o.start > end:
            break
        if not o.is_definition or o.symbol.kind not in ("local", "global"):
            continue
        shown = _local(document, o.start) if o.symbol.kind == "local" else ""
        if shown:
            found.append(_inlay(o.end, f": {shown}"))
        elif o.symbol.kind == "global":
            found += _result(document, o.symbol.name)
    return sorted(found, key=lambda inlay: inlay.at)


def _local(document: Document, at: int) -> str:
    var = document.parsed.definitions.get(document.token_at(at))
    if not isinstance(var, Var) or var.type_annotation is not None or var.name_hint == "_":
        return ""
    t = document.type_at(at, var)
    return "" if t is None else show(t)


def _result(document: Document, name: str) -> list[Inlay]:
    """The result of a definition, behind its parameters."""
    fn, t = document.mod.functions.get(GlobalVar(name)), document.types.global_type(name)
    if not isinstance(fn, Function) or fn.ret_type is not None or fn.span is None:
        return []
    if fn.span.source is not document.source or not isinstance(t, FuncType):
        return []
    return [_inlay(fn.span.end, f" -> {show(t.ret_type)}")]


def _inlay(at: int, text: str) -> Inlay:
    return Inlay(at, text if len(text) <= MOST_CHARS else f"{text[: MOST_CHARS - 1]}…", text)
