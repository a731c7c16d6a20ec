"""Fields of records by name: what a subscript `.w` is when the type of its operand is known."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from relay.diagnostic import Span
from relay.ir.alias import expanded
from relay.ir.expr import Call, Clause, Constructor, Expr, Match, Pattern, TupleGetItem, Var
from relay.ir.module import IRModule, TypeData
from relay.ir.pattern import PatternConstructor, PatternVar, PatternWildcard
from relay.ir.subst import substitute_type
from relay.ir.type import GlobalTypeVar, TupleType, Type, TypeCall
from relay.ir.type_base import HAS_ERROR, HAS_INCOMPLETE


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
    """A data type by one of its constructors: that, the types of the fields, the type arguments."""

    constructor: Constructor
    fields: list[Any]
    args: tuple[Any, ...]


def alternatives(t: Type, mod: IRModule) -> list[Opened]:
    """The constructors of a type of which inference has found that it is that of a data type."""
    assert isinstance(t, TypeCall)
    assert isinstance(t.func, GlobalTypeVar)
    data = mod.type_definitions[t.func]
    by = dict(zip(data.type_vars, t.args, strict=True))
    return [Opened(c, [substitute_type(i, by) for i in c.inputs], t.args) for c in data.constructors]


def opened(t: Type, mod: IRModule) -> Opened:
    """The one constructor of such a type."""
    (found,) = alternatives(t, mod)
    return found


def annotated_record(e: Expr, mod: IRModule) -> Opened | None:
    """The record that an expression is by its types in the text alone, which are those of variables and of
    constructors: of a variable, a field of a tuple or a record, a record that is made or copied.

    None where they do not say it.
    """
    places: list[int] = []
    while type(e) is TupleGetItem:
        places.append(e.index)
        e = e.tuple_value
    if type(e) is Match and len(e.clauses) == 1:
        e = e.clauses[0].rhs
    t = expanded(e.type_annotation) if type(e) is Var else None
    for i in reversed(places):
        t = t.fields[i] if type(t) is TupleType and i < len(t.fields) else None
    if type(e) is Call and type(e.op) is Constructor and not places:
        t = TypeCall(e.op.belong_to, e.written_type_args)
    if type(t) is not TypeCall or t.flags & (HAS_INCOMPLETE | HAS_ERROR):
        return None
    data = mod.type_definitions.get(t.func) if type(t.func) is GlobalTypeVar else None
    if data is None or record_of(data) is None or len(data.type_vars) != len(t.args):
        return None
    return opened(t, mod)


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


def taken_field(e: Match, mod: IRModule) -> str:
    """The field of an `annotated_record` that a `match` is, as `field_of_record` makes it; the empty text if
    it is something else.
    """
    var = e.clauses[0].rhs if e.clauses else None
    t = _record_taken_apart(e, mod) if type(var) is Var else None
    kept = {} if t is None else _variables_of_fields(e, t)
    return next(iter(kept)) if [*kept.values()] == [var] else ""


def changed_field(e: Match, mod: IRModule) -> str:
    """The field that a `match` copies an `annotated_record` with another value of, as `copied_record` makes
    it; the empty text if it is something else.  What is kept must be mentioned nowhere in the new value.
    """
    made = e.clauses[0].rhs if e.clauses else None
    if type(made) is not Call or type(made.op) is not Constructor or made.attrs:
        return ""
    t = _record_taken_apart(e, mod)
    if (
        t is None
        or made.op != t.constructor
        or made.written_type_args != t.args
        or len(made.args) != len(t.fields)
    ):
        return ""
    kept = _variables_of_fields(e, t)
    names = t.constructor.field_names
    new = [name for name, a in zip(names, made.args, strict=True) if kept.get(name) is not a]
    return new[0] if len(new) == 1 and len(kept) == len(names) - 1 and new[0] not in kept else ""


def _record_taken_apart(e: Match, mod: IRModule) -> Opened | None:
    """The `annotated_record` that the one clause of a `match` takes apart."""
    lhs = e.clauses[0].lhs
    if type(lhs) is not PatternConstructor or not lhs.constructor.field_names or not e.complete:
        return None
    t = annotated_record(e.data, mod) if len(e.clauses) == 1 and e.clauses[0].guard is None else None
    fits = t is not None and t.constructor == lhs.constructor and len(lhs.patterns) == len(t.fields)
    return t if fits else None


def _variables_of_fields(e: Match, t: Opened) -> dict[str, Var]:
    """The variables of the fields of a record that a `match` binds; none if a pattern takes one apart."""
    lhs: Any = e.clauses[0].lhs
    kept: dict[str, Var] = {}
    for name, p, of in zip(t.constructor.field_names, lhs.patterns, t.fields, strict=True):
        if type(p) is PatternVar and p.var.type_annotation is of:
            kept[name] = p.var
        elif type(p) is not PatternWildcard:
            return {}
    return kept


def _taken_apart(
    record: Expr, t: Opened, patterns: Sequence[Pattern], body: Expr, span: Span | None
) -> Match:
    lhs = PatternConstructor(t.constructor, tuple(patterns), span=span)
    return Match(record, (Clause(lhs, body, span=span),), span=span)
