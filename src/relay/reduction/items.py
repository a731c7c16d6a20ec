"""Definitions, types, imports, parameters, constructors and fields left out."""

from collections.abc import Callable, Sequence
from typing import Any

from relay.ir.expr import Call, Clause, Constructor, Expr, Function, GlobalVar, Match, Pattern, replace
from relay.ir.module import IRModule, TypeData
from relay.ir.pattern import PatternConstructor
from relay.ir.type import GlobalTypeVar
from relay.ir.walk import post_order
from relay.reduction.changes import always, own_definitions, replaced
from relay.reduction.constants import constant_of

Leave = Callable[[IRModule, Sequence[Any]], IRModule]
"""A module without some of its things."""


def users(mod: IRModule) -> dict[GlobalVar, set[GlobalVar]]:
    """For each own definition, those that mention it."""
    own = own_definitions(mod)
    found: dict[GlobalVar, set[GlobalVar]] = {v: set() for v in own}
    for v, e in own.items():
        for n in post_order(e):
            if isinstance(n, GlobalVar) and n in found:
                found[n].add(v)
    return found


def without_definitions(mod: IRModule, gone: Sequence[GlobalVar]) -> IRModule:
    """The module without definitions, and without those that mention them."""
    mentioned = users(mod)
    pending, away = list(gone), set[GlobalVar]()
    while pending:
        v = pending.pop()
        if v not in away:
            away.add(v)
            pending += mentioned.get(v, ())
    out = mod.copy()
    out.functions = {v: e for v, e in mod.functions.items() if v not in away}
    return out


def without_types(mod: IRModule, gone: Sequence[GlobalTypeVar]) -> IRModule:
    """The module without data types."""
    out = mod.copy()
    out.type_definitions = {v: d for v, d in mod.type_definitions.items() if v not in gone}
    return out


def without_imports(mod: IRModule, gone: Sequence[Any]) -> IRModule:
    """The module without imports."""
    out = mod.copy()
    out.imports = [i for i in mod.imports if i not in gone]
    return out


def own_types(mod: IRModule) -> dict[GlobalTypeVar, TypeData]:
    """The data types that are not imported."""
    return {v: d for v, d in mod.type_definitions.items() if v.name_hint not in mod.imported}


# --- parameters


def parameters(mod: IRModule) -> list[tuple[GlobalVar, int]]:
    """The parameters of definitions that are only ever called."""
    own = own_definitions(mod)
    called = {v for v, e in own.items() if isinstance(e, Function)}
    for e in own.values():
        for n in post_order(e):
            inside = n.args if isinstance(n, Call) else n.children
            called -= {c for c in inside if isinstance(c, GlobalVar)}
    return [
        (v, i)
        for v, e in own.items()
        if v in called and isinstance(e, Function)
        for i in range(len(e.params))
    ]


def without_parameters(mod: IRModule, gone: Sequence[tuple[GlobalVar, int]]) -> IRModule:
    """The module without parameters, and without their arguments in calls."""
    by_owner: dict[GlobalVar, set[int]] = {}
    for v, i in gone:
        by_owner.setdefault(v, set()).add(i)
    out = mod.copy()
    out.functions = {v: _with_fewer(v, e, by_owner, mod) for v, e in mod.functions.items()}
    return out


def _with_fewer(v: GlobalVar, e: Expr, gone: dict[GlobalVar, set[int]], mod: IRModule) -> Expr:
    def call(n: Expr) -> Expr:
        if not isinstance(n, Call) or not isinstance(n.op, GlobalVar) or n.op not in gone:
            return n
        return replace(n, args=[a for i, a in enumerate(n.args) if i not in gone[n.op]])

    if v.name_hint in mod.imported:
        return e
    by: dict[Expr, Any] = {n: call for n in post_order(e) if isinstance(n, Call)}
    if v in gone and isinstance(e, Function):
        for i in gone[v]:
            value = constant_of(e.params[i].type_annotation, mod)
            if value is not None:
                by[e.params[i]] = always(value)
        e = replace(e, params=[p for i, p in enumerate(e.params) if i not in gone[v]])
    return replaced(e, by)


# --- constructors and their fields


def constructors(mod: IRModule) -> list[str]:
    """The names of the constructors of own data types."""
    return [c.name_hint for d in own_types(mod).values() for c in d.constructors]


def without_constructors(mod: IRModule, gone: Sequence[str]) -> IRModule:
    """The module without constructors, and without the clauses for them."""

    def mentions(p: Pattern) -> bool:
        pending = [p]
        while pending:
            inner = pending.pop()
            if isinstance(inner, PatternConstructor) and inner.constructor.name_hint in gone:
                return True
            pending += inner.children
        return False

    def match(n: Expr) -> Expr:
        if not isinstance(n, Match):
            return n
        kept = [c for c in n.clauses if not mentions(c.lhs)]
        return replace(n, clauses=kept) if kept else n

    data = {
        v: replace_data(d, [c for c in d.constructors if c.name_hint not in gone])
        for v, d in own_types(mod).items()
    }
    return _everywhere(mod, data, match)


def constructor_fields(mod: IRModule) -> list[tuple[str, int]]:
    """The fields of constructors of own data types."""
    own = own_types(mod).values()
    return [(c.name_hint, i) for d in own for c in d.constructors for i in range(len(c.inputs))]


def without_fields(mod: IRModule, gone: Sequence[tuple[str, int]]) -> IRModule:
    """The module without fields of constructors, in patterns and calls too."""
    away = set(gone)

    def fewer(name: str, several: Sequence[Any]) -> list[Any]:
        return [x for i, x in enumerate(several) if (name, i) not in away]

    def of_constructor(c: Constructor) -> Constructor:
        names = fewer(c.name_hint, c.field_names) if c.field_names else ()
        return replace(c, inputs=fewer(c.name_hint, c.inputs), field_names=tuple(names))

    def node(n: Expr) -> Expr:
        if isinstance(n, Call) and isinstance(n.op, Constructor):
            return replace(n, args=fewer(n.op.name_hint, n.args))
        if isinstance(n, Match):
            return replace(n, clauses=[Clause(pattern(c.lhs), c.rhs, span=c.span) for c in n.clauses])
        return n

    def pattern(p: Pattern) -> Pattern:
        from relay.ir.walk import rewrite_pattern

        def rule(q: Pattern) -> Pattern | None:
            if not isinstance(q, PatternConstructor):
                return None
            return replace(q, patterns=fewer(q.constructor.name_hint, q.patterns))

        return rewrite_pattern(p, rule)

    data = {
        v: replace_data(d, [of_constructor(c) for c in d.constructors]) for v, d in own_types(mod).items()
    }
    return _everywhere(mod, data, node)


def replace_data(d: TypeData, several: Sequence[Constructor]) -> TypeData:
    """A data type with other constructors."""
    return TypeData(d.header, d.type_vars, several, d.is_extern)


def _everywhere(
    mod: IRModule, data: dict[GlobalTypeVar, TypeData], change: Callable[[Expr], Expr]
) -> IRModule:
    out = mod.copy()
    out.type_definitions = {**mod.type_definitions, **data}
    own = own_definitions(mod)
    out.functions = {
        v: replaced(e, dict.fromkeys(post_order(e), change)) if v in own else e
        for v, e in mod.functions.items()
    }
    return out
