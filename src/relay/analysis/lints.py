"""Programs that are right but probably not meant so."""

from collections.abc import Iterator

from relay.analysis.effects import Effect, Effects
from relay.analysis.normal_form import shared_across_scopes
from relay.diagnostic import Diagnostic, Span
from relay.ir.expr import Call, Expr, Function, GlobalVar, Grad, Let, VMap
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.op.base import Operator
from relay.op.batching_table import BY_ROWS
from relay.op.kind import NativeRule
from relay.op.nn.dropout import Dropout


def lint(mod: IRModule) -> list[Diagnostic]:
    """Warnings (`shared-effect`, `identity-dropout`) and notes (`python-operator` and `row-by-row`, once for
    each operator) about a module.
    """
    effects = Effects(mod)
    shared = [e for definition in mod.functions.values() for e in shared_across_scopes(definition)]
    found = [
        _shared_effect(e.span)
        for e in shared
        if not isinstance(e, Function) and effects.of(e) is not Effect.NONE
    ]
    calls = [e for definition in mod.functions.values() for e in post_order(definition) if type(e) is Call]
    first = {e.op: e for e in reversed(calls) if has_reference_alone(e.attrs)}
    found += [_identity_dropout(e.span) for e in identity_dropouts(mod)]
    found += [_row_by_row(e.attrs.name, e.span) for e in row_by_row(mod)]
    return found + [_python_operator(e.attrs.name, e.span) for e in reversed(first.values())]


def has_reference_alone(op: object) -> bool:
    """Whether an operator has no native code, so that compiled programs call its reference."""
    return isinstance(op, Operator) and op.native_rule is NativeRule.REFERENCE


def identity_dropouts(mod: IRModule) -> list[Call]:
    """The calls of `nn.dropout` without a key in what is differentiated, where it was meant to drop."""
    nodes = [e for definition in mod.functions.values() for e in post_order(definition)]
    reached = _reached([e.function for e in nodes if type(e) is Grad], nodes, mod)
    return [
        e
        for e in reached
        if isinstance(e, Call) and isinstance(e.attrs, Dropout) and len(e.args) == 1 and e.attrs.rate
    ]


def row_by_row(mod: IRModule) -> list[Call]:
    """The first call of each operator that is batched, and has no rule for many rows with some operands."""
    nodes = [e for definition in mod.functions.values() for e in post_order(definition)]
    first: dict[str, Call] = {}
    for e in _reached([e.function for e in nodes if type(e) is VMap], nodes, mod):
        op = e.attrs if isinstance(e, Call) else None
        if isinstance(e, Call) and isinstance(op, Operator) and op.name in BY_ROWS and not op.impure:
            first.setdefault(op.name, e)
    return list(first.values())


def _reached(pending: list[Expr], nodes: list[Expr], mod: IRModule) -> Iterator[Expr]:
    """What functions consist of, with what is bound to the variables and names in them."""
    bound: dict[Expr, Expr] = {e.var: e.value for e in nodes if type(e) is Let} if pending else {}
    seen: set[Expr] = set()
    while pending:
        e = pending.pop()
        if e in seen:
            continue
        seen.add(e)
        yield e
        pending += e.children
        if e in bound:
            pending.append(bound[e])
        elif isinstance(e, GlobalVar) and e in mod.functions:
            pending.append(mod.functions[e])


def _row_by_row(name: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        "row-by-row",
        f"`{name}` may be computed row by row under `vmap`",
        span, BY_ROWS[name], hint="share these operands, with None in `in_axes`", severity="note",
    )  # fmt: skip


def _identity_dropout(span: Span | None) -> Diagnostic:
    return Diagnostic(
        "identity-dropout",
        "`nn.dropout` without a key drops nothing, and this program differentiates it",
        span, hint="give it a random key: `nn.dropout(%x, %key, rate=0.5).0`", severity="warning",
    )  # fmt: skip


def _python_operator(name: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        "python-operator",
        f"`{name}` has no native code: compiled programs call its reference in Python",
        span, hint="give the operator a rule `native` or `element`", severity="note",
    )  # fmt: skip


def _shared_effect(span: Span | None) -> Diagnostic:
    return Diagnostic(
        "shared-effect",
        "an expression that reads or writes a reference is shared by several branches or functions",
        span, "it runs once, before the first construct that uses it",
        hint="bind it with `let` where it should run", severity="warning",
    )  # fmt: skip
