"""Whether the clauses of a match cover every value, and which of them can be reached.

After Maranget, "Warnings for pattern matching", 2007: rows of patterns are specialised column by column.  A
state is the rows that still apply and the constructors chosen so far, written in prefix order, so that the
search is a plain stack and a witness is read off the choices.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from relay.ir.expr import Constructor, Match, Pattern, constant
from relay.ir.module import IRModule
from relay.ir.pattern import (
    PatternAs,
    PatternConstructor,
    PatternLiteral,
    PatternOr,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)

Row = tuple[Any, ...] | None
"""Patterns as a linked list `(first, rest)`, and at the end `(index,)`: the clause the row is of."""
Fields = list[tuple[Sequence[Pattern], Any]]
"""Of each row the patterns of fields, none if all match anything, and the rest."""
MOST_STATES = 100_000


@dataclass(frozen=True, slots=True)
class Coverage:
    """Patterns of values that no clause matches, and the clauses that no value reaches.

    `is_certain` is False where the search was given up, so that there may be more of both.
    """

    missing: list[Pattern]
    unreachable: list[int]
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class Literal:
    """The value of a literal, as the head of a row."""

    value: Any


def unmatched_cases(match: Match, mod: IRModule) -> list[Pattern]:
    """Patterns for the values that no clause of `match` matches; empty if the match is complete."""
    return coverage(match, mod).missing


def coverage(match: Match, mod: IRModule, limit: int = 64) -> Coverage:
    """The coverage of a match, whose clauses with guards may fail for any value."""
    guarded = {i for i, c in enumerate(match.clauses) if c.guard is not None}
    return analyse([c.lhs for c in match.clauses], mod, limit, guarded)


def analyse(
    patterns: Sequence[Pattern], mod: IRModule, limit: int = 64, guarded: Container[int] = ()
) -> Coverage:
    """Which values no pattern matches (at most `limit` shown) and which patterns nothing reaches.

    A `guarded` pattern leaves the values that it matches to those after it.
    """
    rows = [(p, (i,)) for i, p in enumerate(patterns)]
    reached: set[int] = set()
    missing: list[Pattern] = []
    stack: list[tuple[list[Any], int, Any]] = [(rows, 1, None)]
    states = 0
    while stack:
        rows, width, chosen = stack.pop()
        states += 1
        if states > MOST_STATES:  # the search is exponential in the worst case: give the benefit of the doubt
            return Coverage(missing, [], is_certain=False)
        start = 0
        while start < len(rows) and not _may_fail(rows[start], width):
            index = _index(rows[start], width)
            reached.add(index)
            if index not in guarded:
                break
            start += 1
        if start == len(rows):
            if len(missing) < limit:
                missing.append(_witness(chosen, width))
        elif _may_fail(rows[start], width):
            stack += reversed(_split(rows[start:], width, chosen, mod))
    return Coverage(missing, [i for i in range(len(patterns)) if i not in reached])


def _index(row: Any, width: int) -> int:
    for _ in range(width):
        row = row[1]
    return row[0]


def _may_fail(row: Any, width: int) -> bool:
    """Whether some value may not match a row; alternatives are looked at when their column is split."""
    for _ in range(width):
        p, row = row
        while isinstance(p, PatternAs):
            p = p.pattern
        if not isinstance(p, PatternVar | PatternWildcard):
            return True
    return False


def _split(rows: list[Any], width: int, chosen: Any, mod: IRModule) -> list[tuple[list[Any], int, Any]]:
    """The states that the first column splits into, one for each constructor or literal."""
    rows = _plain(rows)
    heads: dict[Any, int] = {}
    for p, _ in rows:
        if isinstance(p, PatternConstructor):
            heads[p.constructor] = len(p.constructor.inputs)
        elif isinstance(p, PatternTuple):
            heads[TUPLE] = len(p.patterns)
        elif isinstance(p, PatternLiteral):
            heads[Literal(p.value.value.item())] = 0
    if not heads:
        return [(list({id(rest): rest for _, rest in rows}.values()), width - 1, ("_", 0, chosen))]
    every, is_whole = _siblings(heads, mod)
    below, others = _by_head(rows, heads)
    states: list[tuple[list[Any], int, Any]] = []
    seen: set[tuple[int, ...]] = set()
    for c, arity in every.items():
        found = below.get(c, others)
        if any(fields for fields, _ in found):
            rows = [_before(fields or [_WILD] * arity, rest) for fields, rest in found]
            states.append((rows, width - 1 + arity, (c, arity, chosen)))
            continue
        wild: Any = (c, arity, chosen)
        for _ in range(arity):
            wild = ("_", 0, wild)
        _add_once(states, seen, found, width - 1, wild)
    if not is_whole:
        _add_once(states, seen, others, width - 1, ("_", 0, chosen))
    return states


def _add_once(
    states: list[tuple[list[Any], int, Any]], seen: set[tuple[int, ...]], found: Fields, width: int, wild: Any
) -> None:
    """A state of rows whose first column is done, unless another value of that column has led to the same.

    So alternatives in several columns do not multiply.
    """
    rows = list({id(rest): rest for _, rest in found}.values())
    key = tuple(map(id, rows))
    if key not in seen:
        seen.add(key)
        states.append((rows, width, wild))


TUPLE = "tuple"
"""The head of a tuple pattern."""


def _plain(rows: list[Any]) -> list[Any]:
    """The rows with alternatives of the first column in rows of their own."""
    if not any(isinstance(p, PatternAs | PatternOr) for p, _ in rows):
        return rows
    out: list[Any] = []
    stack = rows[::-1]
    while stack:
        p, rest = stack.pop()
        if isinstance(p, PatternAs | PatternOr):
            stack += [(q, rest) for q in reversed(p.children)]
        else:
            out.append((p, rest))
    return out


def _siblings(heads: dict[Any, int], mod: IRModule) -> tuple[dict[Any, int], bool]:
    """Every constructor of the column's data type, or literal, with its number of fields.

    Also whether these are all: there are more integers and strings than any match lists.
    """
    some = next(iter(heads))
    if isinstance(some, Literal):
        is_bool = isinstance(some.value, bool)
        return ({Literal(True): 0, Literal(False): 0}, True) if is_bool else (heads, False)
    if not isinstance(some, Constructor):
        return heads, True
    data = mod.type_definitions.get(some.belong_to)
    return heads if data is None else {c: len(c.inputs) for c in data.constructors}, True


def _by_head(rows: list[Any], heads: dict[Any, int]) -> tuple[dict[Any, Fields], Fields]:
    """For each head the rows that such a value can match, and the rows for any other."""
    below: dict[Any, Fields] = {c: [] for c in heads}
    others: Fields = []
    for p, rest in rows:
        match p:
            case PatternConstructor(constructor=c):
                below[c].append((_fields(p), rest))
            case PatternTuple():
                below[TUPLE].append((_fields(p), rest))
            case PatternLiteral():
                below[Literal(p.value.value.item())].append(((), rest))
            case _:
                others.append(((), rest))
                for c in heads:
                    below[c].append(((), rest))
    return below, others


def _fields(p: PatternConstructor | PatternTuple) -> Sequence[Pattern]:
    """The patterns of the fields, or none if they all match anything."""
    return p.patterns if any(not isinstance(q, PatternVar | PatternWildcard) for q in p.patterns) else ()


def _before(fields: Sequence[Pattern], rest: Any) -> Any:
    """The row of the patterns of some fields and then the rest."""
    for p in reversed(fields):
        rest = (p, rest)
    return rest


_WILD = PatternWildcard(span=None)


def _witness(chosen: Any, width: int) -> Pattern:
    """The pattern that the choices so far spell in prefix order; columns not looked at are wildcards."""
    built: list[Pattern] = [_WILD] * width
    while chosen is not None:
        c, arity, chosen = chosen
        fields = tuple([built.pop() for _ in range(arity)])
        if c == "_":
            built.append(_WILD)
        elif c == TUPLE:
            built.append(PatternTuple(fields, span=None))
        elif isinstance(c, Literal):
            built.append(PatternLiteral(constant(c.value), span=None))
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
            case PatternConstructor(constructor=c, patterns=fields) if c.field_names:
                stack += reversed(_named(c, fields))
            case PatternConstructor(constructor=c, patterns=fields):
                out.append(c.name)
                stack += reversed(_listed(fields)) if fields else ()
            case PatternTuple(patterns=fields):
                stack += reversed(_listed(fields, "," if len(fields) == 1 else ""))
            case PatternLiteral(value=value):
                out.append(str(value))
            case PatternOr(patterns=several):
                stack += reversed([x for q in several for x in (" | ", q)][1:])
            case PatternAs(pattern=inner, var=var):
                stack += (f" as %{var.name}", inner)
            case _:
                out.append("_")
    text = "".join(out)
    return text if len(text) < 400 else f"{text[:400]}…"


def _listed(fields: Sequence[Pattern], end: str = "") -> list[Any]:
    parts: list[Any] = ["("]
    for i, f in enumerate(fields):
        parts += [", ", f] if i else [f]
    return [*parts, f"{end})"]


def _named(c: Constructor, fields: Sequence[Pattern]) -> list[Any]:
    """The pieces of a pattern for a record: `..` for the fields that do not matter."""
    parts: list[Any] = []
    for name, f in zip(c.field_names, fields, strict=True):
        if not isinstance(f, PatternWildcard):
            parts += [", " if parts else "", f"{name}: ", f]
    rest = "" if len(parts) == 3 * len(fields) else ", .." if parts else ".."
    return [f"{c.name} {{ ", *parts, rest, " }"]
