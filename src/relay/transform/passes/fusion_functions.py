"""Groups of nodes as functions: each is called where its last node was."""

from collections.abc import Mapping

from relay.ir.expr import Call, Constant, Expr, Function, Let, Op, Var
from relay.transform.passes.fusion_graph import Dataflow, is_register_constant
from relay.transform.passes.fusion_groups import Group


def with_functions(flow: Dataflow, groups: Mapping[Expr, Group], link_params: bool) -> Expr:
    """The definition with a call of a function in the place of the last node of each group; with
    `link_params` constants of any size are in the functions.
    """
    values = flow.values
    new: dict[Expr, Expr] = {}
    inside: dict[Group, list[Expr]] = {}
    for e in reversed(flow.all):
        if not e.children:
            continue
        group = groups.get(e)
        if group is not None:
            nodes = inside.setdefault(group, [])
            nodes.append(e)
            if e is group.root:
                new[e] = call_fused(nodes, flow, new, link_params)
        elif type(e) is Let and e.var in values and is_inner(values.get(e.value, e.value), groups):
            new[e] = new.get(e.body, e.body)
        else:
            children = tuple([new.get(c, c) for c in e.children])
            new[e] = e if children == e.children else e.rebuild(children)
    return new[flow.all[0]]


def is_inner(e: Expr, groups: Mapping[Expr, Group]) -> bool:
    """Whether a node is inside of a function that is made."""
    group = groups.get(e)
    return group is not None and group.root is not e


def call_fused(nodes: list[Expr], flow: Dataflow, new: dict[Expr, Expr], link_params: bool) -> Expr:
    """A call of the function that computes the last of `nodes`, which come before what uses them."""
    root, types, values = nodes[-1], flow.types, flow.values
    outside = [a for a in operands(nodes, values) if not (link_params and isinstance(a, Constant))]
    params = [Var(f"p{i}", types(a), span=a.span or root.span) for i, a in enumerate(outside)]
    made: dict[Expr, Expr] = dict(zip(outside, params, strict=True))
    for e in nodes:
        before = e.children
        children = tuple([made[c] if c in made else made.get(values.get(c, c), c) for c in before])
        made[e] = e if children == before else e.rebuild(children)
    fn = Function(tuple(params), made[root], types(root), attrs={"Primitive": 1}, span=root.span)
    return Call(fn, tuple([new.get(a, a) for a in outside]), None, span=root.span)


def operands(nodes: list[Expr], values: Mapping[Expr, Expr]) -> list[Expr]:
    """What `nodes` use from outside, in the order in which evaluating the last of them comes to it."""
    own, found = set(nodes), dict[Expr, None]()
    seen: set[Expr] = set()
    pending = [nodes[-1]]
    while pending:
        e = pending.pop()
        node = values.get(e, e)
        if node in own:
            if node not in seen:
                seen.add(node)
                pending += reversed(node.children)
        elif type(e) is not Op and not is_register_constant(e):
            found.setdefault(e)
    return list(found)
