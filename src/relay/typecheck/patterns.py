"""The typing of patterns: they agree with the value they take apart, and bind variables to its parts."""

from typing import TYPE_CHECKING, Any

from relay.ir.dtype import FLOATS, INTEGERS
from relay.ir.expr import Expr, Match, Pattern, Var
from relay.ir.pattern import (
    PatternAs,
    PatternConstructor,
    PatternLiteral,
    PatternOr,
    PatternTuple,
    PatternVar,
    pattern_nodes,
)
from relay.ir.subst import substitute_type
from relay.ir.type import GlobalTypeVar, Kind, TensorType, TupleType, TypeCall, TypeVar
from relay.typecheck.exhaustive import coverage, pattern_text
from relay.typecheck.leaves import constant
from relay.typecheck.literals import literal_class
from relay.typecheck.lowered_match import needs_lowering
from relay.typecheck.messages import show
from relay.typecheck.unknown import ERROR, Mismatch, Unknown, head

if TYPE_CHECKING:
    from relay.typecheck.inference import Inference


def type_pattern(inf: "Inference", root: Pattern, t: Any, data: Expr) -> None:
    """Make a pattern agree with type `t` of `data`, and give its variables their types."""
    stack: list[tuple[Pattern, Any]] = [(root, t)]
    bound: set[Var] = set()
    while stack:
        p, t = stack.pop()
        match p:
            case PatternVar(var=var):
                _bind_variable(inf, var, t, bound, p)
            case PatternAs(pattern=inner, var=var):
                _bind_variable(inf, var, t, bound, p)
                stack.append((inner, t))
            case PatternOr(patterns=several):
                inf.matched[p] = t
                stack += [(q, t) for q in reversed(several)]
            case PatternLiteral():
                _type_literal(inf, p, t, data)
            case PatternConstructor():
                stack += reversed(list(zip(p.patterns, _field_types(inf, p, t, data), strict=False)))
            case PatternTuple():
                stack += reversed(list(zip(p.patterns, _tuple_fields(inf, p, t, data), strict=True)))
            case _:
                pass


def _bind_variable(inf: "Inference", var: Var, t: Any, bound: set[Var], p: Pattern) -> None:
    """Give a variable its type; all alternatives that bind it agree."""
    if var in bound:
        inf.agree(inf.vars[var], t, p, f"`%{var.name}` in another alternative", operands=())  # pyright: ignore[reportArgumentType]
        return
    bound.add(var)
    if var.type_annotation is not None:
        wanted = inf.annotation(var.type_annotation, var)
        inf.agree(wanted, t, var, f"`%{var.name}`", operands=())
        t = wanted
    inf.vars[var] = t


_INTEGERS = frozenset(INTEGERS)


def _type_literal(inf: "Inference", p: PatternLiteral, t: Any, data: Expr) -> None:
    """A literal agrees with what is matched, which is a scalar."""
    found = constant(inf, p.value)
    dtype: Any = head(found.dtype)
    what = "a string" if dtype == "string" else "a truth value" if dtype == "bool" else "an integer"
    if type(dtype) is Unknown:
        dtype.allowed = _INTEGERS & literal_class(p.value)
        is_allowed = bool(dtype.allowed)
    else:
        is_allowed = type(dtype) is TypeVar or dtype in (*INTEGERS, "bool", "string")
    if not is_allowed:
        _at(inf, "literal-kind", "a float is not a pattern", p, hint=FLOAT_HINT)
        return
    inf.cause = data
    try:
        inf.unify(found, t)
    except Mismatch as m:
        code = inf.describe(m, t, found).code
        is_float = type(t := inf.resolve(t)) is TensorType and t.shape == () and t.dtype in FLOATS
        message = f"`{p.value}` is {what}, but what is matched is {show(t)}"
        _at(inf, code, message, p, hint=FLOAT_HINT if is_float else "", operands=(data,))


FLOAT_HINT = "floats are compared by a guard: `%x if (%x == 0.5) => …`"


def _constructors_hint(inf: "Inference", t: Any) -> str:
    """What patterns for a type are like."""
    t = inf.resolve(t)
    if isinstance(t, TensorType | TupleType):
        return "a tuple is matched by `(%a, %b)`" if isinstance(t, TupleType) else "match it with `_` or `%x`"
    data = t.func if isinstance(t, TypeCall) else None
    decl = inf.mod.type_definitions.get(data) if isinstance(data, GlobalTypeVar) else None
    names = [f"`{c.name}`" for c in decl.constructors] if decl is not None else []
    shown = [*names[:6], "…"] if len(names) > 6 else names
    return f"the constructors of `{show(data)}` are {', '.join(shown)}" if shown else ""


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
            hint=_constructors_hint(inf, t),
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
    found = coverage(e, inf.mod, limit=4)
    if found.missing and e.complete:
        shown = [f"`{pattern_text(p)}`" for p in found.missing]
        if shown == ["`_`"]:
            shown = ["any other value"]
        more = "" if len(shown) < 4 else ", …"
        inf.diagnose(
            "missing-case",
            f"this match does not cover {', '.join(shown[:3])}{more}",
            e,
            hint="add a clause for it, or `_ => …`; write `match?` if it cannot happen",
        )
    elif needs_lowering(e) and not (e.complete and found.is_certain):
        _check_last(inf, e)
    for i in found.unreachable:
        clause = e.clauses[i]
        inf.report.warn(
            "unreachable-case",
            f"this clause is never reached: the ones before it match all that "
            f"`{pattern_text(clause.lhs)}` does",
            clause.lhs.span or clause.span,
            hint="remove it, or move it up",
        )


def _check_last(inf: "Inference", e: Match) -> None:
    """Report a literal or guard in the last clause of a partial match: without one it fails by itself."""
    last = e.clauses[-1]
    if last.guard is None and not any(isinstance(p, PatternLiteral) for p in pattern_nodes(last.lhs)):
        return
    what = "guard" if last.guard is not None else "literal"
    _at(
        inf,
        "missing-case",
        f"the last clause of this match has a {what}, and values that fail it have none",
        last.lhs,
        hint="add `_ => …` for them",
    )
