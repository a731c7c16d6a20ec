"""Records are taken apart once, where nothing needs them as a whole any more: each field ends by itself.

    let %a = f(%s.c); let %b = g(%s.d); …  =>  match (%s) { S { c, d } => let %a = f(%c); let %b = g(%d); … }

As long as the record is there it has each of its fields, and nothing can be written in their place.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from relay.backend.native.program.ownership import blocks_of
from relay.ir.expr import Clause, Constructor, Expr, Function, Let, Match, Var, replace
from relay.ir.pattern import PatternConstructor, PatternVar, PatternWildcard
from relay.ir.type import Type, TypeCall
from relay.ir.walk import post_order

Cell = Callable[[Constructor, tuple[Any, ...]], tuple[tuple[Type, ...], Any]]
"""The types of the fields of a constructor at an instance of its type."""
Uses = Mapping[Var, tuple[int, bool]]
"""For each record, how often a field is taken, and whether anything else reads it."""


def open_records(fn: Function, cell: Cell, is_record: Callable[[Constructor], bool]) -> Function:
    """A function in A-normal form that takes each record apart once where it can."""
    counts: dict[Var, int] = {}
    for e in post_order(fn.body):
        v = opened_by(e, is_record)
        if v is not None:
            counts[v] = counts.get(v, 0) + 1
    records = {v for v, n in counts.items() if n > 1}
    return replace(fn, body=Opening(fn, records, cell, is_record).built()) if records else fn


def opened_by(e: Expr, is_record: Callable[[Constructor], bool]) -> Var | None:
    """The record that a match takes apart, all at once."""
    if not isinstance(e, Match) or not isinstance(e.data, Var) or len(e.clauses) != 1:
        return None
    p = e.clauses[0].lhs
    if not isinstance(p, PatternConstructor) or not p.patterns or not is_record(p.constructor):
        return None
    return e.data if all(isinstance(q, PatternVar | PatternWildcard) for q in p.patterns) else None


class Opening:
    """One function whose records are taken apart."""

    def __init__(
        self, fn: Function, records: set[Var], cell: Cell, is_record: Callable[[Constructor], bool]
    ) -> None:
        """Decide where each of `records` is."""
        self.fn, self.records, self.cell, self.is_record = fn, records, cell, is_record
        self.uses: dict[Expr, Uses] = {}
        self.constructors: dict[Var, Constructor] = {}
        for e in post_order(fn.body):
            self.uses[e] = self.uses_in(e)
        self.begins: dict[Expr, list[tuple[Var, tuple[Var, ...]]]] = {}
        """The records that are taken apart before a statement, and the variables of their fields."""
        self.inside: set[Expr] = set()
        """The matches that find their record taken apart."""
        self.renamed: dict[Var, Var] = {}
        self.place()

    def uses_in(self, e: Expr) -> Uses:
        """The uses of records in an expression."""
        if isinstance(e, Var):
            return {e: (0, True)} if e in self.records else {}
        v = opened_by(e, self.is_record)
        found: dict[Var, tuple[int, bool]] = {}
        if v in self.records and isinstance(e, Match):
            p = e.clauses[0].lhs
            assert isinstance(p, PatternConstructor)
            self.constructors[v] = p.constructor
            found[v] = (1, False)
        parts = [c for c in e.children if not (c is v and v in found)]
        for u, (n, whole) in ((u, use) for c in parts for u, use in self.uses[c].items()):
            m, other = found.get(u, (0, False))
            found[u] = (n + m, whole or other)
        return found

    def place(self) -> None:
        """Find the places, outer blocks first."""
        pending: list[tuple[Expr, Mapping[Var, tuple[Var, ...]], frozenset[Var]]] = [
            (self.fn.body, {}, frozenset(p for p in self.fn.params if p in self.records))
        ]
        while pending:
            e, opened, bound = pending.pop()
            while True:
                statement = e.value if isinstance(e, Let) else e
                for v in self.uses[statement]:
                    n, whole = self.uses[e][v]
                    if isinstance(e, Let) and v in bound and v not in opened and n > 1 and not whole:
                        opened = {**opened, v: self.fields(v)}
                        self.begins.setdefault(e, []).append((v, opened[v]))
                self.note(statement, opened)
                inside = bound | self.bound_by(statement)
                pending += [(inner, opened, inside) for inner in blocks_of(statement)]
                if not isinstance(e, Let):
                    break
                bound = bound | {e.var} if e.var in self.records else bound
                e = e.body

    def bound_by(self, s: Expr) -> frozenset[Var]:
        """The records among the variables of patterns."""
        if not isinstance(s, Match):
            return frozenset()
        found = (q for c in s.clauses for q in pattern_parts(c.lhs) if isinstance(q, PatternVar))
        return frozenset(q.var for q in found if q.var in self.records)

    def note(self, s: Expr, opened: Mapping[Var, tuple[Var, ...]]) -> None:
        """Note that a match reads fields that are variables."""
        v = opened_by(s, self.is_record)
        if v is not None and v in opened and isinstance(s, Match):
            self.inside.add(s)
            for q, x in zip(s.clauses[0].lhs.children, opened[v], strict=True):
                if isinstance(q, PatternVar):
                    self.renamed[q.var] = x

    def fields(self, v: Var) -> tuple[Var, ...]:
        """New variables for the fields of a record."""
        t = v.type_annotation
        types, _ = self.cell(self.constructors[v], t.args if isinstance(t, TypeCall) else ())
        return tuple([Var(f"{v.name_hint}_{i}", u, span=v.span) for i, u in enumerate(types)])

    def built(self) -> Expr:
        """The body of the function."""
        new: dict[Expr, Expr] = {}
        for e in post_order(self.fn.body):
            new[e] = self.rebuilt(e, tuple([new[c] for c in e.children]))
        return new[self.fn.body]

    def rebuilt(self, e: Expr, children: tuple[Expr, ...]) -> Expr:
        """An expression whose parts are done."""
        if isinstance(e, Var):
            return self.renamed.get(e, e)
        if e in self.inside:
            return children[-1]
        made = e if children == e.children else e.rebuild(children)
        if isinstance(made, Let) and isinstance(made.value, Let):
            made = spliced(made.value, made.var, made.body)
        for v, fields in reversed(self.begins.get(e, ())):
            lhs = PatternConstructor(self.constructors[v], tuple([PatternVar(x) for x in fields]))
            made = Match(self.renamed.get(v, v), (Clause(lhs, made),), span=v.span)
        return made


def pattern_parts(root: Any) -> Iterator[Any]:
    """A pattern and those inside of it."""
    pending = [root]
    while pending:
        p = pending.pop()
        yield p
        pending += p.children


def spliced(block: Expr, var: Var, body: Expr) -> Expr:
    """A block, whose value a variable has in what follows."""
    chain: list[Let] = []
    while isinstance(block, Let):
        chain.append(block)
        block = block.body
    made: Expr = Let(var, block, body, span=var.span)
    for s in reversed(chain):
        made = replace(s, body=made)
    return made
