"""A profile as a page: a flame graph, memory over time, and the graph of the program with time on it."""

from typing import Any

from relay.diagnostic import RelayError, Span
from relay.picture.assets import LIBRARY, asset
from relay.picture.data import page_data
from relay.picture.graph import Graph
from relay.picture.page import document
from relay.picture.profile import Places, ProfileData, by_definition
from relay.picture.program import graph_of

MAX_MOMENTS = 4000
"""Points of memory over time that a page has at most; the greatest of each stretch are kept."""


def profile_page(profile: ProfileData) -> str:
    """The HTML of a profile; it stands alone."""
    graph = timed_graph(profile)
    data = page_data(graph)
    data["seconds"] = profile.seconds
    data["profile"] = profile_data(profile, nodes_by_place(graph))
    scripts = [LIBRARY, "picture.js", "viewer.js", "profile.js"]
    body = asset("profile.html") + asset("viewer.html")
    styles = ["picture.css", "viewer.css", "profile.css"]
    return document(f"profile of @{profile.name} - Relay", styles, scripts, data, body)


def timed_graph(profile: ProfileData) -> Graph:
    """The graph of the program with the time of a profile on its nodes; without nodes, if the program is not
    at hand.
    """
    try:
        graph = graph_of(profile.source, f"profile of @{profile.name}")
    except RelayError:
        return Graph(f"profile of @{profile.name}")
    places = nodes_by_place(graph)
    for spent in profile.spent:
        i = places.get(key(spent.span))
        if i is not None:
            graph.nodes[i].seconds = (graph.nodes[i].seconds or 0.0) + spent.seconds
    return graph


Key = tuple[str, int, int]


def key(span: Span | None) -> Key:
    """A place, as equal places have it."""
    return ("", 0, 0) if span is None else (span.source.name, span.start, span.end)


def nodes_by_place(graph: Graph) -> dict[Key, int]:
    """The node at each place; of several, the last, which uses the others."""
    found = {key(n.span): i for i, n in enumerate(graph.nodes) if n.kind not in ("parameter", "result")}
    found.pop(key(None), None)
    return found


def profile_data(profile: ProfileData, nodes: dict[Key, int]) -> dict[str, Any]:
    """What the page draws."""
    places = Places(profile.source)
    spent = [
        [
            s.label,
            places.definition(s.span),
            place(s.span),
            s.calls,
            s.seconds,
            s.note,
            nodes.get(key(s.span), -1),
        ]
        for s in profile.spent
    ]
    moments = [[m.seconds, m.bytes, f"{m.label} {place(m.span)}".strip()] for m in profile.memory]
    return {
        "name": profile.name,
        "seconds": profile.seconds,
        "spent": spent,
        "outside": [list(part) for part in profile.outside],
        "memory": thinned(moments),
        "peak": profile.peak_bytes,
        "tensors": [[x.bytes, x.label, place(x.span), nodes.get(key(x.span), -1)] for x in profile.tensors],
        "peakIn": profile.peak_in,
        "definitions": by_definition(profile),
    }


def place(span: Span | None) -> str:
    """A place as text, its line only."""
    return "" if span is None else f"{span.source.name}:{span.line}"


def thinned(moments: list[list[Any]]) -> list[list[Any]]:
    """At most so many moments, of each stretch the one with the most bytes."""
    step = -(-len(moments) // MAX_MOMENTS)
    if step <= 1:
        return moments
    return [max(moments[i : i + step], key=lambda m: m[1]) for i in range(0, len(moments), step)]
