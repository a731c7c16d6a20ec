"""The typing of patterns: they agree with the value they take apart, and bind variables to its parts."""

from typing import TYPE_CHECKING, Any

from relay.ir.expr import Expr, Match, Pattern
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar
from relay.ir.subst import substitute_type
from relay.ir.type import Kind, TupleType, TypeCall
from relay.typecheck.exhaustive import analyse, pattern_text
from relay.typecheck.messages import show
from relay.typecheck.unknown import ERROR, Mismatch, Unknown, head

if TYPE_CHECKING:
    from relay.typecheck.inference import Inference


def type_pattern(inf: "Inference", root: Pattern, t: Any, data: Expr) -> None:
    """Make a pattern agree with type `t` of `data`, and give its variables their types."""
    stack: list[tuple[Pattern, Any]] = [(root, t)]
    while stack:
        p, t = stack.pop()
        match p:
            case PatternVar(var=var):
                if var.type_annotation is not None:
                    wanted = inf.annotation(var.type_annotation, var)
                    inf.agree(wanted, t, var, f"`%{var.name}`", operands=())
                    t = wanted
                inf.vars[var] = t
            case PatternConstructor():
                stack += reversed(list(zip(p.patterns, _field_types(inf, p, t, data), strict=False)))
            case PatternTuple():
                stack += reversed(list(zip(p.patterns, _tuple_fields(inf, p, t, data), strict=True)))
            case _:
                pass


def _field_types(inf: "Inference", p: PatternConstructor, t: Any, data: Expr) -> list[Any]:
    """The types of a constructor's fields where its data type has type `t`."""
    c = p.constructor
    wrong = [ERROR] * len(p.patterns)
    decl = inf.mod.type_definitions.get(c.belong_to)
    if decl is None:
        _at(
            inf,
            "unknown-type",
            f"the module has no type `{c.belong_to.name}`, which `{c.name}` belongs to",
            p,
        )
        return wrong
    if len(p.patterns) != len(c.inputs):
        _at(
            inf,
            "arity",
            f"`{c.name}` has {len(c.inputs)} fields, the pattern {len(p.patterns)}",
            p,
            hint=f"write `{c.name}({', '.join('_' * len(c.inputs))})`" if c.inputs else f"write `{c.name}`",
        )
        return wrong
    by = {v: Unknown(v.kind, inf.level) for v in decl.type_vars}
    inf.cause = data
    try:
        inf.unify(TypeCall(decl.header, tuple(by.values())), t)
    except Mismatch as m:
        f = inf.describe(m, t, TypeCall(decl.header, tuple(by.values())))
        _at(
            inf,
            f.code,
            f"`{c.name}` belongs to `{decl.header.name}`, but what is matched is {show(t)}",
            p,
            operands=(data,),
        )
        return wrong
    return [substitute_type(i, by) for i in c.inputs]


def _tuple_fields(inf: "Inference", p: PatternTuple, t: Any, data: Expr) -> list[Any]:
    t = head(t)
    n = len(p.patterns)
    if type(t) is TupleType and len(t.fields) == n:
        return list(t.fields)
    if type(t) is Unknown:
        made = TupleType([Unknown(Kind.Type, inf.level) for _ in range(n)])
        inf.cause = data
        inf.bind(t, made)
        return list(made.fields)
    if t is not ERROR:
        if type(t) is TupleType:
            _at(inf, "arity", f"the pattern has {n} fields, the tuple {len(t.fields)}", p, operands=(data,))
        else:
            _at(
                inf,
                "expected-tuple",
                f"a tuple pattern, but what is matched is {show(t)}",
                p,
                operands=(data,),
            )
    return [ERROR] * n


def _at(inf: "Inference", code: str, message: str, p: Pattern, hint: str = "", operands: Any = ()) -> None:
    inf.diagnose(code, message, p, hint=hint, operands=operands)  # pyright: ignore[reportArgumentType]


def check_clauses(inf: "Inference", e: Match) -> None:
    """Report a missing case (an error unless `match?`) and clauses that cannot be reached (a warning)."""
    found = analyse([c.lhs for c in e.clauses], inf.mod, limit=4)
    if found.missing and e.complete:
        shown = [f"`{pattern_text(p)}`" for p in found.missing]
        more = "" if len(shown) < 4 else ", …"
        inf.diagnose(
            "missing-case",
            f"this match does not cover {', '.join(shown[:3])}{more}",
            e,
            hint="add a clause for it, or `_ => …`; write `match?` if it cannot happen",
        )
    for i in found.unreachable:
        clause = e.clauses[i]
        inf.report.warn(
            "unreachable-case",
            f"this clause is never reached: the ones before it match all that "
            f"`{pattern_text(clause.lhs)}` does",
            clause.lhs.span or clause.span,
            hint="remove it, or move it up",
        )
