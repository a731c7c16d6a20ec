"""Graph normal form: values are nodes of a graph, and `let` binds what must happen at its place."""

from collections.abc import Callable, Mapping, Sequence

from relay.analysis.uses import recursive_lets
from relay.ir.expr import Expr, Function, Let, Var
from relay.ir.module import IRModule
from relay.ir.scope import OPENING, Scope, common, opened
from relay.ir.walk import post_order
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.function_depth import FunctionDepth
from relay.transform.rewriting.purity import Purity
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.types import Types


@module_pass("to_graph_normal_form", public="ToGraphNormalForm")
def to_graph_normal_form(mod: IRModule) -> IRModule:
    """Replace `let`-bound variables by their values, as shared nodes.

    Such a node is evaluated where the innermost scope around its uses first needs it: later than before,
    and perhaps never.  Operations on references stay bound, as do recursive and polymorphic functions,
    values that would otherwise be evaluated at each call of a function, and values that are checked against
    an annotation.

    >>> show(to_graph_normal_form, '''
    ... def @main(%x: float32) { let %y = tanh(%x); let %z = %y * %y; let %r = ref(%z); ref_read(%r) + %y }
    ... ''')
    def @main(%x: float32) -> float32 {
      %0 = tanh(%x);
      let %r: ref(float32) = ref(%0 * %0);
      ref_read(%r) + %0
    }
    """
    types, purity = Types(mod), Purity(mod)
    new = {v: without_lets(e, types, purity) for v, e in mod.functions.items()}
    return with_definitions(mod, new)


def without_lets(
    root: Expr, types: Types, purity: Purity, wanted: Callable[[Let], bool] = lambda e: True
) -> Expr:
    """A definition with values in the place of `let`-bound variables, where no effect and no work changes.

    `wanted` chooses among the `let`s.
    """
    lets = [e for e in post_order(root) if type(e) is Let]
    recursive = set(recursive_lets(root))
    values: dict[Expr, Expr] = {}
    for e in lets:
        if e not in recursive and wanted(e) and may_float(e, types, purity):
            values[e.var] = e.value
    if not values:
        return root
    order = virtual_order(root, values)
    for v in sinking_vars(root, order, values):
        del values[v]
    new: dict[Expr, Expr] = {}
    for e in virtual_order(root, values):
        new[e] = replaced(e, values, new)
    return new[root]


def may_float(e: Let, types: Types, purity: Purity) -> bool:
    """Whether the value of a `let` is the same wherever it is evaluated, and nothing checks it on the way."""
    if isinstance(e.value, Function) and e.value.type_params:
        return False
    return purity.is_pure(e.value) and types(e.value) == e.var.type_annotation


def graph_children(e: Expr, values: Mapping[Expr, Expr]) -> tuple[Expr, ...]:
    """The children of `e` when variables stand for their values."""
    if type(e) is Var:
        return (values[e],) if e in values else ()
    return (e.body,) if type(e) is Let and e.var in values else e.children


def virtual_order(root: Expr, values: Mapping[Expr, Expr]) -> list[Expr]:
    """Every node once, children before parents, when variables stand for their values."""
    order: list[Expr] = []
    seen: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        e, ready = stack.pop()
        if ready:
            order.append(e)
        elif e not in seen:
            seen.add(e)
            stack.append((e, True))
            stack += [(c, False) for c in reversed(graph_children(e, values))]
    return order


def sinking_vars(root: Expr, order: Sequence[Expr], values: Mapping[Expr, Expr]) -> list[Var]:
    """The variables whose values would be evaluated inside of more functions than their `let`."""
    where: dict[Expr, Scope] = {root: Scope(None, None, 0)}
    for e in reversed(order):
        here = where[e]
        if type(e) in OPENING:
            uses = [(c, Scope(here, e, i) if opens else here) for i, (c, opens) in enumerate(opened(e))]
        else:
            uses = [(c, here) for c in graph_children(e, values)]
        for c, use in uses:
            known = where.get(c)
            where[c] = use if known is None or known is use else common(known, use)
    depth = FunctionDepth(where)
    return [
        e.var
        for e in order
        if type(e) is Let and e.var in values and e.value in where and depth(e.value) > depth(e)
    ]


def replaced(e: Expr, values: Mapping[Expr, Expr], new: Mapping[Expr, Expr]) -> Expr:
    """What becomes of `e` when its parts have been replaced."""
    if type(e) is Var:
        return new[values[e]] if e in values else e
    if type(e) is Let and e.var in values:
        return new[e.body]
    children = tuple([new[c] for c in e.children])
    return e if children == e.children else e.rebuild(children)
