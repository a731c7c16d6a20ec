"""A graph as the page reads it: tables of plain values, each text once."""

from collections.abc import Iterable
from typing import Any

from relay.diagnostic import PythonSource, Source, SourceName, Span
from relay.picture.graph import Graph

NO_SOURCE = -1


class Sources:
    """The texts that places are in."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []
        self.numbers: dict[Source, int] = {}
        self.python: dict[PythonSource, Source] = {}

    def place(self, span: Span | None) -> tuple[int, int, int]:
        """The number of a text, and offsets into it where a span begins and ends."""
        if span is None:
            return NO_SOURCE, 0, 0
        if isinstance(span.source, PythonSource):
            span = self.of_python(span.source, span)
        elif isinstance(span.source, SourceName):
            return NO_SOURCE, 0, 0
        source = span.source
        number = self.numbers.get(source)
        if number is None:
            number = self.numbers[source] = len(self.texts)
            self.texts.append((source.name, source.text))
        return number, span.start, span.end

    def of_python(self, source: PythonSource, span: Span) -> Span:
        """Return the range of a Python file that a span names, as a span of its text."""
        import linecache

        known = self.python.get(source)
        if known is None:
            known = self.python[source] = Source(source.name, "".join(linecache.getlines(source.name)))
        starts, size = known.starts, len(known.text)
        line, end_line = min(span.line, len(starts)), min(span.end_line, len(starts))
        start = starts[line - 1]
        if span.start == span.end:
            return Span(known, start, start + len(known.line_text(line)))
        end = starts[end_line - 1] + span.end_column - 1
        return Span(known, min(start + span.column - 1, size), min(end, size))


def page_data(graph: Graph) -> dict[str, Any]:
    """All that a page needs of a graph."""
    sources = Sources()
    types: dict[str, int] = {}

    def number(text: str) -> int:
        return types.setdefault(text, len(types))

    groups = [[g.label, g.kind, g.parent, *sources.place(g.span)] for g in graph.groups]
    nodes: list[list[Any]] = []
    for n in graph.nodes:
        row = [n.label, n.kind, n.group, number(n.type), *sources.place(n.span), n.detail, n.seconds or 0]
        nodes.append(row if n.seconds else row[:-1] if n.detail else row[:-2])
    edges = [[e.start, e.end, number(e.type), e.label] for e in graph.edges]
    return {
        "name": graph.name,
        "sources": sources.texts,
        "types": list(types),
        "groups": groups,
        "nodes": nodes,
        "edges": edges,
        "calls": graph.calls(),
        "seconds": total(n.seconds for n in graph.nodes),
    }


def total(times: Iterable[float | None]) -> float:
    """The sum of those that are known."""
    return sum([t for t in times if t is not None])
