"""Fields of tuples are taken where the tuple begins, so that each is a variable that ends by itself.

    let %a = f(%t.0); let %b = f(%t.1); …   =>   let %x = %t.0; let %y = %t.1; let %a = f(%x); …

A tuple is the row of its fields: as long as it is there, it has each of them, and nothing can be written in
their place.
"""

from collections.abc import Iterator

from relay.ir.expr import Clause, Expr, Function, Let, Match, TupleGetItem, Var, replace
from relay.ir.pattern import pattern_vars
from relay.ir.type import TensorType, TupleType
from relay.ir.walk import post_order, rewrite

Fields = dict[Var, dict[int, Var]]
"""For each tuple, the variables that its fields become."""


def fields_first(fn: Function) -> Function:
    """A function in A-normal form that takes the fields of its tuples where these begin."""
    fields, renamed = fields_in(fn)
    if not fields:
        return fn

    def rule(e: Expr) -> Expr | None:
        match e:
            case Let(var, _, body) if var in renamed:
                return body
            case Let(var, _, body) if var in fields:
                return replace(e, body=taken(var, fields, body))
            case Var() if e in renamed:
                return renamed[e]
            case TupleGetItem(Var() as t, i) if i in fields.get(t, ()):
                return fields[t][i]
            case Match():
                return replace(e, clauses=tuple([clause_with(c, fields) for c in e.clauses]))
            case _:
                return None

    body = rewrite(fn.body, rule)
    for p in reversed(fn.params):
        if p in fields:
            body = taken(p, fields, body)
    return replace(fn, body=body)


def fields_in(fn: Function) -> tuple[Fields, dict[Var, Var]]:
    """The fields of tuples with objects that are taken anywhere, and which variable is another's by that."""
    fields: Fields = {}
    renamed: dict[Var, Var] = {}
    for e in chains(fn.body):
        if isinstance(e.value, TupleGetItem) and isinstance(e.value.tuple_value, Var):
            v, i = e.value.tuple_value, e.value.index
            t = v.type_annotation
            if not isinstance(t, TupleType) or e.var.type_annotation is not t.fields[i] or not has_objects(t):
                continue
            own = fields.setdefault(renamed.get(v, v), {}).setdefault(i, e.var)
            renamed[e.var] = own
    return fields, renamed


def chains(root: Expr) -> Iterator[Let]:
    """The `let`s of an expression, outer ones first."""
    return (e for e in reversed(list(post_order(root))) if isinstance(e, Let))


def has_objects(t: TupleType) -> bool:
    """Whether not all fields are numbers."""
    return not all(isinstance(f, TensorType) and f.shape == () for f in t.fields)


def taken(t: Var, fields: Fields, body: Expr) -> Expr:
    """A block that begins with the fields of a tuple, and with the fields of these."""
    found: list[tuple[Var, Expr]] = []
    pending = [t]
    while pending:
        v = pending.pop()
        for i, x in fields.get(v, {}).items():
            found.append((x, TupleGetItem(v, i, span=x.span)))
            pending.append(x)
    for x, value in reversed(found):
        body = Let(x, value, body, span=x.span)
    return body


def clause_with(c: Clause, fields: Fields) -> Clause:
    """A clause whose block begins with the fields of the variables of its pattern."""
    body = c.rhs
    for v in reversed(pattern_vars(c.lhs)):
        if v in fields:
            body = taken(v, fields, body)
    return c if body is c.rhs else replace(c, rhs=body)
