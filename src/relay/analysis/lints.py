"""Programs that are right but probably not meant so."""

from relay.analysis.effects import Effect, Effects
from relay.analysis.normal_form import shared_across_scopes
from relay.diagnostic import Diagnostic, Span
from relay.ir.expr import Call, Function
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.op.base import NativeRule, Operator


def lint(mod: IRModule) -> list[Diagnostic]:
    """Warnings (`shared-effect`) and notes (`python-operator`, once for each operator) about a module."""
    effects = Effects(mod)
    shared = [e for definition in mod.functions.values() for e in shared_across_scopes(definition)]
    found = [
        _shared_effect(e.span)
        for e in shared
        if not isinstance(e, Function) and effects.of(e) is not Effect.NONE
    ]
    calls = [e for definition in mod.functions.values() for e in post_order(definition) if type(e) is Call]
    first = {e.op: e for e in reversed(calls) if has_reference_alone(e.attrs)}
    return found + [_python_operator(e.attrs.name, e.span) for e in reversed(first.values())]


def has_reference_alone(op: object) -> bool:
    """Whether an operator has no native code, so that compiled programs call its reference."""
    return isinstance(op, Operator) and op.native_rule is NativeRule.REFERENCE


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
