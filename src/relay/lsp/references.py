"""Every place that names a symbol, in several documents; and a new name for all of them."""

from collections.abc import Iterable
from dataclasses import dataclass

from relay.ir.expr import GlobalVar
from relay.ir.type import GlobalTypeVar
from relay.lsp.index import Document, Occurrence, Symbol
from relay.lsp.places import Place, definition
from relay.text.names import KEYWORDS, TYPE_WORDS, is_plain

SHARED = ("global", "type", "constructor", "field")
"""The kinds of symbols that other files may name."""
WORDS = {
    "local": "local",
    "parameter": "type parameter",
    "global": "definition",
    "type": "type",
    "constructor": "constructor",
    "field": "field",
}
"""What can be renamed, as messages call it."""


class RefusedError(Exception):
    """A name cannot be changed; the message says why, and is shown by the editor."""


@dataclass(frozen=True, slots=True)
class Found:
    """Occurrences of one symbol in a document."""

    document: Document
    occurrences: list[Occurrence]


def references(document: Document, symbol: Symbol, others: Iterable[Document]) -> list[Found]:
    """Where `document` and those of `others` that see the same definition name a symbol."""
    found = [Found(document, document.by_symbol.get(symbol, []))]
    if symbol.kind in SHARED:
        home = _home(document, symbol)
        found += [
            Found(other, other.by_symbol[symbol])
            for other in others
            if other is not document and symbol in other.by_symbol and _home(other, symbol) == home
        ]
    return found


def _home(document: Document, symbol: Symbol) -> tuple[object, int] | None:
    place = definition(document, symbol)
    return None if place is None else (place.path or document, place.start)


def renamable(document: Document, occurrence: Occurrence) -> Place:
    """The definition of what is to be renamed (`RefusedError`)."""
    symbol = occurrence.symbol
    place = definition(document, symbol) if symbol.kind in WORDS else None
    if place is None or place.is_packaged:
        name = document.text[occurrence.start : occurrence.end]
        raise RefusedError(f"`{name}` is not defined in your files")
    return place


def check_new_name(symbol: Symbol, name: str, found: Iterable[Found]) -> None:
    """Check that all of `found` may be called `name`, which is without sigil (`RefusedError`)."""
    what = WORDS[symbol.kind]
    reserved = TYPE_WORDS if symbol.kind in ("type", "parameter") else KEYWORDS
    if not is_plain(name) or (symbol.kind != "local" and symbol.kind != "global" and name in reserved):
        raise RefusedError(f"`{name}` cannot be the name of a {what}: names are letters, digits and `_`")
    for each in found:
        clash = _clash(each.document, symbol, name, each.occurrences)
        if clash:
            raise RefusedError(f"{clash} `{name}` already")


def _clash(document: Document, symbol: Symbol, name: str, occurrences: list[Occurrence]) -> str:
    """What has the new name where the old one stands, or the other way round; empty where nothing has."""
    mod = document.mod
    match symbol.kind:
        case "local" | "parameter":
            return _captured(document, symbol, name, occurrences)
        case "global":
            return "there is a definition" if GlobalVar(name) in mod.functions else ""
        case "type":
            known = GlobalTypeVar(name) in mod.type_definitions or GlobalTypeVar(name) in mod.aliases
            return "there is a type" if known else ""
        case "constructor":
            return "there is a constructor" if name in document.parsed.constructors else ""
        case _:
            c = document.parsed.constructors.get(str(symbol.owner))
            return f"`{symbol.owner}` has a field" if c is not None and name in c.field_names else ""


def _captured(document: Document, symbol: Symbol, name: str, occurrences: list[Occurrence]) -> str:
    """A variable of the new name in scope where this one is named, or named where this one is in scope."""
    key = ("%" if symbol.kind == "local" else "'") + name
    if any(key in document.in_scope(o.start) for o in occurrences):
        return "in scope there is"
    own = [s for s in document.parsed.scopes if _binds(document, s.value, symbol)]
    for other, places in document.by_symbol.items():
        if other.kind != symbol.kind or other.name != name or not isinstance(other.owner, int):
            continue
        for s in own:
            if any(s.start <= o.start <= s.end for o in places) and not s.start <= other.owner <= s.end:
                return "in its scope another one is called"
    return ""


def _binds(document: Document, value: object, symbol: Symbol) -> bool:
    """Whether a variable or type parameter is the symbol."""
    parsed = document.parsed
    at = parsed.binder.get(value) if value in parsed.binder else getattr(value, "name_hint", None)  # pyright: ignore[reportCallIssue, reportArgumentType]
    at = getattr(at, "at", at)
    return isinstance(at, int) and parsed.starts[at] == symbol.owner
