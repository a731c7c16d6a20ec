"""One run of inference over a module: which definitions, in which order, what is known of them already."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from relay.diagnostic import Diagnostic, Report
from relay.ir.expr import Expr, Function, GlobalVar, Op
from relay.ir.module import IRModule
from relay.ir.type import Type
from relay.typecheck import branches as branches
from relay.typecheck import calls as calls
from relay.typecheck import parts as parts
from relay.typecheck.constants import check_free, finish, value_type
from relay.typecheck.elaborate import Elaborator
from relay.typecheck.functions import group
from relay.typecheck.graph import Scan, components, scan
from relay.typecheck.inference import Inference
from relay.typecheck.messages import undefined
from relay.typecheck.naming import Naming
from relay.typecheck.schemes import declared_type
from relay.typecheck.unknown import ERROR, has_unknown, zonk

FACTS = "types"
"""Where `mod.facts` keeps what was found: facts by definition, and the data types they rest on."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What inference found about a definition: from which source, to which result, by which other types."""

    source: Expr
    annotated: Expr
    type: Any
    uses: tuple[tuple[GlobalVar, Any], ...]
    scanned: Scan
    warnings: tuple[Diagnostic, ...]
    written: Type | None


class Session:
    """One run over a module."""

    def __init__(self, mod: IRModule) -> None:
        """Facts of earlier runs are taken over where the data types are still the same."""
        self.mod = mod
        self.report = Report()
        self.facts: dict[GlobalVar, Fact] = {}
        self.scans: dict[GlobalVar, Scan] = {}
        self.insides: dict[GlobalVar, tuple[Inference, Naming]] | None = None
        """If not None, what was found about the parts of the definitions that were inferred."""
        known, data = mod.facts.get(FACTS, ({}, None))
        self.known: dict[GlobalVar, Fact] = known if data == mod.type_definitions else {}

    # --- who mentions whom --------------------------------------------------------------------------------

    def source(self, v: GlobalVar) -> Expr:
        """The definition as it was written, before an earlier run filled types in."""
        e = self.mod.functions[v]
        fact = self.known.get(v)
        return fact.source if fact is not None and e is fact.annotated else e

    def scanned(self, v: GlobalVar) -> Scan:
        """What the definition mentions."""
        found = self.scans.get(v)
        if found is None:
            fact, source = self.known.get(v), self.source(v)
            known = fact.scanned if fact is not None and fact.source is source else None
            found = self.scans[v] = known or scan(source)
        return found

    def edges(self, v: GlobalVar) -> list[GlobalVar]:
        """The definitions whose types have to be inferred before this one's."""
        return [g for g in self.scanned(v).globals if g in self.mod.functions and not self.is_annotated(g)]

    def is_annotated(self, v: GlobalVar) -> bool:
        """Whether a definition's type is written in full, not found by an earlier run."""
        e = self.source(v)
        return isinstance(e, Function) and declared_type(e) is not None

    def dependency(self, v: GlobalVar) -> Any:
        """The type of a definition that another mentions; None if there is none such."""
        if v in self.facts:
            return self.facts[v].type
        e = self.mod.functions.get(v)
        return declared_type(e) if isinstance(e, Function) else None

    def lookup(self, v: GlobalVar, at: Expr) -> Any:
        """The type of a definition of another group."""
        t = self.dependency(v)
        if t is None:
            message, hint = undefined(v.name, [g.name for g in self.mod.functions])
            self.report.error("unknown-global", message, at.span, hint=hint)
            return ERROR
        return t

    # --- definitions --------------------------------------------------------------------------------------

    def need(self, names: Iterable[GlobalVar]) -> None:
        """Infer these definitions and what they depend on."""
        for several in components(list(names), self.edges):
            if several[0] not in self.facts and not self.reuse(several):
                self.infer_group(several)

    def reuse(self, several: Sequence[GlobalVar]) -> bool:
        """Take over what is known of definitions that mention each other, if it still holds."""
        if not all(v in self.known for v in several):
            return False
        self.facts.update({v: self.known[v] for v in several})
        if not all(self.is_current(v) for v in several):
            for v in several:
                del self.facts[v]
            return False
        for v in several:
            for d in self.facts[v].warnings:
                self.report.add(d)
        return True

    def is_current(self, v: GlobalVar) -> bool:
        """Whether the fact of an earlier run still holds."""
        fact, e = self.known[v], self.mod.functions[v]
        if e is not fact.source and e is not fact.annotated:
            return False
        if e is fact.source and fact.written is not self.mod.constant_types.get(v):
            return False
        return all(self.dependency(g) == t for g, t in fact.uses)

    def infer_group(self, several: Sequence[GlobalVar]) -> None:
        """Infer definitions that mention each other."""
        report = Report()
        inf = Inference(self.mod, report, self.lookup)
        sources = [self.source(v) for v in several]
        for v, e in zip(several, sources, strict=True):
            inf.enter(e, self.scanned(v))
        if all(isinstance(e, Function) for e in sources):
            types = inf.drive(None, group(inf, several, sources))
        else:
            inf.group.update(dict.fromkeys(several, ERROR))
            types = [self.constant(inf, v, e, len(several)) for v, e in zip(several, sources, strict=True)]
        finish(inf)
        warnings, inside = tuple(report.warnings), set(several)
        for v, e, t in zip(several, sources, types, strict=True):
            annotated, t = self.filled_in(inf, v, e, t)
            uses = tuple([(g, self.dependency(g)) for g in self.scanned(v).globals if g not in inside])
            written = self.mod.constant_types.get(v)
            self.facts[v] = Fact(e, annotated, t, uses, self.scanned(v), warnings, written)
            warnings = ()
        for d in sorted(report.diagnostics, key=_place):
            self.report.add(d)

    def filled_in(self, inf: Inference, v: GlobalVar, e: Expr, t: Any) -> tuple[Expr, Any]:
        """A definition with types filled in, and its type; what is unknown in a wrong one agrees with all."""
        if inf.failed:
            t = zonk(t)
            return e, ERROR if has_unknown(t) else t
        elaborator = Elaborator(inf)
        annotated = elaborator.run(e)
        if self.insides is not None:
            self.insides[v] = inf, elaborator.naming
        declared = declared_type(annotated) if isinstance(annotated, Function) else None
        sig = inf.signatures.get(e)
        if declared is None and sig is not None:
            return annotated, elaborator.naming.scheme(sig)
        return annotated, declared or elaborator.naming.type(t)

    def constant(self, inf: Inference, v: GlobalVar, e: Expr, count: int) -> Any:
        """A definition of a group with a global constant: it does not depend on itself."""
        if count == 1 and v not in self.scanned(v).globals:
            return value_type(inf, e, self.mod.constant_types.get(v), f"`@{v.name}`")
        if isinstance(e, Function):
            return inf.drive(None, group(inf, (v,), (e,)))[0]
        message = f"the constant `@{v.name}` depends on itself"
        inf.diagnose("constant-cycle", message, e, hint="only functions can be recursive: `def @f() { … }`")
        return ERROR

    # --- expressions --------------------------------------------------------------------------------------

    def expression(self, e: Expr) -> Expr:
        """An expression that is not a definition, with types filled in."""
        scanned = scan(e)
        self.need([g for g in scanned.globals if g in self.mod.functions])
        self.keep()
        if self.report.errors:
            return e
        inf = Inference(self.mod, self.report, self.lookup)
        inf.is_open = True
        inf.enter(e, scanned)
        if isinstance(e, Function):
            inf.drive(None, group(inf, (e,), (e,)))
        else:
            value_type(inf, e, None)
        finish(inf)
        check_free(inf)
        return e if inf.failed or self.report.errors else Elaborator(inf).run(e)

    def operator(self, op: Op) -> Type:
        """The scheme of an operator as a value."""
        inf = Inference(self.mod, self.report, self.lookup)
        value_type(inf, op, None)
        self.report.check()
        return Naming(inf).scheme(inf.signatures[op])

    # --- results ------------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Leave the facts with the module for the next run."""
        if not self.report.errors:
            self.mod.facts[FACTS] = ({**self.known, **self.facts}, dict(self.mod.type_definitions))

    def result(self) -> IRModule:
        """The annotated module; the same object if nothing was missing."""
        mod = self.mod
        functions = {v: self.facts[v].annotated for v in mod.functions}
        constants = {v: self.facts[v].type for v, e in functions.items() if not isinstance(e, Function)}
        self.keep()
        if constants == mod.constant_types and all(functions[v] is e for v, e in mod.functions.items()):
            return mod
        new = mod.copy()
        new.functions, new.constant_types = functions, constants
        return new


def _place(d: Diagnostic) -> tuple[str, int]:
    return ("", -1) if d.span is None else (d.span.source.name, d.span.start)
