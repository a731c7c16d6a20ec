"""Polymorphic recursion: functions that call themselves at types made of their own type parameters.

No finite number of copies has a type each.
"""

from relay.analysis.call_graph import CallGraph
from relay.ir.expr import Call, Expr, Function, Let, LetRec, Var
from relay.ir.module import IRModule
from relay.ir.type import HAS_VAR, Type, TypeVar
from relay.ir.walk import post_order


def grows(e: Expr) -> bool:
    """Whether a call's type arguments are made of type parameters, not merely some of them."""
    return type(e) is Call and any(
        isinstance(a, Type) and bool(a.flags & HAS_VAR) and not isinstance(a, TypeVar)
        for a in e.written_type_args
    )


def growing_definitions(mod: IRModule) -> set[Expr]:
    """The definitions that reach themselves at types made of their own type parameters."""
    found: set[Expr] = set()
    graph = CallGraph(mod)
    for group in graph.components():
        if graph.is_recursive(group[0]):
            inside = set[Expr](group)
            calls = (e for v in group for e in post_order(mod.functions[v]) if grows(e))
            if any(type(e) is Call and e.op in inside for e in calls):
                found.update(inside)
    return found


def growing_functions(root: Expr) -> set[Expr]:
    """The local functions under `root` that reach themselves at types made of type parameters."""
    found: set[Expr] = set()
    inside: dict[Expr, tuple[Var, ...]] = {}
    stack: list[tuple[Expr, tuple[Var, ...]]] = [(root, ())]
    seen: set[Expr] = set()
    while stack:
        e, leaving = stack.pop()
        for v in leaving:
            inside.pop(v, None)
        if e in seen:
            continue
        seen.add(e)
        if type(e) is Call and e.op in inside and grows(e):
            found.update(inside[e.op])
        names = (
            e.vars if type(e) is LetRec else (e.var,) if type(e) is Let and type(e.value) is Function else ()
        )
        if names:
            inside.update(dict.fromkeys(names, names))
            *values, body = e.children
            stack += [(body, names), *[(f, ()) for f in values]]
        else:
            stack += [(c, ()) for c in e.children]
    return found
