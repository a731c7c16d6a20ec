"""Fields of records by name: what a subscript `.w` is when the type of its operand is known."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from relay.diagnostic import Span
from relay.ir.expr import Call, Clause, Constructor, Expr, Match, Pattern, Var
from relay.ir.module import IRModule, TypeData
from relay.ir.pattern import PatternConstructor, PatternVar, PatternWildcard
from relay.ir.subst import substitute_type
from relay.ir.type import GlobalTypeVar, Type, TypeCall


def field_name(items: Sequence[Any]) -> str:
    """The name in the one item `.w`; the empty text for other items."""
    first = items[0] if len(items) == 1 else None
    return first[1:] if isinstance(first, str) and first[:1] == "." and first != "..." else ""


def quoted(names: Sequence[str]) -> str:
    """Names in a sentence: "`a`, `b` and `c`"."""
    marked = [f"`{name}`" for name in names]
    return " and ".join([m for m in (", ".join(marked[:-1]), marked[-1]) if m])


def record_of(data: TypeData) -> Constructor | None:
    """The constructor of a record: the only one of its data type, with names for its fields."""
    c = data.constructors[0] if len(data.constructors) == 1 else None
    return c if c is not None and c.field_names else None


class Opened(NamedTuple):
    """A data type of one constructor: that, the types of the fields, the type arguments."""

    constructor: Constructor
    fields: list[Any]
    args: tuple[Any, ...]


def opened(t: Type, mod: IRModule) -> Opened:
    """A type of which inference has found that it is that of a data type of one constructor."""
    assert isinstance(t, TypeCall)
    assert isinstance(t.func, GlobalTypeVar)
    data = mod.type_definitions[t.func]
    (c,) = data.constructors
    by = dict(zip(data.type_vars, t.args, strict=True))
    return Opened(c, [substitute_type(i, by) for i in c.inputs], t.args)


def field_of_record(record: Expr, t: Opened, name: str, span: Span | None) -> Match:
    """The `match` that a field of a record is."""
    return taken(record, t, t.constructor.field_names.index(name), name, span)


def taken(record: Expr, t: Opened, at: int, name: str, span: Span | None) -> Match:
    """The `match` that takes one field, by the name of a variable."""
    var = Var(name, t.fields[at], span=span)
    patterns: list[Pattern] = [PatternWildcard(span=span) for _ in t.fields]
    patterns[at] = PatternVar(var, span=span)
    return _taken_apart(record, t, patterns, var, span)


def copied_record(record: Expr, t: Opened, new: Mapping[str, Expr], span: Span | None) -> Match:
    """The `match` that a copy of a record with other fields is."""
    patterns: list[Pattern] = []
    values: list[Expr] = []
    for name, of in zip(t.constructor.field_names, t.fields, strict=True):
        var = Var(name, of, span=span)
        patterns.append(PatternWildcard(span=span) if name in new else PatternVar(var, span=span))
        values.append(new.get(name, var))
    made = Call(t.constructor, tuple(values), None, t.args, span=span)
    return _taken_apart(record, t, patterns, made, span)


def _taken_apart(
    record: Expr, t: Opened, patterns: Sequence[Pattern], body: Expr, span: Span | None
) -> Match:
    lhs = PatternConstructor(t.constructor, tuple(patterns), span=span)
    return Match(record, (Clause(lhs, body, span=span),), span=span)
