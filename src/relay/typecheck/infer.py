"""Type inference: `infer(mod)` is the module with binders, results, type parameters and literals filled in.

Definitions are inferred group by group (strongly connected components of who mentions whom), dependencies
first and only those that are asked for.  What was found is kept in `mod.facts`, so that after an edit only
the changed definition and those whose dependencies changed their type are inferred again.
"""

from contextvars import ContextVar
from weakref import ref

from relay.diagnostic import Report
from relay.ir import hooks
from relay.ir.collector import paused
from relay.ir.expect import expect_expr
from relay.ir.expr import Expr, GlobalVar
from relay.ir.module import IRModule, expect_module
from relay.ir.type import Type
from relay.typecheck.session import Session

MAX_RECENT_MODULES = 8
recent: ContextVar[tuple["ref[IRModule]", ...]] = ContextVar("relay_recent_modules", default=())
"""The modules that this thread inferred last: where `e.checked_type` looks definitions up."""


def remember_module(mod: IRModule) -> None:
    """Let `e.checked_type` find the definitions of a module that was just inferred."""
    modules = recent.get()
    if not modules or modules[-1]() is not mod:
        others = [r for r in modules if r() is not None and r() is not mod]
        recent.set((*others[1 - MAX_RECENT_MODULES :], ref(mod)))


def infer(mod: IRModule, *, warnings: Report | None = None) -> IRModule:
    """`mod` with every type filled in; the same object if nothing is missing.

    Raises all type errors of the module together.  `warnings` receives unreachable clauses.
    """
    with paused():
        session = Session(expect_module(mod))
        session.need(mod.functions)
        session.report.check()
        if warnings is not None:
            for d in session.report.warnings:
                warnings.add(d)
        result = session.result()
        remember_module(result)
        return result


def infer_expr(e: Expr, mod: IRModule | None = None) -> Expr:
    """An expression (which may have free variables) with every type filled in, in the context of `mod`."""
    with paused():
        session = Session(IRModule() if mod is None else mod)
        found = session.expression(expect_expr(e))
        session.report.check()
        return found


def type_of_global(v: GlobalVar, mod: IRModule) -> Type:
    """The type of a definition; infers what it depends on and nothing else."""
    with paused():
        session = Session(mod)
        session.need([v])
        session.report.check()
        session.keep()
        return session.facts[v].type


hooks.infer = infer
