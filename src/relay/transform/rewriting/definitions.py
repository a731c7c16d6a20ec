"""Types of definitions between passes: only what changed is inferred again."""

from collections.abc import Collection, Mapping

from relay.analysis.annotated_regions import compiler_of
from relay.ir.collector import paused
from relay.ir.expr import Expr, Function, GlobalVar
from relay.ir.module import IRModule
from relay.transform.rewriting.forms import FACTS as FORMS
from relay.transform.rewriting.forms import TYPED
from relay.typecheck.infer import infer
from relay.typecheck.session import FACTS, Session


def annotated(mod: IRModule) -> IRModule:
    """`mod` with types filled in; definitions that are known to have them cost a look-up."""
    by_pass = mod.facts.get(FORMS, {}).get(TYPED.name, {})
    by_inference = mod.facts.get(FACTS, ({},))[0]

    def is_known(v: GlobalVar, e: Expr) -> bool:
        fact = by_inference.get(v)
        return by_pass.get(v) is e or (fact is not None and fact.annotated is e)

    missing = [v for v, e in mod.functions.items() if not is_known(v, e)]
    if missing:
        mod = infer(mod) if len(missing) == len(mod.functions) else annotate(mod, missing)
    TYPED.note(mod)
    return mod


def annotate(mod: IRModule, names: Collection[GlobalVar]) -> IRModule:
    """`mod` with types filled in in these definitions, the others being annotated."""
    with paused():
        session = Session(mod)
        session.need(names)
        session.report.check()
        session.keep()
    out = with_definitions(mod, {v: session.facts[v].annotated for v in names})
    types = {v: session.facts[v].type for v in names if not isinstance(out.functions[v], Function)}
    if any(out.constant_types.get(v) is not t for v, t in types.items()):
        out = out.copy() if out is mod else out
        out.constant_types.update(types)
    return out


def with_definitions(mod: IRModule, new: Mapping[GlobalVar, Expr]) -> IRModule:
    """`mod` with some definitions replaced or added; the same object if they are what it has."""
    changed = [v for v, e in new.items() if mod.functions.get(v) is not e]
    if not changed:
        return mod
    out = mod.copy()
    out.functions.update(new)
    own_imports(out, changed)
    return out


def without_definitions(mod: IRModule, unwanted: Collection[GlobalVar]) -> IRModule:
    """`mod` without some definitions."""
    if not unwanted:
        return mod
    out = mod.copy()
    for v in unwanted:
        del out.functions[v]
        out.constant_types.pop(v, None)
    own_imports(out, unwanted)
    return out


def with_regions_of(before: IRModule, after: IRModule) -> IRModule:
    """A module with those definitions as they were before that another compiler takes: a pass may give them
    other types and attributes, and leaves their bodies alone.
    """
    kept = {
        v: e for v, e in before.functions.items() if compiler_of(e) and is_alike(e, after.functions.get(v))
    }
    return with_definitions(after, kept)


def is_alike(e: Expr, now: Expr | None) -> bool:
    """Whether two definitions have the same types and attributes."""
    if not isinstance(e, Function) or not isinstance(now, Function) or e.attrs != now.attrs:
        return False
    kinds, known = ([f.ret_type, *[p.type_annotation for p in f.params], *f.type_params] for f in (now, e))
    return kinds == known


def own_imports(mod: IRModule, changed: Collection[GlobalVar]) -> None:
    """What was imported belongs to `mod` once part of it is changed, so that it prints as it is."""
    if any(v.name_hint in mod.imported for v in changed):
        mod.imports, mod.imported = [], set()
