"""The types of the parts of a program, also of one with errors."""

from typing import Any

from relay.diagnostic import Diagnostic
from relay.ir.collector import paused
from relay.ir.expr import Expr, GlobalVar, Var
from relay.ir.module import IRModule
from relay.ir.subst import map_type
from relay.ir.type import IncompleteType
from relay.ir.type_base import HAS_ERROR
from relay.ir.walk import post_order
from relay.typecheck.inference import Inference
from relay.typecheck.messages import show
from relay.typecheck.query import found_in
from relay.typecheck.session import Session
from relay.typecheck.unknown import ERROR, zonk


class Watched(Session):
    """A run of inference that keeps what was found inside of each definition, whether it failed or not."""

    def __init__(self, mod: IRModule) -> None:
        """Definitions are inferred by `need`."""
        super().__init__(mod)
        self.insides = {}
        self.inferences: dict[GlobalVar, Inference] = {}

    def filled_in(self, inf: Inference, v: GlobalVar, e: Expr, t: Any) -> tuple[Expr, Any]:
        """See `Session`."""
        self.inferences[v] = inf
        return super().filled_in(inf, v, e, t)


def without_errors(t: Any) -> Any:
    """A type with `_` for what is ill-typed in it."""
    return map_type(t, lambda _: IncompleteType(), HAS_ERROR)


class Types:
    """What inference finds about a module as it was written: types of its nodes, and diagnostics."""

    def __init__(self, mod: IRModule) -> None:
        """Infers every definition."""
        self.mod = mod
        self.session = Watched(mod)
        self.nodes: dict[GlobalVar, list[Expr]] = {}
        with paused():
            self.session.need(mod.functions)
            self.annotated = None if self.session.report.errors else self.session.result()

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """Everything that inference reports."""
        return self.session.report.diagnostics

    def of_global(self, name: str) -> str:
        """The type of a definition as text; empty where it is not known."""
        t = self.global_type(name)
        return "" if t is None else show(t)

    def global_type(self, name: str) -> Any:
        """The type of a definition, or None."""
        fact = self.session.facts.get(GlobalVar(name))
        return None if fact is None or fact.type is ERROR else without_errors(fact.type)

    def type_in(self, owner: GlobalVar | None, e: Expr) -> Any:
        """The type of a node of the definition `owner`, or None."""
        inf = None if owner is None else self.session.inferences.get(owner)
        if inf is None or owner is None:
            return None
        with paused():
            found = inf.vars.get(e) if type(e) is Var else found_in(inf, e)
        if found is None or found is ERROR:
            return None
        known = (self.session.insides or {}).get(owner)
        return without_errors(zonk(found) if known is None else known[1].type(found))

    def nodes_of(self, owner: GlobalVar) -> list[Expr]:
        """The nodes of a definition that have a place, children before parents."""
        found = self.nodes.get(owner)
        if found is None:
            found = self.nodes[owner] = [
                e for e in post_order(self.mod.functions[owner]) if e.span is not None
            ]
        return found
