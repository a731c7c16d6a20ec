"""Type inference: `infer(mod)` is the module with binders, results, type parameters and literals filled in.

Definitions are inferred group by group (strongly connected components of who mentions whom), dependencies first
and only those that are asked for.  What was found is kept in `mod.facts`, so that after an edit only the changed
definition and those whose dependencies changed their type are inferred again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import ref

from relay.diagnostic import Diagnostic, Report, did_you_mean
from relay.ir.collector import paused
from relay.ir.expr import Constructor, Expr, Function, GlobalVar, Op
from relay.ir.module import IRModule
from relay.ir.type import FuncType, Type
from relay.ir.walk import post_order
from relay.typecheck.elaborate import Elaborator
from relay.typecheck.expressions import Inference
from relay.typecheck.generalize import Signature, ambiguous, generalise
from relay.typecheck.graph import Scan, components, scan
from relay.typecheck.literals import fits, is_integral
from relay.typecheck.unify import ERROR, has_unknown, head, zonk

FACTS = "types"
RECENT = 8
recent: list["ref[IRModule]"] = []
"""The modules inferred last: where `e.checked_type` looks definitions up."""


def remember(mod: IRModule) -> None:
    """Let `e.checked_type` find the definitions of a module that was just inferred."""
    if not recent or recent[-1]() is not mod:
        recent[:] = [r for r in recent if r() is not None and r() is not mod][1 - RECENT :]
        recent.append(ref(mod))


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


def infer(mod: IRModule, *, warnings: Report | None = None) -> IRModule:
    """`mod` with every type filled in; the same object if nothing is missing.

    Raises all type errors of the module together.  `warnings` receives unreachable clauses.
    """
    with paused():
        session = Session(mod)
        session.need(mod.functions)
        session.report.check()
        if warnings is not None:
            for d in session.report.warnings:
                warnings.add(d)
        result = session.result()
        remember(result)
        return result


def infer_expr(e: Expr, mod: IRModule | None = None) -> Expr:
    """An expression (which may have free variables) with every type filled in, in the context of `mod`."""
    with paused():
        session = Session(IRModule() if mod is None else mod)
        found = session.expression(e)
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


class Session:
    """One run over a module."""

    def __init__(self, mod: IRModule) -> None:
        """Facts of earlier runs are taken over where the data types are still the same."""
        self.mod = mod
        self.report = Report()
        self.facts: dict[GlobalVar, Fact] = {}
        self.scans: dict[GlobalVar, Scan] = {}
        self.watch: Expr | None = None
        self.watched_type: Any = None
        known, data = mod.facts.get(FACTS, ({}, None))
        same = (
            data is not None
            and len(data) == len(mod.type_definitions)
            and all(data.get(k) is d for k, d in mod.type_definitions.items())
        )
        self.known: dict[GlobalVar, Fact] = known if same else {}

    # --- who mentions whom ------------------------------------------------------------------------------------

    def source(self, v: GlobalVar) -> Expr:
        """The definition as it was written, before an earlier run filled types in."""
        e = self.mod.functions[v]
        fact = self.known.get(v)
        return fact.source if fact is not None and e is fact.annotated else e

    def scanned(self, v: GlobalVar) -> Scan:
        """What the definition mentions."""
        found = self.scans.get(v)
        if found is None:
            fact = self.known.get(v)
            source = self.source(v)
            found = self.scans[v] = (
                fact.scanned if fact is not None and fact.source is source else scan(source)
            )
        return found

    def edges(self, v: GlobalVar) -> list[GlobalVar]:
        """The definitions whose types have to be inferred before this one's."""
        return [g for g in self.scanned(v).globals if g in self.mod.functions and not self.is_annotated(g)]

    def is_annotated(self, v: GlobalVar) -> bool:
        """Whether a definition's type is written in full."""
        e = self.mod.functions[v]
        return isinstance(e, Function) and declared_type(e) is not None

    def need(self, names: Iterable[GlobalVar]) -> None:
        """Infer these definitions and what they depend on."""
        roots = list(names)
        for group in components(roots, self.edges):
            if not any(v in self.facts for v in group):
                self.infer_group(group)

    def is_current(self, v: GlobalVar) -> bool:
        """Whether the fact of an earlier run still holds."""
        fact = self.known.get(v)
        if fact is None:
            return False
        e = self.mod.functions[v]
        if e is not fact.source and e is not fact.annotated:
            return False
        if e is fact.source and fact.written is not self.mod.constant_types.get(v):
            return False
        return all(self.dependency(g) == t for g, t in fact.uses)

    def dependency(self, v: GlobalVar) -> Any:
        """The type of a definition that another mentions; None if there is none such."""
        if v in self.facts:
            return self.facts[v].type
        e = self.mod.functions.get(v)
        if isinstance(e, Function):
            return declared_type(e)
        return None

    # --- inferring --------------------------------------------------------------------------------------------

    def infer_group(self, group: Sequence[GlobalVar]) -> None:
        """Infer definitions that mention each other."""
        inside = set(group)
        if all(v in self.known for v in group):
            for v in group:
                self.facts[v] = self.known[v]
            if all(self.is_current(v) for v in group):
                for v in group:
                    for d in self.facts[v].warnings:
                        self.report.add(d)
                return
            for v in group:
                del self.facts[v]
        report = Report()
        inf = Inference(self.mod, report, self.lookup)
        sources = [self.source(v) for v in group]
        for v, e in zip(group, sources, strict=True):
            inf.enter(e, self.scanned(v))
        if all(isinstance(e, Function) for e in sources):
            types = inf.drive(None, inf.bind_group(group, sources))
        else:
            types = [self.infer_constant(inf, v, e, inside) for v, e in zip(group, sources, strict=True)]
        finish(inf)
        failed = inf.failed
        for v, e, t in zip(group, sources, types, strict=True):
            annotated = e
            if not failed:
                elaborator = Elaborator(inf)
                annotated = elaborator.run(e)
                t = self.final_type(elaborator, e, annotated, t, inf)
                if self.watch is not None:
                    self.look(inf, elaborator)
            uses = tuple([(g, self.dependency(g)) for g in self.scanned(v).globals if g not in inside])
            warnings = tuple(report.warnings) if v == group[0] else ()
            self.facts[v] = Fact(
                e,
                annotated,
                _settled(t) if failed else t,
                uses,
                self.scanned(v),
                warnings,
                self.mod.constant_types.get(v),
            )
        for d in sorted(report.diagnostics, key=_place):
            self.report.add(d)

    def look(self, inf: Inference, elaborator: Elaborator) -> None:
        """Note the type of the node that somebody asked for."""
        e = self.watch
        assert e is not None
        found = inf.raw(e) if type(e) in (Constructor, Op) else inf.types.get(e, inf.vars.get(e))  # pyright: ignore
        if found is None and e in inf.constant_dtype:
            found = inf.constant(e)  # pyright: ignore[reportArgumentType]
        if found is not None:
            self.watched_type = elaborator.env.type(found)

    def watched(self, e: Expr) -> Any:
        """The type of a node inside a definition, found by inferring that definition; None if it is in none."""
        for v, definition in self.mod.functions.items():
            if any(e is part for part in post_order(definition)):
                if e is definition:
                    return type_of_global(v, self.mod)
                self.known = {g: fact for g, fact in self.known.items() if g != v}
                self.watch = e
                self.need([v])
                self.report.check()
                return self.watched_type
        return None

    def operator(self, op: Op) -> Type:
        """The scheme of an operator as a value."""
        inf = Inference(self.mod, self.report, self.lookup)
        value_type(inf, op, None)
        self.report.check()
        return Elaborator(inf).scheme(inf.signatures[op])

    def final_type(self, elaborator: Elaborator, e: Expr, annotated: Expr, t: Any, inf: Inference) -> Any:
        """The type of a definition with its type parameters named."""
        if isinstance(annotated, Function):
            return declared_type(annotated) or elaborator.env.type(t)
        sig = inf.signatures.get(e)
        return elaborator.env.type(t) if sig is None else elaborator.scheme(sig)

    def infer_constant(self, inf: Inference, v: GlobalVar, e: Expr, inside: set[GlobalVar]) -> Any:
        """A global constant: its value is not a function expression, and does not depend on itself."""
        if len(inside) > 1 or v in self.scanned(v).globals:
            if isinstance(e, Function):
                return inf.drive(None, inf.bind_group((v,), (e,)))[0]
            inf.diagnose(
                "cyclic-constant",
                f"the constant `@{v.name}` depends on itself",
                e,
                hint="only functions can be recursive: `def @f() { … }`",
            )
            inf.group[v] = ERROR
            return ERROR
        return value_type(inf, e, self.mod.constant_types.get(v), f"`@{v.name}`")

    def lookup(self, v: GlobalVar, at: Expr) -> Any:
        """The type of a definition of another group."""
        fact = self.facts.get(v)
        if fact is not None:
            return fact.type
        e = self.mod.functions.get(v)
        if e is None:
            hint = did_you_mean(v.name, [g.name for g in self.mod.functions])
            self.report.error("unknown-global", f"the module has no `@{v.name}`", at.span, hint=hint)
            return ERROR
        assert isinstance(e, Function)
        return declared_type(e)

    def expression(self, e: Expr) -> Expr:
        """Infer an expression that is no definition."""
        scanned = scan(e)
        self.need([g for g in scanned.globals if g in self.mod.functions])
        self.keep()
        if self.report.errors:
            return e
        inf = Inference(self.mod, self.report, self.lookup)
        inf.is_open = True
        inf.enter(e, scanned)
        if isinstance(e, Function):
            inf.drive(None, inf.bind_group((e,), (e,)))
        else:
            value_type(inf, e, None)
        finish(inf)
        self.check_free(inf)
        return e if inf.failed or self.report.errors else Elaborator(inf).run(e)

    def check_free(self, inf: Inference) -> None:
        """A free variable has a type that its annotation or its uses decide."""
        for v in inf.free:
            if not inf.failed and has_unknown(zonk(inf.vars[v])):
                inf.diagnose(
                    "ambiguous-type",
                    f"nothing decides the type of `%{v.name}`",
                    v,
                    hint="give it a type: `free_var %x: T;`, or `relay.var(name, type)`",
                )

    # --- results ----------------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Leave the facts with the module for the next run."""
        if not self.report.errors:
            self.mod.facts[FACTS] = ({**self.known, **self.facts}, dict(self.mod.type_definitions))

    def result(self) -> IRModule:
        """The annotated module."""
        functions = {v: self.facts[v].annotated for v in self.mod.functions}
        constants = {v: self.facts[v].type for v, e in functions.items() if not isinstance(e, Function)}
        self.keep()
        if (
            all(functions[v] is e for v, e in self.mod.functions.items())
            and constants == self.mod.constant_types
        ):
            return self.mod
        new = self.mod.copy()
        new.functions, new.constant_types = functions, constants
        return new


def declared_type(fn: Function) -> FuncType | None:
    """The type of a function as it is written, if that is complete."""
    if fn.ret_type is None or has_unknown(fn.ret_type):
        return None
    params: list[Type] = []
    for p in fn.params:
        t = p.type_annotation
        if t is None or has_unknown(t):
            return None
        params.append(t)
    return FuncType(params, fn.ret_type, fn.type_params, fn.constraints)


def value_type(inf: Inference, e: Expr, written: Type | None, name: str = "") -> Any:
    """The type of the value of a constant or open expression: names keep their polymorphic type."""
    inf.level = 1
    if type(e) is Op:
        t = inf.operator_value(e)
        inf.level = 0
        if t is ERROR:
            return t
        sig = inf.signatures[e] = Signature(e, t, False)
        t = generalise(inf, [sig], (0, 0))[0]
    else:
        t = inf.raw(e) if type(e) in (GlobalVar, Constructor) else None
        if t is None:
            t = inf.infer(e, written if inf.is_lenient(written) else None)
    if written is not None:
        t = ascribed(inf, e, t, written, name)
    inf.level = 0
    inf.settle()
    generalise_nothing(inf, Signature(e, FuncType((), t), False))
    return t


def ascribed(inf: Inference, e: Expr, t: Any, written: Type, name: str) -> Any:
    """The type of a constant whose type is written."""
    wanted = inf.annotation(written, e, polymorphic=True)
    if isinstance(wanted, FuncType) and wanted.type_params:
        if t != wanted:
            inf.subsume(wanted, t, e)
    else:
        made = inf.instance_of(t, e) if isinstance(t, FuncType) and t.type_params else t
        inf.agree(wanted, made, e, name)
    return wanted


def generalise_nothing(inf: Inference, sig: Signature) -> None:
    """Decide what is open at the end of a definition that is no function."""
    from relay.typecheck.generalize import default_literals, leftovers

    default_literals(inf, [sig], 0)
    goals, inf.pending = [g for g in inf.pending if not g.done], []
    leftovers(inf, goals)


def finish(inf: Inference) -> None:
    """What is left at the end of a group: goals nothing decides, literals that do not fit."""
    inf.settle()
    for g in inf.pending:
        if not g.done:
            ambiguous(inf, g)
    for c, v in inf.all_literals:
        dtype = head(v)
        if isinstance(dtype, str) and not fits(c, dtype):
            kind = "integer" if is_integral(c) else "number"
            shown = c.value[()] if c.is_scalar else "of this literal"
            inf.diagnose(
                "literal-range",
                f"the {kind} {shown} does not fit in {dtype}",
                c,
                hint="give it a wider type with a suffix, or use `cast`",
            )


def _settled(t: Any) -> Any:
    """The type of a definition with errors: what is unknown agrees with everything."""
    t = zonk(t)
    return ERROR if has_unknown(t) else t


def _place(d: Diagnostic) -> tuple[str, int]:
    return ("", -1) if d.span is None else (d.span.source.name, d.span.start)
