"""The type of any expression: of an annotated program by look-up, else by inference."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from relay.diagnostic import RelayError, fail
from relay.ir import hooks
from relay.ir.collector import paused
from relay.ir.expr import Constant, Constructor, Expr, GlobalVar, Let, LetRec, Op
from relay.ir.module import IRModule
from relay.ir.type import Type
from relay.ir.walk import post_order
from relay.typecheck.infer import infer_expr, recent, type_of_global
from relay.typecheck.inference import Inference
from relay.typecheck.leaves import constant
from relay.typecheck.naming import Naming
from relay.typecheck.session import Session
from relay.typecheck.types import Types, Unannotated

_asking = RLock()
"""Held by the thread that asks: what is learned of a module is kept with it, for all threads."""
VIEW = "view"
"""Where `mod.facts` keeps what was asked for: a `_View` by whether other modules take part."""


def type_of(e: Expr, mod: IRModule | None = None) -> Type:
    """The type of an expression: of an annotated program by look-up, else by inference.

    Raises `RelayError` where it is ill-typed, or where nothing decides its type.
    """
    with _asking:
        return _type_of(e, mod)


def _type_of(e: Expr, mod: IRModule | None) -> Type:
    is_known = isinstance(e, Constructor | Op)  # declared, and shared by all definitions
    if mod is not None and not is_known and _view(mod).owners.get(e) in _view(mod).insides:
        found = _inferred(e, mod)  # its definition is not annotated, as an earlier question has shown
    else:
        types = Types() if mod is None and not recent_modules() else _view(mod).types
        try:
            return types(e)
        except Unannotated:
            found = None if mod is None else _inferred(e, mod)
    if found is not None:
        return found
    annotated, types = infer_expr(e, mod), Types(mod)
    if mod is not None:
        used = [v for v in post_order(annotated) if isinstance(v, GlobalVar)]
        types.globals.update({v: type_of_global(v, mod) for v in used})
    try:
        return types(annotated)
    except Unannotated:
        message = "cannot infer the type of this expression"
        fail("ambiguous-type", message, e.span, hint="annotate its variables")


def recent_modules() -> list[IRModule]:
    """The modules that were inferred last, the last one first."""
    return [mod for r in reversed(recent.get()) if (mod := r()) is not None]


@dataclass(slots=True)
class _View:
    """What has been asked about a module while its definitions are these."""

    definitions: list[Any]
    types: Types
    owners: dict[Expr, GlobalVar] = field(default_factory=dict[Expr, GlobalVar])
    """The definition that each node belongs to; filled in when inference has to be asked."""
    insides: dict[GlobalVar, tuple[Inference, Naming]] = field(
        default_factory=dict[GlobalVar, tuple[Inference, Naming]]
    )


def _view(mod: IRModule | None) -> _View:
    """The view of a module, or of the modules that were inferred last."""
    modules = recent_modules() if mod is None else [mod]
    now = [d for m in modules for d in (*m.functions.values(), *m.type_definitions.values())]
    views: dict[bool, _View] = modules[0].facts.setdefault(VIEW, {})
    view = views.get(mod is None)
    if view is None or view.definitions != now:
        view = views[mod is None] = _View(now, Types(modules[0], modules[1:]))
    return view


def _inferred(e: Expr, mod: IRModule) -> Type | None:
    """The type of a part of a module, found by inferring the definition around it; None if there is none."""
    if isinstance(e, GlobalVar):
        return type_of_global(e, mod)
    view = _view(mod)
    if not view.owners:
        view.owners = {part: v for v, d in mod.functions.items() for part in post_order(d)}
    v = view.owners.get(e)
    if v is None or e is mod.functions[v]:
        return None if v is None else type_of_global(v, mod)
    if v not in view.insides:
        with paused():
            session = Session(mod)
            session.known = {g: fact for g, fact in session.known.items() if g != v}
            session.insides = view.insides
            session.need([v])
            session.report.check()
            session.keep()
    inf, naming = view.insides[v]
    found = found_in(inf, e)
    return None if found is None else naming.type(found)


def found_in(inf: Inference, e: Expr) -> Any:
    """What inference has found about a node; a `let` chain has the type of what it ends in."""
    lets: list[Expr] = []
    while isinstance(e, Let | LetRec) and e not in inf.types:
        lets.append(e)
        e = e.body
    found = inf.types.get(e, inf.vars.get(e))  # pyright: ignore[reportArgumentType]
    if found is None and isinstance(e, Constant):
        found = constant(inf, e)
    if found is not None:
        inf.types.update(dict.fromkeys(lets, found))
    return found


def annotated_types(exprs: Sequence[Expr]) -> tuple[Type, ...]:
    """The types of expressions by look-up alone; none where one of them says no type, or has none."""
    with _asking, suppress(RelayError):
        types = _view(None).types if recent_modules() else Types()
        return tuple([types(e) for e in exprs])
    return ()


hooks.checked_type = type_of
hooks.annotated_types = annotated_types
