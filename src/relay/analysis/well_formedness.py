"""Whether a program is one: each variable bound once, around all its uses; names that exist; no leftovers."""

from collections.abc import Iterator

from relay.analysis.kinds import annotations, check_kind, free_type_vars
from relay.diagnostic import Diagnostic, RelayError, Report, did_you_mean
from relay.ir.dtype import to_numpy
from relay.ir.expr import (
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Let,
    LetRec,
    Match,
    Pattern,
    TempExpr,
    TupleGetItem,
    Var,
)
from relay.ir.module import IRModule
from relay.ir.pattern import PatternConstructor, PatternOr, pattern_nodes, pattern_vars
from relay.ir.scope import Scope, common
from relay.ir.type import HAS_VAR, Type, TypeVar
from relay.ir.vars import binders
from relay.ir.walk import post_order

CODE = "ill-formed"


def well_formed(expr: Expr | IRModule) -> bool:
    """Whether a module, or an expression (which may be open), is well-formed; `faults` says why not."""
    return not faults(expr)


def assert_well_formed(expr: Expr | IRModule) -> None:
    """Raise a `RelayError` of all faults, if there are any (`ill-formed`, `kind-mismatch`, …)."""
    found = faults(expr)
    if found:
        raise RelayError(found)


def faults(program: Expr | IRModule) -> list[Diagnostic]:
    """The faults of an expression or a module; empty if it is well-formed."""
    report = Report()
    if isinstance(program, IRModule):
        _check_types(program, report)
        bound: dict[Var, str] = {}
        for var, definition in program.items():
            _check_expr(definition, program, report)
            _check_once(definition, bound, var.name_hint, report)
    else:
        _check_expr(program, None, report)
        _check_once(program, {}, "the expression", report)
    return report.diagnostics


def _check_once(root: Expr, bound: dict[Var, str], where: str, report: Report) -> None:
    """Each variable is bound in one place of all definitions."""
    for e in post_order(root):
        for v in binders(e):
            if v in bound:
                report.error(
                    CODE,
                    f"`%{v.name_hint}` is bound more than once",
                    v.span,
                    label=f"first in {bound[v]}",
                    hint="make a `Var` of its own for each binding",
                )
            bound[v] = where


def _check_expr(root: Expr, mod: IRModule | None, report: Report) -> None:
    """Scopes, names, kinds, constants, leftovers."""
    checked: set[Type] = set()
    for e in post_order(root):
        _check_node(e, mod, report)
        for t in annotations(e):
            _collect(report, t, mod, e, checked)
    _check_scopes(root, mod is not None, report)


def _collect(report: Report, t: Type, mod: IRModule | None, e: Expr, checked: set[Type]) -> None:
    try:
        check_kind(t, mod, checked)
    except RelayError as error:
        report.diagnostics += [Diagnostic(d.code, d.message, d.span or e.span) for d in error.diagnostics]


def _check_types(mod: IRModule, report: Report) -> None:
    """Constructors belong to the data type that lists them, and mention its parameters alone."""
    for header, data in mod.type_definitions.items():
        for i, c in enumerate(data.constructors):
            if c.belong_to is not header or c.tag != i:
                place = f"place {i} of {header.name_hint}"
                report.error(CODE, f"constructor {c.name_hint} does not belong at {place}", c.span)
            for t in c.inputs:
                foreign = set(free_type_vars(t)) - set(data.type_vars)
                for v in sorted(foreign, key=lambda v: v.uid):
                    report.error(CODE, f"`{v.name_hint}` is not a parameter of {header.name_hint}", c.span)
                try:
                    check_kind(t, mod)
                except RelayError as error:
                    report.diagnostics += error.diagnostics


def _check_node(e: Expr, mod: IRModule | None, report: Report) -> None:
    match e:
        case TempExpr():
            report.error(CODE, f"a {type(e).__name__} of some pass was left over", e.span)
        case TupleGetItem(index=index) if index < 0:
            report.error(CODE, f"a tuple has no field {index}", e.span)
        case Constant(value=value, type=t) if t is not None and isinstance(t.dtype, str):
            if t.shape != value.shape or to_numpy(t.dtype) != value.dtype:
                holds = f"{value.dtype} of shape {value.shape}"
                report.error(CODE, f"a constant of type {t} holds {holds}", e.span)
        case GlobalVar() if mod is not None and e not in mod:
            hint = did_you_mean(e.name_hint, [v.name_hint for v in mod])
            report.error("unknown-global", f"the module has no `@{e.name_hint}`", e.span, hint=hint)
        case Constructor() if mod is not None:
            _check_constructor(e, mod, report)
        case Match():
            for clause in e.clauses:
                _check_pattern(clause.lhs, mod, report)
        case LetRec() if not all(isinstance(v, Function) for v in e.values):
            report.error(CODE, "`let rec` binds functions alone", e.span)
        case _:
            pass


def _check_constructor(c: Constructor, mod: IRModule, report: Report) -> None:
    data = mod.type_definitions.get(c.belong_to)
    if data is None or c not in data.constructors:
        name = f"`{c.name_hint}` of `{c.belong_to.name_hint}`"
        report.error("unknown-constructor", f"the module has no constructor {name}", c.span)


def _check_pattern(pattern: Pattern, mod: IRModule | None, report: Report) -> None:
    for p in pattern_nodes(pattern):
        if isinstance(p, PatternOr) and len({frozenset(pattern_vars(q)) for q in p.patterns}) > 1:
            report.error(CODE, "the alternatives of a pattern bind different variables", p.span)
        if isinstance(p, PatternConstructor):
            wanted = len(p.constructor.inputs)
            if len(p.patterns) != wanted:
                name = p.constructor.name_hint
                report.error(CODE, f"{name} has {wanted} fields, the pattern {len(p.patterns)}", p.span)
            if mod is not None:
                _check_constructor(p.constructor, mod, report)


def _opened(e: Expr, here: Scope) -> Iterator[tuple[Expr, Scope, tuple[Var | TypeVar, ...]]]:
    """The children of `e`, each with the scope it lies in and what that scope binds."""
    match e:
        case Function():
            yield e.body, Scope(here, e, 0), (*e.params, *e.type_params)
        case Let(var, value, body):
            inside = Scope(here, e, 0)
            yield value, inside if isinstance(value, Function) else here, ()
            yield body, inside, (var,)
        case LetRec():
            inside = Scope(here, e, 0)
            for child in e.children:
                yield child, inside, e.vars
        case Match():
            yield e.data, here, ()
            for i, c in enumerate(e.clauses):
                inside = Scope(here, e, i)
                yield c.rhs, inside, tuple(pattern_vars(c.lhs))
                if c.guard is not None:
                    yield c.guard, inside, ()
        case _:
            for child in e.children:
                yield child, here, ()


def _check_scopes(root: Expr, closed: bool, report: Report) -> None:
    """Each use of a variable or type parameter lies in the scope of its binder, however it is reached.

    Where several ways lead to a node, its place is the innermost scope around all of them.
    """
    where: dict[Expr, Scope] = {root: Scope(None, None, 0)}
    homes: dict[Expr | TypeVar, Scope] = {}
    mentions: list[tuple[Type, Expr, Scope]] = []
    for e in reversed(list(post_order(root))):
        here = inner = where[e]
        for child, inside, bound in _opened(e, here):
            for v in bound:  # one that is bound twice is reported elsewhere, and may be used anywhere
                homes[v] = where[root] if v in homes else inside
            inner = inside if isinstance(e, Function) else inner
            known = where.get(child)
            where[child] = inside if known is None or known is inside else common(known, inside)
        mentions += [(t, e, inner) for t in annotations(e) if t.flags & HAS_VAR]
    for e, scope in where.items():
        if isinstance(e, Var) and (home := homes.get(e)) is not None and common(scope, home) is not home:
            report.error(
                CODE,
                f"`%{e.name_hint}` is used where it is not bound",
                e.span,
                hint="it is in scope in the body of its `let`, function or clause alone",
            )
        elif isinstance(e, Var) and e not in homes and closed:
            report.error(CODE, f"nothing binds `%{e.name_hint}`", e.span)
    free: dict[Type, list[TypeVar]] = {}
    for t, e, scope in mentions:
        for v in free.get(t) or free.setdefault(t, free_type_vars(t)):
            home = homes.get(v)
            if (home is None and closed) or (home is not None and common(scope, home) is not home):
                report.error(CODE, f"type parameter `{v.name_hint}` is used where it is not bound", e.span)
