"""Changes that make a program smaller, as lists: any of one list can be made together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from dataclasses import replace as with_fields
from typing import Any

from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    replace,
)
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.lsp.typed import Types
from relay.op.base import Operator
from relay.reduction.constants import constant_of

NodeChange = Callable[[Expr], Expr]
"""What stands in the place of a node; it is given the node with changed children."""


@dataclass(frozen=True, slots=True)
class Change:
    """In the definition `owner` these nodes become others."""

    owner: GlobalVar
    nodes: Mapping[Expr, NodeChange]


def changed(mod: IRModule, changes: Sequence[Change]) -> IRModule:
    """The module with changes made."""
    by_owner: dict[GlobalVar, dict[Expr, NodeChange]] = {}
    for change in changes:
        by_owner.setdefault(change.owner, {}).update(change.nodes)
    out = mod.copy()
    out.functions = {v: replaced(e, by_owner[v]) if v in by_owner else e for v, e in mod.functions.items()}
    return out


def replaced(root: Expr, by: Mapping[Expr, NodeChange]) -> Expr:
    """An expression with nodes replaced, children before parents."""
    new: dict[Expr, Expr] = {}
    for e in post_order(root):
        children = tuple([new[c] for c in e.children])
        kept = e if all(a is b for a, b in zip(children, e.children, strict=True)) else e.rebuild(children)
        change = by.get(e)
        new[e] = kept if change is None else change(kept)
    return new[root]


def own_definitions(mod: IRModule) -> dict[GlobalVar, Expr]:
    """The definitions that are not imported."""
    return {v: e for v, e in mod.functions.items() if v.name_hint not in mod.imported}


# --- lists of changes


def lets_dropped(mod: IRModule, types: Types) -> list[Change]:
    """Each `let` without its binding; where its variable is read stands a constant."""
    found: list[Change] = []
    for v, root in own_definitions(mod).items():
        for e in post_order(root):
            if isinstance(e, Let):
                value = constant_of(types.type_in(v, e.var) or types.type_in(v, e.value), mod)
                gone: dict[Expr, NodeChange] = {e: body_of}
                if value is not None:
                    gone[e.var] = always(value)
                found.append(Change(v, gone))
    return found[::-1]


def body_of(e: Expr) -> Expr:
    """What a `let` is the value of."""
    return e.body if isinstance(e, Let) else e


def always(value: Expr) -> NodeChange:
    """A change to the same expression everywhere."""
    return lambda _: value


def child(i: int) -> NodeChange:
    """A change to what stands inside."""
    return lambda e: e.children[i] if i < len(e.children) else e


def parts_instead(mod: IRModule, types: Types, which: int) -> list[Change]:
    """Each node replaced by the `which`-th of its parts that have its type."""
    found: list[Change] = []
    for v, root in own_definitions(mod).items():
        for e in post_order(root):
            if isinstance(e, Let | Function | Var | Constant | GlobalVar | Op):
                continue
            t = types.type_in(v, e)
            same = [i for i, c in enumerate(e.children) if t is not None and types.type_in(v, c) is t]
            if which < len(same):
                found.append(Change(v, {e: child(same[which])}))
    return found[::-1]


def results_instead(mod: IRModule, types: Types) -> list[Change]:
    """Each definition with a part of its result as its result, of whatever type."""
    found: list[Change] = []
    for v, root in own_definitions(mod).items():
        if not isinstance(root, Function):
            continue
        before, end = root, root.body
        while isinstance(end, Let):
            before, end = end, end.body
        untyped: dict[Expr, NodeChange] = {root: without_result_type}
        if isinstance(before, Let):
            found.append(Change(v, {**untyped, before: child(0)}))
        if isinstance(end, Call | Tuple | TupleGetItem | If | Match):
            parts = [i for i, c in enumerate(end.children) if not isinstance(c, Op | GlobalVar | Constructor)]
            found += [Change(v, {**untyped, end: child(i)}) for i in parts]
    return found


def without_result_type(e: Expr) -> Expr:
    """A function whose result has the type that inference finds."""
    return replace(e, ret_type=None) if isinstance(e, Function) else e


def constants_instead(mod: IRModule, types: Types) -> list[Change]:
    """Each node replaced by a constant of its type, outer nodes first."""
    found: list[Change] = []
    for v, root in own_definitions(mod).items():
        for e in post_order(root):
            if isinstance(e, Constant | GlobalVar | Op | Function) or (isinstance(e, Call) and not e.args):
                continue
            value = constant_of(types.type_in(v, e), mod)
            if value is not None:
                found.append(Change(v, {e: always(value)}))
    return found[::-1]


def attributes_left_out(mod: IRModule, types: Types) -> list[Change]:
    """Each attribute of an operator at its default; each definition without attributes."""
    found: list[Change] = []
    for v, root in own_definitions(mod).items():
        if isinstance(root, Function) and root.attrs:
            found.append(Change(v, {root: lambda e: replace(e, attrs={})}))
        for e in post_order(root):
            if isinstance(e, Call) and isinstance(e.attrs, Operator):
                found += [Change(v, {e: defaulted(name, value)}) for name, value in defaults(e.attrs)]
    return found


def defaults(op: Operator) -> list[tuple[str, Any]]:
    """The attributes of an operator that are not at their default."""
    known: list[Any] = list(fields(op))  # pyright: ignore[reportArgumentType]
    at_once = [(f.name, f.default) for f in known if f.default is not MISSING]
    return [(name, value) for name, value in at_once if getattr(op, name) != value]


def defaulted(name: str, value: Any) -> NodeChange:
    """A call with an attribute at its default."""

    def change(e: Expr) -> Expr:
        return replace(e, attrs=with_fields(e.attrs, **{name: value})) if isinstance(e, Call) else e

    return change
