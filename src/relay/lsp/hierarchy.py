"""Who calls whom: the definitions that mention one, and those that it mentions."""

from collections.abc import Iterable
from dataclasses import dataclass

from relay.lsp.index import Document, Item, Occurrence, Symbol
from relay.lsp.places import Place, definition
from relay.lsp.references import references


@dataclass(frozen=True, slots=True)
class Caller:
    """A definition, and the places in it (or, of a callee, in its caller) that mention another one."""

    document: Document
    item: Item
    at: list[Occurrence]


def callers(document: Document, name: str, others: Iterable[Document]) -> list[Caller]:
    """The definitions that mention `@name`."""
    found: list[Caller] = []
    for each in references(document, Symbol("global", name), others):
        by_item: dict[Item, list[Occurrence]] = {}
        for o in each.occurrences:
            item = each.document.item_at(o.start)
            if item is not None and not o.is_definition and item.word in ("def", ""):
                by_item.setdefault(item, []).append(o)
        found += [Caller(each.document, item, at) for item, at in by_item.items()]
    return found


def callees(document: Document, name: str) -> list[tuple[str, Place, list[Occurrence]]]:
    """The definitions that `@name` mentions, where they are, and where it does."""
    item = next((i for i in document.items if i.name == name and i.word in ("def", "")), None)
    by_name: dict[str, list[Occurrence]] = {}
    for o in document.occurrences:
        inside = item is not None and item.start <= o.start < item.end
        if inside and o.symbol.kind == "global" and not o.is_definition:
            by_name.setdefault(o.symbol.name, []).append(o)
    places = {n: definition(document, Symbol("global", n)) for n in by_name}
    return [(n, place, by_name[n]) for n, place in places.items() if place is not None]
