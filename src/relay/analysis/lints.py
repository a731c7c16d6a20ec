"""Programs that are right but probably not meant so."""

from relay.analysis.effects import Effect, Effects
from relay.analysis.normal_form import shared_across_scopes
from relay.diagnostic import Diagnostic, Span
from relay.ir.expr import Function
from relay.ir.module import IRModule


def lint(mod: IRModule) -> list[Diagnostic]:
    """Warnings about a module: `shared-effect`."""
    effects = Effects(mod)
    shared = [e for definition in mod.functions.values() for e in shared_across_scopes(definition)]
    return [
        _shared_effect(e.span)
        for e in shared
        if not isinstance(e, Function) and effects.of(e) is not Effect.NONE
    ]


def _shared_effect(span: Span | None) -> Diagnostic:
    return Diagnostic(
        "shared-effect",
        "an expression that reads or writes a reference is shared by several branches or functions",
        span, "it runs once, before the first construct that uses it",
        hint="bind it with `let` where it should run", severity="warning",
    )  # fmt: skip
