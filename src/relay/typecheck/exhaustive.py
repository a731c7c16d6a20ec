"""Whether the clauses of a match cover every value, and which of them can be reached.

After Maranget, "Warnings for pattern matching", 2007: rows of patterns are specialised column by column.  A
state is the rows that still apply and the constructors chosen so far, written in prefix order, so that the
search is a plain stack and a witness is read off the choices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relay.ir.expr import Constructor, Match, Pattern
from relay.ir.module import IRModule
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar, PatternWildcard

Row = tuple[Any, ...] | None
"""Patterns as a linked list `(first, rest)`, and at the end `(index,)`: the clause the row is of."""
MOST_STATES = 100_000


@dataclass(frozen=True, slots=True)
class Coverage:
    """Patterns of values that no clause matches, and the clauses that no value reaches."""

    missing: list[Pattern]
    unreachable: list[int]


def unmatched_cases(match: Match, mod: IRModule) -> list[Pattern]:
    """Patterns for the values that no clause of `match` matches; empty if the match is complete."""
    return analyse([c.lhs for c in match.clauses], mod).missing


def analyse(patterns: Sequence[Pattern], mod: IRModule, limit: int = 64) -> Coverage:
    """Which values no pattern matches (at most `limit` shown) and which patterns nothing reaches."""
    rows = [(p, (i,)) for i, p in enumerate(patterns)]
    reached: set[int] = set()
    missing: list[Pattern] = []
    stack: list[tuple[list[Any], int, Any]] = [(rows, 1, None)]
    states = 0
    while stack:
        rows, width, chosen = stack.pop()
        states += 1
        if states > MOST_STATES:  # the search is exponential in the worst case: give the benefit of the doubt
            return Coverage(missing, [])
        if not rows:
            if len(missing) < limit:
                missing.append(_witness(chosen, width))
            continue
        first = _refuted(rows[0], width)
        if first is None:
            reached.add(_index(rows[0], width))
            continue
        stack += reversed(_split(rows, width, chosen, mod))
    return Coverage(missing, [i for i in range(len(patterns)) if i not in reached])


def _index(row: Any, width: int) -> int:
    for _ in range(width):
        row = row[1]
    return row[0]


def _refuted(row: Any, width: int) -> Pattern | None:
    """The first pattern of a row that some value does not match."""
    for _ in range(width):
        p, row = row
        if isinstance(p, PatternConstructor | PatternTuple):
            return p
    return None


def _split(rows: list[Any], width: int, chosen: Any, mod: IRModule) -> list[tuple[list[Any], int, Any]]:
    """The states that the first column splits into, one per constructor."""
    heads: dict[Any, int] = {}
    for p, _ in rows:
        if isinstance(p, PatternConstructor):
            heads[p.constructor] = len(p.constructor.inputs)
        elif isinstance(p, PatternTuple):
            heads["tuple"] = len(p.patterns)
    if not heads:
        return [([rest for _, rest in rows], width - 1, ("_", 0, chosen))]
    every = _siblings(heads, mod)
    states: list[tuple[list[Any], int, Any]] = []
    rest_rows = [rest for p, rest in rows if not isinstance(p, PatternConstructor | PatternTuple)]
    for c, arity in every.items():
        if c in heads:
            states.append((_specialised(rows, c, arity), width - 1 + arity, (c, arity, chosen)))
        else:
            wild: Any = chosen
            wild = (c, arity, wild)
            for _ in range(arity):
                wild = ("_", 0, wild)
            states.append((rest_rows, width - 1, wild))
    return states


def _siblings(heads: dict[Any, int], mod: IRModule) -> dict[Any, int]:
    """Every constructor of the column's data type with its number of fields."""
    some = next(iter(heads))
    if not isinstance(some, Constructor):
        return heads
    data = mod.type_definitions.get(some.belong_to)
    return heads if data is None else {c: len(c.inputs) for c in data.constructors}


def _specialised(rows: list[Any], c: Any, arity: int) -> list[Any]:
    """The rows that a value made by `c` can match, its fields in front."""
    out: list[Any] = []
    for p, rest in rows:
        if isinstance(p, PatternConstructor | PatternTuple):
            if c != (p.constructor if isinstance(p, PatternConstructor) else "tuple"):
                continue
            for field in reversed(p.patterns):
                rest = (field, rest)
        else:
            for _ in range(arity):
                rest = (_WILD, rest)
        out.append(rest)
    return out


_WILD = PatternWildcard(span=None)


def _witness(chosen: Any, width: int) -> Pattern:
    """The pattern that the choices so far spell in prefix order; columns not looked at are wildcards."""
    built: list[Pattern] = [_WILD] * width
    while chosen is not None:
        c, arity, chosen = chosen
        fields = tuple([built.pop() for _ in range(arity)])
        if c == "_":
            built.append(_WILD)
        elif c == "tuple":
            built.append(PatternTuple(fields, span=None))
        else:
            built.append(PatternConstructor(c, fields, span=None))
    (whole,) = built
    return whole


def pattern_text(root: Pattern) -> str:
    """A pattern as text."""
    out: list[str] = []
    stack: list[Any] = [root]
    while stack:
        p = stack.pop()
        match p:
            case str():
                out.append(p)
            case PatternVar(var=var):
                out.append(f"%{var.name}")
            case PatternConstructor(constructor=c, patterns=fields):
                out.append(c.name)
                stack += reversed(_listed(fields)) if fields else ()
            case PatternTuple(patterns=fields):
                stack += reversed(_listed(fields, "," if len(fields) == 1 else ""))
            case _:
                out.append("_")
    text = "".join(out)
    return text if len(text) < 400 else f"{text[:400]}…"


def _listed(fields: Sequence[Pattern], end: str = "") -> list[Any]:
    parts: list[Any] = ["("]
    for i, f in enumerate(fields):
        parts += [", ", f] if i else [f]
    return [*parts, f"{end})"]
