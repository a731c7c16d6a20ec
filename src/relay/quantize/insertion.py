"""Rewriting a program at its sites: what is put on edges, in the place of weights, and around results."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from relay.ir.expr import Call, Expr, Function, Tuple, Var
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.quantize.sites import Edge, Site
from relay.transform.rewriting.definitions import with_definitions
from relay.typecheck.infer import infer


@dataclass
class Changes:
    """What becomes of edges, weights and results; what has no entry stays.

    `edge` makes the operand of the value that an edge is about; edges of one value and one `group` share what
    is made.  `data` makes the first operand of a site of the one that it has, once for each value.  `weight`
    makes the second operand, and `result` goes around the call as it is then.  `calls` change other calls.
    """

    edge: Callable[[Edge, Expr], Expr] | None = None
    group: Callable[[Edge], object] = field(default=lambda e: (e.role, e.axis))
    data: Callable[[Site, Expr], Expr] | None = None
    weight: Callable[[Site], Expr | None] | None = None
    result: Callable[[Site, Call], Expr] | None = None
    calls: Mapping[Expr, Callable[[Call], Expr]] = field(default_factory=dict[Expr, Callable[[Call], Expr]])


def rewritten(mod: IRModule, sites: Iterable[Site], changes: Changes) -> IRModule:
    """The module with the changes at its sites, inferred."""
    plan = _Plan(sites, changes)
    out = with_definitions(mod, {v: plan.run(e) for v, e in mod.functions.items()})
    return infer(out)


class _Plan:
    """One rewriting."""

    def __init__(self, sites: Iterable[Site], changes: Changes) -> None:
        self.changes = changes
        self.sites: dict[Expr, Site] = {s.call: s for s in sites}
        self.edges: dict[Expr, list[Edge]] = {}
        if changes.edge is not None:
            for s in self.sites.values():
                for edge in s.edges:
                    self.edges.setdefault(edge.user, []).append(edge)
        self.made: dict[object, Expr] = {}

    def run(self, root: Expr) -> Expr:
        """A definition, node by node."""
        new: dict[Expr, Expr] = {}
        for e in post_order(root):
            now = tuple([new[c] for c in e.children])
            kept = e if now == e.children else e.rebuild(now)
            new[e] = self.changed(e, kept, new)
        return new[root]

    def changed(self, e: Expr, kept: Expr, new: Mapping[Expr, Expr]) -> Expr:
        """What becomes of a node whose parts are done."""
        for edge in self.edges.get(e, ()):
            kept = _with_operand(kept, edge.index, self.on_edge(edge, new))
        other = self.changes.calls.get(e)
        if other is not None and isinstance(kept, Call):
            kept = other(kept)
        site = self.sites.get(e)
        if site is None or not isinstance(kept, Call):
            return kept
        if self.changes.data is not None:
            kept = _with_operand(kept, 0, self.first(site, kept))
        assert isinstance(kept, Call)
        if self.changes.weight is not None and site.weight is not None:
            weight = self.changes.weight(site)
            kept = kept if weight is None else _with_operand(kept, 1, weight)
        assert isinstance(kept, Call)
        return kept if self.changes.result is None else self.changes.result(site, kept)

    def first(self, site: Site, kept: Call) -> Expr:
        """The first operand of a site, shared by those that read one value."""
        assert self.changes.data is not None
        key = (kept.args[0], "data")
        if key not in self.made:
            self.made[key] = self.changes.data(site, kept.args[0])
        return self.made[key]

    def on_edge(self, edge: Edge, new: Mapping[Expr, Expr]) -> Expr:
        """The operand for an edge, shared by the edges of its group."""
        key = (edge.value, self.changes.group(edge))
        if key not in self.made:
            assert self.changes.edge is not None
            value = edge.value if isinstance(edge.value, Var) else new[edge.value]
            self.made[key] = self.changes.edge(edge, value)
        return self.made[key]


def _with_operand(e: Expr, index: int, operand: Expr) -> Expr:
    """A call or a tuple with another operand at a place."""
    if isinstance(e, Tuple):
        return e.rebuild((*e.fields[:index], operand, *e.fields[index + 1 :]))
    assert isinstance(e, Call)
    place = index + len(e.children) - len(e.args)
    return e.rebuild((*e.children[:place], operand, *e.children[place + 1 :]))


def spans_of(mod: IRModule, names: Iterable[str]) -> list[object]:
    """The spans of all calls in definitions, by which they are known wherever they are inlined."""
    found: list[object] = []
    for name in names:
        f = mod[name.removeprefix("@")]
        body = f.body if isinstance(f, Function) else f
        found += [e.span for e in post_order(body) if isinstance(e, Call) and e.span is not None]
    return found
